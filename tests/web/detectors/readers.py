"""Who asks, for the watch: ordinary readers as we imagine them, and the attackers of `attacks/`.

    .venv/bin/python tests/web/detectors/readers.py

The ordinary reader is a model, with the chances below: nobody's log was used. A day of one reader is one to four sittings.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(
    0, str(Path(__file__).parents[3])
)  # run as a program: the attackers of other tests are imported

from tests.attacks.test_withheld_areas import AGES, AREAS, JOBS, Server

from discreet.attacks import differencing as bob
from discreet.attacks import query_averaging as averaging
from discreet.attacks import version_differencing as versions
from discreet.attacks.knowledge import UNPROTECTED, Knowledge
from discreet.attacks.withheld_areas import attack as withheld_attack
from discreet.attacks.withheld_questions import FITTED, Target
from discreet.errors import DiscreetError, Refused
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical
from discreet.web.detectors.patterns import DETECTORS, LoggedRequest, Scores
from discreet.workspace.demo import DEMOS
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.bob_trial import BobTrial
from discreet_studies.attacks.targets import CELL, SCENE, TrueCounts, describe, town, works

READERS = 2_000
SEED = 20_262


@cache
def census():
    """The demo's census."""
    return parse_dataset(re.sub(r"boundaries = .*\n", "", DEMOS["census"].description()))


#: What a reader does next, and with which chance.
STEPS = {
    "another variable": 0.38,
    "one category": 0.2,
    "one area": 0.15,
    "several areas": 0.06,
    "leave one out": 0.05,
    "own groups": 0.05,
    "coarser level": 0.05,
    "too much": 0.06,
}


def ordinary_day(seed):
    """The requests of one reader on one day, each with whether it was refused."""
    rng, dataset = np.random.default_rng([SEED, seed]), census()
    for _ in range(rng.integers(1, 5)):
        table = _start(rng, dataset)
        yield table, False
        for _ in range(rng.geometric(1 / 18)):
            step = rng.choice(list(STEPS), p=list(STEPS.values()))
            for asked in _STEP[str(step)](rng, dataset, table):
                table = asked
                yield asked, step == "too much"
            if rng.random() < 0.1:
                table = _start(rng, dataset)


def _plain(dataset):
    return [v.name for v in dataset.variables if v.name not in dataset.geography]


def _start(rng, dataset):
    names = [str(name) for name in rng.choice([*_plain(dataset), "region"], 2, replace=False)]
    return TableRequest(dataset.id, tuple(names[:1]), tuple(names[1 : rng.integers(1, 3)]))


def _other_variable(rng, dataset, table):
    name = str(rng.choice([*_plain(dataset), "region", "district"]))
    if name not in table.used:
        yield replace(table, columns=(name,), groups=())


def _category(rng, dataset, table):
    name = str(rng.choice(_plain(dataset)))
    if name not in table.used:
        yield replace(table, filters=((name, (str(rng.choice(dataset.variable(name).codes)),)),))


def _area(rng, dataset, table):
    name = str(rng.choice(["region", "district", "district", "area"]))
    if name not in table.variables:
        yield replace(table, filters=((name, (str(rng.choice(dataset.variable(name).codes)),)),))


def _areas(rng, dataset, table):
    """Areas are added one by one, as a list of boxes is ticked."""
    if "district" in table.variables:
        return
    codes = [
        str(each)
        for each in rng.choice(dataset.variable("district").codes, rng.integers(2, 8), replace=False)
    ]
    for number in range(1, len(codes) + 1):
        yield replace(table, filters=(("district", tuple(codes[:number])),))


def _leave_out(rng, dataset, table):
    name = str(rng.choice(_plain(dataset)))
    codes = list(dataset.variable(name).codes)
    left = str(rng.choice(codes))
    if name not in table.used and len(codes) > 2:
        yield replace(table, filters=((name, tuple(code for code in codes if code != left)),))


