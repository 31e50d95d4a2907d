"""At most r records of a unit are kept, and one unit more or less changes no record of another."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.records.contribution_bounds import ContributionBounds, drop_rows
from discreet.records.keys import create_secret, read_secret


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    path = tmp_path_factory.mktemp("secret") / "secret"
    create_secret(path)
    return read_secret(path)


def blocks(numbers):
    """Numbers as 16 bytes each, different in both halves."""
    pairs = np.zeros((len(numbers), 2), dtype="<u8")
    pairs[:, 0], pairs[:, 1] = np.asarray(numbers) // 8, np.asarray(numbers) % 8
    return pairs.view(np.uint8).reshape(-1, 16)


def surplus(folder, secret, records, most, chunk=7):
    """The places that the product takes out of (unit, tag) pairs."""
    units = ContributionBounds(folder, secret, "town")
    for first in range(0, len(records), chunk):
        part = records[first : first + chunk]
        units.add(blocks([unit for unit, _ in part]), blocks([8 * tag for _, tag in part]))
    return units.surplus(most).tolist()


def slow_surplus(records, most):
    """The same, obviously: sort each unit's records and drop all but the first."""
    found = []
    for unit in {unit for unit, _ in records}:
        own = sorted((tag, place) for place, (each, tag) in enumerate(records) if each == unit)
        found += [place for _, place in own[most:]]
    return sorted(found)


RECORDS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2**40)), max_size=60)


@settings(max_examples=12)
@given(RECORDS, st.integers(1, 5))
def test_the_records_with_the_smallest_tags_of_a_unit_stay(secret, tmp_path_factory, records, most):
    assert surplus(tmp_path_factory.mktemp("u"), secret, records, most) == slow_surplus(records, most)


def kept(places, records):
    return sorted(record for place, record in enumerate(records) if place not in set(places))


def changes_others(choose, records, unit, most):
    """Whether taking a unit out changes what is kept of others, or more than `most` records in all."""
    rest = [record for record in records if record[0] != unit]
    before, after = kept(choose(records, most), records), kept(choose(rest, most), rest)
    gone = [record for record in before if record[0] != unit]
    return gone != after or len(before) - len(after) > most


def by_place_from_the_end(records, most):
    """A wrong choice: every k-th record of the file stays, as of a file that is cut to a size."""
    return [place for place in range(len(records)) if (len(records) - place) % 2]


def test_a_unit_more_changes_no_other_and_a_choice_by_the_whole_file_is_found_out(secret, tmp_path):
    rng = np.random.default_rng(3)
    records = [
        (int(unit), int(tag)) for unit, tag in zip(rng.integers(0, 6, 31), rng.permutation(31), strict=True)
    ]
    unit = records[0][0]
    assert not changes_others(lambda own, most: surplus(tmp_path, secret, own, most), records, unit, 2)
    assert changes_others(by_place_from_the_end, records, unit, 2)


def test_a_staged_file_loses_exactly_the_surplus(tmp_path):
    staged, schema = tmp_path / "staged.arrow", pa.schema([("n", pa.int64())])
    with pa.ipc.new_file(staged, schema) as writer:
        for first in (0, 4, 9):
            writer.write_batch(pa.record_batch([np.arange(first, {0: 4, 4: 9, 9: 10}[first])], schema=schema))
    drop_rows(staged, np.array([0, 4, 8, 9]))
    assert pa.ipc.open_file(staged).read_all()["n"].to_pylist() == [1, 2, 3, 5, 6, 7]
