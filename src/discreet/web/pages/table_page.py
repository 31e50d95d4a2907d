"""The page of a table: the builder's form, the table with its toolbar, chart and downloads, or why there is no table.

All pages are rendered on the server and work without JavaScript; the URL is the whole state. A table of at most
`page_cells` cells is drawn at once; a larger one in parts. Before anything is counted, the preview shows the size of a
table and its areas, or why it is refused, with up to three allowed tables nearby.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import (
    BadRequest,
    DiscreetError,
    OutsideUniverse,
    Refused,
    TooManyCells,
    TooManyVariables,
    UnknownVersion,
    VersionClosed,
)
from discreet.inference.table_view import check_view
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape
from discreet.model.hierarchy import level_label
from discreet.model.messages.text import message, sentences_of
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.view import View
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.release.dry_run import Attempt
from discreet.release.measures import default_measure
from discreet.web.api.dcat import schema_org
from discreet.web.cache import ALWAYS, MOMENT, GridCache, ReleaseCache
from discreet.web.i18n.translation import gettext, in_labels, lower_label, ngettext, translate_dataset
from discreet.web.pages import (
    api_guide,
    charts,
    downloads,
    inference_pages,
    landing,
    methodology_page,
    picker,
)
from discreet.web.pages.builder import (
    AXES,
    fill_form,
    form_parameters,
    is_browser_form,
    lenient_request,
    read_form,
)
from discreet.web.pages.page_request import (
    ALL_LAYERS,
    RANGES,
    DisplayOptions,
    PageRequest,
    layer_rows,
    link_parameters,
    page_of,
    paginate,
    table_block,
)
from discreet.web.pages.table_grid import NAMINGS, Layout, grid, table_facts
from discreet.web.problems import note_refusal, public_error
from discreet.web.responses import no_store, open_service
from discreet.web.templating import render_page
from discreet.web.urls import Link, QueryItems, link, page_path, refuse_unknown, table_path
from discreet.workspace.options import Options

#: Ratios and differences are offered to the categories of variables of at most this length.
MOST_BASES = 60
#: The most alternatives to a refused table that are offered.
MOST_REPAIRS = 3


def page_router(registry: DatasetRegistry, options: Options, releases: ReleaseCache) -> APIRouter:
    """The routes of all pages."""
    router, grids = APIRouter(include_in_schema=False), GridCache(releases)
    handlers: dict[str, Callable[..., Any]] = {
        "/": partial(landing.landing_page, registry),
        "/api": partial(api_guide.api_guide, registry, options),
        "/errors": api_guide.error_list,
        "/errors/{code}": api_guide.error_page,
        "/embed/datasets/{dataset_id}": partial(landing.embedded_table, registry),
        "/datasets/{dataset_id}": partial(table_page, registry, options, grids),
        "/datasets/{dataset_id}/verdict": partial(verdict, registry),
        "/datasets/{dataset_id}/block": partial(table_block, registry, grids),
        "/datasets/{dataset_id}/print": partial(downloads.print_page, registry, grids),
        "/datasets/{dataset_id}/variables/{name}": partial(picker.picker_page, registry),
        "/datasets/{dataset_id}/test/independence": partial(inference_pages.independence_page, registry),
        "/datasets/{dataset_id}/interval": partial(inference_pages.interval_page, registry),
        "/datasets/{dataset_id}/budget": partial(methodology_page.budget_page, registry),
        "/datasets/{dataset_id}/methodology": partial(methodology_page.methodology_page, registry),
        "/datasets/{dataset_id}/compare": partial(inference_pages.comparison_page, registry, options),
    }
    for path, handler in handlers.items():
        router.add_api_route(path, handler)
    return router


def table_page(
    registry: DatasetRegistry, options: Options, grids: GridCache, request: Request, dataset_id: str
) -> Response:
    """The form and its table."""
    service, query = registry.open(dataset_id), request.query_params
    try:  # for an unavailable version, the form of the current version remains
        service = open_service(registry, request, dataset_id)
        refuse_unknown(query, form_parameters(service.dataset))
        page = page_of(request, service, read_form(service.dataset, query, service.start))
    except DiscreetError as error:
        return _refusal(request, service, error)
    opens_weighted = not any(axis in query for axis in AXES) and page.table.measure != default_measure(
        service.dataset
    )
    if opens_weighted and not page.display.range:
        page = replace(page, display=replace(page.display, range=RANGES[-1]))
    if opens_weighted or is_browser_form(query):
        return no_store(RedirectResponse(f"{link(page_path(page.table, page.page_items))}#table", 303))
    left = service.budget_left()
    shown_by = options.page_cells, options.publisher, options.licence, left
    several = sum(not facts.closed for facts in registry.versions(dataset_id)) > 1
    lasts = ALWAYS if left is None else MOMENT  # the remaining budget changes as others spend
    try:
        return page.respond(
            "page", lambda: _render(page, options, grids, several=several), *shown_by, several, lasts=lasts
        )
    except (Refused, BadRequest) as error:
        return _refusal(request, service, error)


def verdict(registry: DatasetRegistry, request: Request, dataset_id: str) -> Response:
    """The preview of a request, as a part of the page."""
    service, query = open_service(registry, request, dataset_id), request.query_params
    try:
        refuse_unknown(query, form_parameters(service.dataset))
        table = read_form(service.dataset, query, service.start)
        preview = preview_table(service, table, link_parameters(query))
    except DiscreetError as error:
        preview = preview_table(service, None, error=error)
    dataset = translate_dataset(service.dataset)
    page = render_page("_verdict.html", dataset=dataset, outlook=preview, left=service.budget_left())
    return no_store(page)


def _render(page: PageRequest, options: Options, grids: GridCache, *, several: bool) -> Response:
    table, checked = page.table, page.checked
    check_view(page.view, table, checked.shape.dimensions)
    layout = grids.layout(page.service, checked, page.view, page.display.labels, page.display.range)
    tabs = charts.chart_tabs(page.display, layout.release, page.items)
    view, display = page.view.to_query(), page.display.to_query()
    return render_page(
        "table.html",
        **_form_context(page.http, page.service, checked)
        | table_context(layout, page.display, page.version, options.page_cells),
        error=None,
        title=layout.release.title,
        view_tabs=tabs,
        facts=table_facts(page.dataset, table),
        panel=downloads.download_panel(
            checked, view, display, page.version, tabs["chart"], options.publisher or ""
        ),
        interval=table_path(table, "interval", page.version),
        independence=inference_pages.is_two_way(checked)
        and table_path(table, "test/independence", page.version),
        related=[lower_label(page.dataset.variable(name).label) for name in table.variables],
        comparison=several and table_path(table, "compare", page.version),
        newest=page_path(table, view),
        json_ld=schema_org(page.service, options),
    )


def table_context(
    layout: Layout, display: DisplayOptions, version: QueryItems, page_cells: int
) -> dict[str, Any]:
    """The template's variables that draw a table."""
    release = layout.release
    if display.show and not display.layer:  # a chart shows all layers, and so does the table behind it
        display = replace(display, layer=ALL_LAYERS)
    rows, width = layer_rows(layout, display.layer), layout.lengths[1]
    is_wide = width > downloads.SHEET_COLUMNS
    part = paginate(rows, width, page_cells, display.page) if len(rows) * width > page_cells else None
    first, *rest = sentences_of(release.notes[0])
    return {
        "grid": grid(layout, part.rows, part.columns) if part else grid(layout, rows, bars=not display.show),
        "toolbar": Toolbar(release.request, release.view, display, version, layout, rows),
        "part": part,
        "height": len(rows),
        "width": width,
        "extra_columns": len(release.derived) + 2 * (release.errors is not None),
        "sheets": downloads.print_sheets(layout, rows) if part is None and is_wide else [],
        "certainty": inference_pages.noise_uncertainty(release),
        "first_note": first,
        "notes": [*([" ".join(rest)] if rest else []), *release.notes[1:]],
        "promise": release.promise,
    }


