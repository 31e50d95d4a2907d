"""The outlying-weight attack, scored: in which of two or ten cells of equal size a person of unusual weight is.

Invented surveys have cells of 40 people in tens; in one cell of every ten is a person of r times the mean weight. Each
attack runs with the released numbers alone and with everything that the form releases of them, over the same tables:

    error, status, interval, share     the cell with the larger printed error, with `u`, the wider interval, the larger error
                                       of its share; the released number decides between equals
    tables                             all tables together, with what other surveys taught (`attacks/outlying_weights.py`)
    exact                              all others and all weights are known: the exact counts of two cells, from the
                                       noise's chances and what the errors of one table taught

Source: docs/methods/attack-weights.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.outlying_weights import CellReleases, Likelihood, beliefs, log_chances
from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.table_intervals import every_interval, interval_of
from discreet.model.release import UNRELIABLE, Release
from discreet.model.request import TableRequest
from discreet.noise.table import NoiseTable
from discreet.release.dataset_registry import DatasetService, open_registry
from discreet_studies.attacks.scoring import mean_with_error
from discreet_studies.attacks.targets import load_people, noise_table

#: An attack may gain so much over the released numbers alone.
ALLOWED = 0.02
#: The chance that a study calls a sound form open, all its attacks together, the gains of persons being normal.
FALSE_ALARM = 1e-2
GROUP = 10
#: The mean weight of the invented surveys.
MEAN = 200.0
REGIONS, PLACES, REPLICATES = 4, 60, 24
DESIGNS = {
    "no-design": "",
    "strata": 'strata = "region"\n',
    "clusters": 'strata = "region"\nclusters = "place"\n',
    "replicates": f'replicates = "r1..r{REPLICATES}"\nmethod = "jackknife"\n',
    "dp": "",
}
#: The forms with the designs that each is attacked under.
OUTLYING_FORMS = (
    *(f"average-weight+{design}" for design in DESIGNS),
    *(f"public-strata+{design}" for design in ("strata", "clusters")),
    *(f"largest-weight+{design}" for design in ("no-design", "clusters")),
)
TRAITS = {"cell": 0, "trait": 4, "half": 2, "region": REGIONS}
TABLES = ((), ("trait",), ("half",))
DP = """
method = "dp"
[protection.universe]
margins = "own"
tables = [["cell"], ["cell", "trait"], ["cell", "half"]]
[protection.budget]
calibrate = false
family = "invented"
epsilon = 3.0
cap_epsilon = 3.0
max_exact = 0.999999
"""


@dataclass(frozen=True, eq=False)
class OutlyingSurvey:
    """An invented survey with one person of unusual weight in every ten cells.

    Args:
        seed: Of the people and of the secret.
        ratio: r, the unusual weight over the mean weight.
        groups: How many tens of cells there are.
        size: The people of each cell.
    """

    seed: int
    ratio: float
    groups: int
    size: int = 40

    @property
    def cells(self) -> int:
        return self.groups * GROUP

    @property
    def people(self) -> int:
        return self.cells * self.size

    @cached_property
    def _random(self) -> dict[str, NDArray[np.int64]]:
        rng = np.random.default_rng([self.seed, 28])
        codes = {name: rng.integers(most, size=self.people) for name, most in TRAITS.items() if most}
        return codes | {
            "cell": np.arange(self.people) // self.size,
            "place": rng.integers(PLACES, size=self.people),
            "group": rng.integers(REPLICATES, size=self.people),
            "at": rng.integers(GROUP, size=self.groups),  # the cell of the unusual weight in its ten
            "other": rng.integers(1, GROUP, size=self.groups),  # the other cell of two
            "order": rng.permutation(self.people),
        }

    def codes(self, name: str) -> NDArray[np.int64]:
        """The category of each person in a variable."""
        return self._random[name]

    @property
    def at(self) -> NDArray[np.int64]:
        """The cell of each ten in which the person of unusual weight is."""
        return self._random["at"]

    @property
    def outlying(self) -> NDArray[np.int64]:
        """The persons of unusual weight, the first of their cells."""
        return (np.arange(self.groups) * GROUP + self.at) * self.size

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Two cells for each of them, the one with the person first."""
        start = np.arange(self.groups) * GROUP
        return np.stack([start + self.at, start + (self.at + self._random["other"]) % GROUP], axis=1)

    def weights(self, form: str) -> NDArray[np.int64]:
        """The weights under a form, in hundredths: about equal, by `public-strata` about equal in regions."""
        rng = np.random.default_rng([self.seed, 29])
        found = rng.gamma(25.0, 1 / 25.0, size=self.people)
        if form.startswith("public-strata"):
            found *= np.linspace(0.7, 1.3, REGIONS)[self.codes("region")]
        usual = np.ones(self.people, dtype=np.bool_)
        usual[self.outlying] = False
        found *= MEAN / found[usual].mean()
        ratio = self.ratio - 0.01  # `largest_weight` is at most five mean weights, rounding included
        found[self.outlying] = ratio * found[usual].sum() / (self.people - self.groups * ratio)
        return np.rint(100 * found).astype(np.int64)

    def records(self, form: str) -> pa.Table:
        """The records under a form."""
        order, weights = self._random["order"], self.weights(form) / 100
        columns: dict[str, Any] = {"person": np.arange(self.people)}
        for name in (*TRAITS, "place"):
            columns[name] = np.char.add(name[0], self.codes(name)[order].astype(np.str_))
        columns["weight"] = weights[order]
        if form.endswith("+replicates"):
            group = self._random["group"]
            for left_out in range(REPLICATES):
                kept = np.where(group == left_out, 0, weights * REPLICATES / (REPLICATES - 1))
                columns[f"r{left_out + 1}"] = kept.round(2)[order]
        return pa.table(columns)

    def description(self, form: str) -> str:
        """The `dataset.toml` under a form."""
        name, _, design = form.partition("+")
        weights, lines = self.weights(form), ['id = "survey"', 'label = "Invented people"']
        lines += ['id_column = "person"', 'unit = "persons"', 'source = "Invented for attacks"']
        lines += ['weight_column = "weight"', "weight_decimals = 2"]
        for variable, most in (TRAITS | {"cell": self.cells}).items():
            codes = ", ".join(f'"{variable[0]}{code}"' for code in range(most))
            lines += ["[[variable]]", f'name = "{variable}"', f"categories = [{codes}]"]
        largest, total = int(weights.max()), int(weights.sum())
        variance = weights.var() / weights.mean() ** 2
        lines += ["[survey]", f'form = "{name}"', f"sample_size = {self.people}"]
        lines += [f"population_size = {total / 100:.2f}", f"largest_weight = {largest / 100:.2f}"]
        lines += [f"relative_variance = {variance:.4f}"]
        if name == "public-strata":
            region = self.codes("region")
            public = np.bincount(region, weights) / np.bincount(region) / 100
            listed = ", ".join(f"r{code} = {weight:.4f}" for code, weight in enumerate(public.tolist()))
            lines += ['stratum = "region"', f"stratum_weights = {{ {listed} }}"]
        protection = DP if design == "dp" else ""
        return "\n".join(lines) + f"\n{DESIGNS[design]}[protection]\nnon_negative = false\n{protection}"


