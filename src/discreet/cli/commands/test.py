"""`discreet test`: test a hypothesis on released counts, with the noise taken into account."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import emit_json, output, print_text
from discreet.cli.registry import EXAMINE, Command
from discreet.cli.shared_options import (
    FilterOption,
    GroupOption,
    JsonOption,
    ThreadsOption,
    VersionOption,
    WorkspaceOption,
)
from discreet.errors import BadRequest
from discreet.model.file_io import read_rows, whole_number

if TYPE_CHECKING:
    from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatio

test = typer.Typer(
    name="test",
    help="Test a hypothesis on released counts; the noise is allowed for.",
    no_args_is_help=True,
)
COMMAND = Command(test, EXAMINE)
#: What a test takes where nothing is chosen; a server takes nothing else.
_OWN_CHOICE: dict[str, Any] = {
    "model": "poisson",
    "total": None,
    "method": "auto",
    "replicates": 499,
    "seed": 2018,
}


@test.callback()
def _hypotheses() -> None:
    """Test a hypothesis on released counts; the noise is allowed for."""


@test.command()
def independence(
    dataset: Annotated[str | None, typer.Option(help="The dataset's id.")] = None,
    rows: Annotated[list[str] | None, typer.Option(help="The variable down the side.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="The variable along the top.")] = None,
    filters: FilterOption = None,
    groups: GroupOption = None,
    file: Annotated[
        Path | None, typer.Option("--csv", help="A matrix of released counts: no header, no totals.")
    ] = None,
    noise: Annotated[Path | None, typer.Option(help="The noise table of the matrix, any format.")] = None,
    model: Annotated[
        str, typer.Option(help="poisson, or multinomial when the true total is public.")
    ] = _OWN_CHOICE["model"],
    total: Annotated[int | None, typer.Option(help="The public true total, for multinomial.")] = _OWN_CHOICE[
        "total"
    ],
    method: Annotated[
        str, typer.Option(help="Where the p-value comes from: auto, chi-square, bootstrap or moments.")
    ] = _OWN_CHOICE["method"],
    replicates: Annotated[int, typer.Option(help="Tables that the bootstrap draws at most.")] = _OWN_CHOICE[
        "replicates"
    ],
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = _OWN_CHOICE["seed"],
    as_json: JsonOption = False,
    version: VersionOption = "",
    workspace: WorkspaceOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Test whether two variables are independent, beside what ignoring the noise would say."""
    from discreet.cli.target import open_target
    from discreet.inference.hypothesis_tests.independence import independence_test
    from discreet.noise.files import read_noise_table

    options: dict[str, Any] = {
        "model": model,
        "total": total,
        "method": method,
        "replicates": replicates,
        "seed": seed,
    }
    if file is not None:
        if any((dataset, rows, columns, filters, groups, version)):
            raise BadRequest(
                "A matrix and a dataset are given at once.",
                "Give --csv with --noise, or --dataset with --rows and --columns.",
            )
        if noise is None:
            raise BadRequest(
                "The matrix has no noise table.",
                "Give --noise FILE, as `discreet design --out FILE` writes it.",
            )
        found = independence_test(read_matrix(file), read_noise_table(noise), **options)
    else:
        if noise is not None:
            raise BadRequest("--noise belongs to --csv: a dataset has its own noise table.", "Leave it out.")
        if dataset is None:
            raise BadRequest(
                "There is no table to test.",
                "Give --dataset with --rows and --columns, or --csv with --noise.",
            )
        target = open_target(dataset, workspace, threads, version)
        request = target.request(rows=rows, columns=columns, filters=filters, groups=groups)
        chosen = {name: option for name, option in options.items() if option != _OWN_CHOICE[name]}
        found = target.answers.independence(target.door.release(request), chosen)
    if as_json:
        emit_json(found.document())
    else:
        _show(found)


def read_matrix(path: Path) -> list[list[int]]:
    """A matrix of whole numbers from a CSV file without a header.

    Raises:
        NotFound: There is no such file.
        BadData: The file is no CSV.
        BadRequest: A line or a cell that does not fit.
    """
    table = read_rows(path)
    if not table or len({len(line) for line in table}) != 1:
        raise BadRequest(
            f'"{path.name}" is no matrix: {len(table)} lines, not all of the same length.',
            "Write one line a row, counts separated by commas.",
        )
    return [[_whole(cell, row, column) for column, cell in enumerate(line)] for row, line in enumerate(table)]


def _whole(cell: str, row: int, column: int) -> int:
    number = whole_number(cell)
    if number is None:
        raise BadRequest(
            f"Line {row + 1}, place {column + 1} holds {cell.strip()[:40]!r}.",
            "Give whole numbers only: no header, no labels, no totals.",
        )
    return number


def _show(found: LikelihoodRatio) -> None:
    from rich.table import Table
    from rich.text import Text

    from discreet.inference.hypothesis_tests.likelihood_ratio import p_text

    output.print(Text(f"Hypothesis: {found.hypothesis}", style="bold"))
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "statistic", "df", "p-value"):
        shown.add_column(name, justify="right" if name else "left")
    for name, line in (("noise-aware", found), ("naive G2", found.naive)):
        shown.add_row(name, f"{line.statistic:.2f}", str(line.df), p_text(line.p_value))
    output.print(shown)
    if found.cramers_v is not None:
        corrected, naive = found.cramers_v.estimate, found.cramers_v.naive
        print_text(
            f"Cramér's V (0 unrelated, 1 determined): {corrected:.3f} with the noise taken out, {naive:.3f} naive."
        )
    print_text(f"Model: {found.model}; p-value by {found.method}.")
    for sentence in (found.why, *found.notes):
        print_text(sentence, "dim")