def _refusal(request: Request, service: DatasetService, error: DiscreetError) -> Response:
    """The form as the reader left it, and why there is no table."""
    note_refusal(error)
    shown = public_error(error)
    context = _form_context(request, service, None, error)
    return no_store(render_page("table.html", status=shown.http_status, **context, error=shown, title=""))


_REASONS: dict[type[DiscreetError], str] = {
    TooManyVariables: message("limit reached"),
    TooManyCells: message("too large"),
    OutsideUniverse: message("not declared"),
}


def _foresee(service: DatasetService, table: TableRequest) -> tuple[str, str] | None:
    """Why a table would be refused, in a word or two and in a sentence; None if it would not be."""
    try:
        refusal = service.foresee(table).refusal
    except DiscreetError as error:
        refusal = error if isinstance(error, Refused) else None
    if refusal is None:
        return None
    shown = public_error(refusal)
    why = " ".join(
        in_labels(translate_dataset(service.dataset), text) for text in (shown.message, shown.advice)
    )
    return gettext(_REASONS.get(type(refusal), message("not available"))), why


def _form_context(
    request: Request,
    service: DatasetService,
    checked: CheckedRequest | None,
    error: DiscreetError | None = None,
) -> dict[str, Any]:
    query, dataset = request.query_params, translate_dataset(service.dataset)
    table = lenient_request(service.dataset, query) if checked is None else checked.request
    try:
        items = link_parameters(query)
    except BadRequest:
        items = []
    if isinstance(error, UnknownVersion | VersionClosed):  # the form asks for the current version
        items = [item for item in items if item[0] != "version"]
    return {
        "dataset": dataset,
        "digest": service.digest,
        "form": fill_form(dataset, query, table, items, service.offer, partial(_foresee, service)),
        "outlook": preview_table(service, table, items, error, counting=True),
        "notes": [service.note("" if checked is None else table.additivity)],
        "promise": service.promise(),
        "left": service.budget_left(),
    }


