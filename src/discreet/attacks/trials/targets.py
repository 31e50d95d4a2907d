"""Who is asked: the true counts themselves, or datasets under each protection behind their doors.

The baseline counts the invented people with NumPy and shares no code with the pipeline. The protected targets are
loaded into a workspace of their own and asked through their door, as anybody would.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import closing
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.answer.doors import open_doors
from discreet.answer.load import load_dataset
from discreet.attacks.interface import Answer, answer_of
from discreet.attacks.knowledge import CELLKEY, DESCRIBED, DP, UNPROTECTED, Knowledge, noise_table, plan_of
from discreet.attacks.weights import WEIGHTED
from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.answer.door import Door
    from discreet.attacks.interface import Interface
    from discreet.attacks.trials.population import Population
    from discreet.model.dataset import Dataset
    from discreet.model.shape import Dimension

#: The default protection of a loaded dataset, written out: what is attacked is what is shipped.
NOISE = {"family": "maxent", "D": 5, "V": 3, "js": 2}


@dataclass(frozen=True, slots=True)
class Budget:
    """What a differentially private target promises.

    Args:
        tables: The declared tables.
        epsilon: The epsilon of all of them together.
        neighbours: `add-remove`, or `replace-one` with a public number of records.
        delta: The delta at which it is stated.
        versions: How many versions of the records the cap pays for.
    """

    tables: tuple[tuple[str, ...], ...]
    epsilon: float
    neighbours: str
    delta: float = 1e-9
    versions: int = 1


@dataclass(frozen=True, eq=False)
class TrueCounts:
    """The baseline: the true counts of invented people, weighted ones too, answered as a server would answer them."""

    dataset: Dataset
    population: Population

    def ask(self, request: TableRequest) -> Answer:
        """The exact table."""
        shape = table_shape(canonical(request, self.dataset), self.dataset)
        counted = np.ones(self.population.people, dtype=np.bool_)
        for hidden in shape.filters:
            counted &= np.isin(self.population.records[hidden.name], hidden.members)
        codes = tuple(self.population.records[d.name][counted] for d in shape.dimensions)
        weights = self.population.weights if request.measure == WEIGHTED else None
        counts = _crossed(codes, shape.dimensions, None if weights is None else weights[counted])
        for axis, dimension in enumerate(shape.dimensions):
            parts = [counts.take(members, axis).sum(axis) for members in dimension.members()]
            counts = np.stack(parts, axis)
        return Answer(
            tuple(d.codes for d in shape.dimensions), counts, np.zeros(counts.shape, dtype=np.bool_)
        )


def _crossed(
    codes: tuple[NDArray[np.int64], ...],
    dimensions: Sequence[Dimension],
    weights: NDArray[np.float64] | None,
) -> NDArray[Any]:
    lengths = tuple(len(dimension.base) for dimension in dimensions)
    counts = np.bincount(np.ravel_multi_index(codes, lengths), weights, minlength=prod(lengths))
    return counts.reshape(lengths)


@dataclass(frozen=True, slots=True)
class Served:
    """A loaded dataset behind its door: nothing but releases comes through."""

    door: Door

    def ask(self, request: TableRequest) -> Answer:
        """The released table."""
        return answer_of(self.door.release(request))


def targets(
    population: Population, protections: Sequence[str], budget: Budget, seed: int
) -> Iterator[tuple[Knowledge, Interface]]:
    """Each protection in turn: what is public of it, and whom to ask. The workspace is gone afterwards."""
    records = as_table(population)
    with TemporaryDirectory(prefix="discreet-red-team-") as folder:
        for protection in protections:
            text = describe(population, protection, budget)
            if protection == UNPROTECTED:
                dataset = parse_dataset(text)
                yield Knowledge(dataset, protection), TrueCounts(dataset, population)
                continue
            load_people(Path(folder) / protection, text, records, seed)
            with closing(open_doors(Path(folder) / protection, threads=1)) as doors:
                door = doors.door(f"{population.name}-{protection}")
                yield _knowledge(door, population, protection), Served(door)


def as_table(population: Population) -> pa.Table:
    """The records as they are loaded, with a stable id for everybody."""
    persons = np.arange(population.people) if population.persons is None else population.persons
    return pa.table({"person": persons, **{name: population.codes(name) for name in population.records}})


def load_people(workspace: Path, text: str, records: pa.Table, seed: int) -> None:
    """A workspace of its own, with a secret from the seed, so that a study can be repeated.

    Such a secret guards nobody: the people are invented, and the workspace is gone with the study.
    """
    workspace.mkdir(parents=True)
    handle = os.open(workspace / "secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(hashlib.sha256(f"discreet red team {seed}".encode()).digest())
    load_dataset(workspace, text, records)


def _knowledge(door: Door, population: Population, protection: str) -> Knowledge:
    """What is public of a loaded dataset: its description, and the noise that every release states."""
    dataset = door.dataset
    if protection == DP:
        return Knowledge(dataset, protection, plan=plan_of(dataset))
    release = door.release(TableRequest(dataset.id, (population.levels[0],)))
    return Knowledge(dataset, protection, noise_table(release))


def describe(population: Population, protection: str, budget: Budget) -> str:
    """The `dataset.toml` of a population under a protection."""
    coarse, fine = population.levels
    lines = [f'id = "{population.name}-{protection}"', 'label = "Invented people"', 'id_column = "person"']
    lines += ['unit = "persons"', 'source = "Invented for attacks"']
    for name, codes in population.variables.items():
        parents = population.variables[coarse] if name == fine else None
        lines += ["[[variable]]", f'name = "{name}"', f"categories = [{_categories(codes, parents)}]"]
    lines += ["[[hierarchy]]", 'name = "geography"', f'levels = ["{coarse}", "{fine}"]', "geography = true"]
    if population.impossible:
        where = ", ".join(f"{name} = {_quoted(codes)}" for name, codes in population.impossible.items())
        lines += ["[[structural_zero]]", 'label = "Cannot occur"', f"where = {{ {where} }}"]
    return "\n".join([*lines, *_protection(protection, budget)]) + "\n"


def _categories(codes: tuple[str, ...], parents: tuple[str, ...] | None) -> str:
    if parents is None:
        return ", ".join(f'"{code}"' for code in codes)
    return ", ".join(
        f'{{ code = "{code}", parent = "{parents[place % len(parents)]}" }}'
        for place, code in enumerate(codes)
    )


def _protection(protection: str, budget: Budget) -> list[str]:
    """Negative counts are not clipped: an attacker wants the numbers as they are."""
    lines = ["[protection]", "non_negative = false"]
    if protection == DP:
        tables = ", ".join(_quoted(table) for table in budget.tables)
        lines += ['method = "dp"', "[protection.noise]", 'family = "laplace"']
        lines += ["[protection.universe]", 'margins = "own"', f"tables = [{tables}]"]
        lines += [
            "[protection.budget]",
            "calibrate = false",
            'family = "invented"',
            f"epsilon = {budget.epsilon!r}",
        ]
        # An attack on weak noise must be able to succeed: nothing is refused for doing too little.
        lines += [f"cap_epsilon = {budget.versions * budget.epsilon!r}", "max_exact = 0.999999"]
        lines += [f"delta = {budget.delta!r}", f'neighbours = "{budget.neighbours}"']
        return [*lines, 'invariants = ["n"]'] if budget.neighbours == "replace-one" else lines
    if protection in {CELLKEY, DESCRIBED}:
        lines += [f'keys = "{"hashed" if protection == CELLKEY else DESCRIBED}"', "[protection.noise]"]
        lines += [
            f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
            for key, value in NOISE.items()
        ]
    return lines


def _quoted(words: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"
