"""Whom the attacks ask: the baseline counts rightly, and the rest is reached through the public interface."""

import ast
import inspect

import numpy as np
import pytest

from discreet.attacks.knowledge import CELLKEY, DESCRIBED, DP, UNPROTECTED
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.release.dataset_service import DatasetService
from discreet_studies.attacks import targets as module
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.bob_trial import BobTrial
from discreet_studies.attacks.targets import MARITAL, SALARY, TRAITS, describe, targets, town, works


@pytest.fixture(scope="module")
def people():
    return town(1_000, 20, seed=1)[0]


REQUESTS = [
    {"rows": ("area",)},
    {"rows": ("region",), "columns": ("age", "marital")},
    {"rows": ("age",), "filters": (("marital", ("single", "widowed")), ("age", ("adult", "old")))},
    {"rows": ("age",), "groups": (("age", (("child", "old"),)),)},
    {"rows": ("birthplace",), "filters": (("area", ("A0001", "A0002")),), "totals": False},
]


def by_hand(people, parts, axes):
    """One cell, record by record."""
    counted = 0
    for record in range(people.people):
        if all(people.codes(name)[record] in codes for name, codes in parts.get("filters", ())) and all(
            people.codes(name)[record] in codes for name, codes in axes
        ):
            counted += 1
    return counted


@pytest.mark.parametrize("parts", REQUESTS, ids=str)
def test_the_baseline_is_what_counting_by_hand_gives(people, parts):
    ((knowledge, interface),) = targets(people, [UNPROTECTED], AveragingTrial().budget, 1)
    answer = interface.ask(TableRequest(knowledge.dataset.id, **parts))
    assert not answer.missing.any()
    names = (*parts.get("rows", ()), *parts.get("columns", ()))
    rng = np.random.default_rng(1)
    for _ in range(6):
        place = tuple(int(rng.integers(length)) for length in answer.values.shape)
        codes = [answer.codes[axis][at] for axis, at in enumerate(place)]
        axes = [
            (name, people.variables[name] if code == "_T" else code.split("+"))
            for name, code in zip(names, codes, strict=True)
        ]
        assert answer.values[place] == by_hand(people, parts, axes)


@pytest.mark.slow
def test_protected_targets_answer_near_the_truth_and_not_with_it(people):
    found = {}
    for knowledge, interface in targets(
        people, [UNPROTECTED, CELLKEY, DESCRIBED], AveragingTrial().budget, 1
    ):
        request = TableRequest(knowledge.dataset.id, ("area",), ("age",), totals=False)
        found[knowledge.protection] = interface.ask(request).values
        if knowledge.noise is not None:
            assert knowledge.noise.family == "maxent"
            assert np.abs(found[knowledge.protection] - found[UNPROTECTED]).max() <= knowledge.noise.largest
    for protection in (CELLKEY, DESCRIBED):
        assert (found[protection] != found[UNPROTECTED]).mean() > 0.5
    assert (found[CELLKEY] != found[DESCRIBED]).any()


@pytest.mark.slow
def test_what_an_attacker_works_out_about_dp_is_what_its_releases_say(people):
    asked = []
    for knowledge, interface in targets(people, [DP], AveragingTrial(epsilon=2.0).budget, 1):
        assert isinstance(interface.door, DatasetService)
        for also in ((), (("marital", ("single", "other")),), (("birthplace", ("here", "east")),)):
            filters = (("age", ("child",)), *also)
            request = TableRequest(knowledge.dataset.id, ("area",), filters=filters, totals=False)
            table, terms = knowledge.margin_of(request)
            release = interface.door.release(request)
            assert [margin for margin, _ in release.law.margins] == [table.margin]
            assert release.law.margins[0][1] == table.noise
            assert set(release.law.terms.tolist()) == {terms}
            assert (interface.ask(request).values == release.noisy).all()
            asked.append(table.margin)
    assert len(set(asked)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("protection", [CELLKEY, DP])
def test_the_same_seed_gives_the_same_noise_and_another_seed_another(people, protection):
    def released(seed):
        knowledge, interface = next(opened := targets(people, [protection], AveragingTrial().budget, seed))
        values = interface.ask(TableRequest(knowledge.dataset.id, ("area",), ("age",))).values.tolist()
        opened.close()
        return values

    assert released(1) == released(1) != released(2)


def test_nothing_is_imported_that_would_reach_behind_the_interface():
    tree = ast.parse(inspect.getsource(module))
    used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    ours = {name.split(".")[1] for name in used if name.startswith("discreet.")}
    assert ours <= {"attacks", "errors", "model", "release"}
    assert {name for name in used if name.startswith("discreet.release")} == {
        "discreet.release.dataset_service",
        "discreet.release.dataset_registry",
        "discreet.release.load_cautions",
    }


def test_a_description_under_dp_declares_every_table_of_the_attack_and_no_other():
    import tomllib

    people = town(1_000, 20, seed=1)[0]
    budget = BobTrial(epsilon=0.5).budget
    protection = tomllib.loads(describe(people, "dp", budget))["protection"]
    assert protection["method"] == "dp"
    assert [tuple(table) for table in protection["universe"]["tables"]] == list(budget.tables)
    assert protection["budget"]["epsilon"] == 0.5
    assert protection["budget"]["invariants"] == ["n"]


def test_every_workplace_has_one_bob_and_the_attacker_knows_his_traits():
    population, bobs, above = works(3_000, 100, seed=4)
    today = population.codes("service") == "today"
    assert np.unique(population.codes("workplace")[today], return_counts=True)[1].tolist() == [1] * 100
    for bob, rich in zip(bobs, above, strict=True):
        (record,) = np.flatnonzero(today & (population.codes("workplace") == bob.place))
        assert dict(bob.traits) == {name: population.codes(name)[record] for name in TRAITS}
        assert (population.codes("salary")[record] == SALARY[0]) == rich


def test_bobs_salary_is_a_fair_coin():
    """False alarm 1e-6: 4.9 standard deviations; a coin of 0.6 is 6.3 away."""
    _, _, above = works(10_000, 1_000, seed=8)
    assert abs(above.sum() - 500) < 4.9 * np.sqrt(250)
    assert abs(600 - 500) > 4.9 * np.sqrt(250)


def test_children_are_single_and_counted():
    population, truth = town(2_000, 20, seed=1)
    child = population.codes("age") == "child"
    assert set(population.codes("marital")[child]) == {"single"}
    assert set(population.codes("marital")) == set(MARITAL)
    area = population.codes("area")
    assert truth.tolist() == [int((child & (area == code)).sum()) for code in population.variables["area"]]


def test_the_same_seed_gives_the_same_people_and_another_one_others():
    first, again, other = (works(1_000, 50, seed)[0].records for seed in (1, 1, 2))
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


@pytest.mark.parametrize(("people", "places"), [(50, 5), (100, 50)])
def test_too_few_people_or_places_are_refused(people, places):
    with pytest.raises(BadRequest, match="people or more"):
        town(people, places, seed=1)
