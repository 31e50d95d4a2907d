"""The ways to keep a table: files, code for other programs, permalinks, citations, an iframe, and the page for printing.

Links and code name the public URL of the server, so they work from any machine. The registry of formats says which
files there are.
"""

import json
import shlex
from html import escape
from typing import Any

from fastapi import Request
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.formats import Format, formats
from discreet.model.grammar import write_filter
from discreet.model.magnitude import split_statistic
from discreet.model.messages.sentences import UNCHECKED_DRAFT, citation
from discreet.model.messages.text import join_sentences, message
from discreet.model.request import DEFAULT_MEASURE, TableRequest
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.cache import GridCache
from discreet.web.i18n.translation import gettext
from discreet.web.pages.builder import AXES
from discreet.web.pages.page_request import ALL_LAYERS, PageRequest, layer_rows, parse_page
from discreet.web.pages.table_grid import Grid, Layout, grid, table_facts
from discreet.web.templating import plain, render_page
from discreet.web.urls import TABLE_PARAMETERS, QueryItems, api_path, page_path, site_url, version_pin

#: The height of an iframe in pixels: around the table, per line, and at most.
_AROUND, _LINE, _HIGHEST = 260, 34, 800
#: View parameters that are yes or no.
_SWITCHES = {"rank", "hide_empty", "alone"}
#: Columns of numbers on a sheet of A4.
SHEET_COLUMNS = 8
#: The largest table that is printed: about 250 sheets.
MOST_PRINTED = 100_000
#: Characters with a meaning in BibTeX.
_BIBTEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": "", "~": "-", "^": ""})


def download_panel(
    checked: CheckedRequest,
    view: QueryItems,
    display: QueryItems,
    version: QueryItems,
    chart: str = "",
    publisher: str = "",
) -> dict[str, Any]:
    """The ways to save, cite and embed a table as the reader sees it.

    `chart` is the kind that is drawn, `publisher` that of the server, for a dataset that names none.
    """
    base, request, items = site_url().base, checked.request, [*view, *version]
    pinned = base + page_path(request, [*view, *display, version_pin(checked.digest)])
    embed = f"{base}/embed{page_path(request, items)}"
    return {
        "downloads": _downloads(checked, items, chart),
        "codes": snippets(request, base, items),
        "pinned": pinned,
        "newest": base + page_path(request, [*view, *display]),
        "citations": _citations(checked, pinned, publisher),
        "frame": _iframe(checked, embed),
        "embed": embed,
        "feed": f"{base}/datasets/{request.dataset}/feed.atom",
    }


def _downloads(
    checked: CheckedRequest, items: QueryItems, chart: str
) -> tuple[tuple[str, tuple[tuple[Format, str], ...]], ...]:
    """A link for every installed format under its heading; pictures only where a chart fits."""
    people, programs = gettext("Spreadsheet"), gettext("For programs")
    pictures = gettext("Picture")
    groups: dict[str, list[tuple[Format, str]]] = {people: [], pictures: [], programs: []}
    for form in formats():
        if form.installed and (chart or not form.is_picture):
            drawn = [("chart", chart)] if form.is_picture else []
            href = api_path(checked.request, form.name, [*items, *drawn]) + "&download=1"
            heading = pictures if form.is_picture else people if form.for_people else programs
            groups[heading].append((form, href))
    return tuple((heading, tuple(links)) for heading, links in groups.items() if links)


def _citations(checked: CheckedRequest, url: str, publisher: str) -> tuple[tuple[str, str], ...]:
    dataset, digest = checked.dataset, checked.digest[:8]
    version = f"{dataset.version} ({digest})"
    draft = UNCHECKED_DRAFT if dataset.unchecked_draft else ""
    note = join_sentences([each for each in (dataset.source, draft) if each])
    cited = checked.title, dataset.about.publisher or publisher, dataset.label, version, note
    texts = [plain(text) for text in cited]
    fields = zip(("title", "author", "booktitle", "edition", "note"), texts, strict=True)
    lines = [f"  {name} = {{{{{text.translate(_BIBTEX)}}}}}," for name, text in fields if text]
    bibtex = "\n".join([f"@misc{{{dataset.id}-{digest},", *lines, f"  url = {{{url}}}", "}"])
    tags = zip(("TI", "AU", "T2", "ET", "N1", "UR"), [*texts, url], strict=True)
    ris = "\n".join(["TY  - DATA", *(f"{tag}  - {text}" for tag, text in tags if text), "ER  - "])
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
        # Without a package; codes stay text, as docs/how-to/read-tables.md says.
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
    words = ["discreet", "table", f"{base}/datasets/{request.dataset}", *table_options(request)]
    return shlex.join([*words, *_flags(items), "--format", "csv"])


def table_options(request: TableRequest) -> list[str]:
    """The options of `discreet table` for a request."""
    measure, statistic = split_statistic("" if request.measure == DEFAULT_MEASURE else request.measure)
    further = [
        ("measure", measure),
        ("statistic", statistic),
        ("additivity", request.additivity),
        ("fit_to", ",".join(request.fit_to)),
    ]
    return [*_options(request), *_flags(further), *([] if request.totals else ["--no-totals"])]


