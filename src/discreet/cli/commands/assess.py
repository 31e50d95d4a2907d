"""`discreet assess`: risk and utility of a table under many cases, and the Five Safes, for the custodian."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from typer import Option

from discreet.cli import shared_options as shared
from discreet.cli.console import (
    emit,
    emit_json,
    emit_picture,
    output,
    print_grid,
    print_message,
    print_text,
    simulation_bar,
)
from discreet.cli.registry import EXAMINE, Command
from discreet.errors import BadRequest, UnknownFormat

if TYPE_CHECKING:
    from discreet.assess.assessment import Assessment, Outcome
    from discreet.assess.weighted_forms import FormsAssessment
    from discreet.model.request import TableRequest


@shared.takes_table_query
def assess(
    dataset: shared.DatasetArgument,
    asked: shared.TableQuery,
    measure: str = Option(
        "count", help="count (the default), or weighted: exact standard errors of a survey table."
    ),
    estimates: list[str] | None = Option(
        None,
        "--estimate",
        help='With --measure weighted: a total, ratio or difference of cells, as in "A,1 / A,_T - B,1 / B,_T".',
    ),
    forms: bool = Option(
        False,
        "--forms",
        help=(
            "With --measure weighted: risk and utility under every form of weights, including two that are never "
            "served."
        ),
    ),
    families: str = Option(
        "laplace,normal,maxent,pram,dropadd,current",
        help="Noise families, `current`, or noise table files, comma-separated.",
    ),
    epsilon: str = Option("0.1,0.5,1,2", help="Epsilons, comma-separated."),
    delta: float = Option(1e-4, help="The delta at which epsilon is stated."),
    keep_zeros: bool = Option(
        False, "--keep-zeros", help="Keep cells that are truly 0 at 0 in every family."
    ),
    reps: int = Option(100, help="Number of simulated releases per case."),
    seed: int = Option(2018, help="Random seed; the same seed gives the same report."),
    out: Path | None = Option(None, "--out", "-o", help="Write the report to FILE.html or FILE.json."),
    as_json: shared.JsonOption = False,
    plot: shared.PlotOption = None,
    picture: str = Option("map", help="map, boxes, confirmation, zeros or conclusions."),
    five_safes: bool = Option(
        False, "--five-safes", help="Write a Five Safes checklist for the dataset instead of a report."
    ),
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Compare risk and utility of noise designs for a table. CONFIDENTIAL: uses true counts, for the custodian only."""
    from discreet.cli.target import given_options
    from discreet.model.request import request_from_text

    if five_safes:
        if any(asked.values()):
            raise BadRequest(
                "--five-safes assesses a whole dataset, and a table was given.",
                "Leave out rows, columns and filters.",
            )
        _five_safes(dataset, workspace, out, as_json=as_json)
        return
    _validate_ending(out, ".html", ".json")
    numbers = _parse_numbers(epsilon)
    request = request_from_text(dataset, **given_options(asked))
    if forms:
        _forms(
            dataset,
            replace(request, measure=measure),
            workspace,
            out,
            plot,
            reps=reps,
            seed=seed,
            as_json=as_json,
        )
        return
    if measure != "count" or estimates:
        request = replace(request, measure=measure)
        _survey_errors(dataset, request, estimates or [], workspace, out, as_json=as_json)
        return
    from discreet.assess import assess as run
    from discreet.assess.assessment import figure
    from discreet.assess.report_pages import report, write_page

    opened, _ = shared.open_workspace(workspace, threads=threads)
    with simulation_bar("Simulated releases") as progress:
        found = run(
            opened.open(dataset),
            request,
            families=[name.strip() for name in families.split(",") if name.strip()],
            epsilons=numbers,
            delta=delta,
            keep_zeros=keep_zeros,
            reps=reps,
            seed=seed,
            workers=threads or os.cpu_count() or 1,
            progress=progress,
        )
    if plot is not None:
        emit_picture(figure(found, picture), plot)
    if out is not None and out.suffix.lower() == ".html":
        write_page(report(found), out)
        print_message(f"Written: {out}")
    elif out is not None:
        emit_json(found.as_json(), out)
    if as_json:
        emit_json(found.as_json())
    elif out is None:
        _show(found)


