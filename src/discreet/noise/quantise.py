"""Quantisation: from probabilities to integer numbers of keys, and a report on its effects.

"ceiling" (Sadeghi & Chien, eq. 39) rounds the cumulative distribution up: thresholds ⌈c(z)·modulus⌉. It shifts the mean by
about -D/modulus, breaks symmetry and may lose values. "exact" gives every value at least one key, keeps symmetric rows
symmetric, and keeps a mean of zero at exactly zero; masses are otherwise the nearest integers. All arithmetic is on
integers, so a modulus of 2^64 is as good as 2^8. The report has the paper's figures

    ε^Q = min { ε : p^Q(z) / p^Q(z-1) < e^ε, z in [-D+1, D] },   δ^Q = max { p^Q(-D), p^Q(D) }.      (45, 46)

They look at one direction of one row, for comparison with the paper; `discreet.privacy` has the exact audit.

Source: Sadeghi & Chien (2022), section V (eqs 38-46); the exact rounding is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter, signature
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from discreet.errors import BadNoiseTable, BadRequest
from discreet.model.messages.text import nearest
from discreet.noise.table import LARGEST_MODULUS, NoiseRow, NoiseTable

if TYPE_CHECKING:
    from discreet.noise.ideal_distribution import IdealRow, IdealTable


Rounding = Literal["exact", "ceiling"]

#: A design whose mean is within this of zero, per unit of its widest value, counts as unbiased.
_ZERO_MEAN = 1e-9


def quantise(ideal: IdealTable, modulus: int, rounding: str = "exact") -> NoiseTable:
    """The noise table of a design: integer thresholds over a key modulus.

    Args:
        ideal: The design.
        modulus: The number of keys, up to 2^64.
        rounding: "exact" (ours: no bias and no lost value, or an error) or "ceiling" (the paper's).

    Raises:
        BadNoiseTable: The modulus is too small, or no integer numbers of keys keep the mean at zero.

    >>> from discreet.noise.ideal_distribution import IdealTable, row_from_weights
    >>> ideal = IdealTable((row_from_weights((-1, 0, 1), (1, 1, 1)),))
    >>> quantise(ideal, 256).rows[0].masses(), quantise(ideal, 256, "ceiling").rows[0].masses()
    ((85, 86, 85), (86, 85, 85))
    """
    if rounding not in get_args(Rounding):
        raise BadRequest(f'Quantisation "{rounding}" is not known.', nearest(rounding, get_args(Rounding)))
    if not 1 <= modulus <= LARGEST_MODULUS:
        raise BadNoiseTable(f"The key modulus is {modulus}; it must lie between 1 and 2^64.")
    make = _exact_row if rounding == "exact" else _ceiling_row
    made: dict[int, NoiseRow] = {}  # a design by size repeats its rows: each is rounded once
    rows = tuple(
        made.setdefault(id(row), made.get(id(row)) or make(row, modulus, count))
        for count, row in enumerate(ideal.rows)
    )
    parameters = dict(ideal.parameters) | {"quantise": rounding}
    if ideal.notes:
        parameters["notes"] = list(ideal.notes)
    return NoiseTable(modulus, rows, ideal.repeats, ideal.family, parameters)


def table_maker(
    name: str, ideal: Callable[..., IdealTable], rounding: str = "exact"
) -> Callable[..., NoiseTable]:
    """A function from the parameters of a design to its noise table: keyword-only, with a modulus and a rounding.

    >>> from discreet.noise import laplace
    >>> laplace(epsilon=1.5, m=7, modulus=2**16).largest
    7
    """
    own = signature(ideal).parameters
    asked = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own.values() if each.name != "modulus"]
    default = rounding

    def make(*, modulus: int = 2**32, rounding: str = default, **parameters: Any) -> NoiseTable:
        cut = {"modulus": modulus} if "modulus" in own else {}
        return quantise(ideal(**parameters, **cut), modulus, rounding)

    *added, _ = signature(make).parameters.values()
    make.__signature__ = signature(make).replace(parameters=[*asked, *added])  # type: ignore[attr-defined]
    make.__name__ = make.__qualname__ = name
    make.__module__ = ideal.__module__
    make.__doc__ = f"The noise table of a design; the arguments are those of `{ideal.__name__}`."
    return make


def _ceiling_row(row: IdealRow, modulus: int, _count: int) -> NoiseRow:
    """Eq. 39, the last threshold forced to the modulus; values without a key are dropped."""
    weights = row.exact_weights()
    total = sum(weights)
    thresholds = [-(-running * modulus // total) for running in accumulate(weights)]
    kept = [j for j, (low, high) in enumerate(pairwise([0, *thresholds])) if high > low]
    return NoiseRow(tuple(row.values[j] for j in kept), tuple(thresholds[j] for j in kept))


def _exact_row(row: IdealRow, modulus: int, count: int) -> NoiseRow:
    if len(row.values) > modulus:
        raise BadNoiseTable(
            f"The row of count {count} has {len(row.values)} values and the modulus only {modulus} keys.",
            "Take a larger modulus, or the rounding 'ceiling', which drops values.",
        )
    weights = row.exact_weights()
    mirrored = row.values == tuple(-value for value in reversed(row.values))
    if mirrored and all(a == b for a, b in zip(weights, reversed(weights), strict=True)):
        masses = _symmetric_masses(row.values, weights, modulus, count)
    elif abs(row.mean()) <= _ZERO_MEAN * max(abs(v) for v in row.values):
        masses = _zero_mean_masses(row.values, weights, modulus, count)
    else:
        masses = _nearest_masses(weights, modulus)
    return NoiseRow(tuple(row.values), tuple(accumulate(masses)))


def _whole_keys(weights: Sequence[int], modulus: int) -> tuple[list[int], list[int]]:
    """Keys of each value rounded down, and the indices of the others in the order of their remainders.

    A value due less than one key gets one; the rest share the remaining keys in proportion.
    """
    rare: set[int] = set()
    while True:
        keys = modulus - len(rare)
        total = sum(weight for j, weight in enumerate(weights) if j not in rare)
        more = {j for j, weight in enumerate(weights) if j not in rare and weight * keys < total}
        if not more:
            break
        rare |= more
    masses = [1 if j in rare else weight * keys // total for j, weight in enumerate(weights)]
    common = (j for j in range(len(weights)) if j not in rare)
    return masses, sorted(common, key=lambda j: masses[j] * total - weights[j] * keys)


def _symmetric_masses(values: Sequence[int], weights: Sequence[int], modulus: int, count: int) -> list[int]:
    """Equal masses for v and -v: pairs take two keys at a time, zero the odd one."""
    masses, order = _whole_keys(weights, modulus)
    last = len(values) - 1
    pairs, odd = divmod(modulus - sum(masses), 2)
    for j in [j for j in order if 2 * j < last][:pairs]:
        masses[j] += 1
        masses[last - j] += 1
    if odd and last % 2:
        raise BadNoiseTable(
            f"The row of count {count} is symmetric without a zero: {modulus} keys cannot be halved.",
            "Take an even modulus.",
        )
    masses[last // 2] += odd
    return masses


def _nearest_masses(weights: Sequence[int], modulus: int) -> list[int]:
    """Largest remainders: integers that add up to the modulus, each at least one."""
    masses, order = _whole_keys(weights, modulus)
    for j in order[: modulus - sum(masses)]:
        masses[j] += 1
    return masses


def _zero_mean_masses(values: Sequence[int], weights: Sequence[int], modulus: int, count: int) -> list[int]:
    """The nearest integer masses whose mean is exactly zero.

    The weights are first tilted by a factor 1 - t·v, which makes their mean exactly zero (a float design is off by some
    1e-16, thousands of keys at 2^64). Rounding leaves a small integer defect Σ v·mass, removed by moving single keys
    between two values, the moves of least cost first.
    """
    weights = _centre(values, weights)
    masses = _nearest_masses(weights, modulus)
    defect = sum(v * mass for v, mass in zip(values, masses, strict=True))
    while defect:
        move = _best_move(values, weights, masses, defect)
        if move is None:
            raise BadNoiseTable(
                f"No whole numbers of {modulus} keys give the row of count {count} a mean of exactly zero.",
                "Take another modulus (larger, or a multiple of the distances between the values), "
                "or the rounding 'ceiling', which accepts a bias.",
            )
        giver, taker = move
        masses[giver] -= 1
        masses[taker] += 1
        defect += values[taker] - values[giver]
    return masses


def _centre(values: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Weights tilted to a mean of exactly zero: w·(Σwv² - v·Σwv)."""
    first = sum(w * v for v, w in zip(values, weights, strict=True))
    second = sum(w * v * v for v, w in zip(values, weights, strict=True))
    return [w * (second - v * first) for v, w in zip(values, weights, strict=True)]


def _best_move(
    values: Sequence[int], weights: Sequence[int], masses: Sequence[int], defect: int
) -> tuple[int, int] | None:
    """The giver and taker of one key that reduce the defect at the least chi-square cost per unit."""
    total, modulus = sum(weights), sum(masses)
    wish = [w * modulus / total for w in weights]
    lead = [(m * total - w * modulus) / total for m, w in zip(masses, weights, strict=True)]
    give = [(1 - 2 * d) / x for d, x in zip(lead, wish, strict=True)]
    take = [(1 + 2 * d) / x for d, x in zip(lead, wish, strict=True)]
    sign = 1 if defect > 0 else -1
    moves = [
        ((give[g] + take[t]) / shift, g, t)
        for g in range(len(values))
        for t in range(len(values))
        if masses[g] > 1 and 0 < (shift := sign * (values[g] - values[t])) <= abs(defect)
    ]
    return min(moves)[1:] if moves else None


#: A relative change of variance above this gets a note.
_NOTED_VARIANCE_ERROR = 0.01
#: If the design is biased, a change of the mean above this gets a note; otherwise any change does.
_NOTED_BIAS_CHANGE = 1e-3
_NO_BIAS = 1e-9


@dataclass(frozen=True, slots=True)
class RowReport:
    """The effect of quantisation on the row of one count: exact bias and variance, and the design's bias.

    `variance_error` is (V^Q - V) / V, 0 if the design has no variance; `lost` are values that no key selects;
    `paper_epsilon` is ε^Q of eq. 45, infinite if a value was lost; `paper_delta` is δ^Q of eq. 46.
    """

    count: int
    bias: Fraction
    ideal_bias: float
    variance: Fraction
    variance_error: float
    lost: tuple[int, ...]
    paper_epsilon: float
    paper_delta: Fraction

    def is_unbiased_design(self) -> bool:
        return abs(self.ideal_bias) < _NO_BIAS

    def bias_change(self) -> Fraction:
        return self.bias - (0 if self.is_unbiased_design() else Fraction(self.ideal_bias))


@dataclass(frozen=True, slots=True)
class QuantisationReport:
    """The effect of quantisation on a design, row by row."""

    rows: tuple[RowReport, ...]

    @property
    def last(self) -> RowReport:
        return self.rows[-1]

    @property
    def lost(self) -> tuple[tuple[int, int], ...]:
        """Every (count, value) of the design that no key selects."""
        return tuple((row.count, value) for row in self.rows for value in row.lost)

    def notes(self) -> tuple[str, ...]:
        """Notes for readers: lost values, bias, a variance changed by over 1 %."""
        worst = max(self.rows, key=lambda row: abs(row.bias_change()))
        moved = max(self.rows, key=lambda row: abs(row.variance_error))
        bias, allowed = worst.bias_change(), 0 if worst.is_unbiased_design() else _NOTED_BIAS_CHANGE
        notes = (
            (self.lost, f"lost {len(self.lost)} value(s), as (count, value): {list(self.lost)}."),
            (abs(bias) > allowed, f"adds a bias of {float(bias):.6g} in the row of count {worst.count}."),
            (
                abs(moved.variance_error) > _NOTED_VARIANCE_ERROR,
                f"changes the variance by {100 * moved.variance_error:+.2f} % in the row of "
                f"count {moved.count}: there are few keys for rare values.",
            ),
        )
        return tuple(f"Quantisation {effect}" for holds, effect in notes if holds)


def quantisation_report(ideal: IdealTable, table: NoiseTable) -> QuantisationReport:
    """Compare a design with its integers, row by row."""
    pairs = enumerate(zip(ideal.rows, table.rows, strict=True))
    return QuantisationReport(tuple(_row_report(count, *pair) for count, pair in pairs))


def _row_report(count: int, ideal: IdealRow, row: NoiseRow) -> RowReport:
    wanted = ideal.variance()
    epsilon, delta = paper_epsilon_delta(row, ideal.values)
    return RowReport(
        count=count,
        bias=row.mean(),
        ideal_bias=ideal.mean(),
        variance=row.variance(),
        variance_error=float(row.variance() - Fraction(wanted)) / wanted if wanted else 0.0,
        lost=tuple(v for v in ideal.values if v not in set(row.values)),
        paper_epsilon=epsilon,
        paper_delta=delta,
    )


def paper_epsilon_delta(row: NoiseRow, support: Sequence[int]) -> tuple[float, Fraction]:
    """(ε^Q, δ^Q) of eqs 45-46 for a row whose design had this support; not a guarantee."""
    mass = dict.fromkeys(support, 0) | dict(zip(row.values, row.masses(), strict=True))
    pairs = [(mass[z], mass.get(z - 1, 0)) for z in support[1:]]
    logs = [math.log(p / q) if p and q else math.copysign(math.inf, p - q) for p, q in pairs if p or q]
    return max(logs, default=0.0), Fraction(max(mass[support[0]], mass[support[-1]]), row.modulus)
