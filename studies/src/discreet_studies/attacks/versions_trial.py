"""Two versions, scored: the share of attributes of removed people that an attacker names rightly.

Every workplace loses the same number of people between two versions, one of whom is the target. The choices of the
custodian are tried in turn: the same keys, a new lineage, and `dp`; then more corrections collected in one version.

Source: docs/methods/attack-versions.md.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import CELLKEY, DP, UNPROTECTED, Interface
from discreet.attacks.version_differencing import Findings, TwoVersions, attack, questions
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import open_registry
from discreet.release.load_cautions import LoadJob, load_with_cautions
from discreet_studies.attacks.scoring import frame, grid_up_to, root_mean_square, share
from discreet_studies.attacks.targets import (
    SALARY,
    TRAITS,
    Budget,
    Population,
    Served,
    TrueCounts,
    as_table,
    describe,
    load_people,
    works,
)

KEEP_KEYS, NEW_LINEAGE = "keep-keys", "new-lineage"
#: What the custodian can do; the first is the baseline.
CHOICES = (UNPROTECTED, KEEP_KEYS, NEW_LINEAGE, DP)
ATTRIBUTES = {**TRAITS, "salary": SALARY}
SIZES = {name: len(codes) for name, codes in ATTRIBUTES.items()}
PLACE = "workplace"
KNOWS = (
    "the description of the dataset, and whether the keys were changed between the versions",
    "the tables of both versions by workplace: each of six attributes, and every two of them",
    "that people were removed from every workplace, and how many",
    "nothing else about those people",
)


@dataclass(frozen=True, slots=True)
class VersionsTrial:
    """What is to be tried.

    Args:
        people: How many workers there are before the correction.
        targets: How many workplaces, each with a target.
        collected: The numbers of people a workplace that one version corrects.
        epsilon: What each version of the `dp` target promises, for neighbours with one person more or less.
        seed: Of the people, the secrets and the coins.
    """

    people: int = 8_000
    targets: int = 200
    collected: tuple[int, ...] = (1, 2, 4, 8)
    epsilon: float = 1.0
    seed: int = 1

    @property
    def budget(self) -> Budget:
        """Every table that the attack can use and no other."""
        tables = tuple((PLACE, *names) for names in questions(list(ATTRIBUTES)))
        return Budget(tables, self.epsilon, "add-remove", versions=2)

    def run(self, progress: Callable[[str], None] = lambda _choice: None) -> dict[str, Any]:
        """Attack every choice, and then the same keys with more corrections at a time; the documented JSON."""
        results = []
        for choice in CHOICES:
            progress(choice)
            results.append({"protection": choice, **self._tried(choice, 1)})
        (alone,) = (each for each in results if each["protection"] == KEEP_KEYS)
        collected = []
        for removed in self.collected:
            progress(f"{KEEP_KEYS}, {removed} people a workplace")
            tried = alone if removed == 1 else self._tried(KEEP_KEYS, removed)
            collected.append({"removed": removed, **tried["curve"][-1]})
        about = {
            "attack": "versions",
            "source": "Rinott et al. (2018), section 2.2, for two versions",
            "people": self.people,
            "targets": self.targets,
            "attributes": list(ATTRIBUTES),
            "seed": self.seed,
            "prior": float(np.mean([1 / len(codes) for codes in ATTRIBUTES.values()])),
            "collected": collected,
        }
        return frame(about, KNOWS, results)

    def _tried(self, choice: str, removed: int) -> dict[str, Any]:
        population = works(self.people, self.targets, self.seed)[0]
        after, target = corrected(population, self.targets, removed, self.seed)
        truth = np.stack([population.records[name][target] for name in ATTRIBUTES], axis=1)
        with TemporaryDirectory(prefix="discreet-red-team-") as folder:
            versions, dataset = self._versions(choice, population, after, Path(folder))
            found = attack(versions, dataset, (PLACE, self.targets), SIZES, self.seed)
            error = _errors(versions, dataset, population, after)
        bound = {"bound": _bound(self.epsilon)} if choice == DP else {}
        return {"curve": _curve(found, truth), "error": error, **bound}

    def _versions(
        self, choice: str, before: Population, after: Population, folder: Path
    ) -> tuple[TwoVersions, str]:
        """Load the people, keep all answers of the version before, and load the corrected version."""
        protection = DP if choice == DP else UNPROTECTED if choice == UNPROTECTED else CELLKEY
        text = describe(before, protection, self.budget)
        if choice == UNPROTECTED:
            dataset = parse_dataset(text)
            return TwoVersions(TrueCounts(dataset, before), TrueCounts(dataset, after), True), dataset.id
        load_people(folder / "w", text, as_table(before), self.seed)
        kept = _kept(folder / "w", f"{before.name}-{protection}", list(ATTRIBUTES))
        second = text.replace("label =", 'version = "2"\nlabel =', 1)
        corrections = NEW_LINEAGE if choice == NEW_LINEAGE else KEEP_KEYS
        load_with_cautions(LoadJob(folder / "w", second, as_table(after), corrections=corrections))
        now = _kept(folder / "w", f"{before.name}-{protection}", list(ATTRIBUTES))
        return TwoVersions(kept, now, choice == KEEP_KEYS), f"{before.name}-{protection}"


@dataclass(frozen=True, slots=True)
class Kept:
    """Answers that an attacker wrote down: a version that is not served any more."""

    answers: dict[TableRequest, Any]

    def ask(self, request: TableRequest) -> Any:
        """What was answered."""
        return self.answers[request]


def _requests(dataset: str, attributes: list[str]) -> list[TableRequest]:
    return [
        TableRequest(dataset, (PLACE,), names[:1], names[1:], totals=False) for names in questions(attributes)
    ]


def _kept(workspace: Path, dataset: str, attributes: list[str]) -> Interface:
    with closing(open_registry(workspace, threads=1)) as registry:
        served = Served(registry.open(dataset))
        return Kept({request: served.ask(request) for request in _requests(dataset, attributes)})


def corrected(
    population: Population, places: int, removed: int, seed: int
) -> tuple[Population, NDArray[np.int64]]:
    """The people without so many of each workplace, and which of the removed ones is the target there."""
    order = np.random.default_rng([seed, 5]).permutation(population.people)
    place = population.records[PLACE][order]
    rank = np.empty(population.people, dtype=np.int64)
    by_place = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[by_place], np.arange(places))
    rank[by_place] = np.arange(population.people) - starts[place[by_place]]
    gone = order[rank < removed]
    first = order[rank == 0]
    target = first[np.argsort(population.records[PLACE][first])]
    stays = np.ones(population.people, dtype=np.bool_)
    stays[gone] = False
    return _only(population, stays), target


def _only(population: Population, stays: NDArray[np.bool_]) -> Population:
    persons = np.arange(population.people) if population.persons is None else population.persons
    records = {name: codes[stays] for name, codes in population.records.items()}
    return replace(population, records=records, persons=persons[stays])


def _curve(found: Findings, truth: NDArray[np.int64]) -> list[dict[str, Any]]:
    return [_point(found, truth, tables) for tables in grid_up_to(len(found.guesses))]


def _point(found: Findings, truth: NDArray[np.int64], tables: int) -> dict[str, Any]:
    right = found.guesses[tables - 1] == truth
    certain = found.certain[tables - 1]
    measured = share(int(right.sum()), right.size)
    return {
        "tables": tables,
        "success": measured.value,
        "low": measured.low,
        "high": measured.high,
        "all_right": float(right.all(axis=1).mean()),
        "certain": int(certain.sum()),
        "certain_true": int((certain & right).sum()),
    }


def _errors(versions: TwoVersions, dataset: str, before: Population, after: Population) -> dict[str, float]:
    """The typical error of a count of people who did not change: in one version, and averaged over both."""
    described = parse_dataset(describe(before, UNPROTECTED, Budget((), 1.0, "add-remove")))
    once, twice = [], []
    for request in _requests(dataset, list(ATTRIBUTES))[: len(ATTRIBUTES)]:
        asked = replace(request, dataset=described.id)
        true, later = (TrueCounts(described, people).ask(asked).values for people in (before, after))
        same = true == later
        one, two = (version.ask(request).values for version in (versions.before, versions.after))
        once.append((one - true)[same].astype(np.float64))
        twice.append(((one + two) / 2 - true)[same])
    return {
        "one_version": root_mean_square(np.concatenate(once)).value,
        "both_versions": root_mean_square(np.concatenate(twice)).value,
    }


def _bound(epsilon: float) -> float:
    """The most that anybody can be right, on average over attributes: 1 / (1 + (k - 1) e^(-2 epsilon))."""
    return float(np.mean([1 / (1 + (len(codes) - 1) * exp(-2 * epsilon)) for codes in ATTRIBUTES.values()]))
