"""What an attacker asks: every question once."""

import pytest

from discreet.attacks.interface import Notebook
from discreet.attacks.trials.averaging_study import AveragingStudy
from discreet.attacks.trials.population import town
from discreet.attacks.trials.targets import TrueCounts
from discreet.model.request import TableRequest


@pytest.fixture(scope="module")
def knowledge(stand_ins):
    *_, described, _ = stand_ins
    return described(town(1_000, 20, seed=1)[0], AveragingStudy(epsilon=2.0).budget)


def test_a_question_is_asked_once(knowledge):
    people = town(1_000, 20, seed=1)[0]
    asked = []

    class Counting(TrueCounts):
        def ask(self, request):
            asked.append(request)
            return super().ask(request)

    notebook = Notebook(Counting(knowledge.dataset, people))
    for rows in (("age",), ("area",), ("age",)):
        notebook.ask(TableRequest(knowledge.dataset.id, rows))
    assert notebook.asked == len(asked) == 2
