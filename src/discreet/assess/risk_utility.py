"""Measures of risk and utility: the losses of the papers, RM by conditional entropy, and exact expectations.

    l1 = sum |a - b|,   l2 = sum (a - b)^2,   l3 = sum |sqrt a - sqrt b|,   Hellinger = sqrt(1/2 sum (sqrt a - sqrt b)^2)

a are true and b released counts. l3 and Hellinger clip counts at zero; Hellinger's distance is on counts, as offices use it,
not on proportions.
Source: Rinott et al. (2018), sections 4.2 and 5.6.1; Shlomo, Krenzke & Li (2019), section 3.5; Antal, Shlomo & Elliot
(2014), formula 4; the definitions are in docs/methods/assessment.md.

The averaging factor: how much a reader gains by requesting the same cell in many tables.

The people of a cell are also the sum of the cells below it in every table that adds variables T to its own S. Each sum has
independent noise of K_T cells; weighted by 1 / K_T, they estimate the count with a variance that is smaller by the factor

    factor = sum over T of 1 / K_T,   K_T = categories of T (of the finer level, per category of the coarser one),

with the table itself (T empty, K = 1), over the tables that the rules allow by their dimensions, and for noise of one
variance in every cell. Empty cells that stay zero have no noise, so the true gain can be larger; cells with the same people
share their noise, so it can be smaller.
Source: the weighing-design argument of Rinott et al. (2018), section 2.2, on averaging; best linear unbiased weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from discreet.errors import DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_at_least_as_fine, is_level_of
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.rules.rule_set import refuse_by_rules
from discreet.workspace.workspace import StoredDataset

Floats = NDArray[np.float64]
#: Counts, or weighted counts.
Counts = NDArray[np.int64] | Floats


def l1(true: Counts, released: Counts) -> Floats:
    """The sum of absolute errors of each release; releases along the first axis.

    >>> l1(np.array([0, 100]), np.array([[4, 144]])).tolist()
    [48.0]
    """
    return np.asarray(np.abs(released - true).sum(axis=-1), dtype=np.float64)


def l2(true: Counts, released: Counts) -> Floats:
    """The sum of squared errors."""
    return np.asarray(((released - true).astype(np.float64) ** 2).sum(axis=-1))


def l3(true: Counts, released: Counts) -> Floats:
    """The sum of absolute errors of square roots: 0 as 4 costs as much as 10,000 as 10,404.

    >>> l3(np.array([0, 100, 10_000]), np.array([[4, 144, 10_404]])).tolist()
    [6.0]
    """
    return np.asarray(np.abs(_roots(released) - _roots(true)).sum(axis=-1))


def hellinger(true: Counts, released: Counts) -> Floats:
    """Hellinger's distance of counts.

    >>> hellinger(np.array([4, 9]), np.array([[1, 9], [4, 9]])).round(6).tolist()
    [0.707107, 0.0]
    """
    return np.asarray(np.sqrt(0.5 * ((_roots(released) - _roots(true)) ** 2).sum(axis=-1)))


def _roots(counts: Counts) -> Floats:
    return np.asarray(np.sqrt(np.maximum(counts, 0)), dtype=np.float64)


def entropy(counts: Counts) -> Floats:
    """H of each table's distribution over its cells, in nats; cells along the last axis.

    >>> round(float(entropy(np.array([2, 2]))), 6)
    0.693147
    """
    shares = counts / counts.sum(axis=-1, keepdims=True)
    return np.asarray(-xlogy(shares, shares).sum(axis=-1))


def conditional_entropy(true: Counts, released: Counts) -> Floats:
    """H(a|b) for each release; releases along the first axis, none of them empty or negative.

        H(a|b) = -sum m/N log(m/b) - sum (a-m)/N log((a-m)/(N - sum m)) - sum (b-m)/N log((b-m)/b),    m = min(a, b),

    after a and b were scaled to one total (a times the total of b, b times that of a). The true table is one for all
    releases, or one for each.
    """
    people, shown = (table.sum(axis=-1, keepdims=True).astype(np.float64) for table in (true, released))
    a, b = true * shown, released * people
    both = np.minimum(a, b)
    whole = people * shown
    left = whole - both.sum(axis=-1, keepdims=True)
    # A quotient of zero by zero has weight zero, so any positive denominator will do.
    kept = xlogy(both, both / np.where(b > 0, b, 1.0))
    gone = xlogy(a - both, (a - both) / np.where(left > 0, left, 1.0))
    added = xlogy(b - both, (b - both) / np.where(b > 0, b, 1.0))
    return np.asarray(-((kept + gone + added) / whole).sum(axis=-1))


def risk(true: Counts, released: Counts) -> Floats:
    """RM = 1 - H(a|b) / H(a) of each release: the share of the true table's information that it discloses.

    It is 1 where only the scale changed, and can be below 0; 0 for an empty release, NaN if all people are in one cell.

    >>> risk(np.array([2, 2]), np.array([[2, 2], [3, 1]])).round(4).tolist()
    [1.0, 0.3113]
    """
    shown = np.maximum(released, 0)
    risks = np.zeros(len(shown))
    if np.count_nonzero(true) < 2:
        return np.full(len(shown), np.nan)
    filled = shown.sum(axis=-1) > 0
    risks[filled] = 1 - conditional_entropy(true, shown[filled]) / entropy(true)
    return risks


#: Counts from 1 to this are small: people in them may be identified.
SMALL = 3


@dataclass(frozen=True, slots=True)
class Moments:
    """The exact mean and standard deviation of a sum over cells."""

    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Expectations:
    """Exact expectations for one table under one noise table.

    Args:
        small: Of these, cells with 1 to `SMALL` people.
        l1: Sum of absolute errors.
        l2: Sum of squared errors.
        l3: Sum of absolute errors of square roots.
        hellinger_squared: The mean of the squared Hellinger distance; its root bounds the mean distance.
        perturbed_occupied: The same of cells with people.
        p_exact: Share of cells shown with their true count.
        false_zeros: Expected number of cells with people that are shown empty.
        false_zero_share: The same as a share of cells with people.
        false_zero_by_count: For each small count that occurs, the probability that it is shown as zero.
        false_people: Expected number of empty cells that are shown with people.
        bias: Expected sum of all cells as shown, minus the true sum.
        existence: Of the cells shown with people, the share that has people; None where none is shown.
        shown_small: Expected number of cells shown with 1 to `SMALL` people.
        confirmation: For v = 0, 1, ..., `SMALL`: E #(true v, shown v) / E #(shown v); None if never shown.
        confirmation_small: Of the cells shown with 1 to `SMALL`, the share that has exactly the shown number.
    """

    cells: int
    occupied: int
    small: int
    l1: Moments
    l2: Moments
    l3: Moments
    hellinger_squared: float
    perturbed: float
    perturbed_occupied: float
    p_exact: float
    false_zeros: float
    false_zero_share: float
    false_zero_by_count: tuple[float | None, ...]
    false_people: float
    bias: float
    existence: float | None
    shown_small: float
    confirmation: tuple[float | None, ...]
    confirmation_small: float | None


class _Cell(NamedTuple):
    """The effect of noise on one count: moments of its losses, and the probabilities of small values."""

    moments: NDArray[np.float64]
    hellinger: float
    stays: float
    bias: float
    shown: NDArray[np.float64]


def exact_expectations(counts: NDArray[np.int64], noise: NoiseTable, *, clip: bool = True) -> Expectations:
    """The exact expectations of a table's measures: E l = sum over cells sum over z of p(z | a) loss(a, a + z).

    `counts` are those of all possible cells; with `clip`, counts below zero are shown as zero.

    >>> from discreet.noise import laplace
    >>> found = exact_expectations(np.array([50, 80]), laplace(epsilon=1.0))
    >>> round(found.l1.mean / 2, 6), round(found.p_exact, 6)  # 2a/(1-a^2) and tanh(1/2)
    (0.850918, 0.462117)
    """
    values, times = np.unique(counts, return_counts=True)
    cells = [_cell(int(count), noise.row(int(count)), clip=clip) for count in values]
    first = np.array([cell.moments[:, 0] for cell in cells])
    second = np.array([cell.moments[:, 1] for cell in cells])
    means, variances = times @ first, times @ np.maximum(second - first**2, 0.0)
    stays = np.array([cell.stays for cell in cells])
    shown = np.array([cell.shown for cell in cells])
    full, whole = values > 0, int(times.sum())
    occupied = int(times[full].sum())
    l1, l2, l3 = (Moments(float(m), sqrt(v)) for m, v in zip(means, variances, strict=True))
    false_zeros = float(times[full] @ shown[full, 0])
    seen = times * (1 - shown[:, 0])  # cells shown with people
    return Expectations(
        cells=whole,
        occupied=occupied,
        small=int(times[full & (values <= SMALL)].sum()),
        l1=l1,
        l2=l2,
        l3=l3,
        hellinger_squared=float(times @ np.array([cell.hellinger for cell in cells])),
        perturbed=1 - float(times @ stays) / whole,
        perturbed_occupied=1 - float(times[full] @ stays[full]) / occupied if occupied else 0.0,
        p_exact=float(times @ stays) / whole,
        false_zeros=false_zeros,
        false_zero_share=false_zeros / occupied if occupied else 0.0,
        false_zero_by_count=tuple(_at(values, shown[:, 0], count) for count in range(1, SMALL + 1)),
        false_people=float(times[~full] @ (1 - shown[~full, 0])),
        bias=float(times @ np.array([cell.bias for cell in cells])),
        existence=float(seen[full].sum() / seen.sum()) if seen.sum() > 0 else None,
        shown_small=float((times @ shown)[1:].sum()),
        confirmation=tuple(_confirmation(values, times, shown, [v]) for v in range(SMALL + 1)),
        confirmation_small=_confirmation(values, times, shown, list(range(1, SMALL + 1))),
    )


def _cell(count: int, row: NoiseRow, *, clip: bool) -> _Cell:
    distribution = np.array(row.masses(), dtype=np.float64) / row.modulus
    raw = count + np.array(row.values, dtype=np.int64)
    bounded = np.maximum(raw, 0)
    seen = bounded if clip else raw
    roots = np.abs(np.sqrt(bounded) - sqrt(count))
    losses = np.array([np.abs(seen - count), (seen - count).astype(np.float64) ** 2, roots])
    shown = np.array([distribution[bounded == value].sum() for value in range(SMALL + 1)])
    moments = np.column_stack([losses @ distribution, losses**2 @ distribution])
    return _Cell(
        moments,
        float(0.5 * roots**2 @ distribution),
        float(distribution[seen == count].sum()),
        float((seen - count) @ distribution),
        shown,
    )


def _at(values: NDArray[np.int64], chances: NDArray[np.float64], count: int) -> float | None:
    place = np.flatnonzero(values == count)
    return float(chances[place[0]]) if place.size else None


def _confirmation(
    values: NDArray[np.int64], times: NDArray[np.int64], shown: NDArray[np.float64], wanted: list[int]
) -> float | None:
    """Expected right over expected shown, for several shown values together; None where none is shown."""
    total = float(sum(times @ shown[:, value] for value in wanted))
    right = sum((_at(values, times * shown[:, value], value) or 0.0) for value in wanted)
    return right / total if total > 0 else None


#: Sums of more cells than this carry hardly any information.
_MOST_SUMMED = 10_000.0
_MOST_ADDED = 4


@dataclass(frozen=True, slots=True)
class Averaging:
    """The gain by averaging for a cell: the reduction of the noise's variance, and the number of tables that it takes."""

    factor: float
    tables: int


