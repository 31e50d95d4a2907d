"""One request, one set of numbers: by every face, every protocol, every format, and after a restart."""

import csv
import io
import json
import subprocess
import sys

import httpx
import pytest
from tests.formats.readers import READERS

import discreet
from discreet.formats import formats

FOR_READING = {"html", "svg", "png"}  # for reading: numbers set in thousands, and pictures


def cells_of(lines):
    """Codes to number, None where nothing is released."""
    return {codes: None if value in {"", None} else int(float(value)) for codes, value in lines}


def from_csv(text, names=("age", "sex"), number="value"):
    return cells_of(
        (tuple(line[name] for name in names), line[number]) for line in csv.DictReader(io.StringIO(text))
    )


def from_json_stat(document, names=("age", "sex")):
    """A JSON-stat document; dimensions of one category beside the named ones are left out."""
    codes = [list(document["dimension"][name]["category"]["index"]) for name in document["id"]]
    lines = []
    for place, value in enumerate(document["value"]):
        here, rest = {}, place
        for name, each in reversed(list(zip(document["id"], codes, strict=True))):
            rest, at = divmod(rest, len(each))
            here[name] = each[at]
        lines.append((tuple(here[name] for name in names), value))
    return cells_of(lines)


@pytest.mark.slow
def test_one_request_has_one_set_of_numbers(town_workspace, served):
    folder = town_workspace.folder
    own = discreet.open(folder).table("town", rows=["age"], columns=["sex"])
    wanted = from_csv(own.to_csv())
    assert len(wanted) > 6
    found = {}
    program = [sys.executable, "-c", "from discreet.cli.main import run; run()"]
    asked = ["table", "town", "--rows", "age", "--columns", "sex", "--format", "csv"]
    printed = subprocess.run([*program, *asked, "--workspace", str(folder)], capture_output=True, check=True)
    found["command line"] = from_csv(printed.stdout.decode())
    for run in ("first", "after a restart"):
        with served(folder) as base:
            far = discreet.open(base).table("town", rows=["age"], columns=["sex"])
            found[f"remote, {run}"] = from_csv(far.to_csv())
            table = httpx.get(f"{base}/api/datasets/town/table?rows=age&columns=sex")
            found[f"HTTP, {run}"] = from_json_stat(table.json())
            px = httpx.get(
                f"{base}/api/pxweb/v2/tables/town/data?valuecodes[age]=*&valuecodes[sex]=*&outputFormat=json-stat2"
            )
            found[f"PxWebApi, {run}"] = from_json_stat(px.json())
            sdmx = httpx.get(f"{base}/api/sdmx/data/town-age-sex/all?format=sdmx-csv")
            found[f"SDMX, {run}"] = from_csv(sdmx.text, number="OBS_VALUE")
            documents = {
                form.name: httpx.get(
                    f"{base}/api/datasets/town/table?rows=age&columns=sex&format={form.name}"
                )
                for form in formats()
            }
        for name, answer in documents.items():
            if name not in FOR_READING:
                lines = READERS[name](answer.content, ["age", "sex"])
                found[f"{name}, {run}"] = cells_of((line.codes, line.value) for line in lines)
    for face, numbers in found.items():
        assert {codes: numbers.get(codes) for codes in wanted} == wanted, face


def test_another_number_is_found_out():
    """Wrong alternative: a face that counts again, with other noise."""
    document = {"id": ["age", "sex"], "dimension": {}, "value": [1, 2]}
    document["dimension"] = {
        "age": {"category": {"index": {"a": 0}}},
        "sex": {"category": {"index": {"1": 0, "2": 1}}},
    }
    assert from_json_stat(json.loads(json.dumps(document))) == {("a", "1"): 1, ("a", "2"): 2}
    assert from_json_stat(document | {"value": [1, 3]}) != {("a", "1"): 1, ("a", "2"): 2}