COMMAND = Command(assess, EXAMINE)


def _parse_numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadRequest(
            f"--epsilon is {text!r}.", "Give numbers separated by commas, as in 0.1,0.5,1."
        ) from None


def _validate_ending(out: Path | None, *endings: str) -> None:
    if out is not None and out.suffix.lower() not in endings:
        raise UnknownFormat(
            f'Cannot write a report as "{out.name}".', f"Use the extension {' or '.join(endings)}."
        )


def _percent(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def _survey_errors(
    dataset: str,
    request: TableRequest,
    estimates: list[str],
    workspace: Path | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    from discreet.assess.assessment import CONFIDENTIAL
    from discreet.assess.survey_errors import survey_errors

    if request.measure != "weighted" or (out is not None and out.suffix.lower() != ".json"):
        raise BadRequest(
            f"--measure is {request.measure}" + ("." if out is None else f" and --out {out.name}."),
            "Exact standard errors need --measure weighted, and are written as FILE.json.",
        )
    opened, _ = shared.open_workspace(workspace)
    found = survey_errors(opened.open(dataset), request, estimates)
    if out is not None or as_json:
        emit_json(found.as_json(), out)
        return
    print_text(CONFIDENTIAL, "bold red")
    headers = ["cell", "people", "total", "SE", "RSE", "deff", "share", "its SE"]
    headers += ["printed RSE", "of the share", "status"]
    lines = [
        [
            ", ".join(each.cell),
            f"{each.people:,}",
            f"{each.total:,.0f}",
            f"{each.standard_error:,.0f}",
            _percent(each.relative_standard_error),
            "-" if each.design_effect is None else f"{each.design_effect:.2f}",
            _percent(each.share),
            _percent(each.share_standard_error, 2),
            _percent(each.printed_error, 0),
            _percent(each.share_printed_error, 0),
            each.status,
        ]
        for each in found.cells
    ]
    print_grid(output, f"Exact standard errors: {found.title}; {found.design}", headers, lines, 1)
    for asked in found.estimates:
        value = "-" if asked.printed_value is None else f"{asked.printed_value:,.6g}"
        errors = f"SE {asked.standard_error:,.4g}; printed {value}, RSE {_percent(asked.printed_error, 0)}"
        output.print(Text(f"{asked.estimate}: {asked.value:,.6g} ({errors})"))
    for name, ratio in found.printed_over_exact.items():
        if ratio is not None:
            print_text(
                f"Printed errors of {name} are {ratio:.2f} times the exact ones at the median: they include the noise "
                "and are rounded up."
            )
    if found.refusal is not None:
        output.print(Text(f"Readers cannot get this table: {found.refusal}", style="dim"))


def _forms(
    dataset: str,
    request: TableRequest,
    workspace: Path | None,
    out: Path | None,
    plot: Path | None,
    *,
    reps: int,
    seed: int,
    as_json: bool,
) -> None:
    from discreet.assess.weighted_forms import assess_forms, forms_map

    if request.measure != "weighted" or (out is not None and out.suffix.lower() != ".json"):
        raise BadRequest(
            f"--forms is given with --measure {request.measure}"
            + ("." if out is None else f" and --out {out.name}."),
            "Forms are those of --measure weighted, and are written as FILE.json.",
        )
    opened, _ = shared.open_workspace(workspace)
    found = assess_forms(opened.open(dataset), request, reps=reps, seed=seed)
    if plot is not None:
        emit_picture(forms_map(found), plot)
    if out is not None or as_json:
        emit_json(found.as_json(), out)
        return
    _show_forms(found)


def _show_forms(found: FormsAssessment) -> None:
    from discreet.assess.assessment import CONFIDENTIAL, NOT_THE_KEYS

    print_text(CONFIDENTIAL, "bold red")
    headers = [
        "form",
        "perturbed",
        "RM",
        "Hellinger",
        "relative error",
        "of the sum",
        "chi-square",
        "p",
        "agrees",
    ]
    lines = []
    for each in found.outcomes:
        mean = {name: values.mean for name, values in each.simulated.items()}
        tests = ("chi_square_of_sample", "p_value_of_sample")
        shifts = ["-" if (by := found.shift(each, name)) is None else f"{by:+.3g}" for name in tests]
        lines.append(
            [
                each.form + ("" if not each.refused else " *"),
                _percent(mean["perturbed"], 0),
                f"{mean['rm']:.4f}" if "rm" in mean else "-",
                f"{mean['hellinger']:.2f}",
                _percent(mean["relative_error"]),
                _percent(mean["total_error"], 2),
                *shifts,
                _percent(each.same_conclusion, 0),
            ]
        )
    print_grid(output, f"Forms of {found.title}", headers, lines, 1)
    for each in found.outcomes:
        if each.refused:
            print_text(f"* {each.form}: {each.refused}.")
    print_text(
        "Relative errors are the median of a release; chi-square and p are shifts of the test of the weighted counts at "
        f"the size of the sample. Declared: {found.declared}; proposed: {found.proposed}."
    )
    print_text(NOT_THE_KEYS, "dim")


def _five_safes(dataset: str, workspace: Path | None, out: Path | None, *, as_json: bool) -> None:
    from discreet.assess.five_safes import five_safes
    from discreet.assess.report_pages import write_page

    _validate_ending(out, ".html", ".json", ".md")
    opened, options = shared.open_workspace(workspace)
    found = five_safes(opened, dataset, options)
    kind = "" if out is None else out.suffix.lower()
    if out is not None and kind == ".html":
        write_page(found.as_html(), out)
        print_message(f"Written: {out}")
    elif out is not None and kind == ".md":
        if out.exists():  # a checklist is filled in by hand
            raise BadRequest(
                f"The file {str(out)!r} is there already.",
                "Choose another name; the existing file may hold your notes.",
            )
        emit(found.as_markdown(), out)
    elif out is not None or as_json:
        emit_json(found.as_json(), out)
    else:
        output.print(Text(found.title, style="bold"))
        for safe in found.safes:
            print_text(f"\n{safe.name}: {safe.question}", "bold")
            for item in safe.items:
                mark = ("[x] ", "green") if item.status == "known" else ("[ ] ", "yellow")
                output.print(Text.assemble(mark, (f"{item.question} ", "bold"), item.answer), soft_wrap=True)
        output.print(
            f"\n{found.open_items} questions are open. Save the checklist with --out FILE.md, FILE.html or "
            "FILE.json."
        )


def _show(found: Assessment) -> None:
    from discreet.assess.assessment import CONFIDENTIAL, OUTSIDE_DP
    from discreet.assess.report_pages import conclusion_sentences, summary_sentences

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.0%}"

    def mean(name: str, outcome: Outcome, digits: int) -> str:
        values = outcome.simulated.get(name)
        return "-" if values is None else f"{values.mean:.{digits}f}"

    print_text(CONFIDENTIAL, "bold red")
    headers = [
        "case", "delta", "epsilon above D", "perturbed", "confirmed 1-3", "RM", "l1 a cell", "Hellinger",
        "false zeros", "naive agrees", "noise-aware agrees",
    ]  # fmt: skip
    lines = [
        [
            o.case.label,
            f"{o.privacy.delta:.2g}",
            f"{o.privacy.epsilon_above:.3g}",
            share(o.expected.perturbed),
            share(o.expected.confirmation_small),
            mean("rm", o, 3),
            f"{o.expected.l1.mean / o.expected.cells:.2f}",
            mean("hellinger", o, 2),
            share(o.expected.false_zero_share),
            share(o.same_naive),
            share(o.same_aware),
        ]
        for o in found.outcomes
    ]
    print_grid(output, f"Assessment of {found.title}", headers, lines, 1)
    for sentence in (*summary_sentences(found)[1:], *conclusion_sentences(found), *found.left_out):
        print_text(f"- {sentence}")
    print_text(OUTSIDE_DP, "dim")
