"""Records become numbers on one road: who may touch exact counts, and what a face can reach."""

import ast
from pathlib import Path

import pytest

import discreet
from discreet.answer import question as questions
from discreet.answer.door import Door
from discreet.ledger.ledger import Ledger
from discreet.model.exact import ExactTable
from discreet.model.request import TableRequest
from discreet.records.engine import SparseCells
from discreet.records.secret import Secret

SOURCE = Path(discreet.__file__).parent
FACES = ("api", "cli", "server")
#: What an engine or an exact count is called.
EXACT_NAMES = {"ExactTable", "SparseCells", "tabulate"}
EXACT_ATTRIBUTES = {"engine", "key_sums", "weight_sums", "aggregate"}
#: The folders that work on exact counts, and the single modules elsewhere, each with its reason.
WORK_ON_COUNTS = {"records", "protect", "survey", "answer", "assess"}
ALSO = {
    "model/exact.py": "defines the exact table",
    "workspace/load.py": "stores records, and lets a version be inspected before it is served",
    "workspace/workspace.py": "opens the engine of a version and closes it",
}
#: What a face may import of the road when it runs.
OPEN_TO_FACES = {"door", "load", "measures", "notes", "budgets", "joint_margins"}
#: What a face may never import: through these a record could be reached.
CLOSED_TO_FACES = {
    "discreet.workspace.workspace",
    "discreet.workspace.load",
    "discreet.workspace.version",
    "discreet.model.exact",
    "discreet.records.engine",
    "discreet.records.engines",
    "discreet.records.tabulate",
    "discreet.records.secret",
    "discreet.protect",
    "discreet.survey",
    "discreet.answer.pipeline",
    "discreet.answer.verdicts",
}


def modules():
    return sorted(SOURCE.rglob("*.py"))


def folder(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def imported(tree: ast.AST, *, types_too: bool = False):
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING" and not types_too
        for statement in block.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) not in skipped and isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def touches_exact(text: str) -> set[str]:
    """The names of engines and exact counts that a module uses."""
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return (names & EXACT_NAMES) | (attributes & EXACT_ATTRIBUTES)


def reaches_inside(text: str) -> set[str]:
    """Private names of other objects that a module uses."""
    return {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    }


def test_only_the_folders_that_work_on_them_touch_engines_and_exact_counts():
    for path in modules():
        name = str(path.relative_to(SOURCE))
        if folder(path) not in WORK_ON_COUNTS and name not in ALSO:
            assert not touches_exact(path.read_text("utf-8")), name


def test_a_module_that_counts_elsewhere_would_be_found():
    assert touches_exact("def f(stored):\n    return stored.engine.aggregate(1)\n") == {"engine", "aggregate"}
    assert touches_exact("from discreet.records.tabulate import tabulate\n") == {"tabulate"}
    assert not touches_exact("from discreet.model.release import Release\n")


def test_only_answer_and_assess_hold_an_exact_table_and_a_release_at_once():
    for path in modules():
        text = path.read_text("utf-8")
        if touches_exact(text) & EXACT_NAMES and "discreet.model.release.Release" in set(
            imported(ast.parse(text), types_too=True)
        ):
            assert folder(path) in {"answer", "assess"}, path


def test_a_face_reaches_the_road_through_its_door_only():
    for path in modules():
        if folder(path) in FACES:
            tree = ast.parse(path.read_text("utf-8"))
            for name in imported(tree):
                assert not any(name == shut or name.startswith(f"{shut}.") for shut in CLOSED_TO_FACES), (
                    path,
                    name,
                )
                if name.startswith("discreet.answer."):
                    assert name.split(".")[2] in OPEN_TO_FACES, (path, name)
            assert not reaches_inside(path.read_text("utf-8")) & {
                "_stored",
                "_protector",
                "_asker",
                "_workspace",
            }, path


def test_a_face_that_reaches_inside_would_be_found():
    assert reaches_inside("door._stored.engine") == {"_stored"}
    assert not reaches_inside("self._doors")


def reachable(thing, depth=6):
    """Everything that public names lead to."""
    waiting, seen = [(thing, depth)], {}
    while waiting:
        current, left = waiting.pop()
        if id(current) in seen or isinstance(current, str | int | float | bool | type(None) | type):
            continue
        seen[id(current)] = current
        if not left:
            continue
        names = [name for name in dir(current) if not name.startswith("_")]
        inside = [
            getattr(current, name) for name in names if not callable(getattr(type(current), name, None))
        ]
        inside += list(current)[:50] if isinstance(current, tuple | list | set | frozenset) else []
        inside += list(current.values()) if isinstance(current, dict) else []
        waiting += [(each, left - 1) for each in inside]
    return seen.values()


@pytest.fixture
def door(town_workspace):
    return Door(town_workspace.stored("town"))


SECRET_THINGS = (ExactTable, SparseCells, Secret, Ledger)


def test_nothing_exact_is_reachable_from_what_a_face_holds(door, town_workspace):
    asked = door.check(TableRequest("town", ("sex",), ("age",)))
    for held in (door, asked, door.answer(asked)):
        for thing in reachable(held):
            assert not isinstance(thing, SECRET_THINGS), thing
            assert not hasattr(thing, "aggregate"), thing
    behind = list(reachable(town_workspace.stored("town")))
    assert any(
        hasattr(thing, "aggregate") for thing in behind
    )  # the walk does find an engine where there is one


def test_a_dry_run_checks_a_request_once(town_workspace, monkeypatch):
    seen = []
    real = questions.refuse_by_rules
    monkeypatch.setattr(
        questions, "refuse_by_rules", lambda *given, **named: seen.append(given[0]) or real(*given, **named)
    )
    found = Door(town_workspace.stored("town")).dry_run(TableRequest("town", ("sex",), ("age",)))
    assert found["allowed"]
    assert len(seen) == 1
