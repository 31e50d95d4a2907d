"""What must be true of every release: same people, same number; nothing exact leaves; limits hold."""

import hashlib
import io
import logging
import re
from dataclasses import replace

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.formats import format_by_name, formats
from discreet.model.release import NOT_APPLICABLE
from discreet.model.request import request_from_text
from discreet.model.shape import table_shape
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.protect.cell_keys import cell_keys
from discreet.records.tabulate import tabulate
from discreet.release.pipeline import release_table


@pytest.fixture(scope="module")
def stored(town_workspace):
    return town_workspace.stored("town")


def ask(stored, **parts):
    return release_table(stored, request_from_text("town", **parts))


def cells_by_people(release):
    """Each released value by a description of who is in the cell, whatever the layout."""
    hidden = dict(release.request.filters)
    found = {}
    for place in np.ndindex(*release.values.shape):
        who = {name: frozenset(codes) for name, codes in hidden.items()}
        for dimension, at in zip(release.dimensions, place, strict=True):
            members = dimension.members()[at]
            if len(members) < len(dimension.base):
                who[dimension.name] = frozenset(dimension.base[m] for m in members)
            else:
                who.pop(dimension.name, None)
        found[frozenset(who.items())] = int(release.values[place])
    return found


REQUESTS = [
    {"rows": ["sex"], "columns": ["age"]},
    {"rows": ["age", "sex"]},
    {"rows": ["sex"], "columns": ["age"], "layers": ["job"]},
    {"rows": ["job"], "columns": ["age"], "filters": ["sex=2"]},
    {"rows": ["age"], "filters": ["sex=1", "job=1"]},
    {"rows": ["age"], "columns": ["sex"], "groups": ["age=adult+old"]},
    {"rows": ["sex"], "filters": ["age=adult,old"]},
    {"rows": ["area"], "columns": ["age", "sex"]},
    {"rows": ["region"], "columns": ["age"], "filters": ["area=N1,N2"]},
    {"rows": ["sex"], "columns": ["job"], "totals": False},
]


def test_a_cell_has_one_value_in_every_table_slice_and_order(stored):
    seen = {}
    overlaps = 0
    for parts in REQUESTS:
        for who, value in cells_by_people(ask(stored, **parts)).items():
            overlaps += who in seen
            assert seen.setdefault(who, value) == value
    assert overlaps > 40
    # Other words for the same people: the region, and all its areas.
    region, areas = (
        ask(stored, rows=["region"], columns=["age"]),
        ask(stored, rows=["age"], filters=["area=N1,N2"]),
    )
    assert region.values[0].tolist() == areas.values.tolist()


@pytest.mark.slow
@given(st.permutations(["sex", "age", "job"]), st.integers(0, 3), st.sampled_from(["independent", "fitted"]))
@settings(max_examples=24)
def test_the_layout_changes_no_number(stored, order, cut, additivity):
    base = ask(stored, rows=["sex", "age", "job"], additivity=additivity)
    other = ask(stored, rows=order[:cut], columns=order[cut:], additivity=additivity)
    axes = [[d.name for d in other.dimensions].index(name) for name in ("sex", "age", "job")]
    assert other.values.transpose(axes).tolist() == base.values.tolist()


def test_record_order_chunks_and_threads_change_nothing(town, stored, tmp_path):
    expected = ask(stored, rows=["area"], columns=["age", "job"]).values.tolist()
    shuffled = town.records.take(np.random.default_rng(3).permutation(len(town.records)))
    workspace = town.load(tmp_path / "workspace", records=iter(shuffled.to_batches(max_chunksize=97)))
    workspace._threads = 1
    assert ask(workspace.stored("town"), rows=["area"], columns=["age", "job"]).values.tolist() == expected


def test_empty_cells_stay_zero_and_impossible_ones_are_not_applicable(stored):
    release = ask(stored, rows=["age"], columns=["job"])
    assert release.status[0, 1:4].tolist() == [NOT_APPLICABLE] * 3
    assert not release.status[1:].any()
    assert release.value("child", "1") is None
    assert release.value("child", "0") == release.values[0, 0]


def test_released_counts_are_never_negative_and_never_between_one_and_js(stored):
    values = ask(stored, rows=["area"], columns=["age", "job"]).values
    assert values.min() >= 0
    assert not (values == 1).any()


# ---- nothing exact leaves ----------------------------------------------------------------------------