def _own_groups(rng, dataset, table):
    """Two to four bands of age, drawn up to three times until they please."""
    if "age" not in table.variables:
        return
    codes = dataset.variable("age").codes
    for _ in range(rng.integers(1, 4)):
        cuts = sorted({int(cut) for cut in rng.integers(1, len(codes), rng.integers(1, 4))})
        bands = [codes[a:b] for a, b in zip([0, *cuts], [*cuts, len(codes)], strict=True)]
        yield replace(table, groups=(("age", tuple(map(tuple, bands))),), filters=())


def _coarser(_rng, _dataset, table):
    if "district" in table.variables:
        yield replace(table, levels=(("district", ("region",)),), filters=())


def _too_much(rng, dataset, table):
    names = [name for name in _plain(dataset) if name not in table.used][: rng.integers(1, 3)]
    yield TableRequest(dataset.id, ("area",), tuple(names))


_STEP = {
    "another variable": _other_variable,
    "one category": _category,
    "one area": _area,
    "several areas": _areas,
    "leave one out": _leave_out,
    "own groups": _own_groups,
    "coarser level": _coarser,
    "too much": _too_much,
}


def harvester():
    """A program that fetches every table of two variables, for every district one after the other."""
    dataset = census()
    for code in dataset.variable("district").codes:
        for place, one in enumerate(_plain(dataset)):
            for other in _plain(dataset)[place + 1 :]:
                yield TableRequest(dataset.id, (one,), (other,), filters=(("district", (code,)),)), False


@dataclass
class Recorder:
    """An interface that writes down what it is asked."""

    inner: object
    asked: list = field(default_factory=list)

    def ask(self, request):
        try:
            found = self.inner.ask(request)
        except Refused:
            self.asked.append((request, True))
            raise
        self.asked.append((request, False))
        return found


def averaging_questions(kind, number):
    """The questions of an attack by averaging, of so many ways."""
    population, _ = town(people=2_000, places=40, seed=3)
    dataset = parse_dataset(describe(population, UNPROTECTED, AveragingTrial().budget))
    asked = Recorder(TrueCounts(dataset, population))
    averaging.attack(asked, Knowledge(dataset, UNPROTECTED), CELL, kind, number)
    return dataset, asked.asked


def bob_questions(pairs):
    """The questions about one Bob."""
    population, bobs, _ = works(people=2_000, places=40, seed=11)
    dataset = parse_dataset(describe(population, UNPROTECTED, BobTrial().budget))
    asked = Recorder(TrueCounts(dataset, population))
    bob.attack(asked, Knowledge(dataset, UNPROTECTED), SCENE, bobs[:1], pairs)
    return dataset, asked.asked


def withheld_questions(ways):
    """The questions of the attack on withheld areas, asked in several ways."""
    rng = np.random.default_rng(5)
    counts = rng.poisson(rng.gamma(2.0, 10.0, (AREAS, AGES, JOBS)))
    server = Server(counts, [3], lists=False, deviation=6.0, seed=5)
    asked = Recorder(server)
    withheld_attack(asked, server.dataset, Target(("district", "area"), ("age", "job"), 36.0, ways, FITTED))
    return server.dataset, asked.asked


def version_questions():
    """The questions of the attack on two versions: each is asked of both."""
    dataset = census()
    names = versions.questions(_plain(dataset))
    return dataset, [(TableRequest(dataset.id, ("district",), each), False) for each in names]


def leave_one_area_out(number):
    """Everybody less one district, for one district after another."""
    dataset = census()
    codes = dataset.variable("district").codes
    everybody = TableRequest(dataset.id, ("sex",), ("employment",))
    rest = [tuple(code for code in codes if code != left) for left in codes[:number]]
    return dataset, [
        (everybody, False),
        *((replace(everybody, filters=(("district", each),)), False) for each in rest),
    ]


