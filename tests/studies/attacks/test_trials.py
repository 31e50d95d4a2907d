"""Attacks on loaded datasets: what must succeed succeeds, proofs are true, and what is served stays within its bound."""

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.differencing import Findings
from discreet.attacks.knowledge import CELLKEY, DESCRIBED, DP, UNPROTECTED, Knowledge, plan_of
from discreet.attacks.query_averaging import PARTS, WORDS, success_bound
from discreet.attacks.survey_weights import attack
from discreet.attacks.withheld_areas import STARTS
from discreet.errors import BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.release import checked_request as question
from discreet.rules import verdict
from discreet.workspace.demo import census_batches, census_description, spudlandia
from discreet_studies.attacks import weights_trial as weights_study
from discreet_studies.attacks import withheld_trial as withheld_study
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.bob_trial import BobTrial
from discreet_studies.attacks.scoring import share
from discreet_studies.attacks.surveys import CELL_AVERAGE, OPEN, OpenForm, cell_at, reader_of, sample, served
from discreet_studies.attacks.targets import describe, works
from discreet_studies.attacks.versions_trial import PLACE, VersionsTrial, corrected
from discreet_studies.attacks.weights_trial import TABLES, WeightsTrial
from discreet_studies.attacks.withheld_trial import LIMIT, WithheldTrial


@pytest.fixture(scope="module")
def averaging():
    return AveragingTrial(people=6_000, targets=100, ways=16, epsilon=2.0, seed=2).run()


def averaging_curve(averaging, protection, kind):
    found = [averaging["baseline"], *averaging["results"]]
    return next(each["curves"][kind] for each in found if each["protection"] == protection)


@pytest.mark.slow
def test_unprotected_counts_are_exact_at_once(averaging):
    for kind in (WORDS, PARTS):
        assert {point["error"] for point in averaging_curve(averaging, UNPROTECTED, kind)} == {0.0}
        assert averaging_curve(averaging, UNPROTECTED, kind)[0]["exact"]["share"] == 1


@pytest.mark.slow
def test_other_words_give_nothing_where_the_same_people_have_one_number(averaging):
    errors = {point["error"] for point in averaging_curve(averaging, CELLKEY, WORDS)}
    assert len(errors) == 1
    assert errors.pop() > 1.2


@pytest.mark.slow
def test_other_words_average_the_noise_away_where_the_description_is_in_the_key(averaging):
    first, *_, last = averaging_curve(averaging, DESCRIBED, WORDS)
    assert last["ways"] == 16
    assert last["high"] < first["low"] / 2.5  # a quarter is expected; half would be 4 ways
    assert last["low"] < last["expected"] < last["high"]
    assert last["exact"]["low"] > first["exact"]["high"]


@pytest.mark.slow
@pytest.mark.parametrize("protection", [CELLKEY, DESCRIBED])
def test_regrouped_parts_average_the_noise_away_in_both(averaging, protection):
    first, *_, last = averaging_curve(averaging, protection, PARTS)
    assert last["error"] < first["error"] / 2
    assert last["exact"]["share"] > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [WORDS, PARTS])
def test_under_dp_a_second_margin_helps_once_and_the_bound_holds(averaging, kind):
    first, *rest = averaging_curve(averaging, DP, kind)
    rest = rest if kind == WORDS else rest[1:]  # the complement says nothing new
    assert len({point["error"] for point in rest}) == 1
    assert rest[0]["error"] != first["error"]
    bound = averaging["results"][-1]["bound"]
    assert bound["exact"] == pytest.approx(0.7616, abs=1e-4)  # tanh(1)
    for point in (first, *rest):
        assert point["within_bound"]
        assert point["low"] > bound["error"]
        assert point["exact"]["high"] < bound["exact"]
        assert point["low"] * 0.7 < point["expected"] < point["high"] * 1.3


FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def study():
    return BobTrial(people=4_000, targets=200, pairs=10, epsilon=2.0, seed=2).run()


def curve_of(study, protection):
    found = [study["baseline"], *study["results"]]
    return next(each["curve"] for each in found if each["protection"] == protection)


@pytest.mark.slow
def test_the_attack_succeeds_on_unprotected_data_for_certain(study):
    first = curve_of(study, UNPROTECTED)[0]
    assert first["success"] == 1
    assert first["certain"] == first["certain_true"] == 200


