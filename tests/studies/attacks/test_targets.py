"""Whom the attacks ask, and how results are scored and told: baselines count rightly, and failures are said plainly."""

import ast
import inspect

import numpy as np
import pytest
from scipy.stats import binom

from discreet.attacks.knowledge import DP, UNPROTECTED
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetService
from discreet_studies.attacks import targets as module
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.report import SHOWS, headlines, show_study
from discreet_studies.attacks.scoring import root_mean_square, share
from discreet_studies.attacks.targets import SALARY, TRAITS, targets, town, works
from discreet_studies.commands.attack import attack
from discreet_studies.pictures.attacks import PICTURES


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
    assert ours == {"attacks", "errors", "model", "noise", "release", "workspace"}
    assert {name for name in used if name.startswith(("discreet.release", "discreet.workspace"))} == {
        "discreet.release.dataset_registry",
        "discreet.workspace.versions.load_version",
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


@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_the_interval_of_a_share_covers_at_least_as_often_as_it_says(p):
    chances = binom.pmf(np.arange(61), 60, p)
    covered = sum(c for hits, c in enumerate(chances) if share(hits, 60).low <= p <= share(hits, 60).high)
    assert 0.95 <= covered < 0.995


def test_the_interval_of_the_error_holds_the_true_error_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    runs = [root_mean_square(rng.normal(0, 2, 200)) for _ in range(400)]
    covered = np.mean([run.low <= 2 <= run.high for run in runs])
    assert 0.9 < covered < 0.98
    wrong = np.mean([run.low <= 2.6 <= run.high for run in runs])
    assert wrong < 0.2


def test_a_study_of_versions_is_told_for_each_protection_and_for_collected_corrections():
    result = {
        "protection": "keep-keys",
        "curve": [{"all_right": 0.1}, {"all_right": 0.25}],
        "error": {"one_version": 1.5, "both_versions": 1.2},
    }
    study = {"attack": "versions", "targets": 20, "results": [result], "baseline": None}
    first, second = headlines(study | {"collected": [{"removed": 2, "success": 0.4}]})
    assert first.startswith("keep-keys: all attributes of 25% of 20 people; typical error of a count 1.50")
    assert second == "keep-keys, 2 people removed a workplace: 40% of the attributes of one of them."


@pytest.mark.parametrize(("within", "ratio"), [(True, 0.97), (False, 0.42)])
def test_withheld_areas_that_come_back_are_said_to(within, ratio):
    curves = {"shares": [{"ratio": 1.0}], "fitted": [{"ratio": ratio}]}
    study = {"attack": "withheld", "limit": 0.9, "results": [{"within_limit": within, "curves": curves}]}
    (told,) = headlines(study)
    assert ("stay withheld" if within else "come back") in told
    assert f"at least {ratio:.2f} of" in told


@pytest.mark.parametrize("within", [True, False])
def test_a_study_of_rule_sets_is_shown_with_its_sentence(within, capsys):
    point = {"ratio": 1.0, "best": 1.0, "error": 0.01}
    methods = {"cellkey": {"withheld": 3, "complement": 2, "curves": {"shares": point}}}
    study = {"attack": "withheld-rules", "limit": 0.9, "within_limit": within}
    show_study({**study, "results": [{"rules": "one", "methods": methods}]})
    said = capsys.readouterr().out
    assert ("keeps it" in said) is within
    assert ("NOT KEPT" in said) is not within


def test_every_attack_is_told_and_drawn():
    commands = {command.name or command.callback.__name__ for command in attack.registered_commands}
    assert (
        commands == set(SHOWS) - {"withheld-rules"} == set(PICTURES)
    )  # a study of `withheld`, without a picture
