"""Records become numbers on one road: who may touch exact counts, and what a face can reach."""

import numpy as np
import pytest

from discreet.ledger.ledger import Ledger
from discreet.model.exact import ExactTable
from discreet.model.request import TableRequest
from discreet.records.engine import SparseCells
from discreet.records.keys import Secret
from discreet.records.tabulate import tabulate
from discreet.release import checked_request as questions
from discreet.release.dataset_registry import DatasetService

from .source import SOURCE, folder_of, modules, read_source

FACES = ("api", "cli", "formats", "web")
#: What an engine or an exact count is called.
EXACT_NAMES = {"ExactTable", "SparseCells", "tabulate"}
EXACT_ATTRIBUTES = {"engine", "key_sums", "weight_sums", "aggregate"}
#: The folders that work on exact counts, and the single modules elsewhere, each with its reason.
WORK_ON_COUNTS = {"records", "protect", "survey", "release", "assess"}
ALSO = {
    "model/exact.py": "defines the exact table",
    "workspace/versions/load_version.py": "stores records, and lets a version be inspected before it is served",
    "workspace/workspace.py": "opens the engine of a version and closes it",
}
#: What a face may import of the road when it runs.
OPEN_TO_FACES = {
    "checked_request",  # the value that a service returns from its check
    "dataset_registry",
    "load_cautions",
    "measures",
    "dry_run",
    "notes",
    "budget_document",
    "joint_margins",
    "methodology_document",  # the type of its JSON
}
#: What a face may never import: through these a record could be reached.
CLOSED_TO_FACES = {
    "discreet.workspace.workspace",
    "discreet.workspace.versions.load_version",
    "discreet.workspace.versions.version",
    "discreet.model.exact",
    "discreet.records.engine",
    "discreet.records.engines",
    "discreet.records.tabulate",
    "discreet.records.keys",
    "discreet.protect",
    "discreet.survey",
    "discreet.additivity",
    "discreet.release.pipeline",
    "discreet.release.verdicts",
}


def touches_exact(text: str) -> set[str]:
    """The names of engines and exact counts that a module uses."""
    source = read_source(text)
    return (source.names & EXACT_NAMES) | (source.attributes & EXACT_ATTRIBUTES)


def test_only_the_folders_that_work_on_them_touch_engines_and_exact_counts():
    for path in modules():
        name = str(path.relative_to(SOURCE))
        if folder_of(path) not in WORK_ON_COUNTS and name not in ALSO:
            assert not touches_exact(path.read_text("utf-8")), name


def test_a_module_that_counts_elsewhere_or_reaches_inside_would_be_found():
    assert read_source("service._stored.engine").inside == {"_stored"}
    assert not read_source("self._doors").inside
    assert touches_exact("def f(stored):\n    return stored.engine.aggregate(1)\n") == {"engine", "aggregate"}
    assert touches_exact("from discreet.records.tabulate import tabulate\n") == {"tabulate"}
    assert not touches_exact("from discreet.model.release import Release\n")


def test_only_release_and_assess_hold_an_exact_table_and_a_release_at_once():
    for path in modules():
        text = path.read_text("utf-8")
        source = read_source(text)
        released = "discreet.model.release.Release" in source.imports | source.typed
        if touches_exact(text) & EXACT_NAMES and (released or "Release" in source.names):
            assert folder_of(path) in {"release", "assess"}, path


def test_a_face_reaches_the_road_through_its_service_only():
    for path in modules():
        if folder_of(path) in FACES:
            source = read_source(path.read_text("utf-8"))
            for name in source.imports:
                shut = any(f"{name}.".startswith(f"{each}.") for each in CLOSED_TO_FACES)
                assert not shut, (path, name)
                if name.startswith("discreet.release."):
                    assert name.split(".")[2] in OPEN_TO_FACES, (path, name)
            assert not source.inside & {"_stored", "_protector", "_asker", "_workspace"}, path


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
        if isinstance(current, np.ndarray):  # its numbers lead nowhere; its memory and its objects do
            held = [current.base, *(current.ravel().tolist() if current.dtype == object else ())]
            waiting += [(each, left - 1) for each in held]
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
def service(town_workspace):
    return DatasetService(town_workspace.stored("town"))


SECRET_THINGS = (ExactTable, SparseCells, Secret, Ledger)


def is_exact(thing, exact):
    """Whether a thing is secret by its type, counts records, or a plain array with a row of the true table."""
    if isinstance(thing, SECRET_THINGS) or hasattr(thing, "aggregate"):
        return True
    rows = [*exact.counts[:, :-1], *exact.key_sums[:, :-1]]
    if not isinstance(thing, np.ndarray) or thing.dtype.kind not in "iuf" or thing.size < len(rows[0]):
        return False
    windows = np.lib.stride_tricks.sliding_window_view(np.ravel(thing), len(rows[0]))
    return any((windows == row).all(axis=1).any() for row in rows)


@pytest.fixture
def asked(service):
    return service.check(TableRequest("town", ("sex",), ("age",)))


@pytest.fixture
def exact(asked, town_workspace):
    """The true table; noise changes every row of it."""
    return tabulate(town_workspace.stored("town").engine, asked.shape)


def test_nothing_exact_is_reachable_from_what_a_face_holds(service, asked, exact, town_workspace):
    for held in (service, asked, service.answer(asked)):
        assert not [type(thing) for thing in reachable(held) if is_exact(thing, exact)]
    behind = reachable(town_workspace.stored("town"))
    assert any(hasattr(thing, "aggregate") for thing in behind)  # the walk finds an engine where there is one


def test_exact_counts_in_plain_arrays_would_be_found(service, asked, exact):
    """Wrong alternatives: a face gets the true counts, or key sums, as an array, or in the memory behind one."""
    release, size = service.answer(asked), exact.counts.size
    memory = np.concatenate([release.values.ravel(), exact.counts.ravel()])
    box = np.array([exact.counts[0], None], dtype=object)
    views = (exact.counts.ravel(), exact.key_sums, memory[:size].reshape(release.values.shape), box)
    for leaked in (release.values, *views):
        found = [thing for thing in reachable((release, [leaked])) if is_exact(thing, exact)]
        assert bool(found) == (leaked is not release.values)


def test_a_dry_run_checks_a_request_once(town_workspace, monkeypatch):
    seen = []
    real = questions.refuse_by_rules
    monkeypatch.setattr(
        questions, "refuse_by_rules", lambda *given, **named: seen.append(given[0]) or real(*given, **named)
    )
    found = DatasetService(town_workspace.stored("town")).dry_run(TableRequest("town", ("sex",), ("age",)))
    assert found["allowed"]
    assert len(seen) == 1


def makers(name: str) -> set[str]:
    """The modules that import a type when they run, or define it: those that could make a value of it."""
    return {
        str(path.relative_to(SOURCE))
        for path in modules()
        if any(each.endswith(f".{name}") for each in read_source(path.read_text("utf-8")).imports)
        or f"class {name}:" in path.read_text("utf-8")
    }


def test_an_exact_count_leaves_only_by_what_the_description_declares():
    """Wrong alternative: a protector makes an invariant of its own, and a cell without noise passes for public."""
    assert makers("Invariant") == {"model/universe.py"}
    assert makers("Dataset") > {"model/dataset.py"}  # the search finds importers
