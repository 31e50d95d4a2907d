"""Sums and means of numeric variables as measures: one `MeasureKind` for each `[[measure]]` and statistic."""

from __future__ import annotations

from functools import partial

import numpy as np

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset, per_dataset
from discreet.model.exact import ExactTable
from discreet.model.magnitude import NumericMeasure, split_statistic
from discreet.model.messages.text import Message, message, nearest
from discreet.model.request import Measure, unit_of
from discreet.noise.magnitude import lone_exposure, noise_of
from discreet.protect.protector import NoisyCells
from discreet.records.engine import MeasureQuery
from discreet.release.checked_request import CheckedRequest, unlock
from discreet.release.measures import MeasureKind, MeasureValues

_TITLES = {"sum": message("{label}, sum{unit}"), "mean": message("{label}, mean{unit}")}
#: The distance, in percent, of the statement on cells of one contributor.
NEAR = 10
#: Smaller values, in units of the last decimal, are not covered by it: rounding alone may restore them.
LEAST_UNITS = 100
_MULTIPLES = {
    "top": message("the largest contributions"),
    "mean": message("the mean contribution"),
    "sum": message("the sum"),
}


@per_dataset
def magnitude_kind(dataset: Dataset, word: str) -> MeasureKind:
    """The measure of a word such as `income.mean`.

    Raises:
        BadRequest: The numeric variable has no such statistic.
    """
    name, statistic = split_statistic(word)
    numeric = next(each for each in dataset.measures if each.name == name)
    if statistic not in numeric.statistics:
        offered = ", ".join(numeric.statistics)
        if not statistic:
            raise BadRequest(
                message('The measure "{name}" needs a statistic.', name=name),
                message("Add one of: {offered}.", offered=offered),
            )
        raise BadRequest(
            message('The measure "{name}" has no statistic "{statistic}".', name=name, statistic=statistic),
            nearest(statistic, numeric.statistics),
        )
    unit = Message(" ({unit})", {"unit": numeric.unit}) if numeric.unit else ""
    label = Message(_TITLES[statistic].template, {"label": numeric.label, "unit": unit})
    measure = Measure(
        word,
        label=lambda _dataset: label,
        title=lambda _dataset: label,
        subject=message("One sum by itself"),
        magnitude=numeric,
    )
    declared = numeric.protection
    query = MeasureQuery(numeric.stored_name, declared.contributions, declared.includes_zeros)
    return MeasureKind(measure, partial(_show, numeric, statistic), measures=(query,))


def _show(
    numeric: NumericMeasure,
    statistic: str,
    question: CheckedRequest,
    exact: ExactTable | None,
    _cells: NoisyCells,
) -> MeasureValues:
    if exact is None:
        raise ValueError("sums need the records")
    noisy = unlock(question)[1].sums(exact.measures[0], question.shape, numeric)
    values, withheld = noisy.means, noisy.withheld
    if statistic == "sum":
        values, withheld = noisy.sums, withheld & (noisy.contributors > 0)
    shown = values / float(numeric.scale) if numeric.decimals else values
    return MeasureValues(
        np.where(withheld, 0, shown), promise=magnitude_promise(question.dataset, numeric), withheld=withheld
    )


def magnitude_promise(dataset: Dataset, numeric: NumericMeasure) -> tuple[str, ...]:
    """What the noise of sums does and does not promise.

    The probability is enumerated over all keys, for values that rounding to the last decimal moves by 0.5 % at most.
    """
    declared, noise = numeric.protection, noise_of(numeric)
    least = max(LEAST_UNITS, noise.separation)
    largest = max(least, *map(abs, numeric.bounds))
    chance = lone_exposure(
        noise, float(largest), NEAR + 50 / LEAST_UNITS, extra=declared.sensitive is not None
    )
    unit = unit_of(dataset)
    return (
        message(
            "Cell key method for sums ({definition}): random multiples of {what} are added, looked up by who contributes.",
            definition=declared.definition,
            what=_MULTIPLES[declared.magnifier],
        ),
        unit.says(
            message(
                "Where one person alone contributes a value of at least {least:,.6g}, the released mean lies within "
                "{near} % of it with a probability of at most {chance:.2f}. No differential privacy is promised for a sum.",
                least=least / numeric.scale,
                near=NEAR,
                chance=chance,
            ),
            message(
                "Where {one} alone contributes a value of at least {least:,.6g}, the released mean lies within "
                "{near} % of it with a probability of at most {chance:.2f}. No differential privacy is promised for a sum."
            ),
        ),
        message("Nothing is promised about what can be learned from many tables together."),
    )
