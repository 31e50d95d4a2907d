"""One question, four ways: Python and the command line, in a workspace and at a server. The same numbers in all."""

import json
import shutil

import httpx
import pyarrow as pa
import pytest

import discreet
from discreet.api.connection import Connection, ServerResponse
from discreet.errors import BadKey, BadRequest, DiscreetError, ServerUnusable, UnknownVariable
from discreet.formats import formats
from discreet.workspace.versions.load_version import load_dataset

pytestmark = pytest.mark.slow  # a server and three datasets

TABLES = {
    "counts": {"dataset": "town", "rows": ["age"], "columns": ["job"], "layers": ["sex"]},
    "levels": {"dataset": "town", "rows": ["area"], "levels": {"area": "*"}, "columns": ["sex"]},
    "left out": {"dataset": "town", "rows": ["age"], "groups": {"age": [["child", "adult"]]}},
    "filtered": {"dataset": "town", "rows": ["sex"], "columns": ["age"], "filters": {"job": ["0", "1"]}},
    "no totals": {"dataset": "town", "rows": ["sex"], "columns": ["age"], "totals": False},
    "fitted": {"dataset": "town", "rows": ["sex"], "columns": ["age"], "additivity": "fitted"},
    "dp": {"dataset": "town-dp", "rows": ["sex"], "columns": ["age"]},
    "viewed": {"dataset": "town", "rows": ["area"], "columns": ["sex"], "percent": "row", "rank": True},
    "weighted": {"dataset": "spudlandia", "rows": ["gender"], "columns": ["state"], "measure": "weighted"},
}


@pytest.fixture(params=TABLES)
def both(request, here, there):
    asked = dict(TABLES[request.param])
    dataset = asked.pop("dataset")
    return here.table(dataset, **asked), there.table(dataset, **asked)


def outcome(ask):
    """What an answer is, or which refusal and with which words."""
    try:
        return ask()
    except DiscreetError as error:
        return type(error), error.code


def test_a_table_of_a_server_is_the_table_of_its_workspace(both):
    own, served = both
    assert type(served) is type(own)
    for name in ("values", "status", "signed", "errors", "noise_shares"):
        one, other = getattr(own.release, name), getattr(served.release, name)
        assert (one is None) == (other is None), name
        hidden = own.release.missing
        assert one is None or (other[~hidden] == one[~hidden]).all(), name
    for name in ("title", "notes", "promise", "digest", "request", "cells"):
        assert getattr(served.release, name) == getattr(own.release, name), name
    assert served.to_pandas().equals(own.to_pandas())
    assert served.to_pandas(wide=True).equals(own.to_pandas(wide=True))
    assert served.to_arrow().equals(own.to_arrow(), check_metadata=True)
    assert served._repr_html_() == own._repr_html_()
    assert served.text_grid(errors=True) == own.text_grid(errors=True)
    assert (served.note, served.legend(), served.error_note()) == (own.note, own.legend(), own.error_note())


def test_files_intervals_and_tests_of_a_server_are_those_of_its_workspace(both):
    own, served = both
    first = {d.name: d.codes[0] for d in own.release.dimensions}
    second = {d.name: d.codes[1] for d in own.release.dimensions}
    for ask in (
        lambda table: table.to_csv(),
        lambda table: table.to_json_stat(),
        lambda table: table.interval(*first.values(), level=0.9),
        lambda table: table.sum(first, second),
        lambda table: table.share(first, of=[{}]),
        lambda table: table.difference(first, minus=[second]),
        lambda table: table.interval("nothing"),
        lambda table: table.test_independence(),
        lambda table: table.intervals(level=0.9).to_csv(),
        lambda table: table.plot().svg,
    ):
        assert outcome(lambda ask=ask: ask(served)) == outcome(lambda ask=ask: ask(own))