@dataclass(frozen=True, slots=True)
class Preview:
    """The verdict on a request, in words; empty where there is nothing to say. `title` and the rest are of a refusal.

    `price` is what showing the table would charge; `clash` has the variables that the repairs change.
    """

    cells: str = ""
    areas: str = ""
    title: str = ""
    message: str = ""
    advice: str = ""
    repairs: tuple[Link, ...] = ()
    price: str = ""
    clash: frozenset[str] = frozenset()


def preview_table(
    service: DatasetService,
    request: TableRequest | None,
    items: QueryItems = (),
    error: DiscreetError | None = None,
    *,
    counting: bool = False,
) -> Preview:
    """The verdict on a request; None where its URL cannot be parsed. `counting` confirms the alternatives on records."""
    try:
        found = None if request is None else service.foresee(request)
    except DiscreetError as unreadable:
        found, error = None, error or unreadable
    if error is not None and not isinstance(error, Refused):
        found = None
    refusal = error or (None if found is None else found.refusal)
    cells = areas = ""
    if found is not None:
        cells, areas = ngettext("{count} cell", "{count} cells", found.asked.shape.cells), _areas(found)
    if refusal is None:
        return Preview(cells, areas, price="" if found is None else found.price)
    shown, dataset = public_error(refusal), translate_dataset(service.dataset)
    if found is None:
        return Preview("", "", gettext(shown.title), gettext(shown.message), gettext(shown.advice))
    table = found.asked.request
    nearby = _diversify(table, service.repairs(table, counting=counting))[:MOST_REPAIRS]
    repairs = tuple(
        Link("; ".join(_changes(dataset, table, each)) or gettext("Show this table"), page_path(each, items))
        for each in nearby
    )
    reason, advice = (in_labels(dataset, text) for text in (shown.message, shown.advice))
    clash = frozenset(name for each in nearby for name in _removed_names(table, each))
    return Preview(cells, areas, gettext(shown.title), reason, advice, repairs, clash=clash)


def _removed_names(before: TableRequest, after: TableRequest) -> set[str]:
    """The variables that a repair takes out of the table or out of its filters."""
    return (set(before.variables) - set(after.variables)) | _removed(before.filters, after.filters)


def _changes(dataset: Dataset, before: TableRequest, after: TableRequest) -> Iterator[str]:
    """The differences between two tables: "Use Region instead of District", "Remove Job"."""
    label = {variable.name: variable.label for variable in dataset.variables}
    gone = [label[name] for name in before.variables if name not in after.variables]
    new = [label[name] for name in after.variables if name not in before.variables]
    if gone and new:
        yield gettext("Use {new} instead of {gone}", new=", ".join(new), gone=", ".join(gone))
    elif gone:
        yield gettext("Remove {gone}", gone=", ".join(gone))
    elif new:
        yield gettext("Add {new}", new=", ".join(new))
    shown = set(after.variables) & set(before.variables)
    for name in _removed(before.filters, after.filters):
        yield gettext("Remove the filter on {variable}", variable=label[name])
    for name in _removed(before.groups, after.groups) & shown:
        yield gettext("Ungroup {variable}", variable=label[name])
    for name, levels in after.levels:
        if name in shown and dict(before.levels).get(name) != levels:
            by = ", ".join(level_label(dataset, level) for level in levels)
            yield gettext("{variable} by {level}", variable=label[name], level=by)


def _removed(before: tuple[tuple[str, object], ...], after: tuple[tuple[str, object], ...]) -> set[str]:
    return {name.removesuffix("!") for name, _ in before} - {name.removesuffix("!") for name, _ in after}


