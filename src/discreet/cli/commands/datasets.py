"""`discreet datasets`: list the datasets of a workspace.

`discreet methodology`: the methods, guarantees and limits of a dataset.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from rich.table import Column, Table
from rich.text import Text
from typer import Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit, emit_json, output, print_text
from discreet.cli.registry import EXAMINE, OPERATE, Command
from discreet.errors import BadRequest


def datasets(workspace: shared.WorkspaceOption = None, as_json: shared.JsonOption = False) -> None:
    """List the datasets of a workspace: version, time of load, method, size on disk."""
    from discreet.workspace.operate.manage_versions import list_datasets

    folder = shared.workspace_folder(workspace)
    found = list_datasets(folder)
    if as_json:
        emit_json({"workspace": str(folder), "datasets": [asdict(each) for each in found]})
        return
    table = Table(Column("dataset", no_wrap=True), "label", "version", Column("loaded", no_wrap=True))
    for name in ("method", "kept", "size"):
        table.add_column(name, no_wrap=True)
    for each in found:
        state = each.version or ("not served" if each.kept else "removed")
        cells = (each.id, each.label, state, each.loaded[:10], each.method, str(each.kept))
        table.add_row(*map(Text, cells), f"{each.size / 2**20:,.1f} MB")
    output.print(table)
    for each in found:
        if each.trouble:
            output.print(Text(f"{each.id} cannot be served: {each.trouble}"))


def methodology(
    dataset: shared.DatasetArgument,
    of_version: str = Option("", "--version", help="A version: its name, or 8 or more letters of its id."),
    as_json: bool = Option(False, "--json", help="Print the document as JSON."),
    out: Path | None = Option(
        None, "--out", "-o", help="Write a self-contained page FILE.html, or FILE.json."
    ),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Show how a dataset is protected: mechanism, exact promise, rules, limits, attacks, versions, citation."""
    kind = "" if out is None else out.suffix.lower()
    if out is not None and kind not in {".html", ".json"}:
        raise BadRequest(
            f'The file "{out.name}" is neither HTML nor JSON.', "Name it FILE.html or FILE.json."
        )
    registry = shared.open_workspace(workspace)[0]
    found = registry.methodology(dataset, of_version)
    if kind == ".html":
        from discreet.web.pages.methodology_page import methodology_html

        emit(methodology_html(found, registry.open(dataset, version=of_version).dataset), out)
    elif as_json or out is not None:
        emit_json(found, out)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    noise, survey = found["noise"], found["survey"]
    weights = [] if survey is None else list(_survey_lines(survey))
    sections = {
        "Note": [found["note"]],
        "What is done to a count": found["mechanism"]["sentences"],
        "What is promised": found["privacy"]["sentences"],
        "Survey weights": weights,
        "The noise": [f"{noise['tables'][0]['family']}, SHA-256 {noise['sha256']}"],
        "Rules": [f"{rule['code']}: {rule['sentence']}" for rule in found["rules"]],
        "What is not promised": found["limits"],
        "Attacks that were measured": [
            found["attacks"]["about"],
            *chain.from_iterable(map(_attack_lines, found["attacks"]["red_team"])),
        ],
        "Versions and corrections": [
            *found["corrections"]["sentences"],
            *map(_version_line, found["versions"]),
        ],
    }
    print_text(found["citation"], "bold")
    for title, sentences in sections.items():
        if title == "Survey weights" and survey is None:
            continue
        output.print()
        output.print(title, style="bold", markup=False)
        for sentence in sentences:
            print_text(sentence)


def _survey_lines(survey: dict[str, Any]) -> Iterator[str]:
    yield f"{survey['form']}: {survey['sentence']}"
    yield f"Errors: {survey['design']}."
    constants = survey["constants"]
    if constants is None:
        yield f"Definition of the printed errors: {survey['errors']}, of 0.2.0."
        return
    yield f"Definition of the printed errors: {constants['definition']}. {constants['rule']}"
    for name in (
        "records_per_cluster",
        "degrees_of_freedom",
        "mean_square_weight",
        "calibration",
        "stratum_clusters",
    ):
        if constants[name]:
            yield f"  {name} {json.dumps(constants[name])}"
    for level, effect in constants["effects"].items():
        yield f"  {level}: {', '.join(f'{name} {value:.4g}' for name, value in effect.items())}"
    for test in constants["tests"]:
        names = " x ".join(test["variables"])
        yield f"  test of {names}: effect {test['effect']:.4g}, variation {test['variation']:.4g}"


def _attack_lines(each: dict[str, Any]) -> list[str]:
    if each["measured"] is None:
        return [f"{each['attack']}: {each['what']} {each['advice']}"]
    figures = [f"  {sentence}" for sentence in each["measured"]["figures"]]
    return [f"{each['attack']}: {each['what']} ({each['measured']['command']})", *figures]


def _version_line(each: dict[str, Any]) -> str:
    state = "served" if each["current"] else "answered" if each["answered"] else each["why_not"]
    return f"{each['digest'][:8]} {each['version']}: {state}"


COMMANDS = {"datasets": Command(datasets, OPERATE), "methodology": Command(methodology, EXAMINE)}
