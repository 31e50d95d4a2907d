"""The questions of the attack on withheld areas: who meets whom, and what stands in for a number that is withheld."""

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.attacks.withheld_questions import AreaQuestions, Target, other_pairs
from discreet.errors import BadRequest


def test_in_a_tournament_everybody_meets_everybody_once():
    for size in (4, 5, 8, 21):
        met = [pair for number in range(size + size % 2 - 1) for pair in other_pairs(size, number)]
        assert len(met) == len(set(met)) == size * (size - 1) // 2


class Silent:
    """A notebook that gets no answer: no count of records is released."""

    def ask(self, request):
        raise BadRequest(f"No {request.dataset}.")


@pytest.mark.parametrize(("represented", "wanted"), [(1.0, 40.0), (4.0, 160.0)])
def test_a_public_figure_of_records_is_scaled_to_people_represented(represented, wanted):
    """Wrong alternative: the figure as it is, four times too small, beside which any attack seems to gain."""
    area = SimpleNamespace(position={"N1": 0, "N2": 1, "N3": 2}.__getitem__)
    rules = ({"variable": "area", "figures": {"N1": 40}},)
    dataset = SimpleNamespace(id="county", rules=rules, variable=lambda _name: area)
    target = Target(("area",), ("age",), 3.0, represented=represented)
    people, gone = np.array([0.0, 300.0, 500.0]), np.array([True, False, False])
    found = AreaQuestions(Silent(), dataset, target)._stand_ins("area", people, gone)
    assert found.tolist() == [wanted]