def _diversify(before: TableRequest, nearby: list[TableRequest]) -> list[TableRequest]:
    """Changes of different kinds first: three variables to leave out are one idea, larger areas another."""
    seen: Counter[tuple[bool, ...]] = Counter()
    ranked = []
    for after in nearby:
        old, new = set(before.variables), set(after.variables)
        filters, groups = (_removed(getattr(before, n), getattr(after, n)) for n in ("filters", "groups"))
        kind = (new <= old, old <= new, bool(filters), bool(groups))
        ranked.append((seen[kind], after))
        seen[kind] += 1
    return [after for _, after in sorted(ranked, key=lambda pair: pair[0])]


def _areas(found: Attempt) -> str:
    """How many areas of the finest level are shown, as far as it is known."""
    if found.verdict is not None and found.verdict.places:
        passed, total = found.verdict.passed, found.verdict.total
    else:
        places = [each.outputs for each in found.asked.shape.dimensions if each.geography]
        deepest = [max((output.depth for output in outputs), default=0) for outputs in places]
        sizes = (sum(o.depth == d for o in outputs) for outputs, d in zip(places, deepest, strict=True))
        passed = total = max(sizes, default=0)
    if not total or not found.sure or found.refusal is not None:
        return ""
    if passed == total:
        return ngettext("the one area is available", "all {count} areas are available", total)
    return gettext("{passed:,} of {total:,} areas are available", passed=passed, total=total)


_PERCENTS = {
    "": message("counts"),
    "row": message("Row %"),
    "column": message("Column %"),
    "table": message("Table %"),
}
_NAMINGS = {"labels": message("Labels"), "codes": message("Codes"), "both": message("Both")}


