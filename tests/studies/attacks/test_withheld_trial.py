"""Withheld areas of loaded datasets: differences say nothing of them, and without complement and listing they do."""

from itertools import product

import pyarrow as pa
import pytest

from discreet.attacks.withheld_areas import STARTS
from discreet.errors import BadRequest
from discreet.release import checked_request as question
from discreet.rules import verdict
from discreet.workspace.demo import census_batches, census_description
from discreet_studies.attacks import withheld_trial as withheld_study
from discreet_studies.attacks.withheld_trial import LIMIT, WithheldTrial

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
