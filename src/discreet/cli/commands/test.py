"""`discreet test`: test a hypothesis on released counts, with the noise taken into account.

`discreet interval`: confidence intervals of counts, and of sums, shares, ratios and differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit_json, output, print_text, unframed_table
from discreet.cli.registry import EXAMINE, Command
from discreet.errors import BadRequest
from discreet.model.file_io import read_rows, whole_number
from discreet.model.messages.text import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatio
    from discreet.model.release import Release

HELP = "Test a hypothesis on released counts, allowing for the noise."
# With a callback, a group of one command stays a group.
test = typer.Typer(name="test", help=HELP, callback=lambda: None, no_args_is_help=True)
#: The defaults of a test; a server accepts nothing else.
_DEFAULTS: dict[str, Any] = {
    "model": "poisson",
    "total": None,
    "method": "auto",
    "replicates": 499,
    "seed": 2018,
}


DatasetArgument = Annotated[
    str | None,
    Argument(
        metavar="DATASET",
        help="The dataset's id, or its URL on a server.",
        autocompletion=shared.complete_dataset,
        show_default=False,
    ),
]
NamedDataset = Annotated[str | None, Option("--dataset", help="The dataset's id: the same as the argument.")]


def _one_dataset(dataset: str | None, named: str | None) -> str | None:
    """The dataset of the argument or of its older option.

    Raises:
        BadRequest: Both are given and differ.
    """
    if dataset is not None and named is not None and dataset != named:
        raise BadRequest(
            f'Two datasets are given: "{dataset}" and --dataset {named}.', "Give one, as the argument."
        )
    return dataset if dataset is not None else named


def _released(
    dataset: str, workspace: Path | None, threads: int | None, version: str, asked: shared.TableQuery
) -> Release:
    """The table to be tested, released by this workspace."""
    from discreet.api.remote import RemoteService
    from discreet.cli.target import open_target

    target = open_target(dataset, workspace, threads, version)
    if isinstance(target.service, RemoteService):
        raise BadRequest(
            "A server tests independence only.",
            "Use `discreet test independence`, or test the noisy counts of a download in Python.",
        )
    return target.service.release(target.request(**asked))


@test.command()
@shared.takes_table_query
def proportion(
    dataset: shared.TargetArgument,
    asked: shared.TableQuery,
    cell: str = Option(..., help="The codes of a cell in the order of the dimensions, as in 1,20-24."),
    people: int = Option(..., help="The number of people that the share is of, which must be public."),
    share: float = Option(..., help="The share under the hypothesis, between 0 and 1."),
    as_json: shared.JsonOption = False,
    version: shared.VersionOption = "",
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Test whether a cell is a given share of a public number of people, exactly."""
    from discreet.inference.hypothesis_tests.goodness_of_fit import cell_proportion_test

    release = _released(dataset, workspace, threads, version, asked)
    _print_test(cell_proportion_test(release, cell.split(","), people, share), as_json=as_json)


