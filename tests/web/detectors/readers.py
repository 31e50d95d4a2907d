"""Who asks, for the watch: ordinary readers as we imagine them, and the attackers of `attacks/`.

    .venv/bin/python tests/web/detectors/readers.py

The ordinary reader is a model, with the chances below: nobody's log was used. A day of one reader is one to four sittings.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
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
from discreet.attacks.withheld_areas import FITTED, Target
from discreet.attacks.withheld_areas import attack as withheld_attack
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


def _plain(dataset):
    return [v.name for v in dataset.variables if v.name not in dataset.geography]


def _start(rng, dataset):
    names = [str(name) for name in rng.choice([*_plain(dataset), "region"], 2, replace=False)]
    return TableRequest(dataset.id, tuple(names[:1]), tuple(names[1 : rng.integers(1, 3)]))


def _filtered(table, name, codes):
    return replace(table, filters=((name, tuple(codes)),))


def _other_variable(rng, dataset, table):
    name = str(rng.choice([*_plain(dataset), "region", "district"]))
    if name not in table.used:
        yield replace(table, columns=(name,), groups=())


def _category(rng, dataset, table):
    name = str(rng.choice(_plain(dataset)))
    if name not in table.used:
        yield _filtered(table, name, [str(rng.choice(dataset.variable(name).codes))])


def _area(rng, dataset, table):
    name = str(rng.choice(["region", "district", "district", "area"]))
    if name not in table.variables:
        yield _filtered(table, name, [str(rng.choice(dataset.variable(name).codes))])


def _areas(rng, dataset, table):
    """Areas are added one by one, as a list of boxes is ticked."""
    if "district" not in table.variables:
        codes = rng.choice(dataset.variable("district").codes, rng.integers(2, 8), replace=False)
        for number in range(1, len(codes) + 1):
            yield _filtered(table, "district", map(str, codes[:number]))


def _leave_out(rng, dataset, table):
    name = str(rng.choice(_plain(dataset)))
    codes = list(dataset.variable(name).codes)
    left = str(rng.choice(codes))
    if name not in table.used and len(codes) > 2:
        yield _filtered(table, name, [code for code in codes if code != left])


def _own_groups(rng, dataset, table):
    """Two to four bands of age, drawn up to three times until they please."""
    if "age" in table.variables:
        codes = dataset.variable("age").codes
        for _ in range(rng.integers(1, 4)):
            cuts = sorted({int(cut) for cut in rng.integers(1, len(codes), rng.integers(1, 4))})
            bands = tuple(codes[a:b] for a, b in zip([0, *cuts], [*cuts, len(codes)], strict=True))
            yield replace(table, groups=(("age", bands),), filters=())


def _coarser(_rng, _dataset, table):
    if "district" in table.variables:
        yield replace(table, levels=(("district", ("region",)),), filters=())


def _too_much(rng, dataset, table):
    names = [name for name in _plain(dataset) if name not in table.used][: rng.integers(1, 3)]
    yield TableRequest(dataset.id, ("area",), tuple(names))


#: What a reader does next, and with which chance.
STEPS = {
    _other_variable: 0.38,
    _category: 0.2,
    _area: 0.15,
    _areas: 0.06,
    _leave_out: 0.05,
    _own_groups: 0.05,
    _coarser: 0.05,
    _too_much: 0.06,
}


def ordinary_day(seed):
    """The requests of one reader on one day, each with whether it was refused."""
    rng, dataset, steps = np.random.default_rng([SEED, seed]), census(), list(STEPS)
    for _ in range(rng.integers(1, 5)):
        table = _start(rng, dataset)
        yield table, False
        for _ in range(rng.geometric(1 / 18)):
            step = steps[rng.choice(len(steps), p=list(STEPS.values()))]
            for asked in step(rng, dataset, table):
                table = asked
                yield asked, step is _too_much
            if rng.random() < 0.1:
                table = _start(rng, dataset)


def harvester():
    """A program that fetches every table of two variables, for every district one after the other."""
    dataset = census()
    for code in dataset.variable("district").codes:
        for place, one in enumerate(_plain(dataset)):
            for other in _plain(dataset)[place + 1 :]:
                yield TableRequest(dataset.id, (one,), (other,), filters=(("district", (code,)),)), False


class Recorder:
    """An interface that writes down what it is asked."""

    def __init__(self, inner):
        self.inner, self.asked = inner, []

    def ask(self, request):
        try:
            found = self.inner.ask(request)
        except Refused:
            self.asked.append((request, True))
            raise
        self.asked.append((request, False))
        return found


def _recorded(population, budget):
    dataset = parse_dataset(describe(population, UNPROTECTED, budget))
    return dataset, Recorder(TrueCounts(dataset, population)), Knowledge(dataset, UNPROTECTED)


def averaging_questions(kind, number):
    """The questions of an attack by averaging, of so many ways."""
    population, _ = town(people=2_000, places=40, seed=3)
    dataset, asked, known = _recorded(population, AveragingTrial().budget)
    averaging.attack(asked, known, CELL, kind, number)
    return dataset, asked.asked


def bob_questions(pairs):
    """The questions about one Bob."""
    population, bobs, _ = works(people=2_000, places=40, seed=11)
    dataset, asked, known = _recorded(population, BobTrial().budget)
    bob.attack(asked, known, SCENE, bobs[:1], pairs)
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
    rest = [
        _filtered(everybody, "district", (code for code in codes if code != left)) for left in codes[:number]
    ]
    return dataset, [(each, False) for each in (everybody, *rest)]


def feeling_for_the_edge(number):
    """Tables of small areas with more and more in them, of which most are refused."""
    dataset = census()
    table = TableRequest(dataset.id, ("age",), ("occupation",))
    codes = dataset.variable("area").codes[:number]
    return dataset, [(_filtered(table, "area", [code]), place % 5 > 0) for place, code in enumerate(codes)]


def sliver_dataset():
    """Twelve wards, as districts and as zones that differ by a ward."""
    wards = [f"w{n}" for n in range(12)]

    def level(name, cut):
        groups = ", ".join(
            f'{{ code = "{code}", members = {json.dumps(part)} }}'
            for code, part in (("a", wards[:cut]), ("b", wards[cut:]))
        )
        return f'[[code_list]]\nname = "{name}"\nvariable = "ward"\ncategories = [{groups}]\n'

    variables = {"ward": wards, "sex": ["f", "m"], "age": ["0", "1", "2"], "job": ["yes", "no"]}
    listed = (
        f'[[variable]]\nname = "{name}"\ncategories = {json.dumps(codes)}\n'
        for name, codes in variables.items()
    )
    levels = level("district", 6) + level("zone", 7)
    return parse_dataset('id = "wards"\nlabel = "Wards"\nid_column = "i"\n' + "".join(listed) + levels)


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
        raised = sorted(alerts(found)) or "none"
        print(f"{name}: {len(asked)} questions, scores {dict(found)}, alerts {raised}")
    print("harvester:", dict(highest(census(), harvester())))
    days, worst, questions = Counter(), Counter(), 0
    for reader in range(READERS):
        asked = list(ordinary_day(reader))
        questions += len(asked)
        found = highest(census(), asked)
        days.update(alerts(found) or {"none"})
        for name, score in found.items():
            worst[name] = max(worst[name], score)
    print(f"{READERS} ordinary days, {questions} questions: alerts {dict(days)}, highest {dict(worst)}")


if __name__ == "__main__":
    main()
