import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.records.fingerprint import Fingerprint
from discreet.records.secret import Secret

SECRET = Secret(bytes(range(100, 132)))


def records(count: int, seed: int):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 16)).astype(np.uint8), [
        rng.integers(0, 5, count).astype(np.uint8),
        rng.integers(0, 500, count).astype(np.uint16),
        rng.integers(-9, 9, count),
    ]


def digest_of(hashes, columns, chunks=1, description="text", secret=SECRET, lineage="town"):
    fingerprint = Fingerprint(secret, lineage)
    for part in np.array_split(np.arange(len(hashes)), chunks):
        fingerprint.add(hashes[part], [column[part] for column in columns])
    return fingerprint.digest(description)


@given(st.integers(1, 60), st.integers(0, 10**6), st.integers(1, 7))
def test_order_and_chunks_change_nothing(count, seed, chunks):
    hashes, columns = records(count, seed)
    order = np.random.default_rng(seed + 1).permutation(count)
    shuffled = digest_of(hashes[order], [column[order] for column in columns], chunks=chunks)
    assert shuffled == digest_of(hashes, columns)


def test_every_part_of_every_record_counts():
    hashes, columns = records(30, 3)
    seen = {digest_of(hashes, columns)}
    for place in range(len(columns)):
        changed = [column.copy() for column in columns]
        changed[place][7] += 1
        seen.add(digest_of(hashes, changed))
    other = hashes.copy()
    other[7, 15] ^= 1
    seen.add(digest_of(other, columns))
    seen.add(digest_of(hashes[:-1], [column[:-1] for column in columns]))
    seen.add(digest_of(np.vstack([hashes, hashes[:1]]), [np.append(column, column[0]) for column in columns]))
    assert len(seen) == 7


def test_the_description_the_lineage_and_the_secret_count():
    hashes, columns = records(5, 4)
    seen = {
        digest_of(hashes, columns),
        digest_of(hashes, columns, description="other"),
        digest_of(hashes, columns, lineage="other"),
        digest_of(hashes, columns, secret=Secret(bytes(range(32)))),
    }
    assert len(seen) == 4


def test_moving_a_value_from_one_record_to_another_changes_the_digest():
    hashes, columns = records(10, 5)
    swapped = [column.copy() for column in columns]
    swapped[1][[0, 1]] = swapped[1][[1, 0]]
    assert swapped[1].tolist() != columns[1].tolist()
    assert digest_of(hashes, swapped) != digest_of(hashes, columns)


def test_the_records_alone_have_a_fingerprint_of_their_own():
    """The same in any order, another for other records, and never a version's name."""
    hashes, columns = records(40, 9)
    found = []
    for order in (np.arange(40), np.arange(40)[::-1], np.arange(39)):
        fingerprint = Fingerprint(SECRET, "town")
        fingerprint.add(hashes[order], [column[order] for column in columns])
        found.append(fingerprint.of_records("codes"))
        assert found[-1] not in {fingerprint.digest(""), fingerprint.digest("codes")}
        assert found[-1] != fingerprint.of_records("other codes")
    assert found[0] == found[1] != found[2]
