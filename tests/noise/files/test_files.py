"""Noise table files are recognised by content, and our JSON document is read back exactly or refused."""

import copy
import json
import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable, BadRequest, NotFound, UnknownFormat
from discreet.noise import laplace
from discreet.noise.files import FORMATS, read_noise_table, write_noise_table
from discreet.noise.files.document import from_document, to_document
from discreet.noise.table import ArrangedRow, NoiseRow, NoiseTable, content_hash, make_table

WRITTEN = NoiseTable(256, (NoiseRow((0,), (256,)), NoiseRow((-1, 1), (128, 256))))


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_is_recognised_by_content_and_an_imported_table_knows_its_file(tmp_path, name):
    write_noise_table(WRITTEN, tmp_path / "noise.dat", name)
    again = read_noise_table(tmp_path / "noise.dat")
    assert all(again.row(c).probabilities() == WRITTEN.row(c).probabilities() for c in range(40))
    if name != "json":
        assert again.parameters["file"] == "noise.dat"
        assert len(again.parameters["file_sha256"]) == 64
        assert again.parameters["format"] == ("tau-argus" if name == "sas" else name)


def test_a_file_that_is_not_there_or_no_table_is_refused(tmp_path):
    with pytest.raises(NotFound):
        read_noise_table(tmp_path / "none.csv")
    for name, data in {"a": b"hello\n", "b": b"{", "c": b"\xff\xfe", "d": b"", "e": b"[1]"}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadNoiseTable):
            read_noise_table(tmp_path / name)


def test_an_unknown_format_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(UnknownFormat, match='Did you mean "tau-argus"'):
        write_noise_table(WRITTEN, tmp_path / "x", "tauargus")


@pytest.mark.parametrize(("name", "small_n"), [("ons", 5), ("tau-argus", 10), ("superstar", 0)])
def test_a_small_n_that_the_file_cannot_have_is_refused(tmp_path, name, small_n):
    write_noise_table(WRITTEN, tmp_path / "noise.dat", name)
    with pytest.raises(BadRequest, match="SmallN"):
        read_noise_table(tmp_path / "noise.dat", small_n=small_n)


def looked_up_by_cellkey(text, separator):
    """How R cellKey 1.0.3 looks a count up (`lookup_freq`): rows 1 to max(i), the last for all larger; zero stays."""
    lines = [line.split(separator) for line in text.splitlines()]
    places = {name: lines[0].index(name) for name in ("i", "v", "ub" if "ub" in lines[0] else "p_int_ub")}
    i, v, ub = places.values()
    rows = [(int(line[i]), int(line[v]), float(line[ub])) for line in lines[1:]]
    most = max(count for count, _, _ in rows)

    def noise(count, key):
        serving = [(value, bound) for number, value, bound in rows if number == min(count, most)]
        return 0 if count == 0 or most == 0 else next(value for value, bound in serving if key < bound)

    return noise


@pytest.mark.parametrize(("name", "separator"), [("tau-argus", ";"), ("sas", ";"), ("cellkey", ",")])
def test_a_table_of_one_row_is_read_back_by_us_and_by_the_rules_of_the_programs(name, separator, tmp_path):
    table = laplace(epsilon=0.5, m=5, modulus=10**8)
    assert len(table.rows) == 1
    write_noise_table(table, tmp_path / "one", name)
    text = (tmp_path / "one").read_text().replace(" ", "")
    theirs = looked_up_by_cellkey(text, separator)
    counts = np.arange(12).repeat(40)
    keys = np.random.default_rng(5).integers(0, 10**8, counts.size).astype(np.uint64)
    expected = np.where(counts > 0, table.noise(counts, keys), 0).tolist()
    assert read_noise_table(tmp_path / "one").noise(counts, keys).tolist() == expected
    assert [theirs(n, key / 10**8) for n, key in zip(counts.tolist(), keys.tolist(), strict=True)] == expected
    # The wrong alternative: a file with the row of count 0 alone, which cellKey would take for no noise at all.
    alone = [text.splitlines()[0], *(line for line in text.splitlines() if line.startswith(f"0{separator}"))]
    assert {looked_up_by_cellkey("\n".join(alone), separator)(n, 0.5) for n in range(12)} == {0}


TABLE = NoiseTable(
    256,
    (NoiseRow((0,), (256,)), NoiseRow((-1, 0, 1), (64, 192, 256))),
    family="maxent",
    parameters={"D": 1, "V": 0.5},
)


def through_json(table):
    return from_document(json.loads(json.dumps(to_document(table), allow_nan=False)))


