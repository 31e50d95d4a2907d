"""Ugly files: each loads as the same records, or is refused with its line and the cure; no draft publishes an id.

The right answer is the fingerprint of a clean Arrow table: it covers every id, code and weight. A reader that shifts a
column, loses a record, reads a comma as a point or a letter in another encoding has another fingerprint.
"""

import csv
import gzip
import io
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, BadRecords
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.description.sections import FileOptions
from discreet.records.draft.describe_file import describe_file
from discreet.records.engine import EngineKind
from discreet.records.readers import open_source
from discreet.records.staging import load_records

pytestmark = pytest.mark.slow

RECORDS = 400
NOWHERE = EngineKind("nowhere", "", lambda *_given: None, lambda *_given: None)
#: Codes of sex that any age fits.
LOOSE = ", ".join(f'"{age}"' for age in range(100))
PLACES = ["Île-de-France", "Zürich", "Nord", "Sankt Pölten"]
DESCRIPTION = """
id = "people"
label = "People"
id_column = "person"
weight_column = "gewicht"
weight_decimals = 2
[[variable]]
name = "region"
column = "région"
categories = ["Île-de-France", "Zürich", "Nord", "Sankt Pölten"]
[[variable]]
name = "sex"
categories = ["1", "2"]
[[variable]]
name = "age"
values = { "0..14" = "child", "15..<65" = "adult", "65.." = "old" }
categories = ["child", "adult", "old"]
[[variable]]
name = "job"
not_stated = "9"
missing = ["-9", "NA", "-99..-90"]
categories = ["a", "b", "9"]
"""


