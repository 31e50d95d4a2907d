"""Imports point down, and every library has one home."""

from pathlib import Path

from .source import SOURCE, folder_of, modules, read_source

#: High to low. A folder imports from lower lines, from itself, and from those siblings that `BESIDE` names.
LAYERS = [
    {"api", "cli", "web"},
    {"assess", "attacks", "inference", "publish"},
    {"release"},
    {"workspace", "formats", "pictures"},
    {"protect", "survey", "additivity", "rules", "ledger"},
    {"records", "noise", "privacy", "margins"},
    {"model", "errors", "deprecated"},
]
#: Which siblings of a layer a folder may use; there is no way round in it.
BESIDE = {
    "cli": {"api", "web"},
    "assess": {"inference"},
    "formats": {"pictures"},
    "protect": {"ledger"},
    "margins": {"noise", "privacy"},
    "privacy": {"noise"},
    "model": {"errors"},
}
#: Sentences stand below every layer: errors and values are told in them.
MESSAGES = "discreet.model.messages.text"
#: The folders and the third-party libraries that they alone may import.
HOMES = {
    "api": "pandas polars xarray httpx",
    "cli": "typer rich",
    "formats": "xlsxwriter",
    "ledger": "sqlalchemy",
    "pictures": "altair vl_convert",
    "privacy": "dp_accounting",
    "publish": "fsspec",
    "records": "duckdb cryptography psycopg pyspark py4j openpyxl pyreadstat numba",
    "web": "fastapi starlette starlette_compress uvicorn jwt prometheus_client opentelemetry jinja2 babel filelock",
    "workspace": "filelock platformdirs",
}
#: What the public knows: all that readers' tools and attackers may import.
PUBLIC = {"model", "noise", "privacy", "formats", "errors"}
#: The errors of weighted tables, which follow from released numbers and published constants; it imports `PUBLIC` only.
PUBLIC_ERRORS = ("discreet.survey.estimates", "discreet.survey.generalised")
#: What follows from a public description: which declared margins answer a table, with which noise.
DECLARED = {"protect"}


def imports_of(path: Path):
    """Modules that a file imports when it runs; imports for type checkers only are left out."""
    return read_source(path.read_text("utf-8")).imports


def own(path: Path):
    """The folders of ours that a file imports from."""
    for name in imports_of(path):
        first, _, rest = name.partition(".")
        there = rest.partition(".")[0]
        ours = first == "discreet" and there and not name.startswith(MESSAGES)
        if ours and ((SOURCE / there).is_dir() or (SOURCE / f"{there}.py").is_file()):
            yield there


def level(folder: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if folder in layer)


def test_every_folder_has_a_layer():
    known = set().union(*LAYERS) | {"__init__"}
    assert {folder_of(path) for path in modules()} <= known


def test_imports_point_down_and_siblings_are_used_in_one_direction_only():
    for folder, used in BESIDE.items():
        assert all(level(other) == level(folder) for other in used), folder
        assert not any(folder in BESIDE.get(other, ()) for other in used), folder
    for path in modules():
        here = folder_of(path)
        for there in set() if here == "__init__" else set(own(path)) - {here} - BESIDE.get(here, set()):
            assert level(there) > level(here), f"{path.relative_to(SOURCE)} imports {there}"


def test_message_texts_import_nothing_of_ours():
    assert not [
        name for name in imports_of(SOURCE / "model" / "messages" / "text.py") if name.startswith("discreet")
    ]


def test_a_library_has_one_home():
    libraries = set(" ".join(HOMES.values()).split())
    for path in modules():
        used = {name.split(".")[0] for name in imports_of(path)} & libraries
        assert used <= set(HOMES.get(folder_of(path), "").split()), path


def test_readers_and_attackers_know_only_what_the_public_knows():
    for path in modules():
        if folder_of(path) == "inference":
            survey = {name for name in imports_of(path) if f"{name}.".startswith("discreet.survey.")}
            assert all(name.startswith(PUBLIC_ERRORS) for name in survey), path
            assert set(own(path)) - {"inference"} <= PUBLIC | ({"survey"} if survey else set()), path
        if f"discreet.{folder_of(path)}.{path.stem}" in PUBLIC_ERRORS:
            survey = {name for name in imports_of(path) if name.startswith("discreet.survey.")}
            assert all(name.startswith(PUBLIC_ERRORS) for name in survey), path
            assert set(own(path)) - {"survey"} <= PUBLIC, path
        if folder_of(path) == "attacks":
            assert set(own(path)) - {"attacks"} <= PUBLIC | DECLARED, path


def test_rules_know_the_request_the_description_and_noisy_counts_only():
    for path in modules():
        if folder_of(path) == "rules":
            assert set(own(path)) <= {"rules", "model", "errors"}, path
            text = path.read_text("utf-8")
            assert "discreet.model.exact" not in text, path
            assert "ExactTable" not in read_source(text).names, path


def test_the_contract_itself_finds_an_upward_import(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("from discreet.web import app\nimport duckdb\n")
    assert "web" in set(own(bad))
    assert "duckdb" in set(imports_of(bad))


def test_the_pipeline_fits_one_page():
    assert len((SOURCE / "release/pipeline.py").read_text("utf-8").splitlines()) < 150
