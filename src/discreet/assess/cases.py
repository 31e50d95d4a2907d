"""The cases of an assessment: from the names of families and epsilons to noise tables.

An epsilon means the same for every family that has one: the exact loss of one count at the stated delta. `Case.how` says how
the noise table follows from it:

    a family with an epsilon   its `at_epsilon`, from epsilon and delta to a noise table
    a family without one       one case, as published, audited like the others
    current                    the dataset's own noise table
    FILE.json                  the noise table of a file, in any known format

Source: Sadeghi & Chien (2022), section III-D, for the guide; the families' own pages in docs/methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.model.messages.text import nearest
from discreet.noise import families as registry
from discreet.noise.family import Family
from discreet.noise.files import read_noise_table
from discreet.noise.table import NoiseTable, keep_zero

CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Case:
    """One noise table to be assessed.

    Args:
        family: Its family.
        epsilon: The requested epsilon; None for families without one.
        noise: The noise table.
        how: How its parameters follow from epsilon, in words.
    """

    family: str
    epsilon: float | None
    noise: NoiseTable
    how: str

    @property
    def label(self) -> str:
        """The family, with its epsilon if there is one."""
        return self.family if self.epsilon is None else f"{self.family} {self.epsilon:g}"

    @property
    def zeros(self) -> str:
        """Whether empty cells are kept or perturbed."""
        return "kept" if self.noise.keeps_zero else "perturbed"


def case_names() -> tuple[str, ...]:
    """The names that can be compared: every assessable family, and the dataset's own noise."""
    return (*(each.name for each in registry.families() if each.assessable), CURRENT)


def cases_of(
    families: Sequence[str],
    epsilons: Sequence[float],
    delta: float,
    *,
    current: NoiseTable | None = None,
    keep_zeros: bool = False,
) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Every case, family by family, and a sentence for each that is infeasible.

    Args:
        families: Names from `case_names`, or files of noise tables.
        epsilons: For families that have one.
        delta: The delta of these epsilons.
        current: The dataset's own noise table.
        keep_zeros: Do not perturb empty cells, as in the cell key method.

    Raises:
        BadRequest: An unknown family, an epsilon or delta outside its range, or no case.
    """
    _check(families, epsilons, delta)
    found: list[Case] = []
    left_out: list[str] = []
    for family in dict.fromkeys(families):
        for epsilon in _epsilons_for(family, epsilons):
            try:
                case = _case(family, epsilon, delta, current)
            except InfeasibleDesign as error:
                at = "" if math.isnan(epsilon) else f" at epsilon {epsilon:g}"
                left_out.append(f"{family}{at} is left out: {error}")
                continue
            kept = keep_zero(case.noise) if keep_zeros else case.noise
            found.append(Case(case.family, case.epsilon, kept, case.how))
    if not found:
        raise BadRequest("No case can be assessed.", " ".join(left_out))
    return tuple(found), tuple(left_out)


def _check(families: Sequence[str], epsilons: Sequence[float], delta: float) -> None:
    names = case_names()
    for family in families:
        if family not in names and not Path(family).is_file():
            raise BadRequest(
                f'There is no noise family "{family}", and no file of that name.', nearest(family, names)
            )
    if not families or not epsilons:
        raise BadRequest("There is nothing to compare.", "Give --families and --epsilon, comma-separated.")
    for epsilon in epsilons:
        if not 0 < epsilon <= 100:
            raise BadRequest(f"Epsilon is {epsilon}.", "Give numbers above 0, at most 100.")
    if not 0 < delta < 1:
        raise BadRequest(f"Delta is {delta}.", "Give a probability between 0 and 1, as in 1e-4.")


def _epsilons_for(name: str, epsilons: Iterable[float]) -> list[float]:
    family = _family(name)
    return sorted(set(epsilons)) if family is not None and family.at_epsilon is not None else [math.nan]


def _family(name: str) -> Family | None:
    """The family of a name; None for the dataset's own noise and for files."""
    return registry.family(name) if name in registry.names() else None


def _case(name: str, epsilon: float, delta: float, current: NoiseTable | None) -> Case:
    if name == CURRENT:
        if current is None:
            raise InfeasibleDesign("The dataset has no single noise table.", "Name families instead.")
        return Case(CURRENT, None, current, f"The dataset's own: {_design(current)}.")
    family = _family(name)
    if family is None:
        table = read_noise_table(Path(name))
        return Case(Path(name).stem, None, table, f"From the file {Path(name).name}: {_design(table)}.")
    if family.at_epsilon is None:
        table = registry.build(name, {})
        return Case(name, None, table, f"As published, no epsilon to choose: {_design(table)}.")
    return Case(name, epsilon, *family.at_epsilon(epsilon, delta))


def _design(table: NoiseTable) -> str:
    known = {n: v for n, v in table.parameters.items() if n not in {"notes", "quantise", "zeros"}}
    listed = ", ".join(f"{n} = {v}" for n, v in known.items() if v is not None and v is not False)
    return f"{table.family} ({listed})" if listed else table.family