@pytest.mark.slow
def test_one_number_for_the_same_people_gives_most_bobs_away_and_every_proof_is_true(study):
    curve = curve_of(study, CELLKEY)
    assert all(point["certain"] == point["certain_true"] for point in curve)
    assert [point["certain"] for point in curve] == sorted(point["certain"] for point in curve)
    assert curve[0]["certain"] > 130
    assert curve[-1]["certain"] > 195
    assert curve[-1]["by_difference"]["success"] == curve[-1]["success"]


@pytest.mark.slow
def test_the_description_in_the_key_ends_the_proofs_and_leaves_evidence_that_adds_up(study):
    curve = curve_of(study, DESCRIBED)
    assert all(point["certain"] == point["certain_true"] for point in curve)
    assert curve[-1]["certain"] < 20
    assert curve[-1]["by_difference"]["success"] < 0.75  # kept zeros of small cells still differ or not
    assert curve[-1]["low"] > 0.6  # far from guessing: 0.5


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def corrections():
    return VersionsTrial(people=3_000, targets=60, collected=(1, 4), epsilon=1.0, seed=3).run()


def correction_of(corrections, choice):
    found = [corrections["baseline"], *corrections["results"]]
    return next(each for each in found if each["protection"] == choice)


def test_one_person_of_every_place_is_removed_and_everybody_else_keeps_the_id():
    population = works(400, 20, seed=1)[0]
    after, target = corrected(population, 20, 2, seed=1)
    assert after.people == 360
    assert np.bincount(after.records[PLACE]).tolist() == [18] * 20
    assert population.records[PLACE][target].tolist() == list(range(20))
    assert not set(target.tolist()) & set(after.persons.tolist())


@pytest.mark.slow
def test_the_baseline_and_the_same_keys_give_everything_away(corrections):
    assert correction_of(corrections, "unprotected")["curve"][-1]["all_right"] == 1
    last = correction_of(corrections, "keep-keys")["curve"][-1]
    assert last["certain"] == last["certain_true"] > 0.95 * 60 * 6
    assert last["all_right"] > 0.9


@pytest.mark.slow
def test_a_new_lineage_ends_the_proofs_and_lets_both_versions_be_averaged(corrections):
    """The wrong alternative is the same keys, for which the average of both versions is no nearer to the truth."""
    anew, kept = correction_of(corrections, "new-lineage"), correction_of(corrections, "keep-keys")
    assert anew["curve"][-1]["certain"] == 0
    assert anew["curve"][-1]["all_right"] < 0.2
    assert anew["error"]["both_versions"] < 0.85 * anew["error"]["one_version"]
    assert kept["error"]["both_versions"] == pytest.approx(kept["error"]["one_version"], rel=1e-9)


@pytest.mark.slow
def test_under_dp_nobody_is_right_more_often_than_epsilon_allows(corrections):
    result = correction_of(corrections, "dp")
    last = result["curve"][-1]
    assert share(round(last["success"] * 360), 360, 1 - FALSE_ALARM).low <= result["bound"]
    assert last["certain"] == 0


@pytest.mark.slow
def test_collected_corrections_hide_in_one_another(corrections):
    one, four = corrections["collected"]
    assert (one["removed"], four["removed"]) == (1, 4)
    assert four["success"] < one["success"] - 0.2


DISTRICTS = [("region", "district")]
PAIRS = [("employment", "occupation"), ("sex", "birthplace"), ("age", "employment")]


@pytest.fixture(scope="module")
def census():
    return census_description(50_000), pa.Table.from_batches(list(census_batches(50_000)))


def some_tables(monkeypatch):
    monkeypatch.setattr(withheld_study, "targets", lambda *_: product(DISTRICTS, PAIRS))


def old_behaviour(monkeypatch):
    """The wrong alternative: the rules' areas alone are withheld, and a filter counts its union."""
    monkeypatch.setattr(verdict, "add_secondary", lambda failed, _seeds, _slices: failed)
    monkeypatch.setattr(question, "list_areas", lambda request, _dataset: request)


def ratios(study):
    (result,) = study["results"]
    return {start: [point["ratio"] for point in result["curves"][start]] for start in STARTS}


