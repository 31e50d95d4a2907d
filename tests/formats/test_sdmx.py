"""SDMX-CSV and SDMX-JSON: the layout of the standard, and its codes."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import sdmx

from discreet.formats import format_by_name
from discreet.formats.writers.sdmx_data import sdmx_csv, sdmx_json
from discreet.model.sdmx import dataset_flow, sdmx_id

from .readers import expected, read_back
from .test_formats import decorated


def rows_of(release):
    return list(csv.DictReader(io.StringIO(format_by_name("sdmx-csv").write(release).decode(), newline="")))


def test_the_columns_stand_in_the_order_of_the_standard(release):
    row = rows_of(decorated(release))[0]
    first = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "age", "job", "sex", "OBS_VALUE", "OBS_STATUS"]
    assert list(row)[:8] == first
    assert list(row)[8:12] == ["CONF_STATUS", "SIGNED", "RELATIVE_STANDARD_ERROR", "NOISE_SHARE"]
    assert [row[name] for name in first[:3]] == ["dataflow", "DISCREET:town-age-job-sex(1.0.0)", "I"]


def test_the_words_of_the_table_stand_in_the_first_line_only(release):
    first, *others = rows_of(release)
    assert first["NOTE"] == " ".join(release.notes)
    assert first["DIGEST"] == release.digest
    assert {row["NOTE"] + row["CITATION"] for row in others} == {""}


def test_hostile_codes_are_ids_and_hostile_words_are_one_line(hostile):
    """Wrong alternative: a quoted line end, at which sdmx1 breaks the line."""
    data = format_by_name("sdmx-csv").write(replace(hostile, notes=("two\nlines\u2028three", "=1+1")))
    assert len(data.decode().splitlines()) == hostile.cells + 1
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert [row["word"] for row in rows] == [sdmx_id(code) for code in hostile.dimensions[0].codes]
    assert rows[0]["NOTE"] == "two lines three =1+1"


def test_dimensions_that_a_table_does_not_have_are_totals(release):
    flow = dataset_flow(release.dataset)
    rows = list(csv.DictReader(io.StringIO(b"".join(sdmx_csv(release, flow)).decode(), newline="")))
    assert list(rows[0])[3:8] == ["region", "area", "sex", "age", "job"]
    assert {(row["region"], row["area"]) for row in rows} == {("_T", "_T")}
    assert rows[0]["STRUCTURE_ID"] == "DISCREET:town(1.0.0)"
    assert [row["age"] for row in rows] == [row["age"] for row in rows_of(release)]


def document_of(release):
    return json.loads(format_by_name("sdmx-json").write(release))


def test_it_is_a_message_of_the_standard(release):
    shown = decorated(release)
    full = document_of(shown)
    assert full.keys() == {"header", "structure", "dataSets"}
    observations = full["dataSets"][0]["observations"]
    assert len(observations) == release.cells
    assert observations["1:2:0"][0] is None
    assert shown.missing[1, 2, 0]
    assert observations["1:2:2"][0] == shown.values[1, 2, 2]
    attributes = [attribute["id"] for attribute in full["structure"]["attributes"]["observation"]]
    assert attributes == ["OBS_STATUS", "CONF_STATUS", "SIGNED", "RELATIVE_STANDARD_ERROR", "NOISE_SHARE"]
    assert {len(observation) for observation in observations.values()} == {6}


def test_the_words_are_attributes_of_the_data_set(release):
    document = document_of(release)
    told = {
        attribute["id"]: attribute["values"][place]["name"]
        for attribute, place in zip(
            document["structure"]["attributes"]["dataSet"],
            document["dataSets"][0]["attributes"],
            strict=True,
        )
    }
    assert told["NOTE"] == " ".join(release.notes)
    assert told["PROMISE"] == " ".join(release.promise)
    assert told["DIGEST"] == release.digest
    assert told["CITATION"].startswith(release.title)
    assert document["structure"]["uri"].endswith("Dataflow=DISCREET:town-age-job-sex(1.0.0)")


def test_a_column_of_nothing_keeps_its_place(release):
    """Wrong alternative: an attribute without values, which sdmx1 drops and then reads the next in its place."""
    none = np.full(release.values.shape, -1)
    for full in (replace(decorated(release), errors=none), replace(decorated(release), signed=None)):
        assert read_back("sdmx-json", full) == expected(full)
    plain = document_of(release)["dataSets"][0]["observations"]
    assert {len(observation) for observation in plain.values()} == {3}, "no column of nothing is written"


def test_sdmx1_sees_every_dimension_of_the_dataflow(release):
    """A table of three variables as data of the whole dataset: the others are totals."""
    message = sdmx.read_sdmx(io.BytesIO(b"".join(sdmx_json(release, dataset_flow(release.dataset)))))
    series = sdmx.to_pandas(message)
    assert series.index.names == ["region", "area", "sex", "age", "job"]
    assert series["_T", "_T", "1", "old", "2"] == release.value("old", "2", "1")
    assert len(series) == release.cells
