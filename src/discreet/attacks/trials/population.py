"""Invented people for attacks: the records, what is public about them, and the truth for scoring.

    works   workplaces with one worker each who was hired today: Bob. His salary is a fair coin, independent of
            all else, so that nothing but his own participation can give it away
    town    areas with children, who are all single, and other people

Record i of variable v follows from the seed alone. Nothing here is drawn from real data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.averaging import Cell
from discreet.attacks.bob import Bob, Scene
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

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
        name: What they are called.
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
    variables = {
        **_place_codes("workplace", places),
        **TRAITS,
        "salary": SALARY,
        "service": SERVICE,
    }
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
