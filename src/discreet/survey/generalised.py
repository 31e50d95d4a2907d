"""Errors of weighted tables, definition `generalised-1`: functions of released numbers and published constants.

Under the forms `average-weight`, `public-strata` and `invariant` a released number is a noisy count times public weights.
No person's weight is in it, so none is in its variance. With p the released share of a cell k, p_v that of its category
of variable v, p_uv that of its pair of categories, and D the published cluster effects,

    q_k   =  Var_p(1_k) + Σ_v (D_v - 1) Var_p(E[1_k | v]) + Σ_uv (D_uv - 1) (the interaction part of u and v)
          =  p(1-p) + Σ_v (D_v - 1) p² (1/p_v - 1) + Σ_uv (D_uv - 1) p² (1/p_uv - 1/p_u - 1/p_v + 1)
    D_uv  =  min(1 + (D_u - 1)(D_v - 1)/(m - 1), D_u, D_v)        m records per cluster
          =  D_v if u is constant within clusters, as a region is; max(D_u, D_v) where that or m is not known
    b     =  (1 - f) Σ_h w_h² n_h q_kh / (X (1 - X/N))                         X = Σ_h w_h ñ_kh, the released number
    β²    =  Σ_v τ_v² D_v (K_v - 1)/n + (w̄ (r - 3)₊ / X)² + κ²                 the largest bias that the load lets through
    Var   =  b X (1 - X/N) + β² X² + Σ_h w_h² V_kh

The interval has every θ with (X - θ)² ≤ t² Var(θ) (Wilson's way). `largest-weight` has weights in its number: there w_h is
replaced by b_S = (Σw²/Σw) (1 + √Σ_v (γ_v/√1.25 - 1)²), and it has no bias. If the sizes of the strata of `public-strata` are
by chance (no stratum of the design, no calibration to them), with the effect D_s,

    b    +=  (1 - f) n D_s Var_h(w_h p_kh) / (X (1 - X/N))                     the variance over the strata, by their sizes

The variable of the strata of the design has the effect 0, and so has one to which `largest-weight` is calibrated.
Estimates made of several cells are in `estimates.py`.

Every figure here is public: released numbers, declared facts, and the constants of `published_constants.py`.

Source: docs/methods/survey-weights.md; Wilson (1927); Kish (1965); Korn & Graubard (1998) for share intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.release import NO_ERROR, WHOLE

#: The bias that a load lets through at least, in standard errors of a category (`published_constants.py`).
TAU = 0.5
#: Weights up to this multiple of their mean are covered by τ; beyond it a single weight is.
CAP = 3.0
#: A cell with fewer people, or fewer people per design effect, is unreliable.
FEWEST_PEOPLE, FEWEST_EFFECTIVE = 16, 10
#: With fewer degrees of freedom (clusters less strata) there are no errors.
FEWEST_FREEDOM = 20
#: A cell inside a stratum with fewer clusters is unreliable.
FEWEST_CLUSTERS = 10
#: The variance of a released zero of a stratum (public-strata): the noise would have kept a count of one or two.
SHOWN_ZERO = 2.0

#: A larger relative standard error, in tenths of a percent, is not printed.
MOST_ERROR = 10_000

Floats = NDArray[np.float64]
#: A cell by its position on each axis.
Place = tuple[int, ...]


def pair_effect(
    one: float, other: float, per_cluster: float, constant: tuple[bool, bool] = (False, False)
) -> float:
    """D_uv, from the effects of two variables, the records per cluster, and which variables are constant in clusters.

    >>> round(pair_effect(2.44140625, 3.0517578125, 10), 6)
    1.328602
    >>> pair_effect(10, 3, 10, (True, False))
    3.0
    """
    if constant[0] != constant[1]:
        return float(max(other if constant[0] else one, 1.0))
    if constant[0] or per_cluster <= 1 or min(one, other) < 1:
        # What strata or a calibrated margin do not fix has the effect of the other variable.
        return max(one, other, 1.0)
    return min(1 + (one - 1) * (other - 1) / (per_cluster - 1), one, other)


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A variable of a table, or of its filters, with its outputs.

    Args:
        codes: Of the outputs; a filter has one.
        members: The base categories of each output.
        everything: How many base categories the variable has.
        effects: The cluster effect D of each output; 0 for a variable without sampling error of its own.
        biases: (τ_v/τ)² D (K - 1) of each output, which bounds the bias by its categories.
        margin: The released counts of each output in the whole sample; strata on the last axis.
        clusters: The clusters in each output of the variable of the strata, if clusters are declared.
        constant: Whether the variable is constant within clusters.
        spread: By how much the mean squared weight varies between categories, of each output, under `largest-weight`.
    """

    name: str
    codes: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    everything: int
    effects: Floats
    biases: Floats
    margin: Floats
    clusters: Floats | None = None
    constant: bool = False
    spread: Floats | None = None

    def totals(self) -> NDArray[np.bool_]:
        """Which outputs contain every category."""
        return np.array([len(set(members)) == self.everything for members in self.members])

    def parts(self) -> list[int]:
        """The outputs that contain no other output."""
        order = sorted(range(len(self.members)), key=lambda at: -len(self.members[at]))
        smallest = {member: at for at in order for member in self.members[at]}
        return [
            at for at, members in enumerate(self.members) if all(smallest[each] == at for each in members)
        ]


