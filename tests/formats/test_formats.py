"""A contract for every format, and what is particular to CSV and JSON-stat."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.errors import UnknownFormat
from discreet.formats import formats, named_format

from .readers import expected, read_back

#: Formats of bare lines: what must be told is asked for beside them.
WITHOUT_WORDS = {"csv", "csv-excel"}


def raw(data):
    """The bytes of a document, unpacked."""
    if not data.startswith(b"PK"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        return b"".join(parts.read(part) for part in parts.namelist())


def tells(data, number):
    """Whether a number is in a document, in digits or in binary."""
    return any(form in raw(data) for form in (str(number).encode(), number.to_bytes(8, "little")))


def unwrapped(text):
    """Text without what formats do to quotes and line ends."""
    return re.sub(r"[\s\"']|&(quot|#x27|#39|apos);|\\", "", text)


def decorated(release):
    """The release with every status, numbers below zero shown as zero, and errors: what formats can meet."""
    rng = np.random.default_rng(7)
    signed = rng.integers(-9, 2000, release.values.shape)
    errors = rng.integers(-1, 1200, release.values.shape)
    status = np.resize(np.arange(4, dtype=np.uint8), release.values.shape)
    shown = np.maximum(signed, 0)
    return replace(
        release,
        values=shown,
        signed=signed,
        status=status,
        errors=errors,
        noise_shares=errors[..., ::-1].copy(),
    )


@pytest.mark.parametrize("name", [form.name for form in formats()])
class TestEveryFormat:
    def test_the_numbers_and_statuses_are_those_of_the_release(self, name, release):
        assert read_back(name, release) == [line[:3] + (None,) * 3 for line in expected(release)]

    def test_signed_values_errors_and_statuses_come_back(self, name, release):
        """Wrong alternatives: a withheld value that is written, and `signed` in place of what is shown."""
        full = decorated(release)
        assert {line.status for line in read_back(name, full)} == {"", "c", "z", "u"}
        assert read_back(name, full) == expected(full)

    def test_floats_come_back_as_they_are(self, name, release):
        means = replace(release, values=np.resize([0.1, 1 / 3, -2.5, 1e22, 3.0], release.values.shape))
        assert [line.value for line in read_back(name, means)] == [line.value for line in expected(means)]

    def test_hostile_text_stays_data(self, name, hostile):
        """Every line is there with its number, whatever the labels hold."""
        assert [line.value for line in read_back(name, hostile)] == [line.value for line in expected(hostile)]

    def test_what_is_withheld_is_nowhere(self, name, release):
        """A number behind a status must not reach the file, not even below a null, as Arrow's masks leave it."""
        values = np.full(release.values.shape, 5)
        values[0, 0, 0] = 918273645
        open_, closed = (np.zeros(values.shape, dtype=np.uint8) for _ in range(2))
        closed[0, 0, 0] = 1
        hidden = replace(release, values=values, signed=values, status=closed)
        assert read_back(name, hidden)[0].value is None
        assert not tells(named_format(name).write(hidden), 918273645)
        assert tells(named_format(name).write(replace(hidden, status=open_)), 918273645), (
            "the search finds it"
        )

    def test_words_travel_where_there_is_a_place(self, name, release):
        words = raw(named_format(name).write(release)).decode("utf-8", "replace")
        told = [release.notes[0], release.digest, release.promise[0]]
        assert all(unwrapped(text) in unwrapped(words) for text in told) == (name not in WITHOUT_WORDS)

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


def test_a_name_of_the_askers_own_is_told_as_such_and_stays_data_in_every_format(town_workspace):
    hostile = "=cmd|' /C calc'!A0<script>\"&,;'"
    catalogue = discreet.open(town_workspace.folder)
    groups = {"age": {hostile: "child+adult", "Aged": "old"}}
    named = catalogue.table("town", rows="age", columns="sex", groups=groups).release
    assert named.dimensions[0].labels[:2] == (hostile, "Aged")
    note = f'Groups named by whoever asked for this table, not by the dataset: Age: "{hostile}", "Aged".'
    assert named.notes[-1] == note
    for form in formats():
        assert read_back(form.name, named) == expected(named)
    assert json.loads(named_format("json").write(named))["note"][-1] == note
    assert b"<script" not in named_format("html").write(named)
