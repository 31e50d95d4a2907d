"""`discreet assess`: risk and utility of a table under many cases, and the Five Safes, for the custodian."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import emit, emit_json, emit_picture, output, print_message, print_text
from discreet.cli.registry import EXAMINE, Command
from discreet.cli.shared_options import (
    DatasetArgument,
    JsonOption,
    PlotOption,
    TableQuery,
    ThreadsOption,
    WorkspaceOption,
    open_workspace,
    takes_table_query,
)
from discreet.errors import BadRequest, UnknownFormat

if TYPE_CHECKING:
    from discreet.assess.assessment import Assessment
    from discreet.assess.five_safes import Checklist
    from discreet.assess.simulation import Summary
    from discreet.assess.survey_errors import SurveyErrors
    from discreet.model.request import TableRequest


@takes_table_query
def assess(
    dataset: DatasetArgument,
    asked: TableQuery,
    measure: Annotated[
        str, typer.Option(help="count, or weighted: the exact standard errors of a survey's table.")
    ] = "count",
    estimates: Annotated[
        list[str] | None,
        typer.Option(
            "--estimate",
            help='With --measure weighted: a total, ratio or difference of cells, as in "A,1 / A,_T - B,1 / B,_T".',
        ),
    ] = None,
    families: Annotated[
        str, typer.Option(help="Noise families, current, or noise table files, comma-separated.")
    ] = "laplace,normal,maxent,pram,dropadd,current",
    epsilon: Annotated[str, typer.Option(help="Epsilons, comma-separated.")] = "0.1,0.5,1,2",
    delta: Annotated[float, typer.Option(help="The delta at which epsilon is stated.")] = 1e-4,
    keep_zeros: Annotated[
        bool, typer.Option("--keep-zeros", help="Leave empty cells alone in every family.")
    ] = False,
    reps: Annotated[int, typer.Option(help="Simulated releases of each case.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same report.")] = 2018,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The report: FILE.html or FILE.json.")
    ] = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
    picture: Annotated[str, typer.Option(help="map, boxes, confirmation, zeros or conclusions.")] = "map",
    five_safes: Annotated[
        bool,
        typer.Option(
            "--five-safes", help="Write the Five Safes of the dataset as a checklist, and no report."
        ),
    ] = False,
    workspace: WorkspaceOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Assess risk and utility of a table. CONFIDENTIAL: made from true counts, for the custodian only."""
    from discreet.cli.target import given_options
    from discreet.model.request import request_from_text

    if five_safes:
        if any(asked.values()):
            raise BadRequest(
                "The Five Safes are about a whole dataset, and a table is given.",
                "Leave out rows, columns and filters.",
            )
        _checklist(dataset, workspace, out, as_json=as_json)
        return
    _refuse_ending(out, {".html", ".json"})
    wanted = [name.strip() for name in families.split(",") if name.strip()]
    numbers = _numbers(epsilon)
    request = request_from_text(dataset, **given_options(asked))
    if measure != "count" or estimates:
        _survey(dataset, replace(request, measure=measure), estimates or [], workspace, out, as_json=as_json)
        return
    from discreet.assess import assess as run
    from discreet.cli.console import simulation_bar

    opened, _ = open_workspace(workspace, threads=threads)
    with simulation_bar("Simulated releases") as progress:
        found = run(
            opened.door(dataset),
            request,
            families=wanted,
            epsilons=numbers,
            delta=delta,
            keep_zeros=keep_zeros,
            reps=reps,
            seed=seed,
            workers=threads or os.cpu_count() or 1,
            progress=progress,
        )
    _deliver(found, out, plot, picture, as_json=as_json)


COMMAND = Command(assess, EXAMINE)


def _deliver(found: Assessment, out: Path | None, plot: Path | None, picture: str, *, as_json: bool) -> None:
    if plot is not None:
        from discreet.assess.figures import figure

        emit_picture(figure(found, picture), plot)
    if out is not None and out.suffix.lower() == ".html":
        from discreet.assess.report_pages import report, write_page

        write_page(report(found), out)
        print_message(f"Written: {out}")
    elif out is not None:
        emit_json(found.as_json(), out)
    if as_json:
        emit_json(found.as_json())
    elif out is None:
        _show(found)