def averaging_factor(stored: StoredDataset, request: TableRequest) -> Averaging:
    """The averaging factor of a table's variables among all variables of its dataset."""
    asked = canonical(replace(request, groups=(), levels=(), totals=False), stored.dataset)
    wider = _wider(stored.dataset, asked)
    shares = [1.0, *(1.0 / cells for added, cells in wider if _is_allowed(stored, asked, added))]
    return Averaging(sum(shares), len(shares))


def _wider(dataset: Dataset, asked: TableRequest) -> Iterator[tuple[tuple[str, ...], float]]:
    """Sets of variables to add, and the number of cells that then make up one; never two levels of one hierarchy."""
    sizes = {}  # categories of an added variable per cell; for a finer level, per coarser category
    for variable in dataset.variables:
        name = variable.name
        if name in asked.used or any(is_at_least_as_fine(dataset, own, name) for own in asked.used):
            continue
        coarser = [other for other in asked.variables if is_at_least_as_fine(dataset, name, other)]
        finest = max((len(dataset.variable(other)) for other in coarser), default=1)
        sizes[name] = len(variable) / finest
    for number in range(1, _MOST_ADDED + 1):
        for added in combinations(sizes, number):
            cells = prod(sizes[name] for name in added)
            if cells <= _MOST_SUMMED and not any(
                is_level_of(dataset, a, b) for a, b in combinations(added, 2)
            ):
                yield added, cells


def _is_allowed(stored: StoredDataset, asked: TableRequest, added: tuple[str, ...]) -> bool:
    """Whether the rules allow the table with the added variables, by its dimensions."""
    dataset = stored.dataset
    own = tuple(
        name for name in asked.variables if not any(is_at_least_as_fine(dataset, new, name) for new in added)
    )
    try:
        wider = canonical(
            TableRequest(asked.dataset, rows=(*own, *added), filters=asked.filters, totals=False), dataset
        )
        refuse_by_rules(wider, table_shape(wider, dataset), dataset, stored.rules)
    except DiscreetError:
        return False
    return True
