"""The first minute of a reader's own tool: every example runs as it stands, and reads the numbers that were released."""

import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
NAMES = ("pandas", "polars", "duckdb", "curl", "javascript", "excel")
DEMO = "http://127.0.0.1:8000"
#: What a page shows and the tests cannot run; it says so.
NOT_RUN = {"sql", "powerquery"}


def text_of(name):
    return (PAGES / f"from-{name}.md").read_text("utf-8")


def blocks(name):
    """The examples of a page with their languages, in order."""
    return re.findall(r"```(\w+)\n(.*?)```", text_of(name), re.DOTALL)


@pytest.fixture
def run(demo_address, tmp_path, monkeypatch):
    """Run a page from top to bottom in an empty folder; the names that its Python made, and what was printed."""
    monkeypatch.chdir(tmp_path)

    def whole(name):
        names, printed = {"__name__": name}, io.StringIO()
        for language, code in blocks(name):
            here = code.replace(DEMO, demo_address)
            with contextlib.redirect_stdout(printed):
                if language == "python":
                    exec(compile(here, f"from-{name}.md", "exec"), names)  # noqa: S102 - our own pages
                elif language not in NOT_RUN:
                    printed.write(_program(language, here))
        return names, printed.getvalue()

    return whole


def _program(language, code):
    words = {"sh": ["sh", "-e", "-c"], "js": ["node", "--input-type=module", "-e"]}[language]
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    return subprocess.run([*words, code], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.fixture
def released(demo_address):
    """The value of each cell by its codes, read by hand: None where there is none."""
    address = f"{demo_address}/api/datasets/census/table?rows=age&columns=employment&format=csv"
    with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own server
        lines = csv.DictReader(io.TextIOWrapper(answer, "utf-8", newline=""))
        return {
            (line["age"], line["employment"]): int(line["value"]) if line["value"] else None for line in lines
        }


def told(ages, kinds, values):
    """The same from columns: whatever a tool has for nothing becomes None."""
    numbers = [None if value is None or value != value else int(value) for value in values]  # noqa: PLR0124 - NaN
    return dict(zip(zip(map(str, ages), map(str, kinds), strict=True), numbers, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_is_missing_what_must_be_told_and_what_was_not_run(name):
    text = text_of(name)
    assert DEMO in text
    for part in ("`c` is withheld", "`z` cannot occur", "mandatory", "zero" if name != "curl" else "empty"):
        assert part in text, part
    if {language for language, _ in blocks(name)} & NOT_RUN:
        assert "not run" in text
    assert all(f"(from-{other}.md)" in text for other in NAMES if other != name)


@pytest.mark.slow
def test_pandas_reads_the_released_numbers_by_both_ways(run, released):
    pytest.importorskip("pandas")
    names, printed = run("pandas")
    for frame in (names["table"], names["plain"]):
        assert told(frame["age"], frame["employment"], frame["value"]) == released
    assert set(names["missing"]["status"]) == {"z"}
    assert names["table"].fillna({"value": 0})["value"].isna().sum() == 0 < len(names["missing"])
    assert "randomly adjusted" in printed


@pytest.mark.slow
def test_polars_reads_the_released_numbers_by_both_ways(run, released):
    pytest.importorskip("polars")
    names, printed = run("polars")
    for frame in (names["table"], names["again"]):
        assert told(frame["age"], frame["employment"], frame["value"]) == released
    assert "randomly adjusted" in printed


@pytest.mark.slow
def test_duckdb_reads_the_file_that_curl_fetched(run, released):
    pytest.importorskip("duckdb")
    names, printed = run("duckdb")
    assert [row[1] for row in names["table"].fetchall()] == [
        value for (_, kind), value in released.items() if kind == "_T"
    ]
    assert "randomly adjusted" in printed


@pytest.mark.slow
def test_curl_writes_tables_the_note_and_a_refusal_with_advice(run, released, tmp_path):
    run("curl")
    with (tmp_path / "employment.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    values = [int(line["value"]) if line["value"] else None for line in lines]
    assert values == list(released.values())
    document = json.loads((tmp_path / "employment.json").read_text("utf-8"))
    assert document["value"] == values
    assert "randomly adjusted" in document["note"][0]
    assert "Working" in (tmp_path / "working.csv").read_text("utf-8")
    refused = json.loads((tmp_path / "refused.json").read_text("utf-8"))
    assert refused["code"] == "unknown-variable"
    assert '"age"' in refused["advice"]


@pytest.mark.slow
def test_javascript_finds_cells_by_their_codes(run, released):
    _, printed = run("javascript")
    assert f"{{ value: {released['25-29', '1']}, status: '' }}" in printed
    assert f"{{ value: {released['25-29', '_T']}, status: '' }}" in printed
    assert "{ value: null, status: 'z' }" in printed
    assert "randomly adjusted" in printed


@pytest.mark.slow
def test_the_workbook_holds_the_released_numbers_and_the_note(run, released, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    run("excel")
    book = openpyxl.load_workbook(tmp_path / "employment.xlsx", read_only=True)
    head, *lines = book["data"].iter_rows(values_only=True)
    columns = dict(zip(head, zip(*lines, strict=True), strict=True))
    assert told(columns["age"], columns["employment"], columns["value"]) == released
    assert any(
        "randomly adjusted" in str(cell) for row in book["notes"].iter_rows(values_only=True) for cell in row
    )