def test_every_format_of_a_server_is_written_by_the_server(there, address, tmp_path):
    """Wrong: to write a file from what the client read; a newer server may write it in another way."""
    table = there.table("town", rows=["sex"])
    for form in formats():
        sent = httpx.get(f"{address}/api/datasets/town/table?rows=sex&format={form.name}").content
        written = getattr(table, form.method)()
        if form.name != "xlsx":  # its time of creation stands inside
            assert (written.encode() if form.is_text else written) == sent, form.name
    table.save(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text("utf-8") == table.to_csv()


@pytest.mark.parametrize("name", ["counts", "dp", "weighted"])
def test_the_command_line_says_the_same_of_an_address(name, run_here, served_folder, address):
    asked = dict(TABLES[name])
    dataset = asked.pop("dataset")
    words = {part: ",".join(value) if isinstance(value, list) else value for part, value in asked.items()}
    options = [word for part, value in words.items() for word in (f"--{part}", value)]
    place, workspace = f"{address}/datasets/{dataset}", {"DISCREET_WORKSPACE": str(served_folder)}
    calls = (
        ("table", options, []),
        ("table", options, ["--json"]),
        ("table", options, ["--format", "csv"]),
        ("table", options, ["--dry-run"]),
        ("interval", options, ["--json"]),
        ("interval", options, ["--json", "--cell", "sex=1" if dataset != "spudlandia" else "gender=1"]),
    )
    for command, given, more in calls:
        own = run_here(command, dataset, *given, *more, **workspace)
        served = run_here(command, place, *given, *more, **workspace)
        assert (served.returncode, served.stdout) == (own.returncode, own.stdout), (command, more)
    document = json.loads(run_here("table", dataset, *options, "--json", **workspace).stdout)
    page = document["extension"]["query"]
    assert run_here("table", f"{place}?{page}#table").stdout == run_here("table", place, *options).stdout


def test_cells_that_are_not_0_come_from_a_server_as_from_its_workspace(here, there, tmp_path):
    asked = {"rows": ["age", "job"], "columns": "sex"}
    own, served = here.nonzero("town", **asked), there.nonzero("town", **asked)
    assert (served.title, served.notes) == (own.title, own.notes)
    assert pa.Table.from_batches(served.batches()) == pa.Table.from_batches(own.batches())
    for name in ("cells.csv", "cells.parquet"):
        files = [tmp_path / where / name for where in ("here", "there")]
        for catalogue, file in zip((here, there), files, strict=True):
            file.parent.mkdir(exist_ok=True)
            catalogue.nonzero("town", **asked).save(file)
        assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(BadRequest, match="needs all cells"):
        there.nonzero("town", **asked).save(tmp_path / "cells.json")
    with pytest.raises(UnknownVariable):
        next(there.nonzero("town", rows="shoe").batches())


def test_tests_and_budgets_on_the_command_line_take_an_address(run_here, served_folder, address):
    workspace = {"DISCREET_WORKSPACE": str(served_folder)}
    two, test = ["--rows", "sex", "--columns", "age", "--json"], ("test", "independence", "--dataset")
    own = run_here(*test, "town", *two, **workspace)
    served = run_here(*test, f"{address}/datasets/town", *two)
    assert own.stdout == served.stdout != ""
    refused = run_here(*test, f"{address}/datasets/town", *two, "--seed", "3")
    assert "seed cannot be chosen" in refused.stderr
    datasets = ("town-dp", f"{address}/datasets/town-dp")
    here, there = (run_here("budget", each, "--json", **workspace).stdout for each in datasets)
    assert here == there != ""


@pytest.mark.parametrize(
    ("dataset", "asked"),
    [
        ("town", {"rows": ["sx"]}),
        ("town", {"rows": ["sex"], "filters": {"age": ["5"]}}),
        ("nowhere", {"rows": ["sex"]}),
        ("town", {"rows": ["region"], "groups": {"region": [["N", "S"]]}}),
        ("town", {"rows": ["sex", "age", "job", "area"], "columns": ["sex"]}),
        ("town-dp", {"rows": ["sex", "job", "area"]}),
        ("spudlandia", {"rows": ["gender"], "additivity": "best"}),
        ("town", {}),
    ],
)
def test_a_refusal_of_a_server_is_that_of_its_workspace(here, there, dataset, asked):
    with pytest.raises(DiscreetError) as own:
        here.table(dataset, **asked)
    with pytest.raises(DiscreetError) as served:
        there.table(dataset, **asked)
    assert type(served.value) is type(own.value)
    assert (served.value.message, served.value.code) == (own.value.message, own.value.code)
    assert served.value.advice.startswith(own.value.advice)


def test_a_catalogue_of_a_server_lists_describes_and_tells_budgets(here, there, address):
    assert list(there) == list(here) == there.datasets
    assert (len(there), "town" in there, "nowhere" in there) == (3, True, False)
    assert repr(there) == f"<Catalogue at {address}>"
    assert "A town" in there._repr_html_()
    own, served = here["town"], there["town"]
    assert [v.codes for v in served.variables] == [v.codes for v in own.variables]
    for name in ("hierarchies", "code_lists", "geography"):
        assert getattr(served, name) == getattr(own, name)
    assert there.budget("town-dp") == here.budget("town-dp")
    assert there.dry_run("town", rows=["sex"]) == here.dry_run("town", rows=["sex"])
    with pytest.raises(BadKey):
        there.ledger("town-dp")
    with pytest.raises(BadRequest, match="on the server"):
        there.verify("town")


def test_the_distribution_of_the_noise_stays_with_the_server(there):
    """Wrong: to give a release with another distribution; a reader's own conclusions would be false."""
    from discreet.inference import cell_interval, independence_test, picked

    release = there.table("town", rows=["sex"], columns=["age"]).release
    for ask in (
        lambda: independence_test(release),
        lambda: release.distribution.at(0, 0),
        lambda: list(release.distribution.kinds()),
        lambda: cell_interval(picked(release, ("1", "child"))),
    ):
        with pytest.raises(BadRequest, match="The server has the law"):
            ask()


def test_a_new_version_is_noticed_by_its_tag_and_never_mixed_with_the_old(town, tmp_path, served):
    """Wrong: to keep answering from the copy, or to give intervals of the new version for the old numbers."""
    folder = tmp_path / "ws"
    town.load(folder).close()
    with served(folder) as address, discreet.open(address) as catalogue:
        old = catalogue.table("town", rows=["sex"], columns=["age"])
        assert catalogue.table("town", rows=["sex"], columns=["age"]).release.digest == old.release.digest
        assert old.interval("1", "child").level == 0.95
        newer = town.description.replace('version = "1"', 'version = "2"').replace("Female", "Women")
        load_dataset(folder, newer, town.records.slice(500))
        new = catalogue.table("town", rows=["sex"], columns=["age"])
        assert new.release.digest != old.release.digest
        assert new.release.dataset.version == "2"
        assert "Women" in new.release.dimensions[0].labels
        assert (new.release.values != old.release.values).any()
        for ask in (old.to_csv, old.intervals, old.test_independence, lambda: old.interval("1", "child")):
            with pytest.raises(BadRequest, match="has replaced version"):
                ask()
        assert new.interval("1", "child").level == 0.95


def test_chosen_rows_of_a_server_are_those_of_its_workspace(here, there):
    """Wrong: percentages without the distribution of the noise, which a client has not; intervals of other rows."""
    asked = {"rows": ["area"], "columns": ["sex"], "percent": "area=_T,sex=_T", "top": 2}
    own, served = here.table("town", **asked), there.table("town", **asked)
    assert served.release.derived[0].missing.sum() == 0
    for ask in (
        lambda table: table.to_csv(),
        lambda table: table.to_pandas().to_csv(),
        lambda table: table.to_arrow().schema.metadata,
        lambda table: table._repr_html_(),
        lambda table: table.intervals().to_csv(),
    ):
        assert ask(served) == ask(own)
    whole = there.table("town", rows=["area"], columns=["sex"])
    assert whole.view(percent="area=_T,sex=_T", top=2).to_csv() == own.to_csv()
    own = here.table("town", rows=["area"], columns=["sex"])
    for percent in ("row", "area=N1,sex=_T"):
        assert whole.percent_intervals(percent).to_csv() == own.percent_intervals(percent).to_csv()
    with pytest.raises(BadRequest, match="whole tables"):
        served.test_independence()


def test_a_version_of_a_server_is_named_with_every_question(town_versions, served, run_here):
    """Wrong: to name it for the table alone, so that intervals are those of the version that is served."""
    asked = {"rows": ["sex"], "columns": ["age"]}
    options = ("--rows", "sex", "--columns", "age", "--json")
    here = discreet.open(town_versions)
    with served(town_versions) as address, discreet.open(address) as there, here:
        assert there.versions("town") == here.versions("town")
        assert there.describe("town", "1").version == "1"
        own, other = here.table("town", **asked, version="1"), there.table("town", **asked, version="1")
        newest = here.table("town", **asked)
        for ask in (
            lambda table: table.to_csv(),
            lambda table: table.intervals().to_csv(),
            lambda table: table.interval("1", "child"),
            lambda table: table.test_independence(),
            lambda table: table.view(percent="row").to_csv(),
        ):
            assert ask(other) == ask(own) != ask(newest)
        served_now = there.table("town", **asked)
        for name in ("difference_from", "ratio_to"):
            wanted = getattr(newest, name)(own, level=0.9)
            assert getattr(served_now, name)(other, level=0.9).equals(wanted)
        with pytest.raises(BadRequest, match="different questions"):
            served_now.difference_from(there.table("town", rows=["sex"], version="1"))
        place, folder = f"{address}/datasets/town", {"DISCREET_WORKSPACE": str(town_versions)}
        for command in ("table", "interval"):
            wanted = run_here(command, "town", *options, "--version", "1", **folder).stdout
            assert run_here(command, place, *options, "--version", "1").stdout == wanted
            assert run_here(command, f"{place}?version=1", *options).stdout == wanted
        page = f"{place}?rows=sex&columns=age&percent=row&version=1"
        assert run_here("table", page, "--format", "csv").stdout == own.view(percent="row").to_csv()
        twice = run_here("table", page, "--version", "2")
        assert (twice.returncode, twice.stdout) == (2, "")
        assert run_here("table", place, *options, "--version", "0").returncode == 3


def test_a_copy_costs_the_server_no_table(there, monkeypatch):
    asked = []
    real = Connection._once

    def once(self, address, headers, read):
        found = real(self, address, headers, read)
        asked.append((found[0], headers.get("if-none-match", "")))
        return found

    there.table("town", rows=["age"], columns=["sex"])
    monkeypatch.setattr(Connection, "_once", once)
    there.table("town", rows=["age"], columns=["sex"])
    assert [status for status, _ in asked] == [304, 304]
    assert all(tag for _, tag in asked)


def test_a_server_may_stand_below_a_path(served_folder, served, here):
    with served(served_folder, below="/office/stats") as base:
        catalogue = discreet.open(f"{base}/office/stats/")
        table = catalogue.table("town", rows=["sex"])
        assert table.to_csv() == here.table("town", rows=["sex"]).to_csv()
        assert (table.release.values == here.table("town", rows=["sex"]).release.values).all()
        with pytest.raises(DiscreetError):
            discreet.open(f"{base}/elsewhere").datasets  # noqa: B018 - asks the server


def test_the_python_of_a_page_gives_the_table_of_the_page(address, here):
    """Wrong: `discreet.open()`, which opens whatever workspace the reader happens to have."""
    from discreet.web.pages import downloads

    own = here.table("town", rows=["age"], columns=["sex"], filters={"job": ["0"]})
    names = {"__name__": "example"}
    exec(compile(downloads.python(own.release.request, address), "page", "exec"), names)  # noqa: S102 - our page
    assert names["table"].to_csv() == own.to_csv()


def test_a_table_that_is_charged_says_so_and_needs_the_key(town, tmp_path, served, served_folder, run_here):
    folder = tmp_path / "ws"
    shutil.copytree(served_folder, folder)
    workspace = {"DISCREET_WORKSPACE": str(folder)}
    key = run_here("account", "create", "ana", "--role", "analyst", **workspace).stdout.split()[-1]
    assert run_here("ledger", "town-dp", "--allow", "ana", "--loss", "2", **workspace).returncode == 0
    with served(folder) as address:
        with pytest.raises(DiscreetError):
            discreet.open(address).table("town-dp", rows=["area"], columns=["job"])
        impossible = ("--rows", "area", "--columns", "job", "--no-totals", "--percent", "row")
        for place in (f"{address}/datasets/town-dp", "town-dp"):  # refused before it is charged
            done = run_here("table", place, *impossible, DISCREET_KEY=key, **workspace)
            assert "no total" in done.stderr
        table = discreet.open(address, key=key).table("town-dp", rows=["area"], columns=["job"])
        assert "epsilon" in table.charged["sentence"]
        assert table.interval("N1", "0").low >= 0
        again = discreet.open(address, key=key).table("town-dp", rows=["area"], columns=["job"])
        assert again.charged is None
        assert (again.release.values == table.release.values).all()
        with pytest.raises(BadKey):
            discreet.open(address, key="wrong").table("town", rows=["sex"])


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"datasets": 3}', b'{"datasets": [{"id": []}]}'])
def test_a_list_that_is_none_is_the_servers_fault(body, monkeypatch):
    monkeypatch.setattr(Connection, "get", lambda self, *asked: ServerResponse(body))
    with pytest.raises(ServerUnusable):
        discreet.open("https://example.org")


def test_the_address_of_a_page_is_no_server():
    with pytest.raises(BadRequest, match="address of a page") as refused:
        discreet.open("https://example.org/stats/datasets/census?rows=sex")
    assert '"https://example.org/stats"' in refused.value.advice
