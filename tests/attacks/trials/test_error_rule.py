"""The rule of errors, run backwards, agrees with what is served."""

import numpy as np
import pytest

from discreet.attacks.knowledge import QueryCache
from discreet.attacks.survey_weights import query_tables
from discreet.model.request import TableRequest
from discreet_studies.attacks.surveys import AVERAGE, STRATA, ErrorRule, reader_of, sample, served

TABLE = TableRequest("spudlandia", ("state",), ("age", "gender"))


def chances_of_the_truth(people, form):
    """What the rule says of the true count of every cell that it reads."""
    with served(people, form) as door:
        reader, outside = reader_of(door, form), people.outside(weights=True)
        rule = ErrorRule(form, reader.survey, outside, door.door.dataset.weight_decimals, reader.law)
        seen, _ = query_tables(QueryCache(door), [TABLE], ("count", "weighted"))
        found = [rule(cell, each, np.array([people.count(cell)])) for cell, each in seen.items()]
    return np.array([chance[0] for chance in found if chance is not None])


@pytest.mark.slow
@pytest.mark.parametrize("form", [AVERAGE, STRATA, f"{AVERAGE}+no-design"])
def test_the_rule_never_excludes_the_truth(form):
    found = chances_of_the_truth(sample(7), form)
    assert found.size > 30
    assert (found > 0).all()


def test_the_rule_says_nothing_where_nothing_of_a_cell_is_told():
    assert chances_of_the_truth(sample(7), f"{STRATA}+no-design").size == 0
