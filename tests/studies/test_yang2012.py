import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm
from tests.studies.test_exhibit import assert_as_the_oracle_says, exhibit_of, finding_of

from discreet.inference.hypothesis_tests.log_linear_model import fit_log_linear
from discreet.margins.holistic import round_half_up
from discreet.margins.margin_set import margin_tables
from discreet.margins.sensitivity import PAPER_TABLES
from discreet_studies.yang2012 import EXHIBITS
from discreet_studies.yang2012.figures import CORRECTED, PUBLISHED
from discreet_studies.yang2012.runs import _cloud, dataset, without_noise

pytestmark = pytest.mark.slow

ORACLE = json.loads(
    (Path(__file__).parents[1] / "oracles" / "yang2012_printed.json").read_text(encoding="utf-8")
)["findings"]
#: How often chance alone may say that tables grew.
FALSE_ALARM = 1e-4
FIGURES = [name for name in EXHIBITS if name.startswith("figure")]


exhibit, finding = partial(exhibit_of, "yang2012"), partial(finding_of, "yang2012")


@pytest.mark.parametrize("entry", ORACLE, ids=lambda e: f"{e['exhibit']}: {e['what']}")
def test_each_printed_number_agrees_or_is_corrected_as_the_oracle_says(entry):
    assert_as_the_oracle_says(
        finding(entry["exhibit"], entry["what"]), entry, {"rel": 1e-9, "abs": entry["tol"]}
    )


@pytest.mark.parametrize("name", EXHIBITS)
def test_no_printed_number_is_without_its_oracle(name):
    known = {entry["what"] for entry in ORACLE if entry["exhibit"] == name}
    assert {f.what for f in exhibit(name).findings if f.printed is not None} == known


def test_theorem_2_holds_for_one_square_margin_up_to_four_categories_and_not_beyond():
    by_k = {
        r["k"]: r["epsilon"] for r in exhibit("theorem 2").extra["curves"] if r["neighbours"] == "add-remove"
    }
    assert by_k[4] == pytest.approx(49 / 50)
    assert by_k[5] == pytest.approx(81 / 72)
    assert [k for k, epsilon in by_k.items() if epsilon <= 1] == [2, 3, 4]
    assert finding("theorem 2", "one k × k margin, add-remove: largest k for which Theorem 2 holds").ours == 4


def test_without_noise_the_margins_are_kept_up_to_rounding_and_the_statistic_is_not():
    for name in PAPER_TABLES:
        run = without_noise(name)
        assert run.b == 0
        assert run.largest_l1 <= dataset(name).table.counts.size / 2
        assert run.mle_l1 < 0.06
        assert run.statistic_shift > 1


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_both_scales_of_all_four_tables(name):
    records = exhibit(name).extra["curves"]
    assert {r["table"] for r in records} == {dataset(table).title for table in PAPER_TABLES}
    for table in PAPER_TABLES:
        own = [r for r in records if r["table"] == dataset(table).title]
        for published, corrected in zip(
            (r for r in own if r["scale"] == PUBLISHED),
            (r for r in own if r["scale"] == CORRECTED),
            strict=True,
        ):
            assert published["mean"] == corrected["mean"]
            assert corrected["epsilon"] == pytest.approx(dataset(table).true_epsilon(published["epsilon"]))
    assert "not ε-DP" in exhibit(name).note


def grew(larger, smaller):
    """Whether one cloud's mean sample size is above another's beyond chance."""
    first, second = ([run.sample_size for run in cloud.runs] for cloud in (larger, smaller))
    error = math.sqrt(np.var(first, ddof=1) / len(first) + np.var(second, ddof=1) / len(second))
    return (np.mean(first) - np.mean(second)) / error > norm.isf(FALSE_ALARM)


def test_released_tables_grow_as_epsilon_falls_and_not_by_chance():
    assert grew(_cloud("edwards", 0.105, 25, 1), _cloud("edwards", 1.995, 25, 2))
    assert not grew(_cloud("edwards", 1.995, 25, 3), _cloud("edwards", 1.995, 25, 2))


def test_the_statistic_of_a_solution_without_noise_depends_on_which_solution_it_is():
    """Corners with the exact margins of the Czech table: as good for the program as ours, far away in G²."""
    known = dataset("czech")
    cells = np.eye(known.table.counts.size).reshape(-1, *known.table.shape)
    sums = np.array(
        [np.concatenate([m.ravel() for m in margin_tables(cell, known.wanted).values()]) for cell in cells]
    ).T
    cost = np.random.default_rng(1).normal(size=known.table.counts.size)
    solved = linprog(cost, A_eq=sums, b_eq=sums @ known.table.counts.ravel(), bounds=(0, None))
    corner = round_half_up(solved.x.reshape(known.table.shape))
    assert margin_tables(corner, known.wanted)[known.wanted.margins[0]].tolist() == (
        margin_tables(known.table.counts, known.wanted)[known.wanted.margins[0]].tolist()
    )
    shift = fit_log_linear(corner, known.wanted.margins).statistic - known.fit.statistic
    assert shift > 5 * without_noise("czech").statistic_shift
