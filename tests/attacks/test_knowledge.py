"""The attacker's knowledge: which margin answers, with how much noise, at what price; each query is sent once."""

from fractions import Fraction

import pytest

from discreet.attacks.knowledge import CELLKEY, Knowledge, QueryCache, epsilon_of_margins
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.targets import TrueCounts, town

from .conftest import described


@pytest.fixture(scope="module")
def knowledge():
    return described(town(1_000, 20, seed=1)[0], AveragingTrial(epsilon=2.0).budget)


CHILDREN = ("age", ("child",))


@pytest.mark.parametrize(
    ("parts", "margin", "terms"),
    [
        ({"filters": (CHILDREN,)}, ("age", "area"), 1),
        ({"filters": (CHILDREN, ("marital", ("single", "other")))}, ("age", "area", "marital"), 1),
        ({"filters": (("age", ("adult",)), ("marital", ("single", "other")))}, ("age", "area", "marital"), 2),
        (
            {"filters": (CHILDREN, ("birthplace", ("here", "north", "east")))},
            ("age", "area", "birthplace"),
            3,
        ),
    ],
)
def test_the_margin_that_answers_and_its_noise_terms_are_public(knowledge, parts, margin, terms):
    request = TableRequest(knowledge.dataset.id, ("area",), totals=False, **parts)
    table, each = knowledge.margin_of(request)
    assert table.margin == margin
    assert each == terms


def test_totals_that_other_margins_answer_are_refused(knowledge):
    with pytest.raises(BadRequest, match="totals"):
        knowledge.margin_of(TableRequest(knowledge.dataset.id, ("area",), ("age",)))


def test_margins_cost_their_shares_once(knowledge):
    plan = knowledge.noise_plan
    assert epsilon_of_margins(plan, set()) == 0
    assert epsilon_of_margins(plan, {("age", "area")}) == Fraction(1, 2)
    assert epsilon_of_margins(plan, {table.margin for table in plan.tables}) == 2


def test_an_unknown_protection_and_a_missing_distribution_are_refused(knowledge):
    with pytest.raises(BadRequest, match="no protection"):
        Knowledge(knowledge.dataset, "magic")
    with pytest.raises(BadRequest, match="no noise table"):
        _ = knowledge.distribution
    with pytest.raises(BadRequest, match="no universe"):
        _ = Knowledge(knowledge.dataset, CELLKEY).noise_plan


def test_a_question_is_asked_once(knowledge):
    people = town(1_000, 20, seed=1)[0]
    asked = []

    class Counting(TrueCounts):
        def ask(self, request):
            asked.append(request)
            return super().ask(request)

    notebook = QueryCache(Counting(knowledge.dataset, people))
    for rows in (("age",), ("area",), ("age",)):
        notebook.ask(TableRequest(knowledge.dataset.id, rows))
    assert notebook.queries == len(asked) == 2
