"""A release as columns: the same lines as cell by cell."""

from dataclasses import replace

import numpy as np

from discreet.model.columns import numbers_of, places_of


def test_lines_are_the_cells_in_order(town_release):
    """Wrong alternative: columns with the first variable fastest."""
    columns = [places.tolist() for _, places in places_of(town_release)]
    assert list(zip(*columns, strict=True)) == list(np.ndindex(town_release.values.shape))
    (value,) = numbers_of(town_release)
    assert value.name == "value"
    for place, number in zip(np.ndindex(town_release.values.shape), value.listed(), strict=True):
        assert number == (None if town_release.missing[place] else town_release.values[place])


def test_numbers_beside_the_value_are_missing_with_it_and_where_there_is_none(town_release):
    shape = town_release.values.shape
    status, tenths = np.zeros(shape, np.uint8), np.full(shape, 125)
    status.flat[0], tenths.flat[1] = 1, -1
    numbers = numbers_of(
        replace(
            town_release, signed=-np.ones(shape, np.int64), status=status, errors=tenths, noise_shares=tenths
        )
    )
    assert [column.name for column in numbers] == [
        "value",
        "signed",
        "relative_standard_error",
        "noise_share",
    ]
    assert numbers[1].listed()[:2] == [None, -1]
    assert numbers[2].listed()[:3] == numbers[3].listed()[:3] == [None, None, 12.5]
