"""SDMX over HTTP: sdmx1, unmodified, against a server on the loopback; and what clients get that ask wrongly."""

import csv
import io
import re
from pathlib import Path

import pytest
import requests
import sdmx
from tests.web.conftest import client_of, key_with_budget, running, with_key

from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "sdmx.md"
CSV = "application/vnd.sdmx.data+csv;version=2.0.0"


@pytest.fixture(scope="module")
def address(small_workspace):
    with running(client_of(small_workspace).app) as there:
        yield there


@pytest.fixture(scope="module")
def source(address):
    """The server as a source of sdmx1, under a name of the reader's own."""
    sdmx.add_source({"id": "SMALLVILLE", "url": f"{address}/api/sdmx", "name": "Smallville"}, override=True)
    return sdmx.Client("SMALLVILLE")


def our_numbers(address, query):
    """What /api/datasets says: a value for each codes."""
    text = requests.get(f"{address}/api/datasets/people/table?{query}&format=csv", timeout=60).text
    rows = list(csv.DictReader(io.StringIO(text)))
    names = [name[: -len("_label")] for name in rows[0] if name.endswith("_label")]
    return {tuple(row[name] for name in names): float(row["value"] or "nan") for row in rows}


def their_numbers(series):
    """What sdmx1 has read, by the codes that we know."""
    return {tuple(code.replace("$2B", "+") for code in codes): value for codes, value in series.items()}


def test_sdmx1_lists_and_describes(source):
    flows = source.dataflow().dataflow
    assert sorted(flows) == ["hostile", "people"]
    assert str(flows["people"].name) == "People of Smallville"
    assert "randomly adjusted" in str(flows["people"].get_annotation(id="NOTE").text)
    told = source.dataflow("people")
    structure = told.dataflow["people"].structure
    assert [d.id for d in structure.dimensions] == ["region", "district", "sex", "age", "job", "origin"]
    codes = structure.dimensions.get("sex").local_representation.enumerated
    assert {code.id: str(code.name) for code in codes} == {"1": "Male", "2": "Female", "_T": "Total"}
    assert [a.id for a in structure.attributes][:2] == ["OBS_STATUS", "CONF_STATUS"]
    assert set(source.datastructure("people-sex-age").structure) == {"people-sex-age"}
    assert len(source.codelist("CL_people_district").codelist["CL_people_district"]) == 49


def test_sdmx1_reads_the_numbers_of_the_table(source, address):
    """Structural zeros are missing in both; all else is equal, cell by cell."""
    series = sdmx.to_pandas(source.data("people-age-job-sex"))
    assert series.index.names == ["age", "job", "sex"]
    ours, theirs = our_numbers(address, "rows=age&columns=job&layers=sex"), their_numbers(series)
    assert ours.keys() == theirs.keys()
    assert len(theirs) == 48
    assert {k: str(v) for k, v in ours.items()} == {
        k: str(v) for k, v in theirs.items()
    }  # a NaN equals nothing


def test_a_key_is_a_cut_and_never_a_filter(source, address):
    """Wrong alternative: a filter, whose total is the number of men."""
    series = their_numbers(sdmx.to_pandas(source.data("people-sex-age", key={"sex": "1+_T"})))
    whole = our_numbers(address, "rows=sex&columns=age")
    men = our_numbers(address, "rows=sex&columns=age&filter=sex=1")
    assert series == {codes: value for codes, value in whole.items() if codes[0] != "2"}
    assert series["_T", "_T"] != men["_T", "_T"]


def test_totals_choose_a_table_of_the_whole_dataset(source, address):
    others = dict.fromkeys(["region", "district", "job", "origin"], "_T")
    series = sdmx.to_pandas(source.data("people", key={"sex": ["1", "2"], "age": ["65$2B"], **others}))
    assert series.index.names == ["region", "district", "sex", "age", "job", "origin"]
    whole = our_numbers(address, "rows=sex&columns=age")
    assert series["_T", "_T", "1", "65$2B", "_T", "_T"] == whole["1", "65+"]
    assert len(series) == 2
    total = source.data("people", key=".".join(["_T"] * 6))
    assert sdmx.to_pandas(total).tolist() == [our_numbers(address, "rows=region")["_T",]]


