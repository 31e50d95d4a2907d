"""`discreet margins`: many margins of a table at once: the expected error of each method, and runs of one.

On a dataset the margins are released, and the charge goes to standard error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Column, Table
from rich.text import Text
from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit_json, emit_picture, output, print_grid, print_message
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.errors import BadRequest
from discreet.model.privacy_budget import FAILURE_UNIT, read_amount

if TYPE_CHECKING:
    from discreet.margins.margin_set import Axes
    from discreet.margins.sensitivity import ContingencyTable
    from discreet.margins.study import Study


def show_released_margins(found: dict[str, Any]) -> None:
    """Print the released margins, or before a release the expected error of each method."""
    print_message(charge_sentence(found["charged"]))
    categories = found["categories"] if found["runs"] else {}
    for label, table in found["runs"][0]["margins"].items() if found["runs"] else ():
        # Names of one letter are written together, others have a star between them.
        names = [label] if label in categories else label.split("*") if "*" in label else list(label)
        _show_margin(names, table, categories)
    if not found["runs"]:
        lines = [[method, f"{error:.2f}"] for method, error in found["expected_error"].items()]
        print_grid(output, "Expected absolute error of a cell", ["Method", "E|error|"], lines, 1)
    for note in found["notes"]:
        output.print(Text(note), style="dim")


def charge_sentence(charged: dict[str, Any]) -> str:
    """The charge, in one sentence.

    >>> charge_sentence({"family": "b", "epsilon": 0.1, "delta": 0.0, "repeat": False, "spent": True, "left": 0.4})
    'Charged epsilon 0.1, delta 0 to the budget "b"; epsilon 0.4 is left.'
    """
    amount = f"epsilon {charged['epsilon']:.12g}, delta {charged['delta']:.3g}"
    if not charged["spent"]:
        return (
            f'A release would charge {amount} to the budget "{charged["family"]}", unless these margins were '
            "charged before."
        )
    left = f"epsilon {charged['left']:.12g} is left"
    if charged["repeat"]:
        return (
            f'Charged nothing: these margins were charged to the budget "{charged["family"]}" before; {left}.'
        )
    return f'Charged {amount} to the budget "{charged["family"]}"; {left}.'


def _show_margin(names: list[str], table: list[Any], categories: dict[str, list[str]]) -> None:
    *sides, last = names
    if not sides:
        lines = [[code, _count_text(value)] for code, value in zip(categories[last], table, strict=True)]
        print_grid(output, last, [last, "count"], lines, 1)
        return
    import numpy as np

    cells = np.array(table, dtype=object)
    places = np.ndindex(cells.shape[:-1])
    lines = [
        [
            *(categories[name][at] for name, at in zip(sides, place, strict=True)),
            *map(_count_text, cells[place]),
        ]
        for place in places
    ]
    print_grid(output, " by ".join(names), [*sides, *categories[last]], lines, len(sides))


def _count_text(value: float | None) -> str:
    if value is None:
        return "c"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def margins(
    table: str = Argument(
        help="A tidy CSV (variables..., count), edwards, czech, rochdale, journey, or a dataset's id."
    ),
    wanted: str | None = Option(
        None,
        "--margins",
        help='The margins, as in "AD,AB,BE" or "sex*age,sex*region"; by default those of the paper\'s model.',
    ),
    epsilon: str = Option("1", metavar="NUMBER", help="Privacy loss of all margins together."),
    delta: str = Option(
        "0",
        metavar="NUMBER",
        help="Probability that the loss exceeds epsilon. 0: Laplace noise only; above 0: Gaussian noise, too.",
    ),
    method: str = Option(
        "optimum", help="fourier, efron-stein, independent, independent-consistent or optimum."
    ),
    as_published: bool = Option(
        False, "--as-published", help="The paper's noise scale (fourier, efron-stein)."
    ),
    neighbours: str | None = Option(None, help="add-remove (default) or replace-one; a dataset has its own."),
    weights: str = Option(
        "cells", help='What to weight equally: cells or tables; or a weight per margin, as in "AB=5,BC=1".'
    ),
    reps: int | None = Option(None, help="Number of simulated runs; not for a dataset."),
    seed: int | None = Option(None, help="Random seed of the runs; not for a dataset, whose noise is keyed."),
    dry_run: bool = Option(
        False, "--dry-run", help="For a dataset: only show the expected errors, and charge nothing."
    ),
    as_json: bool = Option(False, "--json", help="Print the study, or a dataset's margins, as JSON."),
    out: shared.JsonFileOption = None,
    plot: shared.PlotOption = None,
    picture: str | None = Option(
        None, help="errors (every method by epsilon, the default) or runs (one method, as in the paper)."
    ),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Release many margins at once: the expected error of every method, and simulated runs next to the true counts.

    On a dataset under dp the margins are released instead: noise is keyed and the dataset's budget is charged.
    """
    from discreet.margins.margin_set import parse_margins, parse_weights
    from discreet.margins.sensitivity import PAPER_TABLES, paper_table, read_table
    from discreet.margins.study import study

    if table not in PAPER_TABLES and not Path(table).suffix and not Path(table).exists():
        given = {"neighbours": neighbours, "reps": reps, "seed": seed, "as-published": as_published or None}
        if used := [option for option, value in {**given, "plot": plot}.items() if value is not None]:
            raise BadRequest(
                f"--{used[0]} is for tables of public counts, and this is a dataset.",
                "Leave it out: a dataset's noise is keyed, its neighbours are declared, and every release is charged.",
            )
        service = shared.open_workspace(workspace)[0].open(table, os.environ.get(shared.KEY_ENVIRONMENT))
        if not wanted:
            raise BadRequest(
                "--margins is missing.", 'Name the margins, as in --margins "sex*age,sex*region".'
            )
        from discreet.release.joint_margins import dataset_margins

        released = dataset_margins(service.dataset, wanted)
        share = parse_weights(weights, released)
        found = service.margins(released, method, epsilon, delta, share, spend=not dry_run)
        if as_json or out is not None:
            emit_json(found, out)
        else:
            show_released_margins(found)
        return
    if dry_run:
        raise BadRequest(
            "--dry-run is for datasets; a table of public counts is never charged.", "Leave out --dry-run."
        )
    drawn = shared.choose_picture(picture, plot, "errors")
    opened = paper_table(table) if table in PAPER_TABLES else read_table(Path(table))
    named = PAPER_TABLES.get(table) if wanted is None else wanted
    if not named:
        raise BadRequest("--margins is missing.", 'Name the margins, as in --margins "AD,AB,BE".')
    chosen = parse_margins(named, opened.names, opened.shape)
    importance = parse_weights(weights, chosen)
    done = study(
        opened.counts,
        chosen,
        method,
        float(read_amount(epsilon, "--epsilon")),
        float(read_amount(delta, "--delta", FAILURE_UNIT)),
        neighbours=neighbours or "add-remove",
        weights=importance,
        as_published=as_published,
        reps=1 if reps is None else reps,
        seed=seed,
    )
    for note in done.notes():
        print_message(note)
    if plot is not None:
        _plot(opened, done, plot, drawn, importance, seed)
    if as_json or out is not None:
        emit_json(done.as_json(), out)
    else:
        _show(done)