def test_a_document_has_the_keys_that_design_promises_and_gives_the_table_back():
    document = to_document(TABLE)
    assert list(document)[:7] == ["family", "parameters", "modulus", "rows", "repeats", "moments", "notes"]
    assert document["rows"][1] == {
        "count": 1,
        "values": [-1, 0, 1],
        "probabilities": [0.25, 0.5, 0.25],
        "thresholds": [64, 192, 256],
    }
    assert document["moments"] == {"bias": 0.0, "variance": 0.5, "entropy": pytest.approx(1.5 * math.log(2))}
    again = from_document(json.loads(json.dumps(document)))
    assert again == TABLE
    assert dict(again.parameters) == {"D": 1, "V": 0.5}


@given(st.integers(1, 2**64), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_any_modulus_up_to_two_to_the_64_is_kept_to_the_last_digit(modulus, rows):
    table = NoiseTable(modulus, (NoiseRow((0,), (modulus,)),) * rows, repeats=rows)
    assert through_json(table) == table


def test_the_order_of_the_keys_is_kept_and_hashed():
    rows = [ArrangedRow((1, -1), (2, 4)), ArrangedRow((0,), (4,))]
    table = make_table(4, rows, repeats=1, family="file", parameters={})
    plain_table = NoiseTable(4, table.rows, 1, "file")
    assert through_json(table) == table
    assert content_hash(table) != content_hash(plain_table)


def test_the_hash_covers_the_integers_and_nothing_else():
    renamed = NoiseTable(256, TABLE.rows, 1, "other", {"D": 2})
    longer = NoiseTable(256, TABLE.rows, 2, "maxent")
    assert content_hash(renamed) == content_hash(TABLE)
    assert content_hash(longer) != content_hash(TABLE)


def test_values_without_a_key_are_left_out():
    document = to_document(TABLE)
    del document["content_sha256"]
    document["rows"][1] = {"count": 1, "values": [-2, -1, 0, 1], "thresholds": [0, 64, 192, 256]}
    assert from_document(document) == TABLE


def changed(path, value):
    document = copy.deepcopy(to_document(TABLE))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed(["rows", 1, "thresholds"], [63, 192, 256]), "hash"),
        (changed(["repeats"], 2), "hash"),
        (changed(["rows", 1, "thresholds"], [64, 192, 255]), "count 1 covers 255 keys of 256"),
        (changed(["rows", 1, "thresholds"], [192, 64, 256]), "count 1: The thresholds"),
        (changed(["rows", 1, "thresholds"], [64, 192]), "count 1 needs one threshold"),
        (changed(["rows", 1, "thresholds"], [64, 192.5, 256]), "count 1: values and thresholds are whole"),
        (changed(["rows", 1, "values"], [-1, -1, 1]), "count 1 lists a value twice"),
        (
            changed(["rows", 1, "probabilities"], [0.25, 0.5, 0.2]),
            "count 1: its probabilities add up to 0.95",
        ),
        (changed(["rows", 1, "count"], 2), "count 2 comes too early"),
        (changed(["rows", 1, "count"], 0), "count 0 is there twice"),
        (changed(["moments", "bias"], 0.5), "count 1 has mean 0; the document declares 0.5"),
        (changed(["modulus"], "256"), 'no usable "modulus"'),
        (changed(["repeats"], "one"), 'no usable "repeats"'),
        (changed(["rows"], []), "at least one row"),
        (changed(["arrangement"], [{"values": [1], "thresholds": [256]}] * 2), "law of the rows"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(document, said):
    with pytest.raises(BadNoiseTable, match=said):
        from_document(document)


JUNK = [None, "x", 1, 1.5, [], [1], {}, {"a": 1}, True, 10**30, 10**400, float("nan")]
PLACES = [
    ["rows"], ["rows", 1], ["rows", 1, "values"], ["rows", 1, "thresholds"], ["rows", 1, "probabilities"],
    ["rows", 1, "probabilities", 0], ["rows", 1, "count"], ["modulus"], ["repeats"], ["family"], ["parameters"],
    ["moments"], ["moments", "bias"], ["arrangement"], ["content_sha256"],
]  # fmt: skip


@pytest.mark.parametrize("digits", [100_000, 4_000])
def test_a_number_of_thousands_of_digits_is_refused(digits, tmp_path):
    """Python refuses to read the first; the second overflows wherever it is used."""
    text = json.dumps(to_document(TABLE)).replace("256", "9" * digits)
    (tmp_path / "noise.json").write_text(text)
    with pytest.raises(BadNoiseTable, match=f"a whole number of {digits:,} digits"):
        read_noise_table(tmp_path / "noise.json")


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "-".join(map(str, place)))
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_whatever_stands_in_a_place_the_document_is_read_or_refused(place, junk):
    with suppress(BadNoiseTable):
        assert from_document(changed(place, junk)).rows == TABLE.rows
