"""The measure `count`: people counted. The values are the noisy counts."""

from discreet.model.exact import ExactTable
from discreet.model.request import COUNT
from discreet.protect.protector import NoisyCells
from discreet.release.checked_request import CheckedRequest
from discreet.release.measures import MeasureKind, MeasureValues


def _show(_question: CheckedRequest, _exact: ExactTable | None, cells: NoisyCells) -> MeasureValues:
    return MeasureValues(cells.noisy)


MEASURE = MeasureKind(COUNT, _show, in_place=True, cellwise=lambda _dataset: True)