def _survey(
    dataset: str,
    request: TableRequest,
    estimates: list[str],
    workspace: Path | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    from discreet.assess.survey_errors import survey_errors

    if request.measure != "weighted" or (out is not None and out.suffix.lower() != ".json"):
        raise BadRequest(
            f"--measure is {request.measure}" + ("." if out is None else f" and --out {out.name}."),
            "Exact standard errors need --measure weighted, and are written as FILE.json.",
        )
    opened, _ = open_workspace(workspace)
    found = survey_errors(opened.door(dataset), request, estimates)
    if out is not None or as_json:
        emit_json(found.as_json(), out)
    else:
        _show_survey(found)


def _show_survey(found: SurveyErrors) -> None:
    from rich.text import Text

    from discreet.assess.assessment import CONFIDENTIAL
    from discreet.cli.console import print_grid

    def percent(value: float | None, digits: int = 1) -> str:
        return "-" if value is None else f"{100 * value:.{digits}f} %"

    print_text(CONFIDENTIAL, "bold red")
    headers = ["cell", "people", "total", "SE", "RSE", "deff", "share", "its SE"]
    headers += ["printed RSE", "of the share", "status"]
    lines = [
        [
            ", ".join(each.cell),
            f"{each.people:,}",
            f"{each.total:,.0f}",
            f"{each.standard_error:,.0f}",
            percent(each.relative_standard_error),
            "-" if each.design_effect is None else f"{each.design_effect:.2f}",
            percent(each.share),
            percent(each.share_standard_error, 2),
            percent(each.printed_error, 0),
            percent(each.share_printed_error, 0),
            each.status,
        ]
        for each in found.cells
    ]
    print_grid(output, f"Exact standard errors: {found.title}; {found.design}", headers, lines, 1)
    for asked in found.estimates:
        value = "-" if asked.printed_value is None else f"{asked.printed_value:,.6g}"
        errors = f"SE {asked.standard_error:,.4g}; printed {value}, RSE {percent(asked.printed_error, 0)}"
        output.print(Text(f"{asked.estimate}: {asked.value:,.6g} ({errors})"))
    for name, ratio in found.printed_over_exact.items():
        if ratio is not None:
            print_text(
                f"Printed errors of {name} are {ratio:.2f} times the exact ones at the median: they hold the noise too, "
                "and are rounded up."
            )
    if found.refusal is not None:
        output.print(Text(f"The table itself is refused: {found.refusal}", style="dim"))


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadRequest(
            f"--epsilon is {text!r}.", "Give numbers separated by commas, as in 0.1,0.5,1."
        ) from None


def _refuse_ending(out: Path | None, endings: set[str]) -> None:
    if out is not None and out.suffix.lower() not in endings:
        raise UnknownFormat(
            f'A report cannot be written as "{out.name}".', f"End it in {' or '.join(sorted(endings))}."
        )


def _checklist(dataset: str, workspace: Path | None, out: Path | None, *, as_json: bool) -> None:
    from discreet.assess.five_safes import five_safes
    from discreet.assess.report_pages import write_page

    _refuse_ending(out, {".html", ".json", ".md"})
    opened, options = open_workspace(workspace)
    found = five_safes(opened, dataset, options)
    kind = "" if out is None else out.suffix.lower()
    if out is not None and kind == ".html":
        write_page(found.as_html(), out)
        print_message(f"Written: {out}")
    elif out is not None and kind == ".md":
        if out.exists():  # a checklist is filled in by hand
            raise BadRequest(
                f"The file {str(out)!r} is there already.", "Choose another name: answers may be in it."
            )
        emit(found.as_markdown(), out)
    elif out is not None or as_json:
        emit_json(found.as_json(), out)
    else:
        _show_checklist(found)


def _show(found: Assessment) -> None:

    from discreet.assess.assessment import CONFIDENTIAL, OUTSIDE_DP
    from discreet.assess.report_pages import conclusion_sentences, summary_sentences
    from discreet.cli.console import print_grid

    print_text(CONFIDENTIAL, "bold red")
    headers = [
        "case", "delta", "epsilon above D", "perturbed", "confirmed 1-3", "RM", "l1 a cell", "Hellinger",
        "false zeros", "naive agrees", "noise-aware agrees",
    ]  # fmt: skip
    print_grid(output, f"Assessment of {found.title}", headers, _lines(found), 1)
    for sentence in (*summary_sentences(found)[1:], *conclusion_sentences(found), *found.left_out):
        print_text(f"- {sentence}")
    print_text(OUTSIDE_DP, "dim")


def _lines(found: Assessment) -> list[list[str]]:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.0%}"

    def mean(values: Summary | None, digits: int) -> str:
        return "-" if values is None else f"{values.mean:.{digits}f}"

    return [
        [
            o.case.label,
            f"{o.privacy.delta:.2g}",
            f"{o.privacy.epsilon_above:.3g}",
            share(o.expected.perturbed),
            share(o.expected.confirmation_small),
            mean(o.simulated.get("rm"), 3),
            f"{o.expected.l1.mean / o.expected.cells:.2f}",
            mean(o.simulated.get("hellinger"), 2),
            share(o.expected.false_zero_share),
            share(o.same_naive),
            share(o.same_aware),
        ]
        for o in found.outcomes
    ]


def _show_checklist(found: Checklist) -> None:
    from rich.text import Text

    output.print(Text(found.title, style="bold"))
    for safe in found.safes:
        print_text(f"\n{safe.name}: {safe.question}", "bold")
        for item in safe.items:
            known = item.status == "known"
            mark = ("[x] ", "green") if known else ("[ ] ", "yellow")
            output.print(Text.assemble(mark, (f"{item.question} ", "bold"), item.answer), soft_wrap=True)
    output.print(
        f"\n{found.open_items} questions are open. --out FILE.md, FILE.html or FILE.json keeps the checklist."
    )
