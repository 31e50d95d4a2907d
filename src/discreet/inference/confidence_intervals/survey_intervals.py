"""Intervals of weighted tables whose errors follow from released numbers and published constants (`survey/generalised.py`).

    a total, a sum      the score interval
    a share             symmetric on the logit scale;  of the whole population: the interval of the part over the population
    a ratio             symmetric on the log scale
    a difference        estimate ± t · standard error

Bases with a relative standard error above 25 % are refused, because shares and ratios are of first order.

Source: Korn & Graubard (1998); docs/methods/survey-weights.md.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.normal_intervals import (
    Codes,
    WeightedInterval,
    check_weighted,
    refuse_uncertain_base,
)
from discreet.inference.confidence_intervals.picked_cells import (
    cell_members,
    cell_place,
    refuse_shared_people,
)
from discreet.model.messages.text import message
from discreet.model.release import NO_ERROR, NOT_APPLICABLE, WHOLE, Release
from discreet.survey.estimates import Estimate, difference_of_shares, quotient, share_of_population, total
from discreet.survey.generalised import MOST_ERROR, Place, TableErrors, round_up_two_digits


def survey_interval(
    release: Release,
    cells: Sequence[Codes],
    level: float,
    *,
    of: Sequence[Codes] = (),
    over: Sequence[Codes] = (),
    minus: Sequence[Codes] = (),
    minus_of: Sequence[Codes] = (),
) -> WeightedInterval:
    """The interval of a sum, a share (`of`), a ratio (`over`), or a difference of sums or shares (`minus`).

    Raises:
        BadRequest: Cells share people, have no error, or a base is too uncertain.
    """
    check_weighted(release, level)
    errors: TableErrors = release.sampling
    part, whole, base, others, their_whole = (
        _places(release, group) for group in (cells, of, over, minus, minus_of or (of if minus else ()))
    )
    if base:
        _refuse_uncertain(errors, base, level)
        found = quotient(errors, part, base, level, share=False)
    elif whole and others:
        for each in (whole, their_whole):
            _refuse_uncertain(errors, each, level)
        found = difference_of_shares(errors, (part, whole), (others, their_whole), level)
    elif whole:
        found = _share(errors, part, whole, level)
    else:
        factors = dict.fromkeys(part, 1.0)
        for place in others:
            factors[place] = factors.get(place, 0.0) - 1.0
        found = total(errors, factors, level)
    if np.isnan(found.low):
        raise BadRequest(
            message("The estimate is too uncertain for an interval."),
            message("Choose a cell with more people, or add up cells."),
        )
    return WeightedInterval(found.value, found.low, found.high, level, _printed_error(found))


def survey_limits(release: Release, level: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The limits of each cell by itself, in whole people; -1 where a cell has none."""
    check_weighted(release, level)
    errors: TableErrors = release.sampling
    order = [errors.names.index(dimension.name) for dimension in release.dimensions]
    order += [at for at in range(len(errors.axes)) if at not in order]
    index = []
    for at, dimension in zip(order, release.dimensions, strict=False):
        places = {code: place for place, code in enumerate(errors.axes[at].codes)}
        index.append([places[code] for code in dimension.codes])
    index += [[0]] * (len(errors.axes) - len(index))
    shape = release.values.shape
    low, high = (each.transpose(order)[np.ix_(*index)].reshape(shape) for each in errors.limits(level))
    zero = release.status == NOT_APPLICABLE
    known = ~np.isnan(low) & ~release.missing
    low, high = (np.where(known, each, -1) for each in (np.floor(low), np.ceil(high)))
    return np.where(zero, 0, low).astype(np.int64), np.where(zero, 0, high).astype(np.int64)


def _places(release: Release, cells: Sequence[Codes]) -> list[Place]:
    """The places of cells that share no people in the table that the errors are of."""
    errors: TableErrors = release.sampling
    inside = [cell_members(release, cell_place(release, codes)) for codes in cells]
    refuse_shared_people(combinations(inside, 2))
    names = [dimension.name for dimension in release.dimensions]
    return [errors.place(dict(zip(names, codes, strict=True))) for codes in cells]


def _share(errors: TableErrors, part: list[Place], whole: list[Place], level: float) -> Estimate:
    if len(whole) == 1 and not errors.is_partial(whole[0]):
        return share_of_population(errors, part, level)
    _refuse_uncertain(errors, whole, level)
    return quotient(errors, part, whole, level, share=True)


def _refuse_uncertain(errors: TableErrors, base: Sequence[Place], level: float) -> None:
    found = total(errors, dict.fromkeys(base, 1.0), level)
    refuse_uncertain_base(found.value, found.error)


def _printed_error(found: Estimate) -> float | None:
    """The relative standard error in percent, rounded up to two digits."""
    if found.value == 0:
        return None
    tenths = int(round_up_two_digits(np.array(WHOLE * found.error / abs(found.value))))
    return None if tenths == NO_ERROR or tenths > MOST_ERROR else tenths / 10
