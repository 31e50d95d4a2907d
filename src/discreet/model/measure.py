"""A measure: what the numbers of a table say. Everything here is public; `answer/measures/` computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.one_line import one_line
from discreet.model.told import Text, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.model.dataset import Dataset

#: The measure of a request that names none.
DEFAULT_MEASURE = "count"


def _nothing(_dataset: Dataset) -> None:
    """What a measure says where it has nothing to say."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is public of a measure.

    Args:
        name: What requests call it.
        label: Its name in a form, for a dataset.
        title: How the title of its tables begins: "Persons", "Estimated persons".
        subject: What the promise of the cell key method speaks of.
        is_count: Whether a value is a count plus the noise of its law: only such tables are tested.
        has_errors: Whether each value has a sampling error beside it.
        refuse: Why a dataset does not have it; None if it does.
        about: What a reader should know of the design behind it; empty if nothing.
    """

    name: str
    label: Callable[[Dataset], str]
    title: Callable[[Dataset], str]
    subject: str
    is_count: bool = False
    has_errors: bool = False
    refuse: Callable[[Dataset], BadRequest | None] = _nothing
    about: Callable[[Dataset], str | None] = _nothing

    def __repr__(self) -> str:
        return one_line(self, self.name)


def counted_unit(dataset: Dataset) -> str:
    """What is counted, as a title begins: "Persons"."""
    return Text("{unit:capital}", {"unit": dataset.unit})


def _no_counts(dataset: Dataset) -> BadRequest | None:
    """A survey whose weights have noise of their own does not tell counts beside them."""
    if dataset.survey is None or not dataset.survey.weighted_only:
        return None
    return BadRequest(
        told('The dataset "{id}" tells people represented, not records counted.', id=dataset.id),
        told("Ask for the measure weighted."),
    )


#: Records counted: the measure of every dataset, but for surveys that tell weights only.
COUNT = Measure(
    DEFAULT_MEASURE,
    label=lambda _dataset: told("Records counted"),
    title=counted_unit,
    subject=told("One count by itself"),
    is_count=True,
    refuse=_no_counts,
)
