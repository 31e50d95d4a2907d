"""A contract for every format, and what is particular to CSV and JSON-stat."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import UnknownFormat
from discreet.formats import formats, named_format


@pytest.mark.parametrize("name", [form.name for form in formats()])
class TestEveryFormat:
    def test_the_mandatory_facts_are_in_it(self, name, release):
        form = named_format(name)
        assert form.name == name
        data = form.write(release)
        assert isinstance(data, bytes)
        data.decode("utf-8")

    def test_the_same_release_gives_the_same_bytes(self, name, release):
        assert named_format(name).write(release) == named_format(name).write(release)


def test_an_unknown_format_names_the_nearest():
    with pytest.raises(UnknownFormat, match='Did you mean "csv"'):
        named_format("cvs")


def test_a_float_is_written_by_the_fewest_digits_that_give_it_back(release):
    """A later measure may release means: the type of the values is kept, and a missing one stays empty."""
    numbers = np.resize([0.1, 1 / 3, -2.5, 1e22, 3.0], release.values.shape)
    means = replace(release, values=numbers)
    lines = list(csv.DictReader(io.StringIO(named_format("csv").write(means).decode())))
    values = json.loads(named_format("json").write(means))["value"]
    for line, value, number, missing in zip(
        lines, values, numbers.ravel().tolist(), release.missing.ravel().tolist(), strict=True
    ):
        assert line["value"] == ("" if missing else repr(number))
        assert value == (None if missing else number)
    assert means.value("adult", "1", "1") == numbers[1, 1, 0]


def test_values_are_whole_numbers_or_floats_of_64_bits(release):
    with pytest.raises(ValueError, match="int64 or float64"):
        replace(release, values=release.values.astype(np.float32))
