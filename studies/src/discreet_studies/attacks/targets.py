"""Invented people for attacks: the records, what is public about them, and the truth for scoring.

    works   workplaces with one worker each who was hired today: Bob. His salary is a fair coin, independent of
            all else, so that nothing but his own participation can give it away
    town    areas with children, who are all single, and other people

Record i of variable v follows from the seed alone. Nothing here is drawn from real data.

Who is asked: the true counts themselves, or datasets under each protection behind their registry.

The baseline counts the invented people with NumPy and shares no code with the pipeline. The protected targets are
loaded into a workspace of their own and asked through their service, as anybody would.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.differencing import Bob, Scene
from discreet.attacks.knowledge import (
    CELLKEY,
    DESCRIBED,
    DP,
    UNPROTECTED,
    Answer,
    Interface,
    Knowledge,
    plan_of,
)
from discreet.attacks.query_averaging import Cell
from discreet.attacks.survey_weights import WEIGHTED
from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.release import Release
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import Dimension, table_shape
from discreet.noise.table import NoiseTable
from discreet.release.dataset_registry import DatasetService, open_registry
from discreet.workspace.versions.load_version import LoadJob, load

#: Fewer people a place than this make cells so small that the noise of small counts is all that is seen.
FEWEST_A_PLACE = 10
REGIONS = 10

TRAITS = {
    "sex": ("female", "male"),
    "age": ("15-24", "25-34", "35-44", "45-54", "55+"),
    "education": ("primary", "secondary", "vocational", "university"),
    "birthplace": ("here", "region", "country", "abroad"),
    "household": ("alone", "couple", "family"),
}
SERVICE = ("today", "this year", "longer")
SALARY = ("above", "below")
SCENE = Scene("workplace", "salary", ("service", "today"))

AGES = ("child", "adult", "old")
MARITAL = ("single", "married", "partnership", "separated", "divorced", "widowed", "other")
BORN = ("here", "north", "east", "south", "west", "islands", "abroad", "unknown")
CELL = Cell("area", ("age", "child"), ("marital", "single"), "birthplace")


@dataclass(frozen=True, eq=False)
class Population:
    """Invented people.

    Args:
        variables: For each variable its codes, in order.
        levels: The variables of the geography, coarse to fine.
        records: For each variable the position of each record's code.
        impossible: For each variable the codes that cannot occur together.
        persons: The ids of the records; their places by default.
        weights: How many people each record stands for, in a survey.
    """

    name: str
    variables: Mapping[str, tuple[str, ...]]
    levels: tuple[str, str]
    records: Mapping[str, NDArray[np.int64]]
    impossible: Mapping[str, tuple[str, ...]] | None = None
    persons: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def people(self) -> int:
        """How many there are."""
        return len(next(iter(self.records.values())))

    def codes(self, name: str) -> NDArray[np.str_]:
        """The code of every record."""
        return np.array(self.variables[name])[self.records[name]]


def works(people: int, places: int, seed: int) -> tuple[Population, list[Bob], NDArray[np.bool_]]:
    """Workers, one Bob a workplace, and the truth: whether his salary lies above the line.

    >>> population, bobs, above = works(200, 10, seed=1)
    >>> population.people, len(bobs), above.shape
    (200, 10, (10,))
    """
    rng = np.random.default_rng([seed, 1])
    records = _places("workplace", people, places)
    place = records["workplace"]
    for name, codes in TRAITS.items():
        records[name] = rng.integers(len(codes), size=people)
    records["salary"] = rng.integers(2, size=people)
    records["service"] = rng.integers(1, len(SERVICE), size=people)
    first = np.unique(place, return_index=True)[1]
    records["service"][first] = SERVICE.index("today")
    variables = {**_place_codes("workplace", places), **TRAITS, "salary": SALARY, "service": SERVICE}
    population = Population("works", variables, ("region", "workplace"), records)
    traits = {name: population.codes(name)[first] for name in TRAITS}
    names = population.codes("workplace")[first]
    bobs = [
        Bob(str(names[k]), tuple((name, str(codes[k])) for name, codes in traits.items()))
        for k in range(places)
    ]
    return population, bobs, records["salary"][first] == SALARY.index("above")


def town(people: int, places: int, seed: int) -> tuple[Population, NDArray[np.int64]]:
    """People of a town, and the truth: the number of children in each area."""
    rng = np.random.default_rng([seed, 2])
    records = _places("area", people, places)
    records["age"] = rng.integers(len(AGES), size=people)
    child = records["age"] == AGES.index("child")
    records["marital"] = np.where(child, 0, rng.integers(len(MARITAL), size=people))
    records["birthplace"] = rng.integers(len(BORN), size=people)
    variables = {**_place_codes("area", places), "age": AGES, "marital": MARITAL, "birthplace": BORN}
    population = Population(
        "town", variables, ("region", "area"), records, {"age": ("child",), "marital": MARITAL[1:]}
    )
    return population, np.bincount(records["area"][child], minlength=places)


def _places(name: str, people: int, places: int) -> dict[str, NDArray[np.int64]]:
    if places < REGIONS or people < places * FEWEST_A_PLACE:
        raise BadRequest(
            f"{people} people are to live in {places} places.",
            f"Take {REGIONS} places or more, and {FEWEST_A_PLACE} people or more for each.",
        )
    place = np.arange(people, dtype=np.int64) % places
    return {"region": place % REGIONS, name: place}


def _place_codes(name: str, places: int) -> dict[str, tuple[str, ...]]:
    return {
        "region": tuple(f"R{n}" for n in range(REGIONS)),
        name: tuple(f"{name[0].upper()}{n:04d}" for n in range(places)),
    }


#: The default protection of a loaded dataset, written out: what is attacked is what is shipped.
NOISE = {"family": "maxent", "D": 5, "V": 3, "js": 2}


@dataclass(frozen=True, slots=True)
class Budget:
    """What a differentially private target promises.

    Args:
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
    codes: tuple[NDArray[np.int64], ...], dimensions: Sequence[Dimension], weights: NDArray[np.float64] | None
) -> NDArray[Any]:
    lengths = tuple(len(dimension.base) for dimension in dimensions)
    counts = np.bincount(np.ravel_multi_index(codes, lengths), weights, minlength=prod(lengths))
    return counts.reshape(lengths)