@dataclass(frozen=True, slots=True)
class Toolbar:
    """The controls of a table as it is shown now; `rows` are those shown, among the rows of all layers."""

    request: TableRequest
    view: View
    display: DisplayOptions
    version: QueryItems
    layout: Layout
    rows: range

    @property
    def percents(self) -> list[Link]:
        """Counts, and percentages of every total that the table has."""
        rows, columns, _ = self.layout.axes
        axes = {"row": columns, "column": rows, "table": rows + columns if rows and columns else ()}
        words = ["", *(word for word, axis in axes.items() if axis and _have_totals(axis))]
        links = [self._with_view(gettext(_PERCENTS[word]), percent=word) for word in words]
        return links if len(links) > 1 else []

    @property
    def base(self) -> str:
        """The base of the percentages in words; empty without percentages."""
        rows, columns, layers = (
            " x ".join(lower_label(dimension.label) for dimension in axis) for axis in self.layout.axes
        )
        within = gettext(" of its layer") if layers else ""
        sentences = {
            "row": gettext("100 % is the total of each row: all of {names}.", names=columns),
            "column": gettext("100 % is the total of each column: all of {names}.", names=rows),
            "table": gettext(
                "100 % is the total of the table{within}: all of {rows} and {columns}.",
                rows=rows,
                columns=columns,
                within=within,
            ),
        }
        percent = self.view.percent
        return sentences.get(percent, percent and gettext("100 % is one cell of the table."))

    @property
    def orders(self) -> list[Link]:
        """The orders of rows."""
        if not self.layout.axes[0]:
            return []
        orders = {"": gettext("as listed"), "label": gettext("A to Z")}
        if _have_totals(self.layout.release.dimensions[1:]):
            orders["-value"] = gettext("largest first")
        if self.view.sort not in orders:
            orders[self.view.sort] = gettext("by a column")
        return [self._with_view(label, sort=sort) for sort, label in orders.items()]

    @property
    def namings(self) -> list[Link]:
        """Labels, codes or both."""
        now = self.display.labels
        return [Link(gettext(_NAMINGS[word]), self._path(labels=word), word == now) for word in NAMINGS]

    @property
    def empties(self) -> list[Link]:
        """All rows, or those with a number alone."""
        words = {False: gettext("Show all rows"), True: gettext("Hide empty rows")}
        return (
            [self._with_view(text, hide_empty=hide) for hide, text in words.items()]
            if self.layout.axes[0]
            else []
        )

    @property
    def ranks(self) -> list[Link]:
        """Rows with their rank, or without."""
        words = {True: gettext("Number the rows by rank"), False: gettext("Without ranks")}
        return [self._with_view(words[not self.view.rank], rank=not self.view.rank)]

    @property
    def ranges(self) -> list[Link]:
        """The range of each number on a click, or next to it; none where there are no ranges."""
        if self.layout.limits is None:
            return []
        words = {"": gettext("On click"), "beside": gettext("Below each number")}
        return [Link(words[word], self._path(range=word), word == self.display.range) for word in RANGES]

    @property
    def alones(self) -> list[Link]:
        """Percentages, ratios and differences with the numbers, or alone; none without them."""
        if not self.layout.release.derived:
            return []
        return [
            self._with_view(label, alone=alone)
            for alone, label in ((False, gettext("Next to counts")), (True, gettext("Alone")))
        ]

    @property
    def bases(self) -> list[tuple[str, str]]:
        """The categories that ratios and differences can be to, by their names in a URL; none of large variables."""
        return [
            (f"{d.name}={escape(code)}", f"{d.label}: {label}")
            for axis in self.layout.axes
            for d in axis
            if d.length <= MOST_BASES
            for code, label in zip(d.codes, d.labels, strict=True)
        ]

    @property
    def without_bases(self) -> list[tuple[str, str]]:
        """The hidden fields of the form that asks for ratios and differences."""
        return [*self.request.to_query(), *self._items(replace(self.view, ratio="", difference=""), page=1)]

    @property
    def without_top(self) -> list[tuple[str, str]]:
        """The hidden fields of the form that asks for the largest rows."""
        return [*self.request.to_query(), *self._items(replace(self.view, top=0), page=1)]

    @property
    def layers(self) -> list[Link]:
        """Every layer."""
        height, _, depth = self.layout.lengths
        if depth == 1:
            return []
        shown = self.rows.start // height if len(self.rows) == height else -1
        lines = (self.layout.layer(place) for place in range(depth))
        return [
            Link(", ".join(line.labels), self._path(layer=line.cell), place == shown)
            for place, line in enumerate(lines)
        ]

    @property
    def neighbours(self) -> tuple[str, str]:
        """The URLs of the layers before and after the current one; empty where there is none."""
        links = self.layers
        shown = next((place for place, link in enumerate(links) if link.current), -1)
        before = links[shown - 1].href if shown > 0 else ""
        after = links[shown + 1].href if 0 <= shown < len(links) - 1 else ""
        return before, after

    @property
    def all_layers(self) -> Link:
        """All layers, one below the other."""
        return Link(gettext("All layers"), self._path(layer=ALL_LAYERS), self.display.layer == ALL_LAYERS)

    def sorting(self, cell: str) -> Link | None:
        """The link of a column's header ("label" for the row labels): largest first, smallest first, as listed."""
        layer = self.layer_cell
        name = cell if cell == "label" else ",".join(filter(None, (cell, layer))) or "value"
        rows, _, layers = self.layout.axes
        if not rows:
            return None
        if name != "label" and not (_have_totals(rows[1:]) and (layer or _have_totals(layers))):
            return None
        first, second = (name, f"-{name}") if name == "label" else (f"-{name}", name)
        sort = self.column_sort
        then = {first: second, second: ""}.get(sort, first)
        order = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
        return replace(self._with_view(order, sort=then), current=bool(order))

    @property
    def column_sort(self) -> str:
        """The sort order by the name of a column: `value` is that of the totals, by which `top` sorts, too."""
        order = self.view.sort or ("-value" if self.view.top else "")
        if order.removeprefix("-") != "value":
            return order
        _, columns, layers = self.layout.axes
        totals = [f"{dimension.name}={escape(dimension.codes[-1])}" for dimension in columns + layers]
        return "-" * order.startswith("-") + (",".join(totals) or "value")

    @property
    def layer_cell(self) -> str:
        """The name of the layer shown; empty where all are."""
        height = self.layout.lengths[0]
        return self.layout.layer(self.rows.start // height).cell if len(self.rows) == height else ""

    def page(self, number: int) -> str:
        """The URL of another part of a large table."""
        return self._path(page=number)

    @property
    def printed(self) -> str:
        """The URL of the whole table for printing."""
        return table_path(self.request, "print", self._items(layer="", page=1))

    @property
    def block(self) -> str:
        """The URL of blocks of a large table."""
        return table_path(self.request, "block", self._items())

    def _items(self, view: View | None = None, **display: Any) -> list[tuple[str, str]]:
        shown = replace(self.display, **display)
        return [*(self.view if view is None else view).to_query(), *shown.to_query(), *self.version]

    def _path(self, view: View | None = None, **display: Any) -> str:
        return page_path(self.request, self._items(view, **{"page": 1, **display}))

    def _with_view(self, label: str, **changes: Any) -> Link:
        view = replace(self.view, **changes)
        return Link(label, self._path(view), view == self.view)


def _have_totals(axis: Iterable[Dimension]) -> bool:
    return all(dimension.total for dimension in axis)
