"""`discreet methodology`: the methods, guarantees and limits of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.console import emit, emit_json, output, print_text
from discreet.cli.registry import EXAMINE, Command
from discreet.cli.shared_options import DatasetArgument, WorkspaceOption, open_workspace
from discreet.errors import BadRequest


def methodology(
    dataset: DatasetArgument,
    of_version: Annotated[
        str, typer.Option("--version", help="A version: the beginning of its digest, or its name.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the document as JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write it to FILE.html, a page in one file, or FILE.json."),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """The methodology of a dataset: mechanism, exact promise, rules, limits, attacks, versions and how to cite it."""
    kind = "" if out is None else out.suffix.lower()
    if out is not None and kind not in {".html", ".json"}:
        raise BadRequest(
            f'The file "{out.name}" is neither HTML nor JSON.', "Name it FILE.html or FILE.json."
        )
    doors = open_workspace(workspace)[0]
    found = doors.methodology(dataset, of_version)
    if kind == ".html":
        from discreet.web.pages.methodology_page import methodology_html

        emit(methodology_html(found, doors.door(dataset, version=of_version).dataset), out)
    elif as_json or out is not None:
        emit_json(found, out)
    else:
        _show(found)


COMMAND = Command(methodology, EXAMINE)


def _show(found: dict[str, Any]) -> None:
    print_text(found["citation"], "bold")
    for title, sentences in _sections(found):
        output.print()
        output.print(title, style="bold", markup=False)
        for sentence in sentences:
            print_text(sentence)


def _sections(found: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    noise, survey, versions = found["noise"], found["survey"], found["versions"]
    yield "Note", [found["note"]]
    yield "What is done to a count", found["mechanism"]["sentences"]
    yield "What is promised", found["privacy"]["sentences"]
    if survey is not None:
        yield "Survey weights", [f"{survey['form']}: {survey['sentence']}", f"Errors: {survey['design']}."]
    yield "The noise", [f"{noise['tables'][0]['family']}, SHA-256 {noise['sha256']}"]
    yield "Rules", [f"{rule['code']}: {rule['sentence']}" for rule in found["rules"]]
    yield "What is not promised", found["limits"]
    measured = [line for each in found["attacks"]["red_team"] for line in _attack(each)]
    yield "Attacks that were measured", [found["attacks"]["about"], *measured]
    lines = [f"{each['digest'][:8]} {each['version']}: {_state(each)}" for each in versions]
    yield "Versions and corrections", [*found["corrections"]["sentences"], *lines]


def _attack(each: dict[str, Any]) -> list[str]:
    if each["measured"] is None:
        return [f"{each['attack']}: {each['what']} {each['advice']}"]
    figures = [f"  {sentence}" for sentence in each["measured"]["figures"]]
    return [f"{each['attack']}: {each['what']} ({each['measured']['command']})", *figures]


def _state(version: dict[str, Any]) -> str:
    return "served" if version["current"] else "answered" if version["answered"] else version["why_not"]