def command_test(request: TableRequest, base: str, items: QueryItems = ()) -> str:
    """The test of independence on the command line.

    >>> command_test(TableRequest("census", ("age",), ("sex",)), "https://example.org")
    'discreet test independence --dataset https://example.org/datasets/census --rows age --columns sex'
    """
    place = f"{base}/datasets/{request.dataset}"
    words = ["discreet", "test", "independence", "--dataset", place, *_options(request)]
    measure = "" if request.measure == DEFAULT_MEASURE else request.measure
    return shlex.join([*words, *_flags([("measure", measure)]), *_flags(items)])


def _flags(items: QueryItems) -> list[str]:
    given = [(f"--{name.replace('_', '-')}", name, text) for name, text in items if text]
    return [word for option, name, text in given for word in (option, text)[: 1 + (name not in _SWITCHES)]]


def _options(request: TableRequest) -> list[str]:
    listed = [(axis, ",".join(getattr(request, axis))) for axis in AXES]
    listed += [("filter", text) for text in request.filter_lines()]
    listed += [("group", text) for text in request.group_lines()]
    return _flags([*listed, *(("levels", write_filter(*entry)) for entry in request.levels)])


def python(request: TableRequest, base: str, items: QueryItems = (), last: str = "table.to_pandas()") -> str:
    """The call from Python, from any machine; `last` is its last line.

    >>> print(python(TableRequest("census", ("age",), ("sex",)), "https://example.org"))
    import discreet
    <BLANKLINE>
    catalogue = discreet.open("https://example.org")
    table = catalogue.table("census", rows=["age"], columns=["sex"])
    table.to_pandas()
    """
    filters: Any = request.filter_lines() if request.written else dict(request.filters)
    by_line = request.names or request.written
    measure, statistic = split_statistic("" if request.measure == DEFAULT_MEASURE else request.measure)
    given = {
        **{axis: getattr(request, axis) for axis in AXES},
        "filters": filters,
        "groups": request.group_lines() if by_line else dict(request.groups),
        "levels": dict(request.levels),
        "totals": None if request.totals else False,
        "measure": measure,
        "statistic": statistic,
        "additivity": request.additivity,
        "fit_to": request.fit_to,
    }
    given |= {
        name: True if name in _SWITCHES else int(text) if name == "top" else text for name, text in items
    }
    arguments = [f"{name}={_literal(value)}" for name, value in given.items() if value or value is False]
    table = f"table = catalogue.table({', '.join([_literal(request.dataset), *arguments])})"
    return "\n".join(["import discreet\n", f"catalogue = discreet.open({_literal(base)})", table, last])


def _literal(value: Any) -> str:
    """A value in Python; a string is in double quotes, as JSON writes it."""
    return str(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def print_sheets(layout: Layout, rows: range | None = None) -> list[Grid]:
    """The table in blocks of as many columns as fit a sheet, each with all rows."""
    return [grid(layout, rows, columns) for columns in column_blocks(layout)]


def column_blocks(layout: Layout) -> list[range]:
    """The columns of each block; groups of columns stay together where they fit."""
    width, inner = layout.lengths[1], layout.axes[1][-1].length if layout.axes[1] else 1
    step = SHEET_COLUMNS // inner * inner or SHEET_COLUMNS
    if inner <= SHEET_COLUMNS:
        return [range(width)[start : start + step] for start in range(0, width, step)]
    return [
        range(group + start, min(group + start + step, group + inner))
        for group in range(0, width, inner)
        for start in range(0, inner, step)
    ]


def print_page(registry: DatasetRegistry, grids: GridCache, request: Request, dataset_id: str) -> Response:
    """The whole table in sheets."""
    known = (*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS)
    page = parse_page(registry, request, dataset_id, known)
    return page.respond("print", lambda: _print_page(page, grids))


def _print_page(page: PageRequest, grids: GridCache) -> Response:
    checked, dataset = page.checked, page.dataset
    if checked.cells > MOST_PRINTED:
        raise BadRequest(
            message("The table has {cells:,} cells: too many to print.", cells=checked.cells),
            message(
                "Download it, or choose fewer categories: at most {most_cells:,} cells are printed.",
                most_cells=MOST_PRINTED,
            ),
        )
    layout = grids.layout(page.service, checked, page.view, page.display.labels)
    pinned = page_path(page.table, [*page.view.to_query(), version_pin(checked.digest)])
    return render_page(
        "print.html",
        dataset=dataset,
        digest=checked.digest,
        title=layout.release.title,
        facts=table_facts(dataset, page.table),
        notes=layout.release.notes,
        sheets=print_sheets(layout, layer_rows(layout, page.display.layer or ALL_LAYERS)),
        table=page_path(page.table, page.page_items),
        citation=citation(checked, site_url().base + pinned),
    )
