"""Pages on other tools and on the HTTP interfaces: their examples run as they stand, and they name what there is."""

import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
import urllib.request

import pytest

from discreet.cli.signals import SECONDS_TO_CLEAN_UP
from discreet.errors import BadRequest
from discreet.formats import formats
from discreet.model import limits
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.selection import LONG, LONGEST_NAME, MOST_LOOKED_AT, MOST_READ
from discreet.web.admission import MAX_BODY_BYTES, MAX_QUERY_BYTES
from discreet.web.api.routes import API_PARAMETERS
from discreet.web.pxweb.output import CSV_PARAMETERS, FORMATS
from discreet.web.pxweb.routes import PREFIX
from discreet.web.pxweb.selection_syntax import LONGEST_ID
from discreet.web.response_headers import HEADERS
from discreet.workspace.demo import census_description

from .pages import blocks, run_python, text_of

PAGE = text_of("how-to/read-tables.md")
TOOLS = ("Python", "R", "pandas", "polars", "DuckDB", "Excel", "curl", "JavaScript")
DEMO = "http://127.0.0.1:8000"
#: What a page shows and the tests cannot run; it says so.
NOT_RUN = {"sql", "powerquery"}


def section(name):
    """What the page says of a tool."""
    return PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


def examples(name):
    """The examples of a tool with their languages, in order."""
    return re.findall(r"```(\w+)\n(.*?)```", section(name), re.DOTALL)


@pytest.fixture
def run(demo_address, tmp_path, monkeypatch):
    """Run the examples of a tool in order in an empty folder; the names its Python made, and what was printed."""
    monkeypatch.chdir(tmp_path)

    def whole(name):
        names, printed = {"__name__": name}, io.StringIO()
        for language, code in examples(name):
            here = code.replace(DEMO, demo_address)
            with contextlib.redirect_stdout(printed):
                if language == "python":
                    run_python("read-tables.md", here, names)
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


def test_the_page_has_every_tool_and_says_what_holds_in_all_of_them():
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == list(TOOLS)
    head = PAGE.split("\n## ")[0]
    for part in ("`c` is withheld", "`z` cannot occur", "mandatory", "never zero", "`_T`", *TOOLS):
        assert part in head, part
    for name in TOOLS:
        assert DEMO in section(name)
        if {language for language, _ in examples(name)} & NOT_RUN:
            assert "not run" in section(name)


