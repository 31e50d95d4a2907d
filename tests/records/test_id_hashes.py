"""Ids that occur twice are all found, each with the record that has it already."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discreet.model.dataset import Dataset
from discreet.model.variable import Category, Variable
from discreet.records.id_hashes import find_duplicates, hash_bytes, hash_prefixes, id_prefixes
from discreet.records.problems import Problems

PEOPLE = Dataset("people", "People", (Variable("sex", "Sex", (Category("1", "Male"),)),), "id")


@given(st.lists(st.integers(0, 12), max_size=20), st.integers(1, 7))
def test_every_repeated_id_is_told_once_wherever_the_chunks_end(ids, chunk):
    whole = np.array(ids, dtype=np.uint64)
    problems = Problems(PEOPLE)
    find_duplicates([whole[at : at + chunk] for at in range(0, whole.size, chunk)], problems, "id")
    again = [place for place, each in enumerate(ids) if each in ids[:place]]
    assert problems.told[1].get("id", 0) == len(again)


def test_records_without_an_id_are_no_duplicates_of_each_other():
    hashes = [b"a" * 16, None, None]
    batch = pa.record_batch({"h": pa.array(hashes, pa.binary())})
    found = hash_bytes(pa.array([each or b"\0" * 16 for each in hashes], pa.binary(16)))
    assert len(set(id_prefixes(batch, found, 5).tolist())) == 3
    assert len(set(hash_prefixes(found).tolist())) == 2  # the wrong way: both without an id are one
