"""From a request to a release, on one page: the only place where all stages meet.

    request -> canonical -> shape -> rules -> tabulate -> keys and noise -> weights -> adjust -> release

The shape rules run before a record is read. Exact counts exist between `tabulate` and `perturb` and
nowhere else. A release is a pure function of the stored records, the protection, the canonical request
and the secret.

Comes from: the faces. Goes to: the faces, as a `Release`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, log10, sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting import audit
from discreet.adjust.additivity import NOTES, additive
from discreet.adjust.non_negative import non_negative
from discreet.model.release import NOT_APPLICABLE, UNRELIABLE, Release, table_title
from discreet.model.request import canonical
from discreet.model.shape import structural_zeros, table_shape
from discreet.perturb.perturb import perturb
from discreet.rules.shape_rules import refuse_by_shape
from discreet.tabulate.tabulate import tabulate
from discreet.weighted import weighted_cells

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.mechanism.noise_table import NoiseTable
    from discreet.model.dataset import Dataset
    from discreet.model.protection import Protection
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.workspace.workspace import StoredDataset

_NOTE = (
    "Counts in this table have been randomly adjusted by small amounts to protect confidentiality. "
    "{} Do not rely on small counts; adding cells yourself adds their uncertainty."
)


@dataclass(frozen=True, slots=True)
class Question:
    """A request that may be answered: readable, canonical, allowed by its shape; nothing is counted yet."""

    stored: StoredDataset
    request: TableRequest
    shape: TableShape

    @property
    def cells(self) -> int:
        """How many cells the answer has, totals included."""
        return self.shape.cells

    @property
    def title(self) -> str:
        """The title of the answer."""
        return table_title(self.stored.dataset, self.shape.dimensions, self.request.measure)


def ask(stored: StoredDataset, request: TableRequest) -> Question:
    """Check a request against its dataset and the rules of shape, before a record is read.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
        Refused: A rule does not allow it; the message says which and what to do.
    """
    asked = canonical(request, stored.dataset)
    shape = table_shape(asked, stored.dataset)
    refuse_by_shape(asked, shape, stored.dataset)
    return Question(stored, asked, shape)


def answer(question: Question) -> Release:
    """Count, protect and release."""
    stored, shape, asked = question.stored, question.shape, question.request
    dataset = stored.dataset
    survey = dataset.survey if asked.measure == "weighted" else None
    exact = tabulate(stored.engine, shape, weights=survey is not None)
    noisy = perturb(exact, stored.cell_keys, stored.noise)
    weighted = None if survey is None else weighted_cells(stored, survey, exact, noisy)
    impossible = structural_zeros(shape, dataset)
    cells = noisy if weighted is None else weighted.values
    display = non_negative(cells) if dataset.protection.non_negative else cells
    additivity = asked.additivity or dataset.protection.additivity
    values, adjustment = additive(display, shape, additivity, impossible)
    doubtful = np.zeros_like(impossible) if weighted is None else weighted.unreliable
    return Release(
        dataset=dataset,
        digest=stored.digest,
        request=asked,
        dimensions=shape.dimensions,
        values=values.copy(),
        noisy=noisy,
        status=np.select([impossible, doubtful], [NOT_APPLICABLE, UNRELIABLE], 0).astype(np.uint8),
        noise=stored.noise,
        notes=tuple(filter(None, (perturbed_note(dataset, asked.additivity), adjustment))),
        promise=promise(stored.noise, dataset.protection) + (weighted.promise if weighted else ()),
        errors=None if weighted is None else weighted.errors,
    )


def perturbed_note(dataset: Dataset, additivity: str = "") -> str:
    """What every reader of a dataset's tables must be told."""
    return _NOTE.format(NOTES[additivity or dataset.protection.additivity])


def release_table(stored: StoredDataset, request: TableRequest) -> Release:
    """Answer a request, or refuse it."""
    return answer(ask(stored, request))


@lru_cache(maxsize=64)
def promise(noise: NoiseTable, protection: Protection) -> tuple[str, ...]:
    """What the protection does and does not promise, in sentences for the table's page."""
    spread = sqrt(max(row.variance() for row in noise.rows))
    design = ", ".join(
        f"{name} = {value}"
        for name, value in noise.parameters.items()
        if name not in {"notes", "quantise", "zeros"} and value not in {None, False}
    )
    found = audit(noise, epsilon=1.0)
    return (
        f"Cell key method: noise of the family {noise.family} ({design}), looked up by who is in the cell "
        f"({protection.keys} keys). A count changes by at most {noise.largest}; the standard deviation of "
        f"the change is at most {spread:.2f}. Counts of zero stay zero.",
        f"One count by itself is (1, {_up(found.delta)})-differentially private at worst, and "
        f"(1, {_up(found.above_D.delta)}) for counts above {noise.largest}; neighbours differ by one person "
        "added or removed.",
        "The same people show the same number in every table. Nothing is promised about what can be "
        "learned from many tables together.",
    )


def _up(delta: Fraction) -> str:
    """A delta in three figures, rounded up: a promise errs on the safe side."""
    if not delta:
        return "0"
    places = 2 - floor(log10(delta))
    return f"{ceil(delta * 10**places) / 10**places:.3g}"