def people(records=RECORDS):
    random = np.random.RandomState(7)
    household = np.sort(random.randint(0, records // 2, records))
    return pd.DataFrame(
        {
            "person": np.arange(records) + 1001,
            "haushalt": household + 100,
            "région": np.array(PLACES)[random.randint(0, 4, records)],
            "sex": random.randint(1, 3, records),
            "age": random.randint(0, 99, records),
            "job": random.choice(["a", "b", ""], records),
            "gewicht": random.randint(100, 900, records) / 4,
            "remark": [f"called, {n % 150} times" for n in range(records)],
        }
    )


PEOPLE = people()


def put(path, data):
    path.write_bytes(data)
    return path


def write(path, text, encoding="utf-8"):
    return put(path, text.encode(encoding))


def as_csv(frame=PEOPLE, **given):
    given = {"index": False, "lineterminator": "\n"} | given
    return frame.to_csv(**given)


def squeezed(**given):
    """Records without their remarks: no field needs a quote."""
    return as_csv(PEOPLE.drop(columns="remark"), **given)


def xlsx(path, frame=PEOPLE, blank_rows=(), more=()):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Daten"
    sheet.append(list(frame.columns))
    for number, row in enumerate(frame.itertuples(index=False)):
        if number in blank_rows:
            sheet.append([])
        sheet.append([None if value == "" else value for value in row])
    for title in more:
        book.create_sheet(title).append(["note"])
    book.save(path)
    return path


def spss(path, writer=pyreadstat.write_sav, **more):
    frame = PEOPLE.copy()
    frame["job"] = frame["job"].map({"a": 1.0, "b": 2.0, "": 8.0})
    writer(frame.rename(columns={"région": "region"}), path, **more)
    return path


#: The job in numbers, as files of statistics programs have it.
NUMBERED = DESCRIPTION.replace('column = "région"\n', "").replace(
    'missing = ["-9", "NA", "-99..-90"]', 'missing = ["8"]\nvalues = { "1" = "a", "2" = "b" }'
)


def sqlite(path, tables=("people",)):
    with sqlite3.connect(path) as database:
        for table in tables:
            PEOPLE.to_sql(table, database, index=False)
    database.close()
    return path


def in_duckdb(path):
    with duckdb.connect(str(path)) as database:
        database.register("frame", PEOPLE)
        database.execute("CREATE TABLE people AS SELECT * FROM frame")
    return path


def arrow(path, compression=None, stream=False):
    table = pa.Table.from_pandas(PEOPLE, preserve_index=False)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=123)
    return path


def parquet_folder(path):
    path.mkdir()
    table = pa.Table.from_pandas(PEOPLE, preserve_index=False)
    pq.write_table(table.slice(0, 150), path / "part-0.parquet")
    (path / "more").mkdir()
    pq.write_table(table.slice(150), path / "more" / "part-1.parquet")
    return path


def words_for_missing():
    frame = PEOPLE.copy()
    gaps = frame.index[frame["job"] == ""]
    frame.loc[gaps, "job"] = np.array(["NA", "-9", " ", "-95"])[np.arange(len(gaps)) % 4]
    return as_csv(frame)


def blank_headers():
    lines = as_csv(PEOPLE.assign(x="1", y="2")).split("\n", 1)
    return lines[0].replace(",x,y", ",, ") + "\n" + lines[1]


TEXT = as_csv()
NO_QUOTES = squeezed()
GOOD = {
    "plain.csv": lambda p: write(p, TEXT),
    "semicolons.csv": lambda p: write(p, as_csv(sep=";")),
    "tabs.tsv": lambda p: write(p, as_csv(sep="\t")),
    "bars.txt": lambda p: write(p, as_csv(sep="|")),
    "decimal commas.csv": lambda p: write(p, as_csv(sep=";", decimal=",")),
    "tabs and decimal commas.tsv": lambda p: write(p, as_csv(sep="\t", decimal=",")),
    "mark.csv": lambda p: write(p, TEXT, "utf-8-sig"),
    "western.csv": lambda p: write(p, TEXT, "cp1252"),
    "western with decimal commas.csv": lambda p: write(p, as_csv(sep=";", decimal=","), "cp1252"),
    "utf-16.csv": lambda p: write(p, TEXT, "utf-16"),
    "utf-32.csv": lambda p: write(p, TEXT, "utf-32"),
    "windows.csv": lambda p: write(p, as_csv(lineterminator="\r\n")),
    "old mac.csv": lambda p: write(p, as_csv(lineterminator="\r")),
    "mixed ends.csv": lambda p: write(p, TEXT.replace("\n", "\r\n", 57)),
    "mixed ends in utf-16.csv": lambda p: write(p, TEXT.replace("\n", "\r", 57), "utf-16"),
    "no last end.csv": lambda p: write(p, TEXT.rstrip("\n")),
    "blank lines.csv": lambda p: write(p, TEXT.replace("\n", "\n\n")),
    "leading blank line.csv": lambda p: write(p, "\n\n" + TEXT),
    "all quoted.csv": lambda p: write(p, as_csv(quoting=csv.QUOTE_ALL)),
    "line ends in quotes.csv": lambda p: write(p, TEXT.replace("called, 3", "called,\n3")),
    "quotes in quotes.csv": lambda p: write(p, TEXT.replace("called, 3", 'said ""no"", 3')),
    "backslashes.csv": lambda p: write(p, TEXT.replace("called, 3", 'said \\"no\\", 3')),
    "single quotes.csv": lambda p: write(p, as_csv(quoting=csv.QUOTE_ALL, quotechar="'")),
    "padded.csv": lambda p: write(p, NO_QUOTES.replace(",1,", ", 1 ,").replace(",Nord,", ",Nord  ,")),
    "padded header.csv": lambda p: write(p, TEXT.replace("sex,age", " sex , age ", 1)),
    "blank headers.csv": lambda p: write(p, blank_headers()),
    "same header twice.csv": lambda p: write(p, TEXT.replace("haushalt", "person", 1)),
    "headers by capitals.csv": lambda p: write(p, TEXT.replace("haushalt", "REMARK", 1)),
    "last comma.csv": lambda p: write(p, TEXT.replace("\n", ",\n")),
    "excel sep.csv": lambda p: write(p, "sep=;\n" + as_csv(sep=";")),
    "words for missing.csv": lambda p: write(p, words_for_missing()),
    "shuffled.csv": lambda p: write(p, as_csv(PEOPLE.sample(frac=1, random_state=3))),
    "people[1].csv": lambda p: write(p, TEXT),
    "packed.csv.gz": lambda p: put(p, gzip.compress(TEXT.encode())),
    "packed western.csv.gz": lambda p: put(p, gzip.compress(TEXT.encode("cp1252"))),
    "packed.tsv.zst": lambda p: put(p, pa.compress(as_csv(sep="\t").encode(), "zstd", asbytes=True)),
    "people.parquet": lambda p: put(p, PEOPLE.to_parquet()),
    "people*.parquet": lambda p: put(p, PEOPLE.to_parquet()),
    "folder": parquet_folder,
    "people.arrow": arrow,
    "packed.feather": lambda p: arrow(p, "lz4"),
    "stream.arrow": lambda p: arrow(p, stream=True),
    "people.xlsx": xlsx,
    "blank rows.xlsx": lambda p: xlsx(p, blank_rows={0, 17, 200}),
    "people.sqlite": sqlite,
    "people.duckdb": in_duckdb,
    "people.sav": spss,
    "packed.zsav": lambda p: spss(p, compress=True),
    "people.dta": lambda p: spss(p, pyreadstat.write_dta),
    "people.xpt": lambda p: spss(p, pyreadstat.write_xport),
}
#: Files that say too little: what must be named for them.
NAMED = {
    "utf-16 without mark.csv": (lambda p: write(p, TEXT, "utf-16-le"), FileOptions("utf-16-le")),
    "old dos.csv": (lambda p: write(p, TEXT, "cp850"), FileOptions("cp850")),
    "two sheets.xlsx": (lambda p: xlsx(p, more=["Hinweise"]), FileOptions(table="Daten")),
    "two tables.db": (lambda p: sqlite(p, ("people", "others")), FileOptions(table="people")),
    "colons.csv": (lambda p: write(p, squeezed(sep=":")), FileOptions(delimiter=":")),
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, secret):
    """Load a file; tells its fingerprint, and that nothing is left."""
    count = iter(range(10_000))

    def load(path, description=DESCRIPTION, options=None):
        given = options.given() if options else {}
        section = "".join(f'{key} = "{value}"\n' for key, value in given.items())
        dataset = parse_dataset(description + (f"[file]\n{section}" if section else ""))
        folder = tmp_path_factory.mktemp(f"load{next(count)}")
        try:
            return load_records(path, dataset, "", secret, folder, NOWHERE).fingerprint
        finally:
            assert list(folder.iterdir()) == []

    return load


@pytest.fixture(scope="module")
def right(loaded):
    return loaded(pa.Table.from_pandas(PEOPLE, preserve_index=False))


def description_of(name):
    return NUMBERED if name.endswith(("sav", "dta", "xpt")) else DESCRIPTION


@pytest.mark.parametrize("name", GOOD)
def test_it_loads_as_the_same_records(name, loaded, right, tmp_path):
    path = GOOD[name](tmp_path / name)
    assert loaded(path, description_of(name)) == right


def test_the_fingerprint_sees_a_wrong_reading(loaded, right, tmp_path):
    """The wrong alternatives: a decimal comma that is dropped, a column that is shifted, a record that is lost."""
    no_comma = as_csv(sep=";", decimal=",").replace(",25", "25").replace(",5;", "5;").replace(",75", "75")
    assert loaded(write(tmp_path / "a.csv", no_comma.replace(",0;", "0;"))) != right
    shifted = TEXT.replace("sex,age", "age,sex", 1)
    loose = DESCRIPTION.replace('"1", "2"', LOOSE)
    assert loaded(write(tmp_path / "b.csv", shifted), loose) != loaded(write(tmp_path / "d.csv", TEXT), loose)
    assert loaded(write(tmp_path / "c.csv", TEXT.rsplit("\n", 2)[0])) != right


@pytest.mark.parametrize("name", NAMED)
def test_it_says_what_must_be_named_and_then_loads(name, loaded, right, tmp_path):
    make, options = NAMED[name]
    path = make(tmp_path / name)
    if name != "colons.csv":
        with pytest.raises(BadData, match=r"encoding|Name one|not among"):
            loaded(path)
    assert loaded(path, DESCRIPTION, options) == right


def test_letters_that_are_not_western_must_be_named(loaded, tmp_path):
    """The wrong alternative takes Russian for cp1252, and finds no such region."""
    russian = dict(zip([*PLACES, "région"], ["Москва", "Тверь", "Казань", "Псков", "район"], strict=True))
    text, description = TEXT, DESCRIPTION
    for here, there in russian.items():
        text, description = text.replace(here, there), description.replace(here, there)
    path = write(tmp_path / "people.csv", text, "cp1251")
    with pytest.raises(BadData, match="Name its encoding"):
        loaded(path, description)
    found = loaded(path, description, FileOptions("cp1251"))
    assert found == loaded(write(tmp_path / "utf-8.csv", text), description)


def torn(text, line, change):
    lines = text.split("\n")
    lines[line - 1] = change(lines[line - 1])
    return "\n".join(lines)


#: More lines than DuckDB looks at before the first record is given on.
LONG = TEXT + TEXT.split("\n", 1)[1] * 10
ZST = pa.compress(TEXT.encode(), "zstd", asbytes=True)

BAD = {
    "short.csv": (lambda p: write(p, torn(TEXT, 200, lambda line: line[:12])), "Line 200 of short.csv has 3 fields"),
    "late.csv": (lambda p: write(p, torn(LONG, 4_007, lambda line: line[:12])), "Line 4,007 of late.csv has 3 fields"),
    "long.csv": (lambda p: write(p, torn(TEXT, 77, lambda line: line + ",x")), "Line 77 of long.csv has 9 fields"),
    "unclosed.csv": (lambda p: write(p, torn(TEXT, 50, lambda line: line[:-1])), "quote that begins after line 49"),
    "torn.csv.gz": (lambda p: put(p, gzip.compress(LONG.encode())[:-900]), "torn.csv.gz ends after line"),
    "no.csv.gz": (lambda p: write(p, TEXT), "no.csv.gz cannot be unpacked"),
    "torn.csv.zst": (lambda p: put(p, ZST[:-900]), "torn.csv.zst cannot be unpacked"),
    "later bytes.csv": (lambda p: put(p, TEXT.encode() + "9,9,Nöl,1".encode("cp1252") * 3), "line|Line"),
    "empty.csv": (lambda p: write(p, ""), "is empty"),
    "header.csv": (lambda p: write(p, TEXT.split("\n")[0]), "has a header and no records"),
    "header.xlsx": (lambda p: xlsx(p, PEOPLE[:0]), "has a header and no records"),
    "header.parquet": (lambda p: put(p, PEOPLE[:0].to_parquet()), "has no records"),
    "no header.xlsx": (lambda p: (openpyxl.Workbook().save(p), p)[1], "has no sheet"),
    "beside.xlsx": (lambda p: xlsx(p, PEOPLE.rename(columns={"remark": None})), "Row 2 has a value in column 8"),
    "zeros.csv": (lambda p: write(p, "a,b\n\0\0,1\n"), "zero bytes"),
    **{
        f"nonsense.{ending}": (lambda p: put(p, b"nonsense" * 40), f"nonsense.{ending}")
        for ending in ("parquet", "arrow", "xlsx", "sav", "dta", "xpt", "sas7bdat", "sqlite", "duckdb")
    },
    "half.sav": (lambda p: put(p, spss(p).read_bytes()[:-2000]), "half.sav"),
    "half.parquet": (lambda p: put(p, PEOPLE.to_parquet()[:-50]), "half.parquet"),
    "people.xls": (lambda p: write(p, "x"), "Save the workbook as .xlsx"),
    "people.pdf": (lambda p: write(p, "x"), "no known ending"),
    "no parquet": (lambda p: (p.mkdir(), p)[1], "has no Parquet file"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_with_its_place_and_the_cure(name, loaded, tmp_path):
    make, words = BAD[name]
    path = make(tmp_path / name)
    for ask in (lambda: loaded(path, description_of(name)), lambda: describe_file(path)):
        with pytest.raises(BadData, match=words.replace(".", r"\.")) as refused:
            ask()
        assert refused.value.advice


def test_every_problem_is_told_at_once_with_its_line(loaded, tmp_path):
    """The wrong alternative ends at the first record, and counts records instead of lines."""
    frame = PEOPLE.copy()
    frame["job"] = "a"
    frame.loc[3, "remark"] = "two\nlines"
    frame.loc[5, "sex"] = 3
    frame.loc[[7, 9], "sex"] = 0
    frame.loc[7, "age"] = -4
    frame.loc[11, "gewicht"] = np.nan
    frame.loc[20, "person"] = 1004
    frame.loc[21:60, "région"] = "Süd"
    with pytest.raises(BadRecords) as refused:
        loaded(write(tmp_path / "people.csv", as_csv(frame)))
    error = refused.value
    assert error.counts == {"sex": 3, "age": 1, "gewicht": 1, "person": 1, "region": 40}
    found = [(problem["line"], problem["variable"]) for problem in error.problems]
    assert found[:6] == [(8, "sex"), (10, "sex"), (10, "age"), (12, "sex"), (14, "gewicht"), (23, "person")]
    assert len(found) == 10
    assert "Line 8: The value '3' of \"sex\" is not among its categories. There are 46 problems" in str(error)
    assert "record 4 has it, too" in error.problems[5]["message"]


@pytest.mark.parametrize(("name", "unit", "place"), [("a.xlsx", "row", 23), ("a.parquet", "record", 20)])
def test_other_files_name_rows_and_records(name, unit, place, loaded, tmp_path):
    frame = PEOPLE.copy()
    frame.loc[19, "sex"] = 7
    path = tmp_path / name
    with pytest.raises(BadRecords) as refused:
        loaded(xlsx(path, frame, blank_rows={4, 9}) if unit == "row" else put(path, frame.to_parquet()))
    assert refused.value.problems[0][unit] == place


@pytest.mark.parametrize("name", [*GOOD, "tiny.csv", "one.csv"])
def test_no_draft_publishes_an_identifier(name, tmp_path):
    """The wrong alternative kept the household: it nests in the region of a small file."""
    small = {"tiny.csv": 2, "one.csv": 1}
    records, path = small.get(name, RECORDS), tmp_path / name
    draft = describe_file(write(path, as_csv(PEOPLE[:records])) if name in small else GOOD[name](path))
    if "\n[[variable]]" in draft.text:
        dataset = parse_dataset(draft.text)
        assert all(20 * len(variable) <= records for variable in dataset.variables)
        assert not {"haushalt", "person", "remark"} & {v.column.lower() for v in dataset.variables}
    else:
        assert name in small
        assert "No column can be tabulated as it is" in draft.text
    assert "header" in name or "haushalt" in {column.lower() for column, _ in draft.left_out}


PLAIN = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffd\x85\u2028\u2029"),
    max_size=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    remarks=st.lists(PLAIN, min_size=3, max_size=12),
    delimiter=st.sampled_from(",;\t|"),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_any_dialect_gives_back_its_records(remarks, delimiter, ends, quoting, encoding, tmp_path_factory):
    """Whatever is in a field, its neighbours stay as they are."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=ends, quoting=quoting)
    rows = [(str(number), remark, f"x{number}") for number, remark in enumerate(remarks)]
    writer.writerows([("id", "remark", "code"), *rows])
    folder = tmp_path_factory.mktemp("dialect")
    path, aside = put(folder / "people.csv", out.getvalue().encode(encoding)), folder / "aside"
    aside.mkdir()
    with duckdb.connect() as connection:
        found = open_source(connection, path, aside).relation.fetchall()
    assert [(one, two or "", three) for one, two, three in found] == rows


MEASURED = """
import re, sys
from pathlib import Path
from discreet.records.draft.describe_file import describe_file
from discreet.workspace.versions.load_version import load_dataset
file, folder = map(Path, sys.argv[1:])
load_dataset(folder, describe_file(file).text, file)
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)  # not what the parent had
"""


def test_memory_is_bounded_by_the_size_of_the_file(tmp_path):
    """Drafted and loaded, a file of M megabytes takes at most M / 4 + 500; read whole it would take several M."""
    path = tmp_path / "people.csv"
    with duckdb.connect() as connection:
        connection.execute(
            """COPY (SELECT i AS person, hash(i) % 9 AS region, hash(i + 1) % 90 AS age, repeat('x', 700) || hash(i)
            AS remark, md5(i::VARCHAR) AS letter FROM range(200000) r(i)) TO ? (HEADER)""",
            [str(path)],
        )
    megabytes = path.stat().st_size / 2**20
    assert megabytes > 140
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, path, tmp_path / "w"], capture_output=True, text=True, check=True
    )
    assert int(done.stdout.split()[-1]) < megabytes / 4 + 500
