"""Generated parts of the documentation: what a page of reference says about the program is read from the program.

A part is between two comments. `scripts/build-reference` (`make reference`) writes it again; a test compares:

    <!-- generated: command table -->
    ...
    <!-- end -->

A table of a benchmark comes from a file of `docs/evidence`: `<!-- generated: bench serve serving-benchmarks.json -->`. A
figure in a sentence is followed by a comment with its file, its place in the file and its format; the script replaces the
number before the comment:

    a load takes 12<!-- figure: how-it-scales.json/load&duckdb&10000000/seconds .0f --> s
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from discreet.cli.main import app
from discreet.errors import all_errors
from discreet.noise import families
from discreet.release.dataset_registry import DatasetRegistry
from discreet.rules.rule import CountRule, Rule, kinds
from discreet.web.app import create_app
from discreet.workspace.demo.spudlandia import spudlandia_batches, spudlandia_description
from discreet.workspace.options import OPTIONS, Options
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace
from discreet_studies.commands.bench import find_part, markdown_lines

END = "<!-- end -->"
_PART = re.compile(r"(<!-- generated: (?P<name>[^>]*?) -->\n)(?P<body>.*?)" + END, re.DOTALL)
_FIGURE = re.compile(r"(?P<shown>[\d.,]+)(?P<mark><!-- figure: (?P<place>[^>]+?) (?P<form>[^ >]+) -->)")
#: An option with the same words in so many commands is described once, in a table of shared options.
SHARED_BY = 4


def rebuilt(page: str, evidence: Path) -> str:
    """A page with all generated parts and figures as the program and the evidence have them today."""
    page = _PART.sub(lambda found: f"{found[1]}{part(found['name'], evidence)}{END}", page)
    return _FIGURE.sub(
        lambda found: f"{figure(evidence, found['place'], found['form'])}{found['mark']}", page
    )


def names(page: str) -> list[str]:
    """The names of the generated parts of a page."""
    return [found["name"] for found in _PART.finditer(page)]


def is_generated(page: str) -> bool:
    """Whether a page has generated parts or figures."""
    return bool(_PART.search(page) or _FIGURE.search(page))


def part(name: str, evidence: Path) -> str:
    """The text of a part: its first word names the generator, the rest is its argument."""
    kind, _, argument = name.partition(" ")
    if kind == "bench":
        return "\n".join(_bench(argument, evidence)) + "\n"
    made = PARTS[kind](argument) if argument else PARTS[kind]()
    return "\n".join(made) + "\n"


def figure(evidence: Path, place: str, form: str) -> str:
    """A figure of a file of the evidence: `tables.json/sex x age/ours_s`, shown by a format such as `,.0f`.

    An entry of a list is found by values that only it has, joined by `&`. A format that ends in `ms` shows seconds in
    thousandths.
    """
    name, *steps = place.split("/")
    value: Any = json.loads((evidence / name).read_text("utf-8"))
    for step in steps:
        if isinstance(value, dict):
            value = value[step]
        else:
            (value,) = (each for each in value if {*step.split("&")} <= {*map(str, each.values())})
    return format(1000 * value, form.removesuffix("ms")) if form.endswith("ms") else format(value, form)


def _bench(argument: str, evidence: Path) -> list[str]:
    """The results of a part of `discreet bench`, as its table; the file may end in a key of it."""
    name, file = argument.split()
    file, _, key = file.partition("/")
    found = json.loads((evidence / file).read_text("utf-8"))
    return markdown_lines(find_part(name), found[key] if key else found)


def build(documents: Path, root: Path) -> list[Path]:
    """Write all generated parts and figures of the documentation again; returns the pages that changed."""
    changed = []
    for path in pages(documents, root):
        text = path.read_text("utf-8")
        if (new := rebuilt(text, documents / "evidence")) != text:
            path.write_text(new, "utf-8")
            changed.append(path)
    return changed


def pages(documents: Path, root: Path) -> list[Path]:
    """The pages that may have generated parts and figures."""
    return sorted([*documents.rglob("*.md"), *root.glob("*.md")])


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _sentence(text: str) -> str:
    """A docstring or help as one line, without the full stop."""
    return " ".join(text.split()).removesuffix(".")


# The command line.


@cache
def commands() -> Mapping[str, Any]:
    """Every command with its options, by the words that call it."""
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        nested = getattr(command, "commands", None) or {}
        found |= {f"{name} {inner}": each for inner, each in nested.items()} or {name: command}
    return found


@cache
def _shared() -> Mapping[str, str]:
    """The meaning of each option that several commands share, by its names; what fewest say otherwise."""
    used = Counter(_described(each) for command in commands().values() for each in _options(command))
    rarest_first = sorted(used.items(), key=lambda each: each[1])
    return dict(each for each, times in rarest_first if times >= SHARED_BY)


def _options(command: Any) -> Iterator[Any]:
    return (each for each in command.params if each.param_type_name == "option" and "--help" not in each.opts)


def _described(option: Any) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    default = option.default
    given = (
        isinstance(default, int | float | str) and not isinstance(default, bool) and default not in {"", 0}
    )
    return names, _sentence(option.help or "") + (f" (default: `{default}`)" if given else "")


def _command(name: str) -> Iterator[str]:
    command = commands()[name]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    yield f"{_sentence(command.help or '')}."
    yield ""
    rows = [(f"`{(each.name).upper()}`", _sentence(each.help or "")) for each in arguments]
    options = list(map(_described, _options(command)))
    own = [each for each in options if each not in _shared().items()]
    others = [names for names, meaning in options if (names, meaning) in _shared().items()]
    if rows + own:
        yield from _table(("option", "meaning"), iter(rows + own))
        yield ""
    if others:
        yield f"[Shared options](#shared-options): {', '.join(names.split(', ')[0] for names in others)}."


def _shared_options() -> Iterator[str]:
    return _table(("option", "meaning"), iter(sorted(_shared().items())))


# Settings, errors, formats, measures, noise, rules.


def _settings() -> Iterator[str]:
    rows = (
        (
            f"`{each.name}`",
            "none" if each.default is None else f"`{each.default}`",
            "" if each.smallest is None else f"{each.smallest:,} to {each.largest:,}",
            _sentence(each.meaning),
        )
        for each in OPTIONS
    )
    return _table(("key", "default", "allowed", "meaning"), rows)


def _errors() -> Iterator[str]:
    rows = (
        (f"`{each.code}`", str(each.http_status), str(each.exit_code), _first_line(each))
        for each in all_errors()
    )
    return _table(("code", "HTTP", "exit", "meaning"), rows)


def _statuses() -> Iterator[str]:
    by_status: dict[int, list[str]] = {}
    for each in all_errors():
        by_status.setdefault(each.http_status, []).append(f"`{each.code}`")
    rows = ((str(status), ", ".join(codes)) for status, codes in sorted(by_status.items()))
    return _table(("status", "codes"), rows)


def _first_line(kind: type) -> str:
    return _sentence(str(kind.__doc__).partition("\n\n")[0])


def _families() -> Iterator[str]:
    rows = (
        (
            f"[`{each.name}`](../{each.page})",
            each.summary,
            ", ".join(f"`{name}`" for name in each.names()),
            "yes" if each.currency else "no",
        )
        for each in families.families()
    )
    return _table(("family", "noise", "parameters", "under `dp`"), rows)


def _parameters() -> Iterator[str]:
    used: dict[tuple[str, str], list[str]] = {}
    for family in families.families():
        for each in family.parameters:
            used.setdefault((each.name, each.meaning), []).append(f"`{family.name}`")
    rows = ((f"`{name}`", meaning, ", ".join(where)) for (name, meaning), where in sorted(used.items()))
    return _table(("parameter", "meaning", "families"), rows)


def _rules(stage: str) -> Iterator[str]:
    counts = stage == "counts"
    found = [
        each
        for each in kinds().values()
        if each.refuses() is not counts and each.__module__.startswith("discreet.")
    ]
    head = ("kind", "what it does", "keys") if counts else ("kind", "refuses with", "what it does", "keys")
    rows = (
        (
            f"`{each.kind}`",
            *(() if counts else (f"`{each.refusal_code()}`",)),
            _first_line(each),
            ", ".join(_keys(each)),
        )
        for each in found
    )
    return _table(head, rows)


def _keys(kind: type[Rule]) -> Iterator[str]:
    shared = {each.name for each in fields(CountRule)} if issubclass(kind, CountRule) else set()
    for each in fields(kind):
        if each.name not in shared:
            default = "" if each.default in {MISSING, None, ()} else f" ({str(each.default).lower()})"
            yield f"`{each.name}`{default}"


# The HTTP API.


@cache
def _openapi() -> Mapping[str, Any]:
    """The description that a server of a small survey gives."""
    with TemporaryDirectory() as folder:
        load_dataset(Path(folder), spudlandia_description(), spudlandia_batches())
        document: dict[str, Any] = create_app(DatasetRegistry(Workspace(Path(folder))), Options()).openapi()
    return document


def _routes(below: str = "/api/datasets") -> Iterator[str]:
    rows = (
        (
            f"`{method.upper()} {path}`",
            _sentence(operation.get("description") or operation.get("summary", "")),
        )
        for path, operations in _openapi()["paths"].items()
        if path.startswith(below)
        for method, operation in operations.items()
    )
    return _table(("address", "answer"), rows)


def _query(path: str) -> Iterator[str]:
    rows = (
        (f"`{each['name']}`", _sentence(each.get("description", "")), _default(each))
        for each in _openapi()["paths"][path]["get"]["parameters"]
        if each["in"] == "query"
    )
    return _table(("parameter", "meaning", "default"), rows)


def _default(parameter: Mapping[str, Any]) -> str:
    default = parameter["schema"].get("default")
    return f"`{default}`" if default not in (None, [], "") else ""


PARTS: Mapping[str, Callable[..., Iterator[str]]] = {
    "command": _command,
    "shared-options": _shared_options,
    "settings": _settings,
    "errors": _errors,
    "statuses": _statuses,
    "families": _families,
    "parameters": _parameters,
    "rules": _rules,
    "routes": _routes,
    "query": _query,
}