def never_unchanged(modulus=2**32) -> NoiseTable:
    """A noise table that moves every count by 1000 or more: any exact count that shows is a leak."""
    moved = NoiseRow((1000, 2000), (modulus // 2, modulus))
    return NoiseTable(modulus, (NoiseRow((0,), (modulus,)), moved), family="canary")


@pytest.fixture(scope="module")
def canary(stored):
    return replace(stored, protector=replace(stored.protector, noise=never_unchanged()))


@pytest.mark.parametrize("parts", REQUESTS, ids=str)
def test_no_exact_count_key_or_secret_is_in_any_document(canary, stored, secret, parts, caplog):
    with caplog.at_level(logging.DEBUG):
        release = ask(canary, **parts)
    shape = table_shape(release.request, stored.dataset)
    exact = tabulate(stored.engine, shape)
    counts = {str(n) for n in exact.counts.ravel().tolist() if n > 99}
    keys = {str(n) for n in exact.key_sums.ravel().tolist() if n > 0}
    places = np.flatnonzero(exact.counts)
    cell = {str(n) for n in stored.protector.keys(shape)(exact.key_sums.ravel()[places], places).tolist()}
    texts = [readable(form, form.write(release)) for form in formats()] + [repr(release), caplog.text]
    for text in texts:
        words = set(_numbers(text.replace(release.digest, "")))
        assert not words & counts
        assert not words & keys
        assert not words & cell
        assert secret._material.hex() not in text


def readable(form, written):
    """What a document says, as text; binary ones are read by the library of their format."""
    if form.name in {
        "svg",
        "png",
    }:  # ends of intervals may be any number; tests/pictures compare what is drawn
        return ""
    if form.is_text:
        return written.decode("utf-8")
    if form.name == "xlsx":
        sheets = openpyxl.load_workbook(io.BytesIO(written)).worksheets
        return "\n".join(str(row) for sheet in sheets for row in sheet.iter_rows(values_only=True))
    read = pq.read_table if form.name == "parquet" else lambda data: pa.ipc.open_stream(data).read_all()
    table = read(io.BytesIO(written))
    return f"{table.to_pydict()} {table.schema.metadata}"


def _numbers(text):
    """Numbers that stand by themselves: the digits inside a digest are no number."""
    return re.findall(r"(?<![0-9A-Za-z])\d+(?![0-9A-Za-z])", text)


def test_an_error_is_the_same_whatever_the_counts_are(town, tmp_path):
    """Refusals of two neighbouring datasets, word for word."""
    messages = []
    for number, records in enumerate((town.records, town.records.slice(1))):
        stored = town.load(tmp_path / str(number), records=records).stored("town")
        said = []
        for parts in (
            {"rows": ["nope"]},
            {"rows": ["sex"], "filters": ["age=x"]},
            {"rows": ["region"], "groups": ["region=N+S"]},
        ):
            with pytest.raises(DiscreetError) as raised:
                ask(stored, **parts)
            said.append(str(raised.value))
        messages.append(said)
    assert messages[0] == messages[1]


def test_a_noise_table_that_would_move_zeros_gives_no_answer(stored):
    moving = NoiseTable(256, (NoiseRow((-1, 1), (128, 256)),))
    with pytest.raises(DiscreetError):
        ask(replace(stored, protector=replace(stored.protector, noise=moving)), rows=["sex"])


# ---- golden releases: these numbers never change -----------------------------------------------------

GOLDEN = {
    "hashed": "7815956cfbaed978ca8e98b4",
    "additive": "161a986f65d652d3b613ab17",
    "abs": "62954616cce85e3062235668",
    "participants-and-description": "bc8e1307256fe3aa92945b2b",
}


@pytest.mark.parametrize("mode", GOLDEN)
def test_published_numbers_never_change(mode, town, stored, secret):
    """Fixed secret, records, noise and request: the CSV's hash was written down once, for ever."""
    modulus = 256 if mode == "abs" else 2**32
    protection = replace(stored.dataset.protection, keys=mode, modulus=modulus)
    noise = NoiseTable(
        modulus,
        (
            NoiseRow((0,), (modulus,)),
            NoiseRow((-1, 1), (modulus // 2, modulus)),
            NoiseRow((-2, -1, 0, 1, 2), tuple(modulus * n // 8 for n in (1, 3, 5, 7, 8))),
        ),
        family="golden",
    )
    keys = cell_keys(secret, "town", protection, modulus)
    golden = replace(stored, protector=replace(stored.protector, keys=keys, noise=noise))
    release = ask(golden, rows=["area"], columns=["age"], layers=["sex"], filters=["job=0,1,2"])
    assert hashlib.sha256(format_by_name("csv").write(release)).hexdigest()[:24] == GOLDEN[mode]
