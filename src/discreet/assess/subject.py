"""The cases of an assessment: from the names of families and epsilons to noise tables.

An epsilon means the same for every family that has one: the exact loss of one count at the stated delta. `Case.how` says how
the noise table follows from it:

    a family with an epsilon   its `at_epsilon`, from epsilon and delta to a noise table
    a family without one       one case, as published, audited like the others
    current                    the dataset's own noise table
    FILE.json                  the noise table of a file, in any known format

Source: Sadeghi & Chien (2022), section III-D, for the guide; the families' own pages in docs/methods.

The assessed table: its true inner counts, laid out as layers x rows x columns. Confidential.

Totals and coarser levels are left out because they repeat the cells; structural zeros are in no measure. The row variables
together are one variable, and so are the column variables. A table without columns takes its last row variable, or else its
layers, as columns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.model.messages.text import nearest
from discreet.model.release import table_title
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import structural_zeros, table_shape
from discreet.noise import families as registry
from discreet.noise.family import Family
from discreet.noise.files import read_noise_table
from discreet.noise.table import NoiseTable, keep_zero
from discreet.records.tabulate import tabulate
from discreet.release.dataset_registry import DatasetService, unlock_service
from discreet.release.dry_run import try_request

CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Case:
    """One noise table to be assessed; `epsilon` is the requested one, `how` says how the parameters follow from it."""

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
    """Every case, family by family, and a sentence for each that is infeasible."""
    _check(families, epsilons, delta)
    found: list[Case] = []
    left_out: list[str] = []
    for family in dict.fromkeys(families):
        with_epsilon = (known := _family(family)) is not None and known.at_epsilon is not None
        for epsilon in sorted(set(epsilons)) if with_epsilon else [math.nan]:
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


#: Maximum size of an assessed table: every replicate has this size.
MOST_CELLS = 200_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subject:
    """The true counts of a table, as layers x rows x columns without totals. Like an exact table it cannot be printed.

    `possible` says which cells can occur, `clip` whether released counts below zero are shown as zero; `sides` are the
    labels of rows, columns and layers; `refusal` says why the rules would refuse the table, if they would.
    """

    counts: NDArray[np.int64]
    possible: NDArray[np.bool_]
    clip: bool = True
    title: str = "A table"
    sides: tuple[str, str, str] = ("rows", "columns", "")
    refusal: str | None = None

    def __post_init__(self) -> None:
        if self.counts.ndim != 3 or self.counts.shape != self.possible.shape:
            raise ValueError("counts and possible are laid out as layers x rows x columns")
        if not self.possible.any():
            raise BadRequest("No cell of this table can occur.", "Choose other categories.")
        if self.counts.size > MOST_CELLS:
            raise BadRequest(
                f"The table has {self.counts.size:,} cells without totals.",
                f"An assessment takes at most {MOST_CELLS:,}: use fewer variables or a coarser level.",
            )

    def __repr__(self) -> str:
        return f"<Subject of {' x '.join(map(str, self.counts.shape))} cells, confidential>"

    @property
    def flat(self) -> NDArray[np.int64]:
        """The counts of all possible cells, flattened."""
        return np.asarray(self.counts[self.possible])

    @property
    def two_way(self) -> bool:
        """Whether both rows and columns have more than one category."""
        return bool(min(self.counts.shape[1:]) > 1)


def subject_of(service: DatasetService, request: TableRequest) -> Subject:
    """Count the table of a request, as a release would.

    A table that the rules refuse is assessed as well, because whether to allow it may be the question.
    """
    if request.measure != "count":
        raise BadRequest(
            "Weighted tables are not assessed.",
            "Assess their sample counts, or their errors (survey_errors).",
        )
    stored = unlock_service(service)
    refusal = try_request(stored, request).refusal
    asked = canonical(replace(request, totals=False), stored.dataset)
    shape = table_shape(asked, stored.dataset)
    leaves = [dimension.leaves for dimension in shape.dimensions]
    sizes = dict(zip(asked.variables, map(len, leaves), strict=True))
    if np.prod([float(size) for size in sizes.values()]) > MOST_CELLS:
        raise BadRequest(
            f"The table has more than {MOST_CELLS:,} cells.", "Use fewer variables or a coarser level."
        )
    inner = np.ix_(*leaves)
    rows, columns, layers = sides_of(asked)
    order = [asked.variables.index(name) for name in (*layers, *rows, *columns)]
    lengths = [
        int(np.prod([sizes[name] for name in side], dtype=np.int64)) for side in (layers, rows, columns)
    ]
    labels = {dimension.name: dimension.label for dimension in shape.dimensions}
    counts = tabulate(stored.engine, shape).counts[inner]
    possible = ~structural_zeros(shape, stored.dataset)[inner]
    return Subject(
        counts=counts.transpose(order).reshape(lengths),
        possible=possible.transpose(order).reshape(lengths),
        clip=stored.dataset.protection.clips,
        title=table_title(stored.dataset, shape.dimensions, asked),
        sides=tuple(" x ".join(labels[name] for name in side) for side in (rows, columns, layers)),  # type: ignore[arg-type]
        refusal=None if refusal is None else refusal.message,
    )


def sides_of(request: TableRequest) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Rows, columns and layers, rearranged so that there are two sides where possible.

    >>> from discreet.model.request import TableRequest
    >>> sides_of(TableRequest("town", rows=("sex", "age"), layers=("region",)))
    (['sex'], ['age'], ['region'])
    """
    rows, columns, layers = list(request.rows), list(request.columns), list(request.layers)
    if not rows:
        rows, columns = columns, []
    if not rows:
        rows, layers = layers, []
    if not columns and len(rows) > 1:
        columns = [rows.pop()]
    if not columns:
        columns, layers = layers, []
    return rows, columns, layers
