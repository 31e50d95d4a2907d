from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from discreet.workspace.demo import spudlandia as survey
from discreet.workspace.demo import spudlandia_batches, spudlandia_description

if TYPE_CHECKING:
    import pandas as pd

FALSE_ALARM = 1e-6


@cache
def respondents() -> pd.DataFrame:
    return pa.Table.from_batches(list(spudlandia_batches())).to_pandas()


@cache
def description() -> dict:
    return tomllib.loads(spudlandia_description())


def fixed_point(weights) -> np.ndarray:
    return np.rint(np.asarray(weights) * 10_000).astype(np.int64)


@pytest.mark.parametrize("seed", [1500, 0, 1, 99])
def test_weights_have_four_decimals_and_add_up_to_the_population_exactly(seed):
    weights = next(spudlandia_batches(seed=seed)).column("weight").to_numpy()
    whole = fixed_point(weights)
    assert len(weights) == 1_500
    assert int(whole.sum()) == 1_000_000 * 10_000
    assert np.array_equal(whole / 10_000, weights)
    assert (weights > 0).all()


def test_the_default_seed_gives_the_answers_it_has_always_given():
    frame = respondents()
    text = frame.assign(weight=fixed_point(frame["weight"])).to_csv(index=False, lineterminator="\n")
    assert (
        hashlib.sha256(text.encode()).hexdigest()
        == "78f0a1b2f79a88393d833debed64b0aef7b9a633d9a18843a4e9ec98a14076aa"
    )


def test_small_states_are_sampled_more_densely():
    by_state = respondents().groupby("state", observed=True)["weight"]
    assert by_state.count().to_dict() == {"C": 600, "D": 500, "E": 400}
    assert by_state.sum().to_dict() == pytest.approx({"C": 560_000, "D": 310_000, "E": 130_000}, abs=1)
    assert by_state.mean()["C"] > 2 * by_state.mean()["E"]


def test_raking_meets_the_known_age_groups_and_sexes():
    frame, persons = respondents(), survey._population()
    group = frame["age"].cat.codes.map(dict(enumerate([0, 0, 1, 1, 1, 2, 2, 3, 3])))
    known = np.bincount([0, 0, 1, 1, 1, 2, 2, 3, 3], persons.sum(axis=(0, 2)))
    assert frame.groupby(group)["weight"].sum().to_numpy() == pytest.approx(known, abs=1)
    men = frame.loc[frame["gender"] == "M", "weight"].sum()
    assert men == pytest.approx(persons[..., 0].sum(), abs=1)


def test_every_category_occurs_and_nonbinary_persons_are_few():
    for variable in description()["variable"]:
        declared = [category["code"] for category in variable["categories"]]
        assert respondents()[variable["name"]].cat.categories.tolist() == declared
        assert set(respondents()[variable["name"]]) == set(declared)
    assert 5 <= (respondents()["gender"] == "N").sum() <= 40


def test_the_columns_are_those_of_the_description():
    schema = next(spudlandia_batches()).schema
    names = [variable["name"] for variable in description()["variable"]]
    assert names == ["age", "gender", "state", "likes", "frequency"]
    assert schema.names == [description()["id_column"], *names, description()["weight_column"]]
    assert schema.field("person_id").type == pa.int64()
    assert schema.field("weight").type == pa.float64()
    assert all(schema.field(name).type == pa.dictionary(pa.int8(), pa.string()) for name in names)


def test_the_description_has_the_states_of_the_paper_and_says_that_it_is_synthetic():
    parsed = description()
    labels = {v["name"]: [category["label"] for category in v["categories"]] for v in parsed["variable"]}
    assert labels["state"] == ["Coliban", "Desiree", "Exton"]
    assert labels["gender"] == ["Male", "Female", "Nonbinary"]
    assert labels["frequency"] == ["Less than once a day", "Daily", "More than once a day"]
    assert parsed["weight_decimals"] == 4
    assert "ynthetic" in parsed["source"]
    assert parsed["protection"]["method"] == "cellkey"
