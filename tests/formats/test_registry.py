"""A format is added in one place: a toy that is registered here is offered and written by every face."""

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest
from starlette.testclient import TestClient

import discreet
import discreet.formats as registry
from discreet.errors import BadRequest, MissingExtra, UnknownFormat
from discreet.formats import Format, format_by_name, format_of_file, formats, register
from discreet.model.plugins import Extra
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.workspace.options import read_options

SECOND_CSV = Format(
    "csv-toy",
    "Toy CSV",
    "another CSV",
    "csv",
    "text/csv; charset=utf-8",
    lambda _: [b"toy"],
    owns_extension=False,
)
ASKED = {"rows": ["sex"], "columns": ["age"]}


def toy_document(release):
    return b"\x00toy " + json.dumps(release.values.tolist()).encode()


TOY = Format(
    "toy-file", "Toy", "toy bytes", "toy", "application/x-toy", lambda release: [toy_document(release)]
)


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    """What a test registers is gone after it."""
    formats()
    monkeypatch.setattr(registry._REGISTRY, "_members", dict(registry._REGISTRY._members))


@pytest.fixture
def toy():
    register(TOY)
    return TOY


@pytest.fixture
def table(town_workspace):
    with discreet.open(town_workspace.folder) as catalogue:
        yield catalogue.table("town", **ASKED)


@pytest.fixture
def client(town_workspace):
    return TestClient(create_app(DatasetRegistry(town_workspace), read_options(town_workspace.folder)))


def test_every_module_of_the_folder_is_a_format():
    modules = pkgutil.iter_modules(registry.__path__, "discreet.formats.")
    bound = [importlib.import_module(module.name).FORMAT for module in modules if not module.ispkg]
    declared = {form for each in bound for form in (each if isinstance(each, tuple) else (each,))}
    assert declared == set(formats())
    assert all(form.installed for form in formats())


def test_formats_are_offered_as_people_want_them(toy):
    """Wrong alternative: by the names of their modules. What another package registers comes last."""
    wanted = "csv xlsx csv-excel csv-excel-point json parquet arrow px sdmx-csv html"
    names = [form.name for form in formats()]
    assert " ".join(name for name in names if name in wanted) == wanted
    assert names[-1] == "toy-file"


def test_python_writes_it(toy, table, tmp_path):
    expected = toy_document(table.release)
    assert "to_toy_file" in dir(table)
    assert table.to_toy_file() == expected, "bytes stay bytes; only text is decoded"
    assert table.to_toy_file(tmp_path / "any.name") is None
    table.save(tmp_path / "table.TOY")
    assert (tmp_path / "any.name").read_bytes() == (tmp_path / "table.TOY").read_bytes() == expected


def test_http_writes_it_and_openapi_offers_it(toy, client, table):
    answer = client.get("/api/datasets/town/table?rows=sex&columns=age&format=toy-file&download=1")
    assert answer.content == toy_document(table.release)
    assert answer.headers["content-type"] == "application/x-toy"
    assert answer.headers["content-disposition"] == 'attachment; filename="town-sex-by-age.toy"'
    operation = client.get("/openapi.json").json()["paths"]["/api/datasets/{dataset_id}/table"]["get"]
    (choice,) = [p for p in operation["parameters"] if p["name"] == "format"]
    assert choice["schema"]["enum"] == [form.name for form in formats()]
    assert choice["schema"]["enum"][-1] == "toy-file"
    content = operation["responses"]["200"]["content"]
    assert content["application/x-toy"]["schema"] == {"type": "string", "format": "binary"}
    page = client.get("/datasets/town?rows=sex&columns=age").text
    assert "format=toy-file&amp;download=1" in page


def test_the_help_of_the_command_names_every_format(run_here):
    said = " ".join(run_here("table", "--help").stdout.replace("│", " ").split())
    assert all(f"{form.name} (" in said for form in formats())


def test_an_ending_has_one_owner(table, tmp_path):
    """A second dialect of CSV is there by its name, and never takes over `save("x.csv")`."""
    before = table.to_csv()
    register(SECOND_CSV)
    table.save(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text("utf-8") == before == table.to_csv()
    assert format_by_name("csv-toy").write(table.release) == b"toy"
    assert format_of_file("x.csv").name == "csv"
    owner = Format("csv-two", "Two", "a second owner", "csv", "text/csv", lambda _: [])
    with pytest.raises(ValueError, match=r'"csv" owns the ending \.csv'):
        register(owner)
    assert "csv-two" not in [form.name for form in formats()]


def test_a_name_is_given_once(toy):
    register(toy)
    with pytest.raises(ValueError, match='"toy-file" is there already'):
        register(Format("toy-file", "", "", "toy2", "x/y", lambda _: []))


def test_a_file_without_a_known_ending_is_refused_with_the_nearest(table, tmp_path):
    with pytest.raises(AttributeError, match="to_cvs"):
        table.to_cvs()
    with pytest.raises(UnknownFormat, match='Did you mean "csv"'):
        format_by_name("cvs")
    with pytest.raises(UnknownFormat, match=r'ending "\.cvs"\. Did you mean "csv"'):
        table.save(tmp_path / "x.cvs")
    with pytest.raises(
        BadRequest, match=r"no ending that names a format. End it in .*\.csv or .*\.json or .*, or name"
    ):
        table.save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_format_that_is_not_installed_says_what_to_install_and_is_not_offered(client, table, run_here):
    needs = Extra("discreet[sheets]", ("no_such_sheets",))
    register(Format("sheet", "Sheet", "a sheet", "sheet", "x/sheet", lambda _: [], needs=needs))
    said = r'"sheet" needs no_such_sheets. Install it: pip install "discreet\[sheets\]"'
    for write in (lambda: table.save("x.sheet"), table.to_sheet, lambda: format_by_name("sheet")):
        with pytest.raises(MissingExtra, match=said):
            write()
    assert client.get("/api/datasets/town/table?rows=sex&format=sheet").status_code == 501
    assert "format=sheet" not in client.get("/datasets/town?rows=sex").text
    assert run_here("table", "town", "--rows", "sex", "--format", "sheet").returncode == 2


def test_to_list_the_formats_imports_no_library():
    program = (
        "import sys\nfrom discreet.formats import formats\nbefore = set(sys.modules)\nformats()\n"
        "print([m for m in ('numpy', 'pyarrow', 'scipy', 'pandas') if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