@contextmanager
def opened(survey: OutlyingSurvey, form: str) -> Iterator[DatasetService]:
    """The survey under a form, loaded; the workspace is gone afterwards."""
    with TemporaryDirectory(prefix="discreet-red-team-") as folder:
        load_people(Path(folder) / "survey", survey.description(form), survey.records(form), survey.seed)
        with closing(open_registry(Path(folder) / "survey", threads=1)) as registry:
            yield registry.open("survey")


@dataclass(frozen=True, eq=False)
class Seen:
    """What the attacker has of one survey.

    Args:
        tables: Of each table what it releases of the cells.
        share_widths: The width of the interval of the share of each cell of the pairs, relative to the share.
        by_number: What the released numbers alone say of the size of a cell's error: it is larger.
    """

    survey: OutlyingSurvey
    form: str
    tables: Sequence[CellReleases]
    share_widths: NDArray[np.float64]
    by_number: NDArray[np.float64]
    noise: NoiseTable | None

    def parts(self, table: int) -> NDArray[np.bool_]:
        """In which cells of a table the persons of unusual weight are."""
        survey, axes = self.survey, TABLES[table]
        there = np.zeros((survey.cells, *(TRAITS[name] for name in axes)), dtype=np.bool_)
        who = survey.outlying
        there[(who // survey.size, *(survey.codes(name)[who] for name in axes))] = True
        return there


def ask(survey: OutlyingSurvey, form: str) -> Seen:
    """All tables of a survey, in all measures."""
    steps = form.startswith("largest-weight")
    with opened(survey, form) as service:
        tables = []
        for axes in TABLES:
            request = TableRequest("survey", ("cell", *axes), totals=False)
            weighted = service.release(replace(request, measure="weighted"))
            counted = weighted if steps else service.release(request)
            tables.append(_releases(weighted, None if steps else counted))
            if not axes:
                noise = None if form.endswith("+dp") else noise_table(counted)
        whole = service.release(TableRequest("survey", ("cell",), measure="weighted"))
        counts = -(tables[0].values if tables[0].counts is None else tables[0].counts).astype(np.float64)
        if form.startswith("public-strata"):
            counts = _relative_variances(service)
        return Seen(survey, form, tables, _share_widths(whole, survey), counts, noise)


def _relative_variances(service: DatasetService) -> NDArray[np.float64]:
    """Sums over strata of w² n over the square of those of w n: what anybody makes of counts and public weights."""
    release = service.release(TableRequest("survey", ("cell", "region"), totals=False))
    assert service.dataset.survey is not None  # noqa: S101 - a survey is what is attacked here
    weights = np.array([float(weight) for _, weight in service.dataset.survey.stratum_weights])
    counts = np.maximum(np.asarray(release.values, dtype=np.float64), 0)
    return np.asarray(counts @ weights**2 / np.maximum(counts @ weights, 1) ** 2)


def _releases(weighted: Release, counted: Release | None) -> CellReleases:
    if weighted.errors is None or weighted.noise_shares is None:
        raise BadRequest("The weighted table has no errors.")
    low, high = every_interval(weighted)
    return CellReleases(
        None if counted is None else np.asarray(counted.values, dtype=np.int64),
        np.asarray(weighted.values, dtype=np.int64),
        weighted.errors,
        weighted.noise_shares,
        weighted.status == UNRELIABLE,
        np.where(high >= 0, high - low, -1),
    )


def _share_widths(whole: Release, survey: OutlyingSurvey) -> NDArray[np.float64]:
    """The width of the interval of each share in everybody, relative to it; 0 where there is none."""
    found = np.zeros(survey.cells)
    for cell in survey.pairs.ravel().tolist():
        try:
            each = interval_of(whole, [(f"c{cell}",)], of=[("_T",)])
        except BadRequest:
            continue
        found[cell] = (each.high - each.low) / each.estimate if each.estimate > 0 else 0.0
    return found


#: The attacks by one figure of a cell.
SINGLE = ("error", "status", "interval", "share")


def attack_survey(seen: Seen, lessons: Mapping[bool, Sequence[Likelihood]]) -> dict[str, NDArray[np.float64]]:
    """For each attack whether every person was found: with errors, and by the released numbers alone."""
    survey, first = seen.survey, seen.tables[0]
    # Errors fall with the number; with weights in the number it is larger where the unusual weight is.
    towards = -1.0 if first.counts is None else 1.0
    chance = np.random.default_rng([survey.seed, 30]).random(survey.cells)
    alone = _ranks(towards * seen.by_number, chance)
    figures = {
        "error": towards * first.errors,
        "status": towards * first.unreliable,
        "interval": towards * np.where(first.widths > 0, first.widths / np.maximum(first.values, 1), 0),
        "share": towards * seen.share_widths,
    }
    found: dict[str, NDArray[np.float64]] = {}
    tens = np.arange(survey.cells).reshape(-1, GROUP)
    for few, cells, right in (("two", survey.pairs, 0 * survey.at), ("ten", tens, survey.at)):
        found[f"{few} numbers"] = _hits(alone, cells, right)
        for name in SINGLE:
            if few == "two" or name != "share":
                found[f"{few} {name}"] = _hits(_ranks(figures[name], alone), cells, right)
        numbers = beliefs(lessons[False], [each.steps(errors=False) for each in seen.tables])
        errors = beliefs(lessons[True], [each.steps(errors=True) for each in seen.tables])
        found[f"{few} tables alone"] = _hits(_ranks(numbers.round(9), chance), cells, right)
        found[f"{few} tables"] = _hits(_ranks((numbers + errors).round(9), chance), cells, right)
    if seen.noise is not None:
        evidence = np.log(lessons[True][0].ratios(first.steps(errors=True)))
        chances = _known_others(seen)
        found["exact alone"] = _exact(chances, chance[survey.pairs])
        found["exact"] = _exact(chances + evidence[survey.pairs], chance[survey.pairs])
    return found


def _ranks(figure: NDArray[Any], between_equals: NDArray[np.float64]) -> NDArray[np.float64]:
    order = np.lexsort((between_equals, figure))
    ranks = np.empty(order.size)
    ranks[order] = np.arange(order.size)
    return ranks


def _hits(
    ranks: NDArray[np.float64], cells: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    return np.asarray(np.argmax(ranks[cells], axis=1) == right, dtype=np.float64)


def _known_others(seen: Seen) -> NDArray[np.float64]:
    """The logarithm of the chance of both released numbers, were the person in the first or the second of two cells."""
    survey, pairs = seen.survey, seen.survey.pairs
    first, noise = seen.tables[0], seen.noise
    assert noise is not None  # noqa: S101 - asked of cell keys only
    if first.counts is not None:
        shown, own = first.counts, np.ones(survey.groups, dtype=np.int64)
        sums, grid = np.full(survey.cells, survey.size), 1
    else:
        weights = survey.weights(seen.form)
        grid = int(weights.max())
        shown = np.rint(100 * first.values / grid).astype(np.int64)
        own, sums = weights[survey.outlying], weights.reshape(survey.cells, -1).sum(axis=1)
    others = sums[pairs]
    others[:, 0] -= own
    found = []
    for place in (0, 1):
        world = others.copy()
        world[:, place] += own
        true = (2 * world + grid) // (2 * grid)
        found.append(sum(log_chances(noise, shown[pairs[:, at]], true[:, at]) for at in (0, 1)))
    return np.stack(found, axis=1)


def _exact(belief: NDArray[np.float64], chance: NDArray[np.float64]) -> NDArray[np.float64]:
    ahead = np.round(belief[:, 0] - belief[:, 1], 9)
    return np.asarray(np.where(ahead == 0, chance[:, 0] > chance[:, 1], ahead > 0), dtype=np.float64)


#: Each attack, and what the released numbers alone give.
BASELINES = {
    **{f"two {name}": "two numbers" for name in SINGLE},
    **{
        f"ten {name}": "ten numbers" for name in SINGLE if name != "share"
    },  # shares of the two are asked only
    "two tables": "two tables alone",
    "ten tables": "ten tables alone",
    "exact": "exact alone",
}


def outlying_results(
    surveys: int,
    groups: int,
    ratios: Sequence[float],
    forms: Sequence[str],
    seed: int,
    progress: Callable[[str], None] = lambda _form: None,
) -> list[dict[str, Any]]:
    """For every form and ratio, each attack with and without errors."""
    results = []
    for form in forms:
        for ratio in ratios:
            progress(f"{form}, a weight of {ratio:g} means")
            seen = [ask(OutlyingSurvey(1000 * seed + each, ratio, groups), form) for each in range(surveys)]
            alarm = FALSE_ALARM / (len(forms) * len(ratios) * len(BASELINES))
            results.append({"protection": form, "ratio": ratio, "attacks": _scored(seen, alarm)})
    return results


def _scored(seen: Sequence[Seen], alarm: float) -> dict[str, dict[str, float]]:
    found = []
    for own in seen:
        lessons = {}
        for errors in (False, True):
            lessons[errors] = [Likelihood() for _ in TABLES]
            for other in seen:
                for at, likelihood in enumerate(lessons[errors] if other is not own else ()):
                    likelihood.learn(other.tables[at].steps(errors=errors), other.parts(at))
        found.append(attack_survey(own, lessons))
    scores = {}
    for name, baseline in BASELINES.items():
        if name in found[0]:  # not `exact` under `dp`
            hits, alone = (np.concatenate([each[which] for each in found]) for which in (name, baseline))
            gain = mean_with_error(hits - alone)
            scores[name] = {
                "targets": hits.size,
                "right": float(hits.mean()),
                "alone": float(alone.mean()),
                "gain": gain.value,
                "gain_low": gain.low,
                "gain_high": gain.high,
                "within_bar": mean_with_error(hits - alone, 1 - 2 * alarm).low <= ALLOWED,
            }
    return scores
