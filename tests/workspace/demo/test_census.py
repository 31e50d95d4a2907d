from __future__ import annotations

import hashlib
import tomllib
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.workspace.demo import census_batches, census_description

ROWS = 150_000
SIZES = {
    "region": 11, "district": 110, "area": 375, "sex": 2, "age": 21,
    "employment": 5, "occupation": 12, "education": 9, "birthplace": 5,
}  # fmt: skip


@cache
def everyone() -> dict[str, np.ndarray]:
    """A tenth of the default census: ids, and the position of each record's category in its declared list."""
    batches = list(census_batches(ROWS))
    columns = {"person_id": np.concatenate([batch.column("person_id").to_numpy() for batch in batches])}
    for name in SIZES:
        columns[name] = np.concatenate([batch.column(name).indices.to_numpy() for batch in batches])
    return columns


@cache
def description() -> dict:
    return tomllib.loads(census_description(ROWS))


def declared(name: str) -> list[dict]:
    return next(variable for variable in description()["variable"] if variable["name"] == name)["categories"]


def codes(name: str) -> list[str]:
    return [category["code"] for category in declared(name)]


def crossed(*names: str) -> np.ndarray:
    """The exact frequency table of some variables, by one bincount."""
    shape = [SIZES[name] for name in names]
    flat = np.ravel_multi_index([everyone()[name].astype(np.int64) for name in names], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def digest(batches) -> str:
    """A fingerprint of ids and codes, however the records are cut."""
    table = pa.Table.from_batches(list(batches))
    whole = hashlib.sha256()
    for column in table.columns:
        values = column.combine_chunks()
        whole.update("\n".join(map(str, values.to_pylist())).encode())
    return whole.hexdigest()


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


def test_ids_are_unique_and_their_order_tells_nothing():
    ids = everyone()["person_id"]
    assert len(np.unique(ids)) == ROWS
    assert ids.min() >= 0
    assert ids.max() < 2**48
    ranks = ids.argsort().argsort()
    assert abs(np.corrcoef(ranks, np.arange(len(ids)))[0, 1]) < 5 / np.sqrt(len(ids))
    sorted_share = (np.diff(ids) > 0).mean()
    assert 0.45 < sorted_share < 0.55


def test_every_dictionary_is_the_declared_list_of_codes_in_its_order():
    batch = next(census_batches(ROWS, chunk=10))
    for name, size in SIZES.items():
        assert batch.column(name).dictionary.to_pylist() == codes(name)
        assert len(codes(name)) == size
        assert set(np.unique(everyone()[name])) == set(range(size)), name


def test_the_hierarchy_nests_in_every_record():
    for coarse, fine in (("region", "district"), ("district", "area")):
        place = {code: position for position, code in enumerate(codes(coarse))}
        parents = np.array([place[category["parent"]] for category in declared(fine)])
        assert np.array_equal(parents[everyone()[fine]], everyone()[coarse])


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


@pytest.mark.parametrize("rows", [0, -5, 2**48])
def test_an_impossible_number_of_records_is_refused_at_once(rows):
    with pytest.raises(BadRequest, match=f"{rows} records"):
        census_batches(rows)
    with pytest.raises(BadRequest, match=f"{rows} records"):
        census_description(rows)
    with pytest.raises(BadRequest, match="at least 1"):
        census_batches(10, chunk=0)


@pytest.mark.parametrize("rows", [1, 30_000, 700_000])
def test_a_census_of_any_size_has_the_areas_that_its_description_lists(rows):
    parsed = tomllib.loads(census_description(rows))
    listed = [category["code"] for category in parsed["variable"][2]["categories"]]
    assert next(census_batches(rows, chunk=5)).column("area").dictionary.to_pylist() == listed