def feeling_for_the_edge(number):
    """Tables of small areas with more and more in them, of which most are refused."""
    dataset = census()
    codes = dataset.variable("area").codes
    table = TableRequest(dataset.id, ("age",), ("occupation",))
    return dataset, [
        (replace(table, filters=(("area", (code,)),)), place % 5 > 0)
        for place, code in enumerate(codes[:number])
    ]


def sliver_dataset():
    """Twelve wards, as districts and as zones that differ by a ward."""
    wards = [{"code": f"w{n}", "label": f"Ward {n}"} for n in range(12)]
    listed = ", ".join(f'{{ code = "{w["code"]}", label = "{w["label"]}" }}' for w in wards)

    def groups(cut):
        parts = {"a": wards[:cut], "b": wards[cut:]}
        told = (
            f'{{ code = "{name}", members = {[w["code"] for w in part]!r} }}'.replace("'", '"')
            for name, part in parts.items()
        )
        return ", ".join(told)

    return parse_dataset(f"""
id = "wards"
label = "Wards"
id_column = "i"
[[variable]]
name = "ward"
categories = [{listed}]
[[variable]]
name = "sex"
categories = ["f", "m"]
[[variable]]
name = "age"
categories = ["0", "1", "2"]
[[variable]]
name = "job"
categories = ["yes", "no"]
[[code_list]]
name = "district"
variable = "ward"
categories = [{groups(6)}]
[[code_list]]
name = "zone"
variable = "ward"
categories = [{groups(7)}]
""")


def sliver_questions():
    """Every table by district and by zone."""
    dataset = sliver_dataset()
    tables = [("sex",), ("age",), ("job",), ("sex", "age"), ("sex", "job"), ("age", "job")]
    return dataset, [
        (TableRequest(dataset.id, ("ward",), names, levels=(("ward", (level,)),)), False)
        for names in tables
        for level in ("district", "zone")
    ]


def highest(dataset, asked):
    """The highest score of each detector, for one who asks all this."""
    scores, found, seen = Scores(86_400.0), Counter(), set()
    for request, refused in asked:
        try:
            plain = canonical(request, dataset)
        except DiscreetError:
            continue
        if plain.identity in seen:
            continue
        seen.add(plain.identity)
        for score in scores.see("somebody", LoggedRequest(dataset, plain, refused), 0.0):
            found[score.detector] = max(found[score.detector], score.score)
    return found


def alerts(found):
    """The detectors that raise an alert at these scores."""
    return {each.name for each in DETECTORS if found[each.name] >= each.thresholds[0]}


ATTACKS = {
    "averaging, other words, 30 ways": lambda: averaging_questions(averaging.WORDS, 30),
    "averaging, regroupings, 30 ways": lambda: averaging_questions(averaging.PARTS, 30),
    "Bob, 12 pairs": lambda: bob_questions(12),
    "withheld areas, 1 way": lambda: withheld_questions(1),
    "withheld areas, 20 ways": lambda: withheld_questions(20),
    "two versions": version_questions,
    "leave one area out, 20 areas": lambda: leave_one_area_out(20),
    "feeling for the edge, 40 areas": lambda: feeling_for_the_edge(40),
    "slivers, 6 tables": sliver_questions,
}


def main():
    print("thresholds", {each.name: each.thresholds for each in DETECTORS})
    for name, questions in ATTACKS.items():
        dataset, asked = questions()
        found = highest(dataset, asked)
        print(
            f"{name}: {len(asked)} questions, scores {dict(found)}, alerts {sorted(alerts(found)) or 'none'}"
        )
    print("harvester:", dict(highest(census(), harvester())))
    days, worst, questions = Counter(), Counter(), 0
    for reader in range(READERS):
        asked = list(ordinary_day(reader))
        questions += len(asked)
        found = highest(census(), asked)
        days.update(alerts(found) or {"none"})
        for name, score in found.items():
            worst[name] = max(worst[name], score)
    print(
        f"{READERS} ordinary days, {questions} questions: alerts {dict(days)}, highest scores {dict(worst)}"
    )


if __name__ == "__main__":
    main()
