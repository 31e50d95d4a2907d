"""The cases that are compared: from the names of families and epsilons to noise tables.

An epsilon means the same for every family that has one: the exact loss of one count, at the stated delta.
How each family gets there is said with every case:

    laplace, normal, abs   the smallest largest change whose delta at epsilon does not exceed the stated one
    gaussian               the least variance whose delta at epsilon does not exceed it
    maxent                 D of the ABS guide, then the least V that keeps (epsilon, delta) for counts above D
    hellinger, exponential pure epsilon on a bounded range; rows of their own up to `LARGEST_OWN_ROW`
    pram, dropadd          no epsilon: one case each, as published, audited like the others
    current                the dataset's own noise table; FILE.json (or any known format): that table

Comes from: `discreet assess --families --epsilon --delta`. Goes to: `assessment`.
Source: Sadeghi & Chien (2022), section III-D, for the guide; the families' own pages in docs/methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import BadRequest, InfeasibleDesign, nearest
from discreet.noise.design import abs_guide, least_variance
from discreet.noise.exponential import exponential
from discreet.noise.families import FAMILIES, build
from discreet.noise.files import read_noise_table
from discreet.noise.kept_zero import with_kept_zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from discreet.noise.table import NoiseTable

WITHOUT_EPSILON = ("pram", "dropadd")
CURRENT = "current"
KNOWN = (*FAMILIES, "exponential", CURRENT)
#: Larger counts use the last row of laws whose width depends on the count.
LARGEST_OWN_ROW = 50
#: Where the exponential mechanism's range ends beyond the largest row: e^-14 is about one in a million.
_REACH = 14.0


@dataclass(frozen=True, slots=True)
class Case:
    """One noise table to be assessed.

    Args:
        family: Its family, as asked for.
        epsilon: The epsilon asked for; None for families without one.
        noise: The integers.
        how: How epsilon became parameters, in words.
    """

    family: str
    epsilon: float | None
    noise: NoiseTable
    how: str

    @property
    def label(self) -> str:
        """The case in a word: its family, and its epsilon where there is one."""
        return self.family if self.epsilon is None else f"{self.family} {self.epsilon:g}"

    @property
    def zeros(self) -> str:
        """What happens to empty cells."""
        return "kept" if self.noise.keeps_zero else "perturbed"


def cases_of(
    families: Sequence[str],
    epsilons: Sequence[float],
    delta: float,
    *,
    current: NoiseTable | None = None,
    keep_zeros: bool = False,
) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Every case, family by family, and a sentence for each that does not exist.

    Args:
        families: Names from `KNOWN`, or files of noise tables.
        epsilons: For families that have one.
        delta: The delta at which epsilon is meant.
        current: The dataset's own noise table.
        keep_zeros: Leave empty cells alone in every family, as the cell key method does.

    Raises:
        BadRequest: An unknown family, an epsilon or delta outside its range, nothing to compare.
    """
    _check(families, epsilons, delta)
    found: list[Case] = []
    left_out: list[str] = []
    for family in dict.fromkeys(families):
        for epsilon in _epsilons_for(family, epsilons):
            try:
                case = _setting(family, epsilon, delta, current)
            except InfeasibleDesign as error:
                at = "" if math.isnan(epsilon) else f" at epsilon {epsilon:g}"
                left_out.append(f"{family}{at} is left out: {error}")
                continue
            kept = with_kept_zero(case.noise) if keep_zeros else case.noise
            found.append(Case(case.family, case.epsilon, kept, case.how))
    if not found:
        raise BadRequest("No case can be assessed.", " ".join(left_out))
    return tuple(found), tuple(left_out)


def _check(families: Sequence[str], epsilons: Sequence[float], delta: float) -> None:
    for family in families:
        if family not in KNOWN and not Path(family).is_file():
            raise BadRequest(
                f'There is no noise family "{family}", and no file of that name.', nearest(family, KNOWN)
            )
    if not families or not epsilons:
        raise BadRequest("There is nothing to compare.", "Give --families and --epsilon, comma-separated.")
    for epsilon in epsilons:
        if not 0 < epsilon <= 100:
            raise BadRequest(f"Epsilon is {epsilon}.", "Give numbers above 0, at most 100.")
    if not 0 < delta < 1:
        raise BadRequest(f"Delta is {delta}.", "Give a probability between 0 and 1, as in 1e-4.")


def _epsilons_for(family: str, epsilons: Iterable[float]) -> list[float]:
    with_epsilon = family in KNOWN and family not in (*WITHOUT_EPSILON, CURRENT)
    return sorted(set(epsilons)) if with_epsilon else [math.nan]


def _setting(family: str, epsilon: float, delta: float, current: NoiseTable | None) -> Case:
    if family == CURRENT:
        if current is None:
            raise InfeasibleDesign("The dataset has no single noise table.", "Name families instead.")
        return Case(CURRENT, None, current, f"The dataset's own: {_design(current)}.")
    if family in WITHOUT_EPSILON:
        table = build(family, {})
        return Case(family, None, table, f"As published, no epsilon to choose: {_design(table)}.")
    if family not in KNOWN:
        table = read_noise_table(Path(family))
        return Case(Path(family).stem, None, table, f"From the file {Path(family).name}: {_design(table)}.")
    table, how = _by_epsilon(family, epsilon, delta)
    return Case(family, epsilon, table, how)


def _by_epsilon(family: str, epsilon: float, delta: float) -> tuple[NoiseTable, str]:
    if family == "maxent":
        guide = abs_guide(epsilon, delta)
        best = least_variance(epsilon, delta, guide.D)
        table = build("maxent", {"D": best.D, "V": best.V})
        return table, f"D = {best.D} (ABS guide), V = {best.V:.4g}: the least that keeps delta above D."
    if family in {"hellinger", "exponential"}:
        table = _bounded(family, epsilon)
        last = len(table.rows) - 1
        return table, f"Pure epsilon on 0..{table.parameters['top']}, for counts up to {last}."
    table = build(family, {"epsilon": epsilon, "delta": delta})
    if family == "gaussian":
        return table, f"The least variance that keeps delta: {float(table.rows[-1].variance()):.4g}."
    return table, f"Largest change {table.largest}: the smallest that keeps delta."


def _bounded(family: str, epsilon: float) -> NoiseTable:
    if family == "hellinger":
        return build("hellinger", {"epsilon": epsilon, "largest": LARGEST_OWN_ROW})
    top = LARGEST_OWN_ROW + math.ceil(2 * _REACH / epsilon)
    return exponential(
        lambda a, b: abs(a - b), epsilon=epsilon, largest=LARGEST_OWN_ROW, top=top, quantise="ceiling"
    )


def _design(table: NoiseTable) -> str:
    """The family and the parameters of a noise table in a few words."""
    known = {n: v for n, v in table.parameters.items() if n not in {"notes", "quantise", "zeros"}}
    listed = ", ".join(f"{n} = {v}" for n, v in known.items() if v is not None and v is not False)
    return f"{table.family} ({listed})" if listed else table.family
