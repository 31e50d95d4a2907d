"""The tests mirror the tree: whoever knows a module knows its test file, and the other way round.

    src/discreet/a/b.py  <->  tests/a/test_b.py        src/discreet/a/__init__.py  <->  tests/a/test_a.py

A module without a test file of its own, and a test file without a module, stand in a list with their reason.
"""

from pathlib import Path, PurePosixPath

import pytest

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "discreet"

#: Folders that are named after what they check, and not after a part of the package.
SPECIAL = {
    "architecture": "the tree itself",
    "black_box": "promises, seen through the HTTP application alone",
    "browser": "pages in a real browser",
    "docs": "what the documentation says",
    "drills": "faults of machines and people, made on purpose",
    "golden": "numbers that never change",
    "mutants": "the list of wrong changes that tests must notice",
    "project": "what stands around the code",
    "statistics": "laws of many draws",
    "studies": "the second package, discreet_studies",
}
#: Modules without a test file of their own.
WITHOUT_TEST = {
    "cli/commands/bench.py": "it only names the package to install; tests/cli/test_registry.py asks for it",
    "cli/commands/reproduce.py": "it only names the package to install; tests/cli/test_registry.py asks for it",
}
#: Test files that belong to no module: they go through many, end to end.
END_TO_END = {
    "answer/test_additive_release.py": "totals that add up, from the request to the release",
    "answer/test_dp_release.py": "releases under dp with their ledger",
    "answer/test_dp_weighted.py": "weighted releases under dp",
    "answer/test_invariants.py": "exact totals of a level, from the description to the release",
    "answer/test_metered_groups.py": "groups counted by account, through every face",
    "answer/test_office_tables.py": "tables of other programs, cell by cell",
    "answer/test_question_language.py": "one question in every face, however it is written",
    "answer/test_red_team.py": "ways around the rules that were found once",
    "api/test_public_names.py": "the names that `import discreet` shows",
    "cli/test_startup.py": "what a command imports",
    "formats/test_registry.py": "a format of another package, through every face",
    "inference/test_private_tables.py": "conclusions from releases under dp",
    "model/test_rewrites.py": "thousands of ways to ask one question",
    "noise/families/test_registry.py": "a family of another package, through every face",
    "noise/test_papers.py": "figures of papers, family by family",
    "protect/test_invariant_claims.py": "claims of plans, summed up over every pair of small datasets",
    "records/engines/test_contract.py": "what every engine must do",
    "records/test_ugly_files.py": "files of every kind and fault, from the file to the fingerprint",
    "records/engines/test_registry.py": "an engine of another package, through every face",
    "rules/test_demo_rules.py": "the rules of the demo, with a thousand questions",
    "server/pxweb/test_clients.py": "programs of other people, over loopback",
    "workspace/test_ledger_on_postgresql.py": "a workspace whose ledger is on a server",
}


def file_for(module: str) -> str:
    """The test file of a module; that of a package is named after its folder."""
    path = PurePosixPath(module)
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return str(path.with_name(f"test_{name}.py"))


def untested(modules: set[str], tests: set[str]) -> set[str]:
    """Modules whose test file is not there; a package needs none."""
    return {each for each in modules if not each.endswith("__init__.py") and file_for(each) not in tests}


def strangers(modules: set[str], tests: set[str]) -> set[str]:
    """Test files that are named after no module and no package."""
    return tests - {file_for(each) for each in modules}


@pytest.fixture(scope="module")
def modules():
    return {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}


@pytest.fixture(scope="module")
def tests():
    found = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    return {path.as_posix() for path in found if path.parts[0] not in SPECIAL}


def test_every_module_has_a_test_file_of_its_own_name(modules, tests):
    assert untested(modules, tests) == set(WITHOUT_TEST)


def test_every_test_file_is_named_after_a_module_or_goes_end_to_end(modules, tests):
    assert strangers(modules, tests) == set(END_TO_END)


def test_a_module_without_a_test_and_a_test_without_a_module_are_found(modules, tests):
    assert "noise/made_up.py" in untested({*modules, "noise/made_up.py"}, tests)
    assert "noise/test_made_up.py" in strangers(modules, {*tests, "noise/test_made_up.py"})
    assert "noise/table.py" in untested(modules, tests - {"noise/test_table.py"})


def test_the_right_name_in_another_folder_does_not_count(modules, tests):
    moved = (tests - {"noise/test_table.py"}) | {"model/test_table.py"}
    assert "noise/table.py" in untested(modules, moved)
    assert "model/test_table.py" in strangers(modules, moved)


def test_every_exception_has_its_reason_and_every_special_folder_is_there():
    for reasons in (SPECIAL, WITHOUT_TEST, END_TO_END):
        assert all(reasons.values())
    assert all((TESTS / folder).is_dir() for folder in SPECIAL)
