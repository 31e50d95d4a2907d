"""pxwebpy, pxstatspy and pyjstat as they come from the package index, against a server on loopback."""

import contextlib
import csv
import io
from fractions import Fraction
from itertools import product

import pytest
import requests
from pxstatspy import OutputFormat, OutputFormatParam, PxAPI, PxAPIConfig, PxAPIError
from pxweb import PxApi
from pxweb._internal import client as pxweb_client
from pyjstat import pyjstat

from discreet.model.request import request_from_text
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.app import create_app
from discreet.workspace.ledger_location import open_accounts, open_ledger
from discreet.workspace.options import read_options

pytestmark = pytest.mark.slow
#: Every variable of the town crossed: 1,080 cells.
ALL = ["region", "area", "sex", "age", "job"]
LABELS = {"Region": "region", "Area": "area", "Sex": "sex", "Age": "age", "Job": "job"}


@pytest.fixture
def watched(px_workspace, watch):
    return watch(px_workspace)


@pytest.fixture
def serve(live, watched, px_workspace):
    """The address of a server that gives few cells at a time."""

    def start(**options):
        few = {"pxweb_cells": 15, "pxweb_calls": 10_000} | options
        return live(create_app(DatasetRegistry(watched), read_options(px_workspace.folder, **few)))

    return start


def by_command_line(run_here, workspace, dataset, *options):
    """The whole table by `discreet table`: value and codes of every cell."""
    done = run_here("table", dataset, "--workspace", workspace.folder, "--format", "csv", *options)
    assert done.returncode == 0, done.stderr
    return {
        tuple(line[name] for name in line if name in ALL): int(line["value"]) if line["value"] else None
        for line in csv.DictReader(io.StringIO(done.stdout))
    }


def quiet(call, *arguments, **options):
    """pxstatspy prints as it goes."""
    with contextlib.redirect_stdout(io.StringIO()):
        return call(*arguments, **options)


def test_pxwebpy_asks_for_everything_in_slices_of_one_table(serve, watched, px_workspace, run_here):
    """Wrong alternatives: a filter for every slice, and a count for every slice."""
    api = PxApi(serve())
    assert api.number_of_tables == 2
    rows = api.get_table_data_all("town", show="code")
    found = {tuple(row[label] for label in LABELS): row["value"] for row in rows}
    assert len(found) == 1080
    assert watched.engines["town"].calls == 1
    assert found == by_command_line(run_here, px_workspace, "town", "--rows", ",".join(ALL))


def test_pxwebpy_reads_code_lists_wildcards_and_the_default(serve):
    api = PxApi(serve(), max_workers=1)
    variables = api.get_table_variables("town")
    assert [each["id"] for each in variables["age"]["codelists"]] == ["vs_town_age", "agg_town_age.grown"]
    regions = api.get_table_data(
        "town",
        value_codes={"area": ["*"], "sex": ["1"]},
        code_list={"area": "agg_town_area.region"},
        show="code",
    )
    own = requests.get(
        f"{api._client.url.split('/api/')[0]}/api/datasets/town/table?rows=region,sex", timeout=9
    ).json()
    assert [row["value"] for row in regions] == own["value"][0::3]
    assert [row["Sex"] for row in api.get_table_data("town")] == ["Male", "Female", "Total"]
    assert [table["id"] for table in api.all_tables()] == ["survey", "town"]
    assert api.search(query="survey")["page"]["totalElements"] == 1


def test_pxstatspy_splits_as_well_and_reads_frames_and_files(serve, watched, px_workspace, run_here):
    api = quiet(PxAPI, PxAPIConfig(base_url=serve()))
    wanted = {"area": ["*"], "sex": ["*"], "age": ["*"], "ContentsCode": ["count"]}
    frame = quiet(
        api.get_data_as_dataframe, "town", value_codes=wanted, output_format_param=OutputFormatParam.USE_CODES
    )
    found = {(line["Area"], line["Sex"], line["Age"]): line["count"] for line in frame.to_dict("records")}
    assert found == by_command_line(run_here, px_workspace, "town", "--rows", "area,sex,age")
    assert watched.engines["town"].calls == 1
    survey = quiet(api.get_data_as_dataframe, "survey", value_codes={"sex": ["1"], "ContentsCode": ["*"]})
    assert list(survey.columns)[1:3] == ["Persons", "Estimated persons"]
    text = quiet(
        api.get_table_data,
        "town",
        value_codes={"sex": ["TOP(1)"]},
        output_format=OutputFormat.CSV,
        output_format_params=[OutputFormatParam.USE_CODES],
    )
    assert text.splitlines()[0] == "sex,value,status"
    tables = quiet(api.find_tables_as_dataframe)
    assert list(tables["id"]) == ["survey", "town"]


