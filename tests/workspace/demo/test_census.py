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
from discreet.workspace.demo.census import person_ids

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


def test_another_seed_gives_other_records():
    assert digest(census_batches(5_000, seed=1)) != digest(census_batches(5_000, seed=2))


@settings(max_examples=12, deadline=None)
@given(chunk=st.integers(1, 4_000), rows=st.integers(1, 3_000))
def test_the_chunk_size_changes_nothing_but_the_cuts(chunk, rows):
    batches = list(census_batches(rows, seed=9, chunk=chunk))
    assert [batch.num_rows for batch in batches[:-1]] == [chunk] * ((rows - 1) // chunk)
    assert digest(batches) == digest(census_batches(rows, seed=9, chunk=rows))


@pytest.mark.slow
def test_a_large_run_is_the_same_in_odd_chunks():
    assert digest(census_batches(60_000, chunk=7_777)) == digest(census_batches(60_000, chunk=50_000))


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


def test_ids_do_not_depend_on_how_many_records_follow():
    assert np.array_equal(person_ids(7, 0, 100)[40:], person_ids(7, 40, 100))


def test_there_are_as_many_records_as_asked_for():
    assert sum(batch.num_rows for batch in census_batches(1_001, chunk=250)) == 1_001
    assert len(census()["sex"]) == 1_500_000


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
        assert census()[name].min() >= 0
        assert census()[name].max() < size


def test_every_category_occurs():
    for name, size in SIZES.items():
        assert len(np.unique(census()[name])) == size, name


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


def records_in(zero: dict, columns: dict[str, np.ndarray]) -> int:
    """How many records lie in a structural zero."""
    inside = np.ones(len(columns["age"]), dtype=bool)
    for name, listed in zero["where"].items():
        inside &= np.isin(columns[name], [codes(name).index(code) for code in listed])
    return int(inside.sum())


def test_no_record_lies_in_a_structural_zero():
    zeros = description()["structural_zero"]
    assert len(zeros) == 14
    assert [zero["label"] for zero in zeros if records_in(zero, census())] == []


def test_a_working_child_would_be_found_in_the_structural_zeros():
    child = {name: np.zeros(1, dtype=np.int64) for name in SIZES}
    assert sum(records_in(zero, child) > 0 for zero in description()["structural_zero"]) == 3


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


def test_women_outlive_men_and_more_boys_are_born():
    men, women = crossed("sex", "age")
    ratio = women / men
    assert 0.9 < ratio[0] < 1
    assert (ratio[:13] > 0.9).all()
    assert (ratio[:13] < 1.12).all()
    assert (np.diff(ratio[13:]) > 0).all()
    assert ratio[18] > 1.8


def test_the_age_pyramid_is_that_of_an_ageing_country():
    share = crossed("age") / 1_500_000
    assert 0.14 < share[:3].sum() < 0.19
    assert 0.17 < share[13:].sum() < 0.23
    assert 0.0001 < share[20] < 0.0005
    assert share[:13].min() > 0.045


def test_work_follows_the_life_course():
    table = crossed("age", "employment")
    employed, _, studying, inactive = (table / table.sum(axis=1, keepdims=True))[:, :4].T
    assert 0.15 < employed[3] < 0.35
    assert (employed[6:11] > 0.75).all()
    assert (employed[6:11] < 0.88).all()
    assert employed[14] < 0.08
    assert studying[3] > 0.55
    assert studying[6] < 0.05
    assert inactive[14] > 0.9


def test_occupations_differ_by_sex_and_rise_with_education():
    adults = census()["employment"] == 0
    men, women = crossed("sex", "occupation", where=adults)
    assert women[3] > 1.5 * men[3]
    assert men[6] > 5 * women[6]
    by_education = crossed("education", "occupation", where=adults)
    professionals = by_education[:8, 1] / by_education[:8].sum(axis=1)
    assert professionals[7] > 0.5
    assert professionals[:3].max() < 0.03


def test_the_young_are_better_educated_than_the_old():
    table = crossed("age", "education")
    degree = table[:, 6:8].sum(axis=1) / table.sum(axis=1)
    assert degree[5] > 0.3
    assert degree[16:].max() < 0.15


def test_the_capital_has_most_people_born_elsewhere_and_the_border_most_neighbours():
    table = crossed("region", "birthplace")
    share = table / table.sum(axis=1, keepdims=True)
    assert share[0, 0] < 0.82
    assert share[1:, 0].min() > 0.85
    assert share[:, 1].argmax() == 8


@pytest.mark.parametrize(
    ("one", "other", "at_least"),
    [
        ("age", "employment", 0.5),
        ("age", "occupation", 0.35),
        ("age", "education", 0.35),
        ("education", "occupation", 0.3),
        ("employment", "occupation", 0.5),
        ("sex", "occupation", 0.25),
        ("region", "birthplace", 0.1),
        ("district", "age", 0.02),
        ("area", "employment", 0.1),
    ],
)
def test_variables_depend_on_each_other(one, other, at_least):
    strength, chance = cramers_v(crossed(one, other))
    assert chance < FALSE_ALARM
    assert strength > at_least


def test_the_id_depends_on_nothing_so_the_test_of_dependence_can_say_no():
    for name in ("sex", "birthplace", "region"):
        table = np.zeros((2, SIZES[name]))
        np.add.at(table, (census()["person_id"] % 2, census()[name]), 1)
        strength, chance = cramers_v(table)
        assert chance > FALSE_ALARM
        assert strength < 0.01


def test_small_areas_differ_in_students_pensioners_and_origins():
    sizes = crossed("area")
    students = crossed("area", "employment")[:, 2] / sizes
    old = crossed("area", "age")[:, 13:].sum(axis=1) / sizes
    elsewhere = 1 - crossed("area", "birthplace")[:, 0] / sizes
    assert np.quantile(students, 0.99) > 5 * np.median(students)
    assert np.quantile(old, 0.95) > 0.3
    assert np.quantile(elsewhere, 0.99) > 0.3
    assert np.quantile(elsewhere, 0.05) < 0.02


@pytest.mark.parametrize(
    ("names", "at_least"),
    [
        (("region", "age", "occupation"), 0.08),
        (("age", "occupation", "education"), 0.08),
        (("district", "age", "birthplace"), 0.2),
        (("area", "sex", "age"), 0.15),
    ],
)
def test_many_cells_that_are_not_empty_hold_one_to_four_persons(names, at_least):
    table = crossed(*names)
    assert (table[table > 0] <= 4).mean() > at_least


def test_the_table_of_the_paper_has_its_small_cells():
    here = (census()["region"] == 0) & (census()["birthplace"] == 2)
    table = crossed("age", "occupation", where=here)[3:15, :11]
    assert 3_000 < table.sum() < 12_000
    assert ((table >= 1) & (table <= 4)).mean() > 0.08
    assert table[:, 5].max() < 10
    assert table[11, 10] > 0.8 * table[11].sum()


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


def test_an_empty_chunk_is_refused_at_once():
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