def test_sdmx_csv_has_the_same_numbers_and_the_note(source, address):
    """sdmx1 gives SDMX-CSV the structure that it has asked for itself."""
    message = source.data("people-sex-age", key={"sex": "1"}, headers={"Accept": CSV})
    frame = sdmx.to_pandas(message.data[0], attributes="o")
    whole = our_numbers(address, "rows=sex&columns=age")
    assert their_numbers(frame["value"]) == {c: v for c, v in whole.items() if c[0] == "1"}
    assert "randomly adjusted" in frame["NOTE"].iloc[0]
    assert set(frame["OBS_STATUS"]) == {"A"}


def test_a_known_structure_makes_sdmx1_ask_for_xml_and_it_reads_json(source):
    """Wrong alternative: 406 where SDMX-ML is wanted, and `dsd=` fails in the client."""
    structure = source.datastructure("people-sex-age").structure["people-sex-age"]
    told = source.data("people-sex-age", key={"sex": "1"}, dsd=structure)
    assert told.response.request.headers["accept"].endswith("xml;version=2.1")
    assert len(sdmx.to_pandas(told)) == 4
    attributes = told.response.json()["structure"]["attributes"]["dataSet"]
    assert (
        "randomly adjusted" in next(each for each in attributes if each["id"] == "NOTE")["values"][0]["name"]
    )


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("data/people", 403, "_T"),
        ("data/peeple", 404, "people"),
        ("data/people-sexx", 404, "sex"),
        ("data/people-sex/3", 400, "sex"),
        ("data/people-sex/1.2", 400, "position"),
        ("data/people-sex-age/1", 400, "sex.age"),
        ("data/people-sex-age/1..", 400, "2 dimensions"),
        ("data/people-sex-age/.65+", 400, '"age" has no code ""'),
        ("data/people-sex-age/1+.", 400, "sex"),
        ("data/people-sex?detail=serieskeysonly", 400, "detail"),
        ("data/people-sex?startPeriod=2020", 400, "startPeriod"),
        ("data/people-sex?format=xlsx", 400, "sdmx-"),
        ("data/A,people-sex,1.0.0", 404, "7.0.0"),
        ("categoryscheme", 404, "codelist"),
        ("dataflow/all/peeple", 404, "peeple"),
        ("datastructure/all/people-sexx", 404, "sex"),
        ("codelist/all/CL_people_sexx", 404, "CL_people_sexx"),
        ("codelist/all/people", 404, "people"),
        ("conceptscheme/all/CS_peeple", 404, "peeple"),
        ("dataflow/all/all/latest?references=everything", 400, "references"),
        ("dataflow/all/all/latest?detials=full", 400, "detail"),
    ],
)
def test_what_is_asked_wrongly_is_a_problem_with_advice(client, path, status, said):
    answer = client.get(f"/api/sdmx/{path}")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in answer.json()["detail"] + answer.json()["advice"]
    assert (answer.json()["code"] == "unknown-dataset") == ("peeple" in path), "as the JSON API says"


@pytest.mark.slow
def test_dp_answers_and_refuses_as_the_tables_do_and_slices_are_charged_once(private_town):
    """Wrong alternative: a charge for every slice, or for a table that nobody but the account may see."""
    folder = private_town.folder
    key = with_key(key_with_budget(folder))
    with client_of(folder) as client:
        ours = client.get("/api/datasets/town/table?rows=sex&columns=age").json()["value"]
        data = client.get("/api/sdmx/data/town-sex-age").json()["dataSets"][0]["observations"]
        assert [values[0] for values in data.values()] == ours
        table = "/api/sdmx/data/town-sex-job-area"
        asked = [table, "/api/datasets/town/table?rows=sex&columns=job&layers=area"]
        assert [client.get(path).json()["code"] for path in asked] == ["outside-universe"] * 2
        assert "epsilon 0.5" in client.get(f"{table}/1..", headers=key).headers["discreet-charged"]
        assert "discreet-charged" not in client.get(f"{table}/2..", headers=key).headers
        assert client.get(table).status_code == 200, "free to everybody afterwards"
        assert client.get(table, headers=with_key("wrong")).status_code == 401


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path, capsys):
    load_dataset(tmp_path, census_description(2000), census_batches(2000))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (curl,) = re.findall(r"curl '(.*?)'", PAGE.read_text("utf-8"))
    with running(client_of(tmp_path).app) as there:
        exec(compile(code.replace("http://127.0.0.1:8000", there), "sdmx.md", "exec"), {})  # noqa: S102 - our own page
        lines = requests.get(curl.replace("http://127.0.0.1:8000", there), timeout=60).text.splitlines()
    assert "OBS_STATUS" in capsys.readouterr().out
    assert {line.split(",")[3] for line in lines[1:]} == {"1", "2"}
