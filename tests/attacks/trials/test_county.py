"""The invented county: sizes, figures and homes are as they are said to be, under every protection."""

import numpy as np
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet_studies.attacks.rule_sets import AREAS, METHODS, County


def test_a_county_follows_from_its_seed_and_its_figures():
    county = County(80, 1, (("N1", 5), ("S", 500)), 3)
    records = county.records()
    assert records.equals(county.records())
    assert not records.equals(County(80, 2, county.figures, 3).records())
    areas = records.column("area").to_pylist()
    people = {code: areas.count(code) for code in set(areas)}
    assert people["N1"] < 20
    assert abs(sum(number for code, number in people.items() if code[0] == "S") - 500) < 100
    assert f"N{AREAS}" not in people  # one area of each region is empty


def test_in_homes_nearly_everybody_has_the_same_age_and_no_child_has_a_job():
    frame = County(200, 3).records().to_pandas()
    shares = frame.groupby("area")["age"].value_counts(normalize=True).unstack(fill_value=0)
    largest = shares.max(axis=1)[frame.groupby("area").size() > 40]
    assert 0.03 < (largest > 0.92).mean() < 0.2
    assert np.median(largest) < 0.75
    assert set(frame[frame["age"] == "child"]["job"]) == {"0"}


@pytest.mark.parametrize("method", METHODS)
def test_a_county_is_described_under_every_method(method):
    county = County(5, 1, regions=2)
    rule = '{ kind = "share-of-zeros", most = 0.5 }'
    dataset = parse_dataset(county.described(method, rule, county.records()))
    assert dataset.rules == ({"kind": "share-of-zeros", "most": 0.5},)
    assert dataset.protection.is_dp == (method == "dp")
    assert (dataset.survey is not None) == (method not in {"dp", "cellkey"})
