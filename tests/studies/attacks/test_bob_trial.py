"""Bob's differencing against loaded datasets: what must succeed succeeds, and a proof is never wrong."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.differencing import Findings
from discreet.attacks.knowledge import CELLKEY, DESCRIBED, DP, UNPROTECTED, Knowledge, plan_of
from discreet.attacks.query_averaging import success_bound
from discreet.model.description.dataset_toml import parse_dataset
from discreet_studies.attacks.bob_trial import BobTrial
from discreet_studies.attacks.scoring import share
from discreet_studies.attacks.targets import describe, works

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def study():
    return BobTrial(people=4_000, targets=200, pairs=10, epsilon=2.0, seed=2).run()


def curve_of(study, protection):
    found = [study["baseline"], *study["results"]]
    return next(each["curve"] for each in found if each["protection"] == protection)


def test_the_attack_succeeds_on_unprotected_data_for_certain(study):
    first = curve_of(study, UNPROTECTED)[0]
    assert first["success"] == 1
    assert first["certain"] == first["certain_true"] == 200


def test_one_number_for_the_same_people_gives_most_bobs_away_and_every_proof_is_true(study):
    curve = curve_of(study, CELLKEY)
    assert all(point["certain"] == point["certain_true"] for point in curve)
    assert [point["certain"] for point in curve] == sorted(point["certain"] for point in curve)
    assert curve[0]["certain"] > 130
    assert curve[-1]["certain"] > 195
    assert curve[-1]["by_difference"]["success"] == curve[-1]["success"]


def test_the_description_in_the_key_ends_the_proofs_and_leaves_evidence_that_adds_up(study):
    curve = curve_of(study, DESCRIBED)
    assert all(point["certain"] == point["certain_true"] for point in curve)
    assert curve[-1]["certain"] < 20
    assert curve[-1]["by_difference"]["success"] < 0.75  # kept zeros of small cells still differ or not
    assert curve[-1]["low"] > 0.6  # far from guessing: 0.5


def test_under_dp_a_loaded_dataset_stays_below_its_bound_and_near_the_optimum(study):
    curve = curve_of(study, DP)
    for point in curve:
        assert point["within_bound"]
        assert point["certain"] == 0
        assert 0.5 < point["optimum"] < point["bound"]
        alarmed = share(round(point["success"] * 200), 200, 1 - FALSE_ALARM)
        assert alarmed.low < point["optimum"] < alarmed.high
    assert curve[-1]["bound"] == pytest.approx(success_bound(2.0, 1e-9))
    assert [point["epsilon"] for point in curve] == pytest.approx([n / 3 for n in (1, 2, 3, 4, 6, 6, 6)])
    assert curve[-1]["queries"] > curve_of(study, DESCRIBED)[-1]["queries"]


def test_a_server_that_gives_every_bob_away_is_not_within_the_bound():
    """The scoring itself: evidence that is always right, under a promise of epsilon 1."""
    truth = np.arange(400) % 2 == 0
    population, *_ = works(4_000, 400, 1)
    study = BobTrial()
    dataset = parse_dataset(describe(population, DP, study.budget))
    evidence = np.where(truth, 1.0, -1.0)[:, None]
    rows = tuple(table.noise.rows[0] for table in plan_of(dataset).tables)
    found = Findings(evidence, np.zeros((400, 1, 2), dtype=bool), (3,), (1.0,), rows)
    (point,) = study.scored(Knowledge(dataset, DP, plan=plan_of(dataset)), found, truth)["curve"]
    assert point["success"] == 1
    assert not point["within_bound"]


def test_success_is_what_the_collision_of_the_noise_says(study):
    """P(equal | Bob in) for one pair of large counts: sum over z of p(z) p(z + 1); the rest are proofs."""
    from discreet.noise import maxent

    row = maxent(D=5, V=3, js=2).rows[-1]
    distribution = {value: float(p) for value, p in row.probabilities().items()}
    proof = 1 - sum(p * distribution.get(value + 1, 0.0) for value, p in distribution.items())
    first = curve_of(study, CELLKEY)[0]
    spread = 4.9 * np.sqrt(proof * (1 - proof) / 200)
    assert abs(first["certain"] / 200 - proof) < spread
    assert abs(first["certain"] / 200 - proof**4) > spread


def test_the_rule_that_the_page_recommends_refuses_the_second_table_of_a_pair(tmp_path):
    import discreet
    from discreet.errors import NestedGroups

    population, *_ = works(400, 20, 1)
    rule = '[[rule]]\nkind = "nested-groups"\nfewer_than = 2\nfilters = true\n\n[protection]\n'
    text = describe(population, CELLKEY, BobTrial().budget).replace("[protection]\n", rule, 1)
    (tmp_path / "dataset.toml").write_text(text, "utf-8")
    records = pa.table(
        {"person": range(400), **{name: population.codes(name) for name in population.records}}
    )
    discreet.load(tmp_path / "w", tmp_path / "dataset.toml", records)
    with discreet.open(tmp_path / "w") as catalogue:
        catalogue.table("works-cellkey", rows=["workplace"], columns=["salary"])
        rest = {"service": ["this year", "longer"]}
        with pytest.raises(NestedGroups):
            catalogue.table("works-cellkey", rows=["workplace"], columns=["salary"], filters=rest)
