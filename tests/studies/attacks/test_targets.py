"""Whom the attacks ask: the baseline counts rightly, and the rest is reached through the public interface."""

import ast
import inspect

import numpy as np
import pytest

from discreet.attacks.knowledge import DP, UNPROTECTED
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetService
from discreet_studies.attacks import targets as module
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.targets import SALARY, TRAITS, targets, town, works


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
def test_what_an_attacker_works_out_about_dp_is_what_its_releases_say(people):
    asked = []
    for knowledge, interface in targets(people, [DP], AveragingTrial(epsilon=2.0).budget, 1):
        assert isinstance(interface.service, DatasetService)
        for also in ((), (("marital", ("single", "other")),), (("birthplace", ("here", "east")),)):
            filters = (("age", ("child",)), *also)
            request = TableRequest(knowledge.dataset.id, ("area",), filters=filters, totals=False)
            table, terms = knowledge.margin_of(request)
            release = interface.service.release(request)
            assert [margin for margin, _ in release.distribution.margins] == [table.margin]
            assert release.distribution.margins[0][1] == table.noise
            assert set(release.distribution.terms.tolist()) == {terms}
            assert (interface.ask(request).values == release.noisy).all()
            asked.append(table.margin)
    assert len(set(asked)) == 3


def test_nothing_is_imported_that_would_reach_behind_the_interface():
    tree = ast.parse(inspect.getsource(module))
    used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    ours = {name.split(".")[1] for name in used if name.startswith("discreet.")}
    assert ours <= {"attacks", "errors", "model", "noise", "release"}
    assert {name for name in used if name.startswith("discreet.release")} == {
        "discreet.release.dataset_registry",
        "discreet.release.load_cautions",
    }


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