@dataclass(frozen=True, slots=True)
class Served:
    """A loaded dataset behind its service: nothing but releases comes through."""

    service: DatasetService

    def ask(self, request: TableRequest) -> Answer:
        """The released table."""
        release = self.service.release(request)
        return Answer(
            tuple(dimension.codes for dimension in release.dimensions),
            release.values.astype(np.int64),
            release.missing,
            release.errors,
            release.noise_shares,
        )


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
            with closing(open_registry(Path(folder) / protection, threads=1)) as registry:
                service = registry.open(f"{population.name}-{protection}")
                yield _knowledge(service, population, protection), Served(service)


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
    load(LoadJob(workspace, text, records))


def _knowledge(service: DatasetService, population: Population, protection: str) -> Knowledge:
    """What is public of a loaded dataset: its description, and the noise that every release states."""
    dataset = service.dataset
    if protection == DP:
        return Knowledge(dataset, protection, plan=plan_of(dataset))
    release = service.release(TableRequest(dataset.id, (population.levels[0],)))
    return Knowledge(dataset, protection, noise_table(release))


def noise_table(release: Release) -> NoiseTable:
    """The noise table of a release under cell keys.

    Raises:
        BadRequest: The cells have different noise.
    """
    distributions = release.distribution.distributions
    if len(distributions) != 1 or not isinstance(distributions[0], NoiseTable):
        raise BadRequest("The cells of this table have no noise table in common.")
    return distributions[0]


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
