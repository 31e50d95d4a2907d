"""pxwebpy and pxstatspy as they come from the package index, against a server on loopback."""

import contextlib
import csv
import io
from contextlib import closing
from fractions import Fraction
from itertools import product

import pytest
import requests
from pxstatspy import OutputFormat, OutputFormatParam, PxAPI, PxAPIConfig, PxAPIError
from pxweb import PxApi
from pxweb._internal import client as pxweb_client
from tests.web.conftest import WatchedWorkspace, client_of, key_with_budget, with_key

from discreet.model.request import request_from_text
from discreet.release.dataset_registry import open_registry
from discreet.workspace.ledger_location import open_ledger

pytestmark = pytest.mark.slow
#: Every variable of the town crossed: 1,080 cells.
ALL = ["region", "area", "sex", "age", "job"]
LABELS = {"Region": "region", "Area": "area", "Sex": "sex", "Age": "age", "Job": "job"}


@pytest.fixture
def watched(px_workspace):
    return WatchedWorkspace(px_workspace)


@pytest.fixture
def serve(live, watched):
    """The address of a server that gives few cells at a time."""
    return lambda **options: live(
        client_of(watched, **{"pxweb_cells": 15, "pxweb_calls": 10_000} | options).app
    )


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
    codes, lists = {"area": ["*"], "sex": ["1"]}, {"area": "agg_town_area.region"}
    regions = api.get_table_data("town", value_codes=codes, code_list=lists, show="code")
    server = api._client.url.split("/api/")[0]
    own = requests.get(f"{server}/api/datasets/town/table?rows=region,sex", timeout=9).json()
    assert [row["value"] for row in regions] == own["value"][0::3]
    assert [row["Sex"] for row in api.get_table_data("town")] == ["Male", "Female", "Total"]
    assert [table["id"] for table in api.all_tables()] == ["survey", "town"]
    assert api.search(query="survey")["page"]["totalElements"] == 1


def test_pxstatspy_splits_as_well_and_reads_frames_and_files(serve, watched, px_workspace, run_here):
    api = quiet(PxAPI, PxAPIConfig(base_url=serve()))
    wanted = {"area": ["*"], "sex": ["*"], "age": ["*"], "ContentsCode": ["count"]}
    codes = OutputFormatParam.USE_CODES
    frame = quiet(api.get_data_as_dataframe, "town", value_codes=wanted, output_format_param=codes)
    found = {(line["Area"], line["Sex"], line["Age"]): line["count"] for line in frame.to_dict("records")}
    assert found == by_command_line(run_here, px_workspace, "town", "--rows", "area,sex,age")
    assert watched.engines["town"].calls == 1
    survey = quiet(api.get_data_as_dataframe, "survey", value_codes={"sex": ["1"], "ContentsCode": ["*"]})
    assert list(survey.columns)[1:3] == ["Persons asked (unweighted)", "Estimated persons"]
    form = {"output_format": OutputFormat.CSV, "output_format_params": [codes]}
    text = quiet(api.get_table_data, "town", value_codes={"sex": ["TOP(1)"]}, **form)
    assert text.splitlines()[0] == "sex,value,status"
    tables = quiet(api.find_tables_as_dataframe)
    assert list(tables["id"]) == ["survey", "town"]


def test_a_forbidden_table_fails_alike_for_every_slice_and_counts_nothing(live, town, tmp_path):
    described = town.description.replace("max_variables = 3", "max_variables = 3\nmax_cells = 500")
    watched = WatchedWorkspace(town.load(tmp_path, described))
    url = live(client_of(watched, pxweb_calls=10_000).app)
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
    key = key_with_budget(folder)
    url = live(client_of(folder, pxweb_cells=1, pxweb_calls=10_000).app)
    cells = list(product(["1", "2", "_T"], ["0", "1", "2", "9"], ["N1", "N2", "S1", "S2", "S3", "_T"]))[:64]
    told, values = [], {}
    with closing(open_ledger(folder)) as ledger:
        before = ledger.state("town").spent[0]
        for cell in cells:
            picks = zip(("sex", "job", "area"), cell, strict=True)
            body = {"selection": [{"variableCode": name, "valueCodes": [code]} for name, code in picks]}
            response = requests.post(f"{url}/tables/town/data", json=body, headers=with_key(key), timeout=9)
            told.append(response.headers.get("discreet-charged"))
            values[cell] = response.json()["value"][0]
        assert ledger.state("town").spent[0] - before == Fraction(1, 2)
    assert told[0].startswith("Charged epsilon 0.5")
    assert told[1:] == [None] * 63
    request = request_from_text("town", rows=["sex"], columns=["job"], layers=["area"])
    whole = open_registry(folder).open("town", key).release(request)
    assert values == {cell: whole.value(*cell) for cell in cells}
    nobody, api = (quiet(PxAPI, PxAPIConfig(base_url=url, api_key=each)) for each in (None, key))
    with pytest.raises(PxAPIError, match="No declared table contains"):
        quiet(nobody.get_table_data, "town", value_codes={n: ["_T"] for n in ALL})
    codes = {"sex": ["1"], "job": ["0"], "area": ["N1"]}
    assert quiet(api.get_table_data, "town", value_codes=codes)["value"] == [values["1", "0", "N1"]]


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