@test.command()
@shared.takes_table_query
def distribution(
    dataset: shared.TargetArgument,
    asked: shared.TableQuery,
    chances: str | None = Option(
        None,
        help="One number per cell, totals left out, as in 2,1,1: the expected ratios. Without it: all equal.",
    ),
    as_json: shared.JsonOption = False,
    version: shared.VersionOption = "",
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Test whether the people of a table are distributed over its cells in given ratios."""
    from discreet.inference.hypothesis_tests.goodness_of_fit import distribution_test

    release = _released(dataset, workspace, threads, version, asked)
    shape = tuple(len(dimension.leaves) for dimension in release.dimensions)
    _print_test(distribution_test(release, _parse_chances(chances, shape)), as_json=as_json)


def _parse_chances(text: str | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    import numpy as np

    if text is None:
        return np.ones(shape)
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise BadRequest(f"--chances is {text!r}.", "Write numbers, as in 2,1,1.") from None
    if len(numbers) != prod(shape):
        raise BadRequest(
            f"--chances has {len(numbers)} numbers; the table has {prod(shape)} cells without totals.",
            "Give one per cell, row by row.",
        )
    return np.array(numbers).reshape(shape)


@test.command()
@shared.takes_table_query
def log_linear(
    dataset: shared.TargetArgument,
    asked: shared.TableQuery,
    terms: list[str] = Option(
        ...,
        "--term",
        help="Variables that interact, as in sex,age. Repeat it; a single variable is a term, too.",
    ),
    as_json: shared.JsonOption = False,
    version: shared.VersionOption = "",
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Test a hierarchical log-linear model of the table against the saturated one."""
    from discreet.inference.hypothesis_tests.independence import log_linear_test

    release = _released(dataset, workspace, threads, version, asked)
    _print_test(log_linear_test(release, [term.split(",") for term in terms]), as_json=as_json)


@test.command()
def independence(
    dataset: DatasetArgument = None,
    named: NamedDataset = None,
    rows: list[str] | None = Option(None, help="The row variable."),
    columns: list[str] | None = Option(None, help="The column variable."),
    filters: shared.FilterOption = None,
    groups: shared.GroupOption = None,
    file: Path | None = Option(
        None, "--csv", help="CSV file with a matrix of released counts, without header and totals."
    ),
    noise: Path | None = Option(None, help="Noise table of the matrix, in any format that `audit` reads."),
    model: str = Option(_DEFAULTS["model"], help="poisson, or multinomial when the true total is public."),
    total: int | None = Option(_DEFAULTS["total"], help="The public true total, for multinomial."),
    method: str = Option(
        _DEFAULTS["method"], help="How to compute the p-value: auto, chi-square, bootstrap or moments."
    ),
    measure: str = Option(
        "count", help="count, or weighted: people represented, for the survey's design and noise together."
    ),
    replicates: int = Option(_DEFAULTS["replicates"], help="Maximum number of bootstrap tables."),
    seed: int = Option(_DEFAULTS["seed"], help="Seed of the bootstrap."),
    as_json: shared.JsonOption = False,
    version: shared.VersionOption = "",
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Test whether two variables are independent, next to a test that ignores the noise."""
    from discreet.cli.target import open_target
    from discreet.inference.hypothesis_tests.independence import independence_test
    from discreet.noise.files import read_noise_table

    dataset = _one_dataset(dataset, named)
    options: dict[str, Any] = dict(zip(_DEFAULTS, (model, total, method, replicates, seed), strict=True))
    if file is not None:
        if any((dataset, rows, columns, filters, groups, version, measure != "count")):
            raise BadRequest(
                "--csv and --dataset cannot be combined.",
                "Give --csv with --noise, or a dataset with --rows and --columns.",
            )
        if noise is None:
            raise BadRequest(
                "The matrix has no noise table.",
                "Give --noise FILE, as `discreet design --out FILE` writes it.",
            )
        found = independence_test(parse_matrix(file), read_noise_table(noise), **options)
    else:
        if noise is not None:
            raise BadRequest("--noise belongs to --csv: a dataset has its own noise table.", "Leave it out.")
        if dataset is None:
            raise BadRequest(
                "No table is given.",
                "Give a dataset with --rows and --columns, or --csv with --noise.",
            )
        target = open_target(dataset, workspace, threads, version)
        request = target.request(rows=rows, columns=columns, filters=filters, groups=groups, measure=measure)
        chosen = {name: option for name, option in options.items() if option != _DEFAULTS[name]}
        found = target.answers.independence(target.service.release(request), chosen)
    _print_test(found, as_json=as_json)


def _print_test(found: LikelihoodRatio, *, as_json: bool) -> None:
    if as_json:
        emit_json(found.document())
    else:
        _show_test(found)


def parse_matrix(path: Path) -> list[list[int]]:
    """Parse a matrix of whole numbers from a CSV file without a header.

    Raises:
        NotFound: There is no such file.
        BadData: The file is no CSV.
        BadRequest: A line or a cell is not valid.
    """
    table = read_rows(path)
    if not table or len({len(line) for line in table}) != 1:
        raise BadRequest(
            f'"{path.name}" is not a matrix: its {len(table)} lines differ in length.',
            "Write one line per row, with counts separated by commas.",
        )
    numbers = [[whole_number(cell) for cell in line] for line in table]
    for row, line in enumerate(numbers):
        if None in line:
            place = line.index(None)
            raise BadRequest(
                f"Line {row + 1}, column {place + 1} contains {table[row][place].strip()[:40]!r}.",
                "Give whole numbers only: no header, no labels, no totals.",
            )
    return [[number for number in line if number is not None] for line in numbers]


def _show_test(found: LikelihoodRatio) -> None:
    from discreet.inference.hypothesis_tests.likelihood_ratio import SURVEY_MODEL, p_text

    survey = found.model == SURVEY_MODEL
    names = ("survey, noise-aware", "naive X2") if survey else ("noise-aware", "naive G2")
    output.print(Text(f"Hypothesis: {found.hypothesis}", style="bold"))
    shown = unframed_table([""], ["statistic", "df", "p-value"])
    for name, line in ((names[0], found), (names[1], found.naive)):
        shown.add_row(name, f"{line.statistic:.2f}", str(line.df), p_text(line.p_value))
    output.print(shown)
    if found.cramers_v is not None:
        corrected, naive = found.cramers_v.estimate, found.cramers_v.naive
        print_text(
            f"Cramér's V (0 unrelated, 1 determined): {corrected:.3f} corrected for noise, {naive:.3f} naive."
        )
    print_text(f"Model: {found.model}; p-value by {found.method}.")
    for sentence in (found.why, *found.notes):
        print_text(sentence, "dim")


@shared.takes_table_query
def interval(
    dataset: shared.TargetArgument,
    asked: shared.TableQuery,
    cells: list[str] | None = Option(
        None, "--cell", help="A cell, as in sex=1,age=20-24; repeat to add cells up. Default: every cell."
    ),
    of: list[str] | None = Option(
        None, "--of", help="Denominator of a share: a total, or each part of the whole."
    ),
    over: list[str] | None = Option(None, "--over", help="Denominator of a ratio: a cell, or several."),
    minus: list[str] | None = Option(None, "--minus", help="What is subtracted: a cell, or several."),
    minus_of: list[str] | None = Option(
        None,
        "--minus-of",
        help="For differences of weighted shares: the denominator of --minus, if not --of.",
    ),
    measure: str = Option(
        "count", help="count, or weighted: people represented, for sampling and noise together."
    ),
    level: float = Option(0.95, help="Minimum probability that the interval covers the true value."),
    as_json: shared.JsonOption = False,
    version: shared.VersionOption = "",
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Show confidence intervals for true counts, or for a sum, share, ratio or difference of them."""
    from discreet.cli.target import open_target
    from discreet.inference.confidence_intervals import table_intervals as intervals

    if not cells and (of or over or minus):
        raise BadRequest("--of, --over and --minus need a cell.", "Add --cell, as in --cell sex=1.")
    target = open_target(dataset, workspace, threads, version)
    release = target.service.release(target.request(**asked, measure=measure))
    # Intervals of counts are exact, those of weighted tables use the normal distribution.
    sure = "about" if release.measure.has_errors else "at least"
    if not cells:
        document = intervals.limits_document(release, target.answers.every_interval(release, level), level)
        if as_json:
            emit_json(document)
        else:
            _show_interval(document, sure)
        return
    others = {"of": of or (), "over": over or (), "minus": minus or (), "minus_of": minus_of or ()}
    found = target.answers.interval(release, cells, level, others)
    if as_json:
        emit_json(intervals.interval_document(found))
    else:
        estimate, low, high = intervals.interval_texts(
            found, share=bool(of), ratio=bool(over), minus=bool(minus)
        )
        error = f" ({text})" if (text := intervals.error_text(found)) else ""
        print_text(
            f"{estimate}{error}; between {low} and {high} with probability {sure} {100 * found.level:g} %"
        )


def _show_interval(document: Mapping[str, Any], sure: str) -> None:
    columns = ("value", "low", "high")
    shown = unframed_table(document["dimensions"], columns)
    for cell in document["cells"]:
        numbers = ("-" if cell[name] is None else f"{cell[name]:,}" for name in columns)
        shown.add_row(*(Text(printable(code)) for code in cell["codes"]), *numbers)
    output.print(shown)
    output.print(
        f"Each interval covers the true count with probability {sure} {100 * document['level']:g} %."
    )


COMMANDS = {"test": Command(test, EXAMINE), "interval": Command(interval, EXAMINE)}
