"""Measures: what the numbers of a table mean. One module per measure, found by name.

A module has `MEASURE`, a `MeasureKind`: public facts (`model/request.py`), the request that is counted, and how values
follow from exact and noisy cells. Exact and noisy cells meet only here and in `pipeline`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset, per_dataset
from discreet.model.exact import ExactTable
from discreet.model.plugins import Registry
from discreet.model.request import Measure, TableRequest
from discreet.protect.protector import NoisyCells
from discreet.records.engine import MeasureQuery

if TYPE_CHECKING:
    from discreet.release.checked_request import CheckedRequest
    from discreet.survey.generalised import TableErrors


@dataclass(frozen=True, slots=True, eq=False)
class MeasureValues:
    """The values of a measure, before totals are made to add up.

    Args:
        values: The numbers.
        errors: Relative standard errors in tenths of a percent, if the measure has them.
        noise_shares: The noise's share of each error's variance in tenths of a percent, if the measure has errors.
        unreliable: Cells to be used with caution, if the measure knows them.
        promise: Sentences in addition to those of the protection, or in their place for a numeric variable.
        withheld: Cells that the measure does not show.
        sampling: What the errors depend on, for intervals of sums and quotients.
    """

    values: NDArray[Any]
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None
    unreliable: NDArray[np.bool_] | None = None
    promise: tuple[str, ...] = ()
    withheld: NDArray[np.bool_] | None = None
    sampling: TableErrors | None = None


#: The output of each dimension that listed cells have.
Places = tuple[NDArray[np.int64], ...]
#: From exact and noisy cells in a line, and their places in the table, to their values.
ShowCells = Callable[[ExactTable, NoisyCells, Places], MeasureValues]


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """How a measure is computed.

    Args:
        measure: Its public facts.
        show: From a request, its exact cells (None if nothing was counted) and its noisy cells to the values.
        counted: The request that is counted; it must be allowed with all its variables.
        weights: Whether sums of weights are needed.
        sums: Further stored columns to add up in the same pass.
        measures: The numeric variables to add up in the same pass.
        in_place: Whether `show` needs no exact counts, so that noise may overwrite them in memory.
        cellwise: Whether a value follows from its own cell and public figures, so that cells can be listed.
        lister: From a request to how a block of listed cells is shown; by default as by `show`.
    """

    measure: Measure
    show: Callable[[CheckedRequest, ExactTable | None, NoisyCells], MeasureValues]
    counted: Callable[[TableRequest, Dataset], TableRequest] = lambda request, _dataset: request
    weights: bool = False
    sums: Callable[[Dataset], tuple[str, ...]] = lambda _dataset: ()
    measures: tuple[MeasureQuery, ...] = ()
    in_place: bool = False
    cellwise: Callable[[Dataset], bool] = lambda _dataset: False
    lister: Callable[[CheckedRequest], ShowCells] | None = None

    @property
    def name(self) -> str:
        return self.measure.name

    def show_listed(self, question: CheckedRequest) -> ShowCells:
        """How blocks of the listed cells of a request are shown."""
        if self.lister is not None:
            return self.lister(question)
        return lambda exact, cells, _places: self.show(question, exact, cells)


_REGISTRY: Registry[MeasureKind] = Registry(__name__, "MEASURE", "measure", BadRequest)


def measures() -> list[Measure]:
    """Every measure."""
    return [kind.measure for kind in _REGISTRY.members()]


def measure_kind(name: str, dataset: Dataset | None = None) -> MeasureKind:
    """The measure of a name; numeric variables are those of a dataset."""
    if dataset is not None and any(name.partition(".")[0] == own.name for own in dataset.measures):
        from discreet.release.magnitudes import magnitude_kind  # noqa: PLC0415 - counts start without it

        return magnitude_kind(dataset, name)
    return _REGISTRY.named(name)


def register(kind: MeasureKind) -> None:
    """Add a measure of another package."""
    _REGISTRY.register(kind)


def default_measure(dataset: Dataset) -> str:
    """The measure of a request that names none: counts, if the dataset releases them."""
    return measures_of(dataset)[0].name


@per_dataset
def measures_of(dataset: Dataset) -> list[Measure]:
    """The measures that a dataset has."""
    own = [word for numeric in dataset.measures for word in numeric.words]
    plain = [measure for measure in measures() if measure.refuse(dataset) is None]
    return plain + [measure_kind(word, dataset).measure for word in own]