@pytest.mark.slow
def test_the_python_client_saves_the_table_and_its_picture(run, tmp_path):
    run("Python")
    assert (tmp_path / "employment.xlsx").stat().st_size > 1000
    assert (tmp_path / "employment.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_pandas_reads_the_released_numbers_by_both_ways(run, released):
    names, printed = run("pandas")
    for frame in (names["table"], names["plain"]):
        assert told(frame["age"], frame["employment"], frame["value"]) == released
    assert set(names["missing"]["status"]) == {"z"}
    assert names["table"].fillna({"value": 0})["value"].isna().sum() == 0 < len(names["missing"])
    assert "randomly adjusted" in printed


@pytest.mark.slow
def test_polars_reads_the_released_numbers(run, released):
    pytest.importorskip("polars")
    names, printed = run("polars")
    frame = names["table"]
    assert told(frame["age"], frame["employment"], frame["value"]) == released
    assert "randomly adjusted" in printed


@pytest.mark.slow
def test_duckdb_reads_the_file_that_curl_fetched(run, released):
    names, printed = run("DuckDB")
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
    _, printed = run("JavaScript")
    assert f"{{ value: {released['25-29', '1']}, status: '' }}" in printed
    assert f"{{ value: {released['25-29', '_T']}, status: '' }}" in printed
    assert "{ value: null, status: 'z' }" in printed
    assert "randomly adjusted" in printed


@pytest.mark.slow
def test_the_workbook_holds_the_released_numbers_and_the_note(run, released, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    run("Excel")
    book = openpyxl.load_workbook(tmp_path / "employment.xlsx", read_only=True)
    head, *lines = book["data"].iter_rows(values_only=True)
    columns = dict(zip(head, zip(*lines, strict=True), strict=True))
    assert told(columns["age"], columns["employment"], columns["value"]) == released
    assert any(
        "randomly adjusted" in str(cell) for row in book["notes"].iter_rows(values_only=True) for cell in row
    )


PXWEB, HTTP = text_of("reference/pxweb.md"), text_of("reference/http.md")


@pytest.mark.slow
def test_the_first_minute_of_pxweb_runs(demo_address):
    made = []
    for code in blocks("reference/pxweb.md", "python"):
        with contextlib.redirect_stdout(io.StringIO()):
            made.append(run_python("pxweb.md", code.replace(DEMO, demo_address)))
    assert len(made[0]["rows"]) == 3 * 4
    assert len(made[0]["regions"]) == 12
    assert [len(each["frame"]) for each in made[1:3]] == [3 * 6, 2 * 6]


def test_every_format_parameter_header_and_limit_is_documented():
    pxweb = [f"`{name}`" for name in (*FORMATS, *CSV_PARAMETERS, PREFIX)]
    pxweb += [f"{MAX_BODY_BYTES:,} bytes", f"{LONGEST_ID:,} letters"]
    http = [f"`{name}`" for name in (*API_PARAMETERS, *(form.name for form in formats()))]
    http += [f"{MAX_QUERY_BYTES:,} bytes", f"{MAX_BODY_BYTES:,} bytes"]
    assert [word for word in pxweb if word not in PXWEB] == []
    assert [word for word in http if word not in HTTP] == []
    assert [header for header in HEADERS if header not in HTTP.lower()] == []


QUESTIONS = text_of("reference/question-language.md")
SAME = re.findall(r"^\| `(filter|group|levels)` \| `(.+?)` \| `(.+?)` \|$", QUESTIONS, flags=re.MULTILINE)
ERRORS = re.findall(r"^\| `([a-z]+!?=.+?)` \| (.+?) \|$", QUESTIONS, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def census():
    return parse_dataset(census_description(400_000))


def ask(dataset, parameter, text):
    parts = {"filter": "filters", "group": "groups", "levels": "levels"}
    rows = ["occupation"] if parameter == "filter" else [text.split("=")[0]]
    return canonical(request_from_text("census", rows=rows, **{parts[parameter]: [text]}), dataset)


def test_the_page_has_examples_of_all_that_can_be_written():
    assert {parameter for parameter, _, _ in SAME} == {"filter", "group", "levels"}
    for notation in ("..", "!=", "*", "?", "region:", "\\,", "Europe:"):
        assert any(notation in written for _, written, _ in SAME), notation
    assert len(ERRORS) == 6


@pytest.mark.parametrize(("parameter", "written", "codes"), SAME)
def test_an_example_means_the_codes_beside_it(census, parameter, written, codes):
    asked = ask(census, parameter, written)
    assert asked == ask(census, parameter, codes)
    assert asked.filters or asked.groups or asked.names or asked.levels


@pytest.mark.parametrize(("written", "said"), ERRORS)
def test_an_error_is_as_printed(census, written, said):
    with pytest.raises(BadRequest) as refused:
        ask(census, "filter", written)
    assert str(refused.value).startswith(said)


def test_the_limits_are_those_of_the_program():
    for words in (
        f"at most {MOST_READ} ranges",
        f"may look at {MOST_LOOKED_AT:,} categories",
        f"more than {MOST_LOOKED_AT // MOST_READ:,} categories",
        f"at most {LONGEST_NAME} characters",
        f"more than {LONG} codes",
    ):
        assert words in QUESTIONS


def test_the_limits_of_files_are_those_of_the_program():
    page = text_of("reference/files.md")
    for words in (
        f"may have {limits.MOST_COLUMNS:,} columns, a first line of {limits.LONGEST_HEADER:,} characters",
        f"lines of {limits.LONGEST_LINE:,} bytes",
        f"unpack to {limits.MOST_UNPACKED_BYTES >> 20} MB, or to {limits.MOST_RATIO} times its size",
        f"unpack to {limits.MOST_WORKBOOK_BYTES >> 30} GB, and no text in it may be longer than {limits.LONGEST_TEXT:,}",
        f"within {SECONDS_TO_CLEAN_UP + 0.5:g} seconds",
    ):
        assert words in page
