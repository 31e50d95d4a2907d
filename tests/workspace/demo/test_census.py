from __future__ import annotations

import hashlib
import tomllib
import tracemalloc
from collections import deque
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from discreet.errors import BadRequest
from discreet.workspace.demo import census_batches, census_description

FALSE_ALARM = 1e-6
SIZES = {
    "region": 11, "district": 110, "area": 3750, "sex": 2, "age": 21,
    "employment": 5, "occupation": 12, "education": 9, "birthplace": 5,
}  # fmt: skip
INDEX_TYPES = {"district": pa.int16(), "area": pa.int32()}


@cache
def census() -> dict[str, np.ndarray]:
    """The default census: ids, and the position of each record's category in its declared list."""
    batches = list(census_batches())
    columns = {"person_id": np.concatenate([batch.column("person_id").to_numpy() for batch in batches])}
    for name in SIZES:
        columns[name] = np.concatenate([batch.column(name).indices.to_numpy() for batch in batches])
    return columns


@cache
def description() -> dict:
    return tomllib.loads(census_description())


def declared(name: str) -> list[dict]:
    return next(variable for variable in description()["variable"] if variable["name"] == name)["categories"]


def codes(name: str) -> list[str]:
    return [category["code"] for category in declared(name)]


def crossed(*names: str, where: np.ndarray | None = None) -> np.ndarray:
    """The exact frequency table of some variables, by one bincount."""
    shape = [SIZES[name] for name in names]
    columns = [census()[name] if where is None else census()[name][where] for name in names]
    flat = np.ravel_multi_index([column.astype(np.int64) for column in columns], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def digest(batches) -> str:
    """A fingerprint of ids and codes, however the records are cut."""
    table = pa.Table.from_batches(list(batches))
    whole = hashlib.sha256()
    for column in table.columns:
        values = column.combine_chunks()
        whole.update("\n".join(map(str, values.to_pylist())).encode())
    return whole.hexdigest()


def cramers_v(table: np.ndarray) -> tuple[float, float]:
    """Cramér's V of a table without its empty rows and columns, and the p-value of independence."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    result = chi2_contingency(table)
    return float(np.sqrt(result.statistic / table.sum() / (min(table.shape) - 1))), float(result.pvalue)


def test_the_default_seed_gives_the_records_it_has_always_given():
    assert (
        digest(census_batches(20_000)) == "ee0e660a8b5e2a444aea408cd902890d7683b9602451bb7c872a8a3a94b41f61"
    )


@settings(max_examples=12, deadline=None)
@given(chunk=st.integers(1, 4_000), rows=st.integers(1, 3_000))
def test_the_chunk_size_changes_nothing_but_the_cuts(chunk, rows):
    batches = list(census_batches(rows, seed=9, chunk=chunk))
    assert [batch.num_rows for batch in batches[:-1]] == [chunk] * ((rows - 1) // chunk)
    assert digest(batches) == digest(census_batches(rows, seed=9, chunk=rows))


@pytest.mark.slow
def test_ids_are_unique_and_their_order_tells_nothing():
    ids = census()["person_id"]
    assert len(np.unique(ids)) == 1_500_000
    assert ids.min() >= 0
    assert ids.max() < 2**48
    ranks = ids.argsort().argsort()
    assert abs(np.corrcoef(ranks, np.arange(len(ids)))[0, 1]) < 5 / np.sqrt(len(ids))
    sorted_share = (np.diff(ids) > 0).mean()
    assert 0.45 < sorted_share < 0.55


def test_the_columns_are_those_of_the_description():
    schema = next(census_batches(500)).schema
    assert schema.names == [description()["id_column"], *(v["name"] for v in description()["variable"])]
    assert schema.field("person_id").type == pa.int64()
    for name in SIZES:
        assert schema.field(name).type == pa.dictionary(INDEX_TYPES.get(name, pa.int8()), pa.string())


def test_every_dictionary_is_the_declared_list_of_codes_in_its_order():
    batch = next(census_batches(chunk=10))
    for name, size in SIZES.items():
        assert batch.column(name).dictionary.to_pylist() == codes(name)
        assert len(codes(name)) == size
        assert set(np.unique(census()[name])) == set(range(size)), name


def test_codes_are_the_promised_ones_and_total_is_reserved():
    assert codes("sex") == ["1", "2"]
    assert codes("age")[:4] + codes("age")[-2:] == ["0-4", "5-9", "10-14", "15-19", "95-99", "100+"]
    assert codes("birthplace") == ["1", "2", "3", "4", "5"]
    for variable in description()["variable"]:
        assert variable["name"] != "count"
        assert "_T" not in [category["code"] for category in variable["categories"]]


def test_the_hierarchy_nests_in_every_record():
    for coarse, fine in (("region", "district"), ("district", "area")):
        place = {code: position for position, code in enumerate(codes(coarse))}
        parents = np.array([place[category["parent"]] for category in declared(fine)])
        assert np.array_equal(parents[census()[fine]], census()[coarse])


APPLICABLE = ("employment", "occupation", "education")


@pytest.mark.parametrize(
    ("one", "other"), [(one, other) for one in ("age", *APPLICABLE) for other in APPLICABLE if one != other]
)
def test_not_applicable_and_other_answers_never_meet_undeclared(one, other):
    """Each pair of a child's and an adult's answer is both empty and declared, in every two-way table."""
    child = [0, 1, 2] if one == "age" else [SIZES[one] - 1]
    adult = [position for position in range(SIZES[one]) if position not in child]
    table = crossed(one, other)
    zeros = [zero["where"] for zero in description()["structural_zero"]]
    for positions, listed in ((child, codes(other)[:-1]), (adult, codes(other)[-1:])):
        stated = [codes(one)[position] for position in positions]
        assert {one: stated, other: listed} in zeros
        assert not table[np.ix_(positions, [codes(other).index(code) for code in listed])].any()


def test_people_look_like_those_of_a_census():
    """Realism that the demo's tables show; the records themselves are pinned by their digest."""
    men, women = crossed("sex", "age")
    assert (np.diff((women / men)[13:]) > 0).all(), "women outlive men"
    by_age = crossed("age", "employment")
    employed = by_age[:, 0] / by_age.sum(axis=1)
    assert employed[6:11].min() > 0.75
    assert employed[14] < 0.08
    by_education = crossed("education", "occupation", where=census()["employment"] == 0)
    assert by_education[7, 1] / by_education[7].sum() > 0.5, "professionals have degrees"
    students = crossed("area", "employment")[:, 2] / crossed("area")
    assert np.quantile(students, 0.99) > 5 * np.median(students), "small areas differ"


@pytest.mark.parametrize(
    ("one", "other", "at_least"),
    [
        ("age", "employment", 0.5),
        ("education", "occupation", 0.3),
        ("sex", "occupation", 0.25),
        ("region", "birthplace", 0.1),
        ("area", "employment", 0.1),
    ],
)
def test_variables_depend_on_each_other(one, other, at_least):
    strength, chance = cramers_v(crossed(one, other))
    assert chance < FALSE_ALARM
    assert strength > at_least


@pytest.mark.parametrize(
    ("names", "at_least"),
    [
        (("region", "age", "occupation"), 0.08),
        (("district", "age", "birthplace"), 0.2),
        (("area", "sex", "age"), 0.15),
    ],
)
def test_many_cells_that_are_not_empty_hold_one_to_four_persons(names, at_least):
    table = crossed(*names)
    assert (table[table > 0] <= 4).mean() > at_least


def peak_memory(rows: int, *, keep: bool) -> int:
    """The most memory that walking through the batches takes, in bytes, with or without keeping them."""
    kept = deque(maxlen=None if keep else 1)
    tracemalloc.start()
    kept.extend(census_batches(rows, chunk=20_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_number_of_records():
    next(census_batches(10))
    small = peak_memory(100_000, keep=False)
    assert peak_memory(1_000_000, keep=False) < 1.5 * small
    assert peak_memory(1_000_000, keep=True) > 3 * small


@pytest.mark.parametrize("rows", [0, -5, 2**48])
def test_an_impossible_number_of_records_is_refused_at_once(rows):
    with pytest.raises(BadRequest, match=f"{rows} records"):
        census_batches(rows)
    with pytest.raises(BadRequest, match=f"{rows} records"):
        census_description(rows)
    with pytest.raises(BadRequest, match="at least 1"):
        census_batches(10, chunk=0)


def test_the_description_says_what_the_data_are():
    parsed = description()
    assert parsed["id"] == "census"
    assert (parsed["version"], parsed["reference_date"]) == ("2026", "2026-03-01")
    assert (parsed["unit"], parsed["id_column"]) == ("persons", "person_id")
    assert "ynthetic" in parsed["source"]
    assert "seed 2026" in parsed["source"]
    assert "weight_column" not in parsed
    assert parsed["hierarchy"][0]["levels"] == ["region", "district", "area"]
    assert parsed["hierarchy"][0]["geography"] is True
    assert parsed["protection"]["max_variables"] == 3


@pytest.mark.parametrize("rows", [1, 30_000, 700_000])
def test_a_census_of_any_size_has_the_areas_that_its_description_lists(rows):
    parsed = tomllib.loads(census_description(rows))
    listed = [category["code"] for category in parsed["variable"][2]["categories"]]
    assert next(census_batches(rows, chunk=5)).column("area").dictionary.to_pylist() == listed
