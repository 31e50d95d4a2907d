"""A contract for every format, and what is particular to CSV and JSON-stat."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.formats import format_by_name, formats
from discreet.formats.writers import arrow, csv, html, json_stat, px, sdmx_data, xlsx
from discreet.model import columns
from discreet.model.sdmx import sdmx_id

from . import large
from .readers import expected, read_back

#: Formats of bare lines: what must be told is asked for beside them.
WITHOUT_WORDS = {"csv", "csv-excel", "csv-excel-point"}


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


#: Formats of numbers; pictures are read back in tests/pictures.
OF_NUMBERS = [form for form in formats() if not form.is_picture]


@pytest.mark.parametrize("name", [form.name for form in OF_NUMBERS])
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
        assert not tells(format_by_name(name).write(hidden), 918273645)
        assert tells(format_by_name(name).write(replace(hidden, status=open_)), 918273645), (
            "the search finds it"
        )

    def test_words_travel_where_there_is_a_place(self, name, release):
        words = raw(format_by_name(name).write(release)).decode("utf-8", "replace")
        told = [release.notes[0], release.digest, release.promise[0]]
        assert all(unwrapped(text) in unwrapped(words) for text in told) == (name not in WITHOUT_WORDS)

    def test_the_same_release_gives_the_same_bytes(self, name, release):
        form = format_by_name(name)
        assert form.write(release) == form.write(release) == b"".join(form.stream(release))

    @pytest.mark.parametrize("lines", [1, 7])
    def test_blocks_join_to_the_same_table(self, name, release, monkeypatch, lines):
        """Wrong alternatives: a header, a word or a comma again in every block, and lines that start over at 1."""
        for module, size in ((columns, "BLOCK"), (html, "BLOCK"), (arrow, "BATCH"), (xlsx, "_LINES")):
            monkeypatch.setattr(module, size, lines)
        full = decorated(release)
        assert read_back(name, full) == expected(full)

    def test_the_first_piece_leaves_before_most_cells_are_formatted(self, name, thousands, monkeypatch):
        """Wrong alternative: a writer that joins its pieces first."""
        if name == "xlsx":
            pytest.skip("its first sheet is the whole cross table")
        right, wrong = format_by_name(name), large.joined_first(format_by_name(name))
        formatted = 0

        def spy(release, lines=columns.EVERY, numbers_of=columns.numbers_of):
            nonlocal formatted
            found = numbers_of(release, lines)
            formatted += len(found[0].values)
            return found

        for writer in (arrow, csv, html, json_stat, px, sdmx_data, xlsx):
            monkeypatch.setattr(writer, "numbers_of", spy)
        monkeypatch.setattr(arrow, "BATCH", 2_000)
        assert next(right.stream(thousands))
        assert formatted <= 0.6 * thousands.cells
        next(wrong.stream(thousands))
        assert formatted >= thousands.cells, "the spy sees a writer that joins first"


@pytest.fixture(scope="module")
def thousands():
    """Enough cells for more than one piece in every format."""
    return large.large_release(50, 40, 30)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux")
def test_a_million_cells_take_less_than_twice_their_arrays():
    """With the memory pool that the `discreet` command sets. Wrong alternative: a writer that joins first."""
    names = [form.name for form in OF_NUMBERS]
    told = subprocess.run(
        [sys.executable, large.__file__, "100x100x100", *names, "csv:joined"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    ratios = json.loads(told.stdout)
    assert ratios.pop("csv:joined") > 4
    assert all(ratio < 2 for ratio in ratios.values()), ratios


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
    ids = [line._replace(codes=tuple(map(sdmx_id, line.codes))) for line in expected(named)]
    for form in OF_NUMBERS:
        assert read_back(form.name, named) == (ids if form.name.startswith("sdmx") else expected(named))
    assert json.loads(format_by_name("json").write(named))["note"][-1] == note
    assert b"<script" not in format_by_name("html").write(named)