@pytest.mark.slow
def test_withheld_areas_of_the_demo_stay_withheld(census, monkeypatch):
    some_tables(monkeypatch)
    study = WithheldTrial(ways=4).attack_on(*census)
    (result,) = study["results"]
    assert len(result["tables"]) == 3
    assert result["within_limit"]
    assert all(table["complement"] > 0 for table in result["tables"])


@pytest.mark.slow
def test_without_complement_and_listing_they_come_back(census, monkeypatch):
    some_tables(monkeypatch)
    old_behaviour(monkeypatch)
    study = WithheldTrial(ways=4).attack_on(*census)
    assert not study["results"][0]["within_limit"]
    assert max(ratios(study)["shares"]) < 0.5 < LIMIT


def test_a_study_of_nothing_claims_nothing(town):
    with pytest.raises(BadRequest, match="No table was found"):
        WithheldTrial(ways=1, most=1).attack_on(town.description, town.records)
    for wrong in ({"ways": 0}, {"most": 0}, {"most": 4}):
        with pytest.raises(BadRequest, match="are asked for"):
            WithheldTrial(**wrong)


def last_points(study):
    return {each["protection"]: each["curve"][-1] for each in study["results"]}


def test_what_cannot_be_tried_is_refused():
    for wrong in (
        {"surveys": 1},
        {"tables": 7},
        {"against": ("magic",)},
        {"against": ("unprotected",)},
        {"errors": "x"},
        {"outlying": 1},
    ):
        with pytest.raises(BadRequest):
            WeightsTrial(**wrong)


@pytest.mark.slow
def test_eight_requests_open_the_shipped_survey_under_cell_averages():
    people = sample(spudlandia.SEED)
    tables = [TableRequest("spudlandia", table[:1], table[1:]) for table in TABLES[:4]]
    with served(people, "average-weight") as service:
        outside = replace(people.outside(weights=False), totals={}, counts={frozenset(): 1500})
        reader = reader_of(service, CELL_AVERAGE)
        found = attack(OpenForm(service, people, CELL_AVERAGE), reader, tables, outside)
        alone = attack(service, reader_of(service, "average-weight"), tables, outside, ("count",))
    truth = np.array([people.count(cell) for cell in found.cells])
    assert found.queries == 8
    assert (found.guesses == truth).mean() > 0.95
    assert (alone.guesses == truth).mean() < 0.6
    assert found.certain.sum() > 110
    assert (found.guesses == truth)[found.certain].all()
    assert alone.certain.sum() == 1  # the sample size, which is public


@pytest.mark.slow
def test_open_forms_are_found_open_and_served_ones_stay_at_counts_alone():
    """The named wrong alternatives are the open forms; a sound form is called open with FALSE_ALARM."""
    study = WeightsTrial(surveys=2, tables=1, seed=1, outlying=0, constants=0).run()
    assert study["false_alarm"] == weights_study.FALSE_ALARM
    assert study["baseline"]["curve"][-1]["exact"] == 1
    for form, point in last_points(study).items():
        assert point["certain_true"] == point["certain"], form
        if form in OPEN:
            assert point["gain_low"] > 0.1, form
            assert point["certain"] > 50, form
            assert not point["within_bar"], form
        else:
            assert point["within_bar"], form
            assert point["certain"] == 0, form
            assert point["gain"] < 0.03, form


class TellingErrors:
    """The wrong alternative: a server whose errors come from the true counts."""

    def __init__(self, service, people):
        self.service, self.people = service, people

    def ask(self, request):
        answer = self.service.ask(request)
        if request.measure == "count":
            return answer
        counts = [
            self.people.count(cell_at(request, answer.codes, p)) for p in np.ndindex(*answer.values.shape)
        ]
        errors = np.ceil(1000 / np.sqrt(np.maximum(counts, 1))).astype(np.int64)
        return replace(answer, errors=errors.reshape(answer.values.shape))


@pytest.mark.slow
def test_errors_made_from_true_counts_are_found_out(monkeypatch):
    monkeypatch.setattr(
        weights_study, "interface_of", lambda service, people, _form: TellingErrors(service, people)
    )
    trial = WeightsTrial(surveys=24, tables=1, seed=1, against=("average-weight",), outlying=0, constants=0)
    study = trial.run()
    point = last_points(study)["average-weight"]
    assert not point["within_bar"]
    assert point["gain"] > 0.03
