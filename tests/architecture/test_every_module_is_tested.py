"""Every module is reached by a test that names its behaviour.

A module is reached if a test file is named after it, or if a test imports it. A command is reached if a test of the
command line runs it by its name. The few others are listed with the test that drives them through an interface.
"""

import re
from pathlib import Path

import pytest

from .source import SOURCE, modules, read_source

TESTS = Path(__file__).parents[1]
#: Modules that no test imports or names, and the test file that drives them.
THROUGH = {
    "model/description/sections.py": "model/description/test_dataset_toml.py",
    "pictures/charts/lines.py": "pictures/charts/test_charts.py",
    "pictures/svg.py": "pictures/charts/test_charts.py",
    "records/readers/arrow_parquet.py": "records/readers/test_readers.py",
    "records/readers/duckdb_sqlite.py": "records/readers/test_readers.py",
    "records/readers/xlsx.py": "records/readers/test_readers.py",
    "release/measures/count.py": "release/test_pipeline.py",
    "release/released_counts.py": "release/measures/test_weighted.py",
    "rules/kinds/areas.py": "rules/test_kinds.py",
    "rules/kinds/groups.py": "rules/test_kinds.py",
    "rules/kinds/request_limits.py": "rules/test_rule_set.py",
    "survey/table_errors.py": "release/measures/test_weighted.py",
}


def names_of(module: str) -> tuple[str, str]:
    """The dotted name of a module and the name that its test file would have."""
    path = Path(module).with_suffix("")
    parts = path.parent.parts if path.name == "__init__" else path.parts
    return ".".join(("discreet", *parts)), f"test_{parts[-1] if parts else 'discreet'}"


def unreached(modules: set[str], files: set[str], imports: set[str]) -> set[str]:
    """The modules that have no test file of their name and that no test imports; packages without code need none."""
    named = {module: names_of(module) for module in modules}
    return {module for module, (name, stem) in named.items() if stem not in files and name not in imports}


@pytest.fixture(scope="module")
def sources():
    packages = (path for path in modules() if path.name == "__init__.py")
    short = {path for path in packages if len(path.read_text("utf-8").splitlines()) <= 12}
    return {path.relative_to(SOURCE).as_posix() for path in {*modules()} - short} - {"__init__.py"}


@pytest.fixture(scope="module")
def files():
    return {path.stem for path in TESTS.rglob("test_*.py")}


@pytest.fixture(scope="module")
def imports():
    return set().union(*(read_source(path.read_text("utf-8")).imports for path in TESTS.rglob("*.py")))


def commands_run():
    """The modules of the commands that tests of the command line run."""
    run = re.compile(r"""(?:run_here|run_process|run|invoke)\(\s*(?:app, )?\[?"([a-z-]+)\"""")
    texts = [path.read_text("utf-8") for path in (TESTS / "cli").rglob("*.py")]
    return {f"cli/commands/{name.replace('-', '_')}.py" for text in texts for name in run.findall(text)}


def test_every_module_is_reached_by_a_test(sources, files, imports):
    assert unreached(sources, files, imports) - commands_run() <= set(THROUGH)
    assert all((TESTS / file).is_file() for file in THROUGH.values())


def test_a_module_without_a_test_is_found(sources, files, imports):
    assert "noise/made_up.py" in unreached({*sources, "noise/made_up.py"}, files, imports)
    others = {name for name in imports if "noise.table" not in name}
    assert "noise/table.py" in unreached(sources, files - {"test_table"}, others)