COMMAND = Command(margins, MAKE_TABLES)


def _plot(
    table: ContingencyTable,
    done: Study,
    path: Path,
    picture: str,
    weights: str | Mapping[Axes, float],
    seed: int | None,
) -> None:
    from discreet.margins.holistic import Holistic
    from discreet.pictures.budget_charts import error_by_epsilon, runs_by_epsilon

    plan = done.plan
    if picture not in {"errors", "runs"}:
        raise BadRequest(f'There is no picture "{picture}".', "Choose errors or runs.")
    if picture == "errors":
        chart = error_by_epsilon(plan.wanted, done.delta, neighbours=plan.neighbours, weights=weights)
    else:
        chart = runs_by_epsilon(
            table.counts,
            plan.wanted,
            done.method,
            neighbours=plan.neighbours,
            as_published=isinstance(plan, Holistic) and plan.as_published,
            reps=len(done.runs),
            seed=seed,
        )
    emit_picture(chart, path)


def _show(done: Study) -> None:
    label = done.plan.wanted.label
    columns = (
        Column("margin"),
        *(Column(name, justify="right", overflow="fold") for name in done.advice.overall),
    )
    how: Any = {"box": box.SIMPLE_HEAD, "title_justify": "left"}
    expected = Table(*columns, title="Expected absolute error of a cell", **how)
    for margin in done.plan.wanted.margins:
        errors = (f"{by_margin[margin]:.2f}" for by_margin in done.advice.by_margin.values())
        expected.add_row(label(margin), *errors)
    expected.add_row("all", *(f"{error:.2f}" for error in done.advice.overall.values()), style="bold")
    output.print(expected)
    headers = (Column(name, justify="right") for name in ("run", "sample size", "largest L1", "b"))
    runs = Table(*headers, title=f"Runs of {done.method}", **how)
    for number, run in enumerate(done.runs, start=1):
        b = "" if run.lp_b is None else f"{run.lp_b:.4g}"
        runs.add_row(str(number), f"{run.sample_size:,.0f}", f"{run.max_l1:,.1f}", b)
    output.print(runs)