def test_pyjstat_reads_an_address(serve):
    address = f"{serve()}/tables/town/data?valuecodes[sex]=1,2&valuecodes[age]=old"
    frame = pyjstat.Dataset.read(address).write("dataframe", naming="id")
    assert list(frame["sex"]) == ["1", "2"]
    assert list(frame["value"]) == requests.get(address, timeout=9).json()["value"]


def test_a_forbidden_table_fails_alike_for_every_slice_and_counts_nothing(live, town, tmp_path, watch):
    workspace = town.load(
        tmp_path, town.description.replace("max_variables = 3", "max_variables = 3\nmax_cells = 500")
    )
    watched = watch(workspace)
    url = live(create_app(DatasetRegistry(watched), read_options(tmp_path, pxweb_calls=10_000)))
    told = set()
    for area in ("N1", "S2", "*"):
        slices = [{"variableCode": name, "valueCodes": [area if name == "area" else "_T"]} for name in ALL]
        response = requests.post(f"{url}/tables/town/data", json={"selection": slices}, timeout=9)
        told.add((response.status_code, response.json()["title"], response.json()["detail"]))
    ((status, title, detail),) = told
    assert (status, title) == (403, "too-many-cells")
    assert "500" in detail
    with pytest.raises(requests.HTTPError, match=r"(?s)too-many-cells.*500"):
        PxApi(url).get_table_data_all("town")
    assert watched.engines["town"].calls == 0


def test_sixty_four_slices_are_charged_once(live, private_town):
    """Under `dp`, a table outside the universe, for an account that could pay for two.

    Wrong alternative: every slice as a table of its own. The third would be refused.
    """
    folder = private_town.folder
    key = open_accounts(folder).create("ann", "analyst")
    ledger = open_ledger(folder)
    ledger.allow("town", "ann", (Fraction(1), Fraction(1, 10**9)))
    before = ledger.state("town").spent[0]
    url = live(create_app(open_registry(folder), read_options(folder, pxweb_cells=1, pxweb_calls=10_000)))
    cells = list(product(["1", "2", "_T"], ["0", "1", "2", "9"], ["N1", "N2", "S1", "S2", "S3", "_T"]))[:64]
    told, values = [], {}
    for cell in cells:
        picks = zip(("sex", "job", "area"), cell, strict=True)
        body = {"selection": [{"variableCode": name, "valueCodes": [code]} for name, code in picks]}
        headers = {"authorization": f"Bearer {key}"}
        response = requests.post(f"{url}/tables/town/data", json=body, headers=headers, timeout=9)
        told.append(response.headers.get("discreet-charged"))
        values[cell] = response.json()["value"][0]
    assert ledger.state("town").spent[0] - before == Fraction(1, 2)
    ledger.close()
    assert told[0].startswith("Charged epsilon 0.5")
    assert told[1:] == [None] * 63
    whole = (
        open_registry(folder)
        .door("town", key)
        .release(request_from_text("town", rows=["sex"], columns=["job"], layers=["area"]))
    )
    assert values == {cell: whole.value(*cell) for cell in cells}
    api = quiet(PxAPI, PxAPIConfig(base_url=url, api_key=key))
    with pytest.raises(PxAPIError, match="No declared table contains"):
        quiet(PxAPI(PxAPIConfig(base_url=url)).get_table_data, "town", value_codes={n: ["_T"] for n in ALL})
    assert quiet(api.get_table_data, "town", value_codes={"sex": ["1"], "job": ["0"], "area": ["N1"]})[
        "value"
    ] == [values["1", "0", "N1"]]


def test_pxwebpy_waits_as_it_is_told(serve, monkeypatch):
    url = serve(pxweb_calls=10)
    api = PxApi(url)
    slept = []
    pause = pxweb_client.time.sleep
    monkeypatch.setattr(pxweb_client.time, "sleep", lambda seconds: (slept.append(seconds), pause(seconds)))
    while requests.get(f"{url}/config", timeout=9).status_code != 429:
        pass
    assert api.get_table_data("town", value_codes={"sex": ["1"]})[0]["Sex"] == "Male"
    assert slept[0] >= 1