class CellErrors(NamedTuple):
    """The errors of every cell: standard errors in people; relative ones and the noise's share in tenths of a percent."""

    standard: Floats
    relative: NDArray[np.int64]
    noise_shares: NDArray[np.int64]
    unreliable: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TableErrors:
    """All that the errors of one weighted table depend on; every figure is public.

    Args:
        axes: The variables of the table, then those of its filters.
        pairs: The released counts of each pair of outputs of two axes, if there are more; strata on the last axis.
        noisy: The noisy counts of the cells: an axis for each of `axes`, then the strata. If `places` is given, those of
            the listed cells, then the strata; so is `noise`.
        noise: The variance of the noise of each released number, in people squared.
        weights: The weight of each stratum; the average weight of the other forms.
        sizes: The records of each stratum.
        mean_square: Σw²/Σw, in place of the weight in variances under `largest-weight`; else 0.
        per_cluster: The records per cluster; 1 without clusters.
        freedom: The degrees of freedom of the design; None without clusters.
        largest: The largest weight over the mean weight.
        calibration: kappa squared, the relative variance of the sum of the weights; 0 if they are calibrated.
        limit: A larger relative standard error makes a cell unreliable.
        strata_effect: The cluster effect of the variable of the strata, if their sizes are by chance; else 0.
        places: The output of each axis of cells that are listed one by one; None for all cells of the table.
    """

    axes: tuple[Axis, ...]
    pairs: Mapping[tuple[int, int], Floats]
    noisy: Floats
    noise: Floats
    weights: Floats
    sizes: Floats
    mean_square: float = 0.0
    per_cluster: float = 1.0
    freedom: int | None = None
    largest: float = 1.0
    calibration: float = 0.0
    limit: float = 0.25
    strata_effect: float = 0.0
    places: tuple[NDArray[np.int64], ...] | None = None

    @cached_property
    def population(self) -> float:
        return float(self.weights @ self.sizes)

    @cached_property
    def average(self) -> float:
        """The average weight."""
        return self.population / float(self.sizes.sum())

    @cached_property
    def values(self) -> Floats:
        """The released numbers, in people."""
        return np.asarray(self.noisy @ self.weights)

    @cached_property
    def _shares(self) -> Floats:
        least = np.minimum(1 / self.sizes, 0.5)
        return np.clip(self.noisy / self.sizes, least, 1 - least)

    def _at(self, figures: NDArray[Any], *axes: int) -> NDArray[Any]:
        """Figures of some axes (and of the strata, on the last axis) in the shape of the cells."""
        if self.places is not None:
            return np.asarray(figures[tuple(self.places[axis] for axis in axes)])
        shape = [1] * len(self.axes) + [figures.shape[-1]]
        for axis, length in zip(axes, figures.shape, strict=False):
            shape[axis] = length
        return figures.reshape(shape)

    def _spread(self) -> Floats:
        """Q of every cell and stratum: the variance of its indicator with the effects of clusters."""
        p, count = self._shares, len(self.axes)
        own = [np.maximum(self._at(axis.margin / self.sizes, at), p) for at, axis in enumerate(self.axes)]
        effects = [axis.effects for axis in self.axes]
        q = p * (1 - p)
        for at in range(count):
            q = q + (self._at(effects[at][:, None], at) - 1) * p**2 * (1 / own[at] - 1)
        for one, two in combinations(range(count), 2):
            pair = self.pair_effects(one, two)
            if (pair != 1).any():
                both = (
                    p if count == 2 else np.maximum(self._at(self.pairs[one, two] / self.sizes, one, two), p)
                )
                beyond = np.maximum(1 / both - 1 / own[one] - 1 / own[two] + 1, 0)
                q = q + (self._at(pair[..., None], one, two) - 1) * p**2 * beyond
        return np.maximum(q, 0)

    def pair_effects(self, one: int, two: int) -> Floats:
        """D_uv of all outputs of two axes."""
        u, v = self.axes[one], self.axes[two]
        constant = (u.constant, v.constant)
        known = {
            (a, b): pair_effect(a, b, self.per_cluster, constant)
            for a in np.unique(u.effects).tolist()
            for b in np.unique(v.effects).tolist()
        }
        return np.array([[known[a, b] for b in v.effects.tolist()] for a in u.effects.tolist()])

    @cached_property
    def _partial(self) -> NDArray[np.bool_]:
        """The cells that are not the whole population."""
        partial = np.zeros((*self.noisy.shape[:-1], 1))
        for at, axis in enumerate(self.axes):
            partial = partial + self._at(~axis.totals()[:, None], at)
        return np.array(partial[..., 0] > 0)

    @cached_property
    def unit(self) -> Floats | None:
        """What replaces the weight in the variance of each cell under `largest-weight`; else None."""
        if not self.mean_square:
            return None
        spread = np.zeros((*self.noisy.shape[:-1], 1))
        for at, axis in enumerate(self.axes):
            if axis.spread is not None:
                spread = spread + self._at(axis.spread[:, None] ** 2, at)
        return np.asarray(self.mean_square * (1 + np.sqrt(spread[..., 0])))

    @cached_property
    def _slope(self) -> Floats:
        """B of every cell: the sampling variance over X (1 - X/N)."""
        counts = np.maximum(self.noisy, 0)
        shown = (counts > 0) | ~(counts > 0).any(
            axis=-1, keepdims=True
        )  # a zero beside others has no sampling error
        people = np.where(shown, self._shares * self.sizes, 0) @ self.weights
        within = np.where(shown, self._spread(), 0) @ (self.weights**2 * self.sizes)
        if self.unit is not None:
            within = within * self.unit / self.average
        within = within + self.between(np.where(shown, self._shares, 0))
        slope = (1 - 1 / self.average) * within / (people * (1 - people / self.population))
        return np.where(self._partial, slope, 0)

    def between(self, means: Floats) -> Floats:
        """The variance of a sum by the chance of how many records each stratum has, from its mean in each stratum."""
        people, size = means * self.weights, self.sizes / self.sizes.sum()
        return np.asarray(self.strata_effect * self.sizes.sum() * (people**2 @ size - (people @ size) ** 2))

    @cached_property
    def _bias(self) -> Floats:
        """The square of the relative bias of every cell that the load lets through, and of the population."""
        bias = np.full((*self.noisy.shape[:-1], 1), self.calibration)
        if not self.mean_square:
            for at, axis in enumerate(self.axes):
                own = axis.biases * ~axis.totals() / self.sizes.sum()
                bias = bias + self._at(TAU**2 * own[:, None], at)
            bias = bias + (self.single / np.maximum(self.values, self.average))[..., None] ** 2
        return np.asarray(bias[..., 0])

    @property
    def single(self) -> float:
        """The people that a form may miss by the largest weight alone, beyond what the gate sees."""
        free = CAP * max(1.0, float(self.weights.max()) / self.average)
        return 0.0 if self.mean_square else max(self.largest - free, 0.0) * self.average

    def parts(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """A document and arrays, for a file; `from_parts` puts them together again."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        axes = []
        for at, axis in enumerate(self.axes):
            axes.append([axis.name, axis.codes, axis.members, axis.everything, axis.constant])
            arrays |= {
                f"{name}_{at}": each
                for name in ("effects", "biases", "margin", "clusters", "spread")
                if (each := getattr(axis, name)) is not None
            }
        arrays |= {f"pair_{one}_{two}": each for (one, two), each in self.pairs.items()}
        scalars = {name: getattr(self, name) for name in _SCALARS}
        return {"axes": axes, **scalars}, arrays

    @property
    def names(self) -> list[str]:
        return [axis.name for axis in self.axes]

    def place(self, codes: Mapping[str, str]) -> Place:
        """The place of a cell by its code of each variable of the table."""
        return tuple(axis.codes.index(codes.get(axis.name, axis.codes[0])) for axis in self.axes)

    def is_partial(self, place: Place) -> bool:
        """Whether a cell is not the whole population."""
        return bool(self._partial[place])

    def hide(self, withheld: NDArray[np.bool_], changed: NDArray[np.bool_]) -> TableErrors:
        """The same without the cells that are not released, or released as another number."""
        shape = self.noise.shape
        withheld, changed = np.asarray(withheld.reshape(shape)), np.asarray(changed.reshape(shape))
        if not np.any(withheld) and not np.any(changed):
            return self
        axes = []
        for at, axis in enumerate(self.axes):
            hidden = np.all(withheld, axis=_others((at,), len(shape)))
            axes.append(replace(axis, margin=np.where(hidden[:, None], 0, axis.margin)))
        pairs = {
            pair: np.where(np.all(withheld, axis=_others(pair, len(shape)))[..., None], 0, counts)
            for pair, counts in self.pairs.items()
        }
        return replace(
            self,
            axes=tuple(axes),
            pairs=pairs,
            noisy=np.where(withheld[..., None], 0, self.noisy),
            noise=np.where(withheld | changed, np.nan, self.noise),
        )

    def cells(self) -> CellErrors:
        """The printed errors of all cells."""
        people = np.maximum(self.values, self.average)
        inside = np.where(self.values > 0, 1 - np.minimum(people / self.population, 1), 1)
        sampling = self._slope * people * inside + self._bias * np.maximum(self.values, 0) ** 2
        variance = sampling + self.noise
        standard = np.sqrt(variance)
        counts = self.noisy.sum(axis=-1)
        there = (self.values > 0) & self._has_errors & ~np.isnan(variance)
        relative = round_up_two_digits(WHOLE * np.where(there, standard / people, 0))
        there &= relative <= MOST_ERROR
        shares = np.rint(
            WHOLE * np.where(there, self.noise, 0) / np.where(there & (variance > 0), variance, 1)
        )
        shares = shares.astype(np.int64)
        effect = self._slope / self.average
        fewest = FEWEST_PEOPLE * (self.largest if self.mean_square else 1.0)
        few = (counts < fewest) | (counts < FEWEST_EFFECTIVE * effect)
        for at, axis in enumerate(self.axes):
            if axis.clusters is not None:
                few = few | (self._at((axis.clusters < FEWEST_CLUSTERS)[:, None], at)[..., 0])
        return CellErrors(
            standard,
            np.where(there, relative, NO_ERROR),
            np.where(there, shares, NO_ERROR),
            ~there | few | (relative > WHOLE * self.limit),
        )

    @property
    def _has_errors(self) -> bool:
        return self.freedom is None or self.freedom >= FEWEST_FREEDOM

    def quantile(self, level: float) -> float:
        """The quantile of Student's distribution, or of the normal one without clusters."""
        from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - slow to import, and few tables need it

        if not self._has_errors:
            return float("nan")
        return float(
            ndtri((1 + level) / 2) if self.freedom is None else stdtrit(self.freedom, (1 + level) / 2)
        )

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """The limits of every cell by itself; not a number where a cell is too uncertain."""
        # The whole population is no limit of a sample that is not calibrated, nor of itself where strata add up to it.
        known = (self.calibration == 0) & (self._partial | (self.sizes.size == 1))
        values, most = np.maximum(self.values, 0), self.population
        low, high = score_limits(values, self._slope, self._bias, self.noise, most, self.quantile(level))
        return np.where(known, np.minimum(low, most), low), np.where(known, np.minimum(high, most), high)


def _others(axes: Sequence[int], count: int) -> tuple[int, ...]:
    return tuple(at for at in range(count) if at not in axes)


_ARRAYS = ("noisy", "noise", "weights", "sizes")
_SCALARS = ("mean_square", "per_cluster", "freedom", "largest", "calibration", "limit", "strata_effect")


def from_parts(document: Mapping[str, Any], arrays: Mapping[str, Floats]) -> TableErrors:
    """The errors of a table from `TableErrors.parts`."""
    axes = tuple(
        Axis(
            name,
            tuple(codes),
            tuple(tuple(each) for each in members),
            everything,
            arrays[f"effects_{at}"],
            arrays[f"biases_{at}"],
            arrays[f"margin_{at}"],
            arrays.get(f"clusters_{at}"),
            constant,
            arrays.get(f"spread_{at}"),
        )
        for at, (name, codes, members, everything, constant) in enumerate(document["axes"])
    )
    pairs = {
        (int(name.split("_")[1]), int(name.split("_")[2])): each
        for name, each in arrays.items()
        if name.startswith("pair_")
    }
    plain: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
    return TableErrors(axes, pairs, **plain, **{name: document[name] for name in _SCALARS})


def round_up_two_digits(values: Floats) -> NDArray[np.int64]:
    """Whole numbers with two significant digits that are not below the values.

    >>> round_up_two_digits(np.array([3.2, 99.0, 100.1, 1234.0])).tolist()
    [4, 99, 110, 1300]
    """
    digit = 10 ** np.maximum(np.floor(np.log10(np.maximum(values, 1))) - 1, 0)
    # A value that has two digits except for the last bits of a float stays.
    return np.asarray(np.ceil(values / digit * (1 - 1e-12)) * digit).astype(np.int64)


def score_limits(
    value: Floats, slope: Floats, bias: Floats, noise: Floats, most: float, quantile: float
) -> tuple[Floats, Floats]:
    """All true totals within `quantile` standard errors of the value, at the variance that each of them would have.

    They may be above the population, `most`.

    Not a number where the bias alone is too large for a limit.

    >>> low, high = score_limits(*map(np.array, (0.0, 1.0, 0.0, 3.0)), 400.0, 1.96)
    >>> float(low), round(float(high), 2)
    (0.0, 5.78)
    """
    square = quantile**2
    a = 1 + square * slope / most - square * bias
    b = 2 * value + square * slope
    c = value**2 - square * noise
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0))
    twice = np.where(a > 0, 2 * a, np.nan)
    return np.maximum((b - root) / twice, 0), np.maximum((b + root) / twice, 0)
