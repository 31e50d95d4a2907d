"""The download panel of a table: files, code for other programs, permalinks, citations and an iframe.

All of them name the public URL of the server, so they work from any machine. The registry of formats says which
files there are.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from discreet.formats import formats
from discreet.model.grammar import write_filter
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.messages.sentences import citation
from discreet.model.request import TableRequest
from discreet.release.checked_request import CheckedRequest
from discreet.web.i18n.messages import gettext
from discreet.web.pages.links import QueryItems, api_path, page_path, version_pin
from discreet.web.templating import plain
from discreet.web.urls import site_url

#: The height of an iframe in pixels: around the table, per line, and at most.
_AROUND, _LINE, _HIGHEST = 260, 34, 800
#: View parameters that are yes or no.
_SWITCHES = {"rank", "hide_empty"}
#: Characters with a meaning in BibTeX.
_BIBTEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": "", "~": "-", "^": ""})


@dataclass(frozen=True, slots=True)
class Download:
    """A link to a file."""

    label: str
    href: str
    summary: str


@dataclass(frozen=True, slots=True)
class DownloadPanel:
    """The ways to save, cite and embed a table.

    Args:
        downloads: Links to files under a heading each: for people, for programs, pictures.
        codes: The language or program, and code in it.
        pinned: The URL with the version: its numbers never change.
        newest: The URL of the current version.
        citations: The kind and the text.
        frame: The iframe element for another page.
        embed: The URL inside the iframe.
        feed: The URL of the feed of new versions.
    """

    downloads: tuple[tuple[str, tuple[Download, ...]], ...]
    codes: tuple[tuple[str, str], ...]
    pinned: str
    newest: str
    citations: tuple[tuple[str, str], ...]
    frame: str
    embed: str
    feed: str


def download_panel(
    checked: CheckedRequest, view: QueryItems, display: QueryItems, version: QueryItems, chart: str = ""
) -> DownloadPanel:
    """The panel of a table as the reader sees it.

    Args:
        checked: The request.
        view: The parameters of the view.
        display: The parameters of the page alone.
        version: The version parameter, if the URL has one.
        chart: The kind of chart that is drawn; empty where none fits.
    """
    base, request, items = site_url().base, checked.request, [*view, *version]
    pinned = base + page_path(request, [*view, *display, version_pin(checked.digest)])
    embed = f"{base}/embed{page_path(request, items)}"
    return DownloadPanel(
        downloads=_downloads(checked, items, chart),
        codes=tuple(snippets(request, base, items).items()),
        pinned=pinned,
        newest=base + page_path(request, [*view, *display]),
        citations=_citations(checked, pinned),
        frame=_iframe(checked, embed),
        embed=embed,
        feed=f"{base}/datasets/{request.dataset}/feed.atom",
    )


def _downloads(
    checked: CheckedRequest, items: QueryItems, chart: str
) -> tuple[tuple[str, tuple[Download, ...]], ...]:
    """A link for every installed format under its heading; pictures only where a chart fits."""
    people, pictures, programs = (
        gettext("To read and calculate"),
        gettext("Pictures"),
        gettext("For programs"),
    )
    groups: dict[str, list[Download]] = {people: [], pictures: [], programs: []}
    for form in formats():
        if form.installed and (chart or not form.is_picture):
            drawn = [("chart", chart)] if form.is_picture else []
            href = api_path(checked.request, form.name, [*items, *drawn]) + "&download=1"
            heading = pictures if form.is_picture else people if form.for_people else programs
            groups[heading].append(Download(form.label, href, form.summary))
    return tuple((heading, tuple(links)) for heading, links in groups.items() if links)


def _citations(checked: CheckedRequest, url: str) -> tuple[tuple[str, str], ...]:
    dataset, digest = checked.dataset, checked.digest[:8]
    version = f"{dataset.version} ({digest})"
    fields = {
        "title": checked.title,
        "author": dataset.source,
        "booktitle": dataset.label,
        "edition": version,
    }
    lines = [f"  {name} = {{{{{plain(text).translate(_BIBTEX)}}}}}," for name, text in fields.items() if text]
    bibtex = "\n".join([f"@misc{{{dataset.id}-{digest},", *lines, f"  url = {{{url}}}", "}"])
    tags = {"TI": checked.title, "AU": dataset.source, "T2": dataset.label, "ET": version, "UR": url}
    tagged = (f"{tag}  - {plain(text)}" for tag, text in tags.items() if text)
    ris = "\n".join(["TY  - DATA", *tagged, "ER  - "])
    return ((gettext("Text"), citation(checked, url)), ("BibTeX", bibtex), ("RIS", ris))


def _iframe(checked: CheckedRequest, url: str) -> str:
    """An iframe for the source of another page, about as high as the table."""
    request, lengths = checked.request, {d.name: d.length for d in checked.shape.dimensions}
    lines = 2 + len(request.columns)
    lines += sum(lengths.get(name, 1) for name in (*request.rows, *request.layers))
    height = min(_AROUND + _LINE * lines, _HIGHEST)
    title = escape(plain(checked.title), quote=True)
    return (
        f'<iframe src="{escape(url)}" title="{title}" width="100%" height="{height}" loading="lazy"></iframe>'
    )


def snippets(request: TableRequest, base: str, items: QueryItems = ()) -> dict[str, str]:
    """Code by the name of its language or program."""
    csv, document = (base + api_path(request, form, items) for form in ("csv", "json"))
    return {
        "Python": python(request, base, items),
        # Without a package; codes stay text, as docs/how-to/from-r.md says.
        "R": (
            f'address <- "{csv}"\n'
            'table <- read.csv(address, colClasses = "character", na.strings = character(), encoding = "UTF-8")\n'
            'table$value <- as.numeric(ifelse(table$value == "", NA, table$value))\n'
            "table"
        ),
        # Codes stay text, and numbers are parsed the same way in every country.
        gettext("Excel (Power Query)"): (
            "let\n"
            f'    Answer = Web.Contents("{csv}"),\n'
            '    Lines = Csv.Document(Answer, [Delimiter = ",", Encoding = 65001, QuoteStyle = QuoteStyle.Csv]),\n'
            "    Named = Table.PromoteHeaders(Lines, [PromoteAllScalars = true]),\n"
            '    Typed = Table.TransformColumnTypes(Named, {{"value", type number}}, "en-US")\n'
            "in\n"
            "    Typed"
        ),
        "JavaScript": (
            f'const answer = await fetch("{document}");\n'
            "const table = await answer.json();\n"
            "if (!answer.ok) throw new Error(`${table.detail} ${table.advice}`);\n"
            "console.log(table.label, table.value, table.note[0]);"
        ),
        "curl": f"curl {shlex.quote(csv)}",
        gettext("Command line"): command(request, base, items),
    }


def command(request: TableRequest, base: str, items: QueryItems = ()) -> str:
    """The call of the command line, from any machine.

    >>> command(TableRequest("census", ("age",), ("sex",)), "https://example.org")
    'discreet table https://example.org/datasets/census --rows age --columns sex --format csv'
    """
    words = ["discreet", "table", f"{base}/datasets/{request.dataset}", *_options(request)]
    words += ["--measure", request.measure] if request.measure != DEFAULT_MEASURE else []
    words += ["--additivity", request.additivity] if request.additivity else []
    words += ["--fit-to", ",".join(request.fit_to)] if request.fit_to else []
    words += [] if request.totals else ["--no-totals"]
    return shlex.join([*words, *_flags(items), "--format", "csv"])


def command_test(request: TableRequest, base: str, items: QueryItems = ()) -> str:
    """The test of independence on the command line.

    >>> command_test(TableRequest("census", ("age",), ("sex",)), "https://example.org")
    'discreet test independence --dataset https://example.org/datasets/census --rows age --columns sex'
    """
    place = f"{base}/datasets/{request.dataset}"
    words = ["discreet", "test", "independence", "--dataset", place, *_options(request)]
    return shlex.join([*words, *_flags(items)])


def _flags(items: QueryItems) -> list[str]:
    words: list[str] = []
    for name, text in items:
        words += [f"--{name.replace('_', '-')}", *([] if name in _SWITCHES else [text])]
    return words


def _options(request: TableRequest) -> list[str]:
    words: list[str] = []
    for axis in ("rows", "columns", "layers"):
        names = getattr(request, axis)
        words += [f"--{axis}", ",".join(names)] if names else []
    for text in request.filter_lines():
        words += ["--filter", text]
    for text in request.group_lines():
        words += ["--group", text]
    for name, levels in request.levels:
        words += ["--levels", write_filter(name, levels)]
    return words


def python(request: TableRequest, base: str, items: QueryItems = (), last: str = "table.to_pandas()") -> str:
    """The call from Python, from any machine; `last` is its last line.

    >>> print(python(TableRequest("census", ("age",), ("sex",)), "https://example.org"))
    import discreet
    <BLANKLINE>
    catalogue = discreet.open("https://example.org")
    table = catalogue.table("census", rows=["age"], columns=["sex"])
    table.to_pandas()
    """
    arguments = [_string(request.dataset)]
    for axis in ("rows", "columns", "layers"):
        names = getattr(request, axis)
        arguments += [f"{axis}={_list(names)}"] if names else []
    if request.filters and request.written:
        arguments.append(f"filters={_list(tuple(request.filter_lines()))}")
    elif request.filters:
        arguments.append(f"filters={_dict((name, _list(codes)) for name, codes in request.filters)}")
    if request.names or (request.groups and request.written):
        arguments.append(f"groups={_list(tuple(request.group_lines()))}")
    elif request.groups:
        groups = ((name, f"[{', '.join(map(_list, groups))}]") for name, groups in request.groups)
        arguments.append(f"groups={_dict(groups)}")
    if request.levels:
        arguments.append(f"levels={_dict((name, _list(levels)) for name, levels in request.levels)}")
    arguments += [] if request.totals else ["totals=False"]
    arguments += [f"measure={_string(request.measure)}"] if request.measure != DEFAULT_MEASURE else []
    arguments += [f"additivity={_string(request.additivity)}"] if request.additivity else []
    arguments += [f"fit_to={_list(request.fit_to)}"] if request.fit_to else []
    for name, text in items:
        value = "True" if name in _SWITCHES else text if name == "top" else _string(text)
        arguments.append(f"{name}={value}")
    table = f"table = catalogue.table({', '.join(arguments)})"
    return "\n".join(["import discreet\n", f"catalogue = discreet.open({_string(base)})", table, last])


def _dict(entries: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{_string(name)}: {text}" for name, text in entries) + "}"


def _list(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(map(_string, texts)) + "]"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a Python string in double quotes is written the same way
