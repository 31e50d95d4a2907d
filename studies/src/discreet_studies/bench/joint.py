"""Joint universes: errors, planning, loads and answers, beside OpenDP on the same 21 margins if it is installed.

21 margins     two-way margins of a million records at (1, 1e-6), planned and averaged by cells; the measured error is
               that of the answers of a loaded dataset
census         the demo `census-dp` as it ships, planned and averaged by tables, and by cells; then by OpenDP, core and
               Context, whose seconds have counting in them
40 margins     the time of a plan, with Gaussian residuals and with pure epsilon
three of nine  the load of a million records with all tables of up to three of nine variables
large table    an answer of 100,000 cells
"""

import math
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.margins.integer_noise import gaussian_tables
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.model.universe import dp_terms
from discreet.protect.joint_plan import make_joint
from discreet.protect.plan import make_plan
from discreet.release.pipeline import release_table
from discreet.workspace.demo import DEMOS
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace
from discreet_studies.bench.margins import DELTA, RECORDS, SHAPE, count, opendp, opendp_counts
from discreet_studies.bench.part import Part, Result, Wish, best, figure
from discreet_studies.bench.peers import load_opendp

NINE = (*SHAPE, 4, 6)
LARGE = (50, 50, 40)
REPEATS = 3


def description(shape: tuple[int, ...], universe: str, budget: str = "") -> str:
    """A dataset of variables A, B, ... with so many categories each."""
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {[str(code) for code in range(k)]}\n'
        for name, k in zip(letters(shape), shape, strict=True)
    )
    return (
        f'id = "bench"\nlabel = "Bench"\nid_column = "id"\n{variables}[protection]\nmethod = "dp"\n'
        f'[protection.universe]\n{universe}\n[protection.budget]\nname = "bench"\nepsilon = 1.0\n'
        f"cap_epsilon = 1.0\ndelta = {DELTA}\n{budget}"
    )


def letters(shape: tuple[int, ...]) -> str:
    """A name for each variable."""
    return "ABCDEFGHI"[: len(shape)]


def table_of(shape: tuple[int, ...], seed: int = 0) -> tuple[pa.Table, list[NDArray[np.int64]]]:
    """A million records with uneven categories, and their codes."""
    random = np.random.default_rng(seed)
    codes = [random.choice(k, RECORDS, p=random.dirichlet(np.full(k, 2.0))) for k in shape]
    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(own, pa.int32()), [str(c) for c in range(k)])
        for name, own, k in zip(letters(shape), codes, shape, strict=True)
    }
    return pa.table({"id": pa.array(np.arange(RECORDS)), **columns}), codes


