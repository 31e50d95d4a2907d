"""A listing as a value: what it is called, and that its lines have the columns of a table."""

import numpy as np

from discreet.model.columns import NONE, numbers_of, parts, places_of, statuses_of
from discreet.model.listing import ListedCells, Listing

ONE = np.array([1], dtype=np.int32)


def listing(release):
    cells = ListedCells((ONE, ONE, ONE), np.array([7]), np.array([3], dtype=np.uint8))
    nothing = ListedCells((ONE[:0],) * 3, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8))
    return Listing(
        release.dataset,
        release.digest,
        release.request,
        release.dimensions,
        release.notes,
        release.promise,
        release.measure,
        nothing,
        iter([cells]),
    )


def test_it_is_called_as_its_table_and_has_its_columns(town_release):
    found = listing(town_release)
    assert found.title == town_release.title
    assert found.query.endswith("nonzero=yes")
    assert [n.name for n in numbers_of(found, NONE)] == [n.name for n in numbers_of(town_release, NONE)]
    (part,) = parts(found)
    assert numbers_of(found, part)[0].listed() == [7]
    assert statuses_of(found, part).tolist() == [3]
    assert [places.tolist() for _, places in places_of(found, part)] == [[1]] * 3
    assert [places.size for _, places in places_of(found, NONE)] == [0] * 3
