"""Maximum entropy: the noise of the Australian Bureau of Statistics and of the cell key method.

Among all distributions with mean zero and a variance of at most V, take the one of largest entropy. On the whole support
[-D, D] it has the closed form p(z) ∝ exp(-γ z²), which every count can use. The small-count design has separate rows for
counts near zero: no count becomes negative, none becomes 1..js, and zero stays zero. The last row serves every larger count.

    support of count i:  j in max(i-D, 0) .. i+D without 1..js,  noise v = j - i;   V ≥ ⌊(js+1)²/4⌋.

`classes` give larger counts another D and V (`rows_by_size`); `made_up` and `dropped` perturb zeros (`perturb_zeros`).

Source: Fraser & Wooton (2005); Marley & Leaver (2011); ptable 1.0.0; Sadeghi & Chien (2022), section III-A.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.noise.design import least_variance, require_width, symmetric_moment
from discreet.noise.entropy_solver import RowProblem, feasible_variances, largest_p_stay, solve_row
from discreet.noise.families.abs import guide_support
from discreet.noise.family import Family, Parameter
from discreet.noise.ideal_distribution import IdealRow, IdealTable, point_row, row_from_logs, row_from_weights
from discreet.noise.quantise import quantise
from discreet.noise.table import NoiseTable

#: The small-count design has a row for every count up to D: its time grows with the cube of D (D = 100: seconds).
LARGEST_D = 200
#: Every count below the last size class has a separate row.
LARGEST_FROM = 10_000
#: The variance changes by at most this factor from one count to the next.
VARIANCE_STEP = 1.1
#: Relative frequency of js+1, js+2, js+3 in a perturbed zero: larger counts are rarer.
CHANCES = (4, 2, 1)
#: At most half of the empty cells, or of the ones and twos, may be perturbed.
LARGEST_CHANCE = 0.5
_RELAX_STEP, _RELAX_TIMES = 0.05, 20
_PLACES = 3


def maxent(*, modulus: int = 2**32, rounding: str = "exact", **wishes: Any) -> NoiseTable:
    """The maximum-entropy noise table.

    Args:
        modulus: The number of keys.
        rounding: How probabilities become keys; see `quantise`.
        **wishes: `D` and `V` with the other arguments of `ideal_maxent`; or `symmetric=True`; or `classes`;
            and `made_up` with `dropped`.

    >>> maxent(D=5, V=3, js=2).row(1).values
    (-1, 2, 3, 4, 5)
    """
    return quantise(FAMILY.design(wishes, modulus), modulus, rounding)


def ideal_symmetric(D: int, V: float) -> IdealTable:
    """The closed form p(z) ∝ exp(-γ z²) on [-D, D] with variance V, for every count.

    Raises:
        InfeasibleDesign: Unless 0 < V < D(D+1)/3 (Proposition 1: beyond, the mode is not at 0).

    >>> round(ideal_symmetric(11, 4).last.variance(), 12)
    4.0
    """
    gamma = symmetric_gamma(D, V)
    row = row_from_logs(range(-D, D + 1), [-gamma * z * z for z in range(-D, D + 1)])
    return IdealTable((row,), 1, "maxent", {"D": D, "V": V, "symmetric": True, "gamma": gamma})


def symmetric_gamma(D: int, V: float) -> float:
    """The γ of a variance: the root of eq. 9, which falls from D(D+1)/3 at γ = 0 towards 0.

    Newton's step on log V(γ) with a bracket; the derivative of V is -Var(z²).

    >>> round(symmetric_gamma(11, 10), 4)
    0.0498
    """
    require_width("D", D)
    highest = D * (D + 1) / 3
    if not 0 < V < highest:
        raise InfeasibleDesign(
            f"V = {V:g}, D = {D}: a law on [-D, D] that falls with |z| has 0 < V < D(D+1)/3 = {highest:g}.",
            f"Take a V below {highest:g}, or a larger D.",
        )
    low, high, gamma = 0.0, 1.0, min(0.5 / V, 50.0)
    while symmetric_moment(D, high) > V:
        high *= 2
    for _ in range(200):
        current = symmetric_moment(D, gamma)
        low, high = (gamma, high) if current > V else (low, gamma)
        fourth = symmetric_moment(D, gamma, 4) - current**2
        proposal = gamma + current * math.log(current / V) / fourth if fourth > 0 else math.inf
        proposal = proposal if low < proposal < high else (low + high) / 2
        if abs(proposal - gamma) <= 1e-16 * gamma or proposal in (low, high):
            return proposal
        gamma = proposal
    return gamma


def ideal_maxent(
    D: int,
    V: float,
    js: int = 0,
    *,
    pstay: float | Sequence[float] | None = None,
    monotone: bool | Sequence[bool] = True,
    equality: bool = False,
    relax_pstay: bool = False,
) -> IdealTable:
    """The general small-count design.

    Args:
        D: Largest change.
        V: Variance: a bound, or with `equality` the value of every row.
        js: No released count is 1..js.
        pstay: Lower bound of p(0), for every row or row by row from count 1.
        monotone: Whether p rises towards 0 from the left, for every row or row by row.
        equality: Ask for variance V in every row.
        relax_pstay: As ptable does, lower p_stay in steps of 0.05 in rows that miss V; each is noted.

    Raises:
        InfeasibleDesign: With the bound that a parameter breaks.

    >>> [len(row.values) for row in ideal_maxent(5, 3, js=2).rows]
    [1, 5, 6, 7, 8, 9, 9, 10, 11]
    """
    _check(D, V, js)
    last = D if js == 0 else D + js + 1
    stays = _per_row(0.0 if pstay is None else pstay, last, "pstay")
    if not all(0 <= stay <= 1 for stay in stays):
        raise InfeasibleDesign(f"pstay = {pstay}: it is a probability and lies between 0 and 1.")
    chains = _per_row(monotone, last, "monotone")
    rows: list[IdealRow] = [point_row()]
    notes: list[str] = []
    for i, (stay, chain) in enumerate(zip(stays, chains, strict=True), 1):
        support = tuple(j - i for j in range(max(i - D, 0), i + D + 1) if j == 0 or j > js)
        row, remarks = _solve(i, RowProblem(support, V, stay, bool(chain), equality), js, relax=relax_pstay)
        rows.append(row)
        notes += remarks
    parameters: dict[str, object] = {"D": D, "V": V, "js": js, "equality": equality}
    parameters |= {"pstay": pstay} if pstay is not None else {}
    parameters |= {"monotone": monotone} if monotone is not True else {}
    parameters |= {"relax_pstay": True} if relax_pstay else {}
    return IdealTable(tuple(rows), 1, "maxent", parameters, tuple(notes))


def smallest_variance(js: int) -> int:
    """⌊(js+1)²/4⌋, the largest over i ≤ js of i·(js+1-i): rows that must jump over 1..js need it."""
    return (js + 1) ** 2 // 4


def _check(D: int, V: float, js: int) -> None:
    if not 1 <= D <= LARGEST_D:
        raise InfeasibleDesign(
            f"D = {D}: the largest change must lie between 1 and {LARGEST_D}, because every count up to D has a "
            "row of its own.",
            "Use the symmetric form, which has one row for all counts, or another family.",
        )
    if not 0 <= js < D:
        raise InfeasibleDesign(f"js = {js} with D = {D}: counts can jump over 1..js only if 0 ≤ js < D.")
    if not V > 0 or not math.isfinite(V):
        raise InfeasibleDesign(f"V = {V}: the variance must be above 0.")
    if smallest_variance(js) > V:
        raise InfeasibleDesign(
            f"V = {V:g} with js = {js}: unbiased noise that never releases 1..{js} needs "
            f"V >= floor((js+1)^2/4) = {smallest_variance(js)}.",
            f"Take V = {smallest_variance(js)} or more, or a smaller js.",
        )


def _per_row(wish: bool | float | Sequence[bool] | Sequence[float], rows: int, name: str) -> list[float]:
    """One value for each row from count 1; a single value serves all."""
    if not isinstance(wish, Sequence):
        return [float(wish)] * rows
    if len(wish) != rows:
        raise InfeasibleDesign(
            f"{name} has {len(wish)} entries; give one value, or {rows}: one for each count."
        )
    return [float(value) for value in wish]


def _solve(i: int, problem: RowProblem, js: int, *, relax: bool) -> tuple[IdealRow, list[str]]:
    """The row of count i, and the notes on it."""
    if i <= js and i * (js + 1 - i) == problem.variance:  # V at its lower bound: all mass on 0 and js+1
        row = row_from_weights((-i, js + 1 - i), (js + 1 - i, i))
        return row, [f"Row of count {i}: V is the least possible, so only 0 and {js + 1} are released."]
    wished = problem.p_stay
    p = solve_row(problem)
    for _ in range(_RELAX_TIMES if relax and wished > 0 else 0):
        if p is not None and round(_variance(problem, p), _PLACES) == round(problem.variance, _PLACES):
            break
        problem = replace(problem, p_stay=max(problem.p_stay - _RELAX_STEP, 0.0))
        p = solve_row(problem)
    if p is None:
        raise _infeasible(i, problem)
    reached, bound = _variance(problem, p), problem.variance
    notes = (
        (problem.p_stay < wished, f"p_stay was relaxed from {wished:g} to {problem.p_stay:g}, as asked."),
        (
            wished > 0 and problem.zero is None,
            f"p_stay = {wished:g} has no meaning, the count itself is never released.",
        ),
        (
            bound - reached > 1e-9 * bound,
            f"the variance is {reached:.6f}, below its bound {bound:g}; the entropy is largest there.",
        ),
    )
    row = IdealRow(problem.values, tuple(p.tolist()))
    return row, [f"Row of count {i}: {note}" for holds, note in notes if holds]


def _variance(problem: RowProblem, p: NDArray[np.float64]) -> float:
    return math.fsum(v * v * q for v, q in zip(problem.values, p, strict=True))


def _infeasible(i: int, problem: RowProblem) -> InfeasibleDesign:
    """The error, with the range of V or p_stay that the row allows."""
    most = largest_p_stay(problem)
    if problem.p_stay > 0 and most is not None:
        return InfeasibleDesign(
            f"p_stay = {problem.p_stay:g} cannot hold in the row of count {i} with V = {problem.variance:g}: "
            f"at most {most:.6f} is possible.",
            "Lower p_stay, give it row by row, or pass relax_pstay to let it be lowered and noted.",
        )
    span = feasible_variances(replace(problem, p_stay=0.0))
    if span is None:
        return InfeasibleDesign(f"The row of count {i} has no unbiased law on the support {problem.values}.")
    return InfeasibleDesign(
        f"V = {problem.variance:g} cannot hold in the row of count {i}: its constraints allow variances "
        f"between {span[0]:.6f} and {span[1]:.6f}.",
        "Change V, drop `monotone` for that row, or use V as a bound instead of an equality.",
    )


class SizeClass(NamedTuple):
    """The noise from one count on."""

    first: int
    D: int
    V: float


def rows_by_size(
    small: tuple[IdealRow, ...], classes: Sequence[Mapping[str, Any]], js: int
) -> tuple[IdealRow, ...]:
    """The rows of all counts up to the last class, whose row serves every larger one.

    A later class is the symmetric distribution on [-D, D] of its variance, for every count from `from` on. A sudden step
    would disclose on which side of it a count is. So each step is spread over the counts below it: D grows by
    at most one per count and V by at most a tenth, and every distribution between is unbiased.

    Args:
        small: The rows of the first class, count 0 first; the last serves the counts up to the next step.
        classes: All classes; those after the first have `from`, `D` and `V`.
        js: Released counts are never 1..js.

    Raises:
        InfeasibleDesign: A class has other keys, they do not ascend, or a step begins too early.
    """
    rows = list(small)
    now = SizeClass(0, max(small[-1].values), small[-1].variance())
    for each in classes[1:]:
        if set(each) != {"from", "D", "V"}:
            raise InfeasibleDesign(
                f"A class of noise has {', '.join(sorted(each))}.",
                "After the first, a class has `from`, `D` and `V`.",
            )
        then = SizeClass(each["from"], each["D"], each["V"])
        if not now.first < then.first <= LARGEST_FROM:
            raise InfeasibleDesign(
                f"A class of noise begins at {then.first}.",
                f"Classes ascend, and the last begins at {LARGEST_FROM:,} or below: every count below it has a row.",
            )
        ratio = then.V / now.V
        moves = max(abs(then.D - now.D), math.ceil(abs(math.log(ratio)) / math.log(VARIANCE_STEP)))
        parts = [place / moves for place in range(1, moves)]
        first = then.first - len(parts)
        least = max(len(rows), max(then.D, now.D) + js + 1)
        if first < least:
            raise InfeasibleDesign(
                f"The class from {then.first} has its step at the counts {first} to {then.first}; it must begin at "
                f"{least} or above.",
                f"Let the class begin at {then.first + least - first} or above, or change D and V by less.",
            )
        steps = [(round(now.D + (then.D - now.D) * part), now.V * ratio**part) for part in parts]
        rows += [rows[-1]] * (first - len(rows))
        rows += [ideal_symmetric(D, V).last for D, V in (*steps, (then.D, then.V))]
        now = then
    return tuple(rows)


def perturb_zeros(design: IdealTable, made_up: float, dropped: float, js: int, D: int) -> IdealTable:
    """A design that shows some empty cells with people and some people as empty cells.

        row 0        shows js+1, js+2, js+3 (up to D) with the chances 4 : 2 : 1, together `made_up`
        rows 1, 2    with the chance `dropped` the count becomes zero; else its usual noise

    If zeros are kept, a count discloses that someone is there; here it does not. The price is a bias:

        E(shown - true) = made_up·m of an empty cell, m the mean of what it shows;   -dropped·i of a count i = 1, 2.

    A table with e empty cells, n1 ones and n2 twos is unbiased as a whole if e·made_up·m = dropped·(n1 + 2 n2). The
    design notes that ratio.

    Raises:
        InfeasibleDesign: A chance lies outside its range, or no small count can be shown.

    Source: the perturbed zeros of ONS (2021 census of England and Wales), as its methodology describes them; the
    distribution is ours.
    """
    for name, chance in (("made_up", made_up), ("dropped", dropped)):
        if not 0 < chance <= LARGEST_CHANCE:
            raise InfeasibleDesign(
                f"{name} = {chance}: it is a chance above 0 and at most {LARGEST_CHANCE}.",
                "An empty cell is made up with `made_up`, a one or two becomes zero with `dropped`: give both.",
            )
    shown = [js + place for place in (1, 2, 3) if js + place <= D]
    weights = CHANCES[: len(shown)]
    share = Fraction(made_up)
    stay = (share.denominator - share.numerator) * sum(weights)
    zero = row_from_weights((0, *shown), (stay, *(share.numerator * weight for weight in weights)))
    small = (_drop_to_zero(row, count, Fraction(dropped)) for count, row in enumerate(design.rows[1:3], 1))
    mean = share * sum(v * w for v, w in zip(shown, weights, strict=True)) / sum(weights)
    balance = float(Fraction(dropped) / mean)
    note = (
        f"An empty cell shows {shown[0]} to {shown[-1]} with probability {made_up:g}: {float(mean):.6g} people on average. "
        f"Ones and twos become zero with probability {dropped:g} beside their own noise. The two cancel in a table with "
        f"{balance:.4g} empty cells for each person who is alone in a cell or one of two."
    )
    return replace(design, rows=(zero, *small, *design.rows[3:]), notes=(*design.notes, note))


def _drop_to_zero(row: IdealRow, count: int, chance: Fraction) -> IdealRow:
    weights = row.exact_weights()
    if row.values[0] != -count:
        raise InfeasibleDesign(f"The row of count {count} never shows zero.", "Take a larger D or V.")
    kept = [weight * (chance.denominator - chance.numerator) for weight in weights]
    kept[0] += chance.numerator * sum(weights)
    return row_from_weights(row.values, kept)


def _design(*, symmetric: bool = False, **wishes: Any) -> IdealTable:
    if symmetric:
        rest = sorted(set(wishes) - {"D", "V"})
        if rest:
            raise BadRequest(f"The symmetric form of maxent takes D and V only, not {', '.join(rest)}.")
        return ideal_symmetric(wishes["D"], wishes["V"])
    made_up, dropped = wishes.pop("made_up", None), wishes.pop("dropped", None)
    design = _by_size(**wishes) if "classes" in wishes else ideal_maxent(**wishes)
    if made_up is None and dropped is None:
        return design
    first = design.parameters.get("classes", (design.parameters,))[0]
    changed = perturb_zeros(design, made_up or 0.0, dropped or 0.0, first.get("js", 0), first["D"])
    return replace(changed, parameters={**design.parameters, "made_up": made_up, "dropped": dropped})


def _by_size(*, classes: Sequence[Mapping[str, Any]], **rest: Any) -> IdealTable:
    if not classes or classes[0].get("from", 0) != 0 or {"D", "V", "js"} & set(rest):
        raise InfeasibleDesign(
            "The first class of noise is that of the smallest counts.",
            "Write `classes = [{ from = 0, D = 5, V = 3, js = 2 }, { from = 1000, D = 15, V = 9 }]`, and D, V, js nowhere "
            "else.",
        )
    own = {word: value for word, value in classes[0].items() if word != "from"}
    if not {"D", "V"} <= set(own) <= {"D", "V", "js"}:
        raise InfeasibleDesign("The first class of noise has `from`, `D`, `V` and, if wished, `js`.")
    small = ideal_maxent(**own, **rest)
    rows = rows_by_size(small.rows, classes, own.get("js", 0))
    parameters = {"classes": tuple(dict(each) for each in classes), **rest}
    return IdealTable(rows, 1, "maxent", parameters, small.notes)


def _at_epsilon(epsilon: float, delta: float) -> tuple[NoiseTable, str]:
    best = least_variance(epsilon, delta, guide_support(epsilon, delta))
    how = f"D = {best.D} (ABS guide), V = {best.V:.4g}: the least that keeps delta above D."
    return maxent(D=best.D, V=best.V), how


FAMILY = Family(
    "maxent",
    "Maximum entropy given D and V: the small-count design, or its symmetric one-row form.",
    (
        Parameter("D", "largest change of a count", int, required=True, unless="classes"),
        Parameter("V", "variance of the noise, as a bound", float, required=True, unless="classes"),
        Parameter("js", "released counts are never 1..js", int),
        Parameter("pstay", "lower bound of the probability of no change"),
        Parameter("monotone", "probabilities rise towards no change from the left", bool),
        Parameter("equality", "every row has variance V exactly", bool),
        Parameter("relax_pstay", "lower pstay where V is missed, as ptable does, and say so", bool),
        Parameter("symmetric", "one symmetric row for every count, zero included", bool),
        Parameter("classes", "another D and V from a count on", dict),
        Parameter("made_up", "chance that an empty cell shows a small count", float),
        Parameter("dropped", "chance that a one or two becomes zero, beside its noise", float),
    ),
    _design,
    page="methods/maxent.md",
    make=maxent,
    place=40,
    at_epsilon=_at_epsilon,
    colour="#009E73",
)