def loaded_margins(wish: Wish) -> Iterator[Result]:
    """Load the 21 margins and ask for each of them."""
    tables = [list(pair) for pair in combinations(letters(SHAPE), 2)]
    text = description(SHAPE, f'tables = {tables}\nmargins = "joint"\nimportance = "cells"')
    gaussian_tables.cache_clear()
    start = time.perf_counter()
    dataset = parse_dataset(text)
    terms, universe = dp_terms(dataset)
    plan = make_joint(dataset, universe, terms)
    planned = time.perf_counter() - start
    cells = {margin: math.prod(len(dataset.variable(v)) for v in margin) for margin in universe.declared}
    expected = sum(cells[m] * plan.errors.expected_error(m) for m in cells) / sum(cells.values())
    records, codes = table_of(SHAPE)
    wish.say(f"planned in {planned:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        load_dataset(Path(folder), text, records)
        workspace = Workspace(Path(folder))
        stored, error = workspace.stored("bench"), 0.0
        start = time.perf_counter()
        exact = count(codes)
        for (i, j), true in exact.items():
            request = TableRequest("bench", (letters(SHAPE)[i],), (letters(SHAPE)[j],), totals=False)
            error += float(np.abs(release_table(stored, request).values - true).sum())
        workspace.close()
    measured = error / sum(cells.values())
    yield line("21 margins, by cells: discreet", planned, expected, measured)
    for context in (False, True) if wish.peers else ():
        peer = opendp(DELTA, codes, exact, context=context)
        yield line(f"21 margins: {peer['who']}", peer["seconds"], None, peer["measured_error"])


def census() -> Iterator[Result]:
    """The demo as it ships, and by cells."""
    text = DEMOS["census-dp"].description()
    for weights in ("tables", "cells"):
        gaussian_tables.cache_clear()
        start = time.perf_counter()
        dataset = parse_dataset(
            text.replace('margins = "joint"', f'margins = "joint"\nimportance = "{weights}"')
        )
        terms, universe = dp_terms(dataset)
        plan = make_joint(dataset, universe, terms)
        seconds = time.perf_counter() - start
        weight = {m: float(universe.weight_of(m, dataset)) for m in universe.declared}
        expected = sum(w * plan.errors.expected_error(m) for m, w in weight.items()) / sum(weight.values())
        yield line(f"census-dp, by {weights}", seconds, expected)


def census_by_opendp() -> Iterator[Result]:
    """The declared tables of the same demo by OpenDP, by core and by Context; the mean is over tables, as in `census`."""
    dataset = parse_dataset(DEMOS["census-dp"].description())
    terms, universe = dp_terms(dataset)
    records = pa.Table.from_batches(DEMOS["census-dp"].batches())
    codes = {v.name: records[v.name].combine_chunks().indices.to_numpy() for v in dataset.variables}
    flat, exact = [], []
    for margin in universe.declared:
        lengths = [len(dataset.variable(name)) for name in margin]
        own = [codes[name] for name in margin]
        cells = np.ravel_multi_index(own, lengths) if margin else np.zeros(len(records), np.int64)
        flat.append((cells, math.prod(lengths)))
        exact.append(np.bincount(cells, minlength=math.prod(lengths)))
    weight = np.array([float(universe.weight_of(margin, dataset)) for margin in universe.declared])
    for context in (False, True):
        told, seconds = opendp_counts(flat, float(terms.delta), epsilon=float(terms.epsilon), context=context)
        errors = [np.abs(own - true).mean() for own, true in zip(told, exact, strict=True)]
        who = "OpenDP Context" if context else "OpenDP"
        yield line(
            f"census-dp, by tables: {who}, equal split", seconds, None, float(weight @ errors / weight.sum())
        )


def planning(repeats: int) -> Iterator[Result]:
    """The plan of forty margins, Gaussian and pure."""
    tables = [list(each) for each in [*combinations(letters(NINE), 2), *list(combinations("ABCD", 3))]]
    for delta, universe, spread in ((DELTA, '"joint"', "equal"), (0, '"own"', "optimised")):
        text = description(NINE, f"tables = {tables}\nmargins = {universe}", f'spread = "{spread}"')
        dataset = parse_dataset(text.replace(f"delta = {DELTA}", f"delta = {delta}"))
        terms, declared = dp_terms(dataset)

        def plan(dataset: Any = dataset, terms: Any = terms, declared: Any = declared) -> None:
            make_joint.cache_clear()
            gaussian_tables.cache_clear()
            make_plan(dataset, declared, terms, dataset.protection.noise)

        yield line(f"plan of {len(tables)} margins, delta {delta:g}", best(plan, repeats))


def loads(repeats: int) -> Iterator[Result]:
    """A load of all tables of up to three of nine variables, and an answer of 100,000 cells."""
    records, _ = table_of(NINE)
    text = description(NINE, f'variables = {list(letters(NINE))}\nup_to = 3\nmargins = "joint"')
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        load_dataset(Path(folder), text, records)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield replace_megabytes(line("load, up to three of nine variables", seconds), peak)
    records, _ = table_of(LARGE)
    text = description(LARGE, 'tables = [["A", "B", "C"]]\nmargins = "joint"')
    with tempfile.TemporaryDirectory() as folder:
        load_dataset(Path(folder), text, records)
        request = TableRequest("bench", ("A",), ("B",), ("C",), totals=False)

        def fresh() -> None:
            workspace.stored("bench").protector.residuals._values.clear()  # type: ignore[attr-defined] # noqa: SLF001
            release_table(workspace.stored("bench"), request)

        workspace = Workspace(Path(folder))
        yield line("an answer of 100,000 cells, values computed", best(fresh, repeats))
        yield line(
            "the same, values kept", best(lambda: release_table(workspace.stored("bench"), request), repeats)
        )
        workspace.close()


def line(
    what: str, seconds: float, expected: float | None = None, measured: float | None = None
) -> dict[str, Any]:
    """One result."""
    return {
        "what": what,
        "seconds": round(seconds, 3),
        "expected_error": None if expected is None else round(expected, 2),
        "measured_error": None if measured is None else round(measured, 2),
        "megabytes": None,
    }


def replace_megabytes(result: dict[str, Any], megabytes: float) -> dict[str, Any]:
    """The same with the largest memory that the process has had."""
    return {**result, "megabytes": round(megabytes)}


def measure(wish: Wish) -> Iterator[Result]:
    """Errors first, then times."""
    if wish.peers:
        load_opendp()  # what is missing is told before the work
    repeats = wish.repeats or REPEATS
    yield from loaded_margins(wish)
    yield from census()
    if wish.peers:
        yield from census_by_opendp()
    yield from planning(repeats)
    yield from loads(repeats)


PART = Part(
    measure,
    {
        "what": lambda result: str(result["what"]),
        "seconds": figure("seconds", "{:.3f}"),
        "expected error": figure("expected_error", "{:.2f}"),
        "measured error": figure("measured_error", "{:.2f}"),
        "MB": figure("megabytes", "{:.0f}"),
    },
)
