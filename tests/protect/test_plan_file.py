"""A plan on disk is the plan that was charged for: written and read it is the same, and a change is noticed."""

import json

import pytest

from discreet.errors import BadNoiseTable
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.universe import dp_terms
from discreet.protect.best_composition import with_claim
from discreet.protect.plan import make_plan
from discreet.protect.plan_file import plan_text, read_plan


@pytest.fixture
def dataset(private_town):
    return parse_dataset(private_town.description)


@pytest.fixture
def plan(dataset):
    terms, universe = dp_terms(dataset)
    return with_claim(make_plan(dataset, universe, terms, {"family": "laplace"}))


def test_a_plan_that_was_written_is_read_back_whole(plan, dataset):
    back = read_plan(plan_text(plan), dataset)
    assert back.tables == plan.tables
    assert (back.currency, back.answer, back.claim) == (plan.currency, plan.answer, plan.claim)
    assert plan_text(back) == plan_text(plan)


def test_every_noise_table_is_written_once(plan):
    document = json.loads(plan_text(plan))
    assert len(document["noise"]) < len(document["tables"]) == plan.d
    assert {table["noise"] for table in document["tables"]} <= set(document["noise"])


@pytest.mark.parametrize("harm", ["another name", "a key missing", "no JSON"])
def test_a_plan_that_contradicts_itself_is_refused(plan, dataset, harm):
    document = json.loads(plan_text(plan))
    if harm == "another name":
        (one, *_), (two, *_) = document["noise"], reversed(document["noise"])
        document["noise"][one] = document["noise"][two] | {"parameters": {"epsilon": 0.123}}
    else:
        del document["currency"]
    text = "{" if harm == "no JSON" else json.dumps(document)
    with pytest.raises(BadNoiseTable, match="cannot be read"):
        read_plan(text, dataset)
