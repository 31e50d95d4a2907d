"""The links above a table: each changes one parameter of the URL, so all work without scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.view import View
from discreet.web.i18n.messages import gettext, lower_label
from discreet.web.pages.links import Link, QueryItems, page_path, table_path
from discreet.web.pages.page_request import ALL_LAYERS, DisplayOptions
from discreet.web.pages.table_grid import NAMINGS, Layout

_PERCENTS = {
    "": message("Count"),
    "row": message("Row %"),
    "column": message("Column %"),
    "table": message("Table %"),
}
_NAMINGS = {"labels": message("Labels"), "codes": message("Codes"), "both": message("Both")}


@dataclass(frozen=True, slots=True)
class Toolbar:
    """The controls of a table.

    Args:
        request: The canonical request.
        view, display: How it is shown now.
        version: The version parameter of the URL.
        layout: The release laid out.
        rows: The rows shown, among those of all layers.
    """

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
        orders = {"": gettext("As listed"), "label": gettext("A to Z")}
        if _have_totals(self.layout.release.dimensions[1:]):
            orders["-value"] = gettext("Largest first")
        if self.view.sort not in orders:
            orders[self.view.sort] = gettext("By a column")
        return [self._with_view(label, sort=sort) for sort, label in orders.items()]

    @property
    def namings(self) -> list[Link]:
        """Labels, codes or both."""
        return [
            Link(gettext(_NAMINGS[word]), self._with_display(labels=word), word == self.display.labels)
            for word in NAMINGS
        ]

    @property
    def empty(self) -> Link | None:
        """Hides empty rows, or shows them again."""
        if not self.layout.axes[0]:
            return None
        hidden = self.view.hide_empty
        return replace(self._with_view(gettext("Hide empty"), hide_empty=not hidden), current=hidden)

    @property
    def swap(self) -> str:
        """The table with rows and columns exchanged."""
        table = replace(self.request, rows=self.request.columns, columns=self.request.rows)
        percent = {"row": "column", "column": "row"}.get(self.view.percent, self.view.percent)
        view = replace(self.view, sort="", percent=percent)
        view = view if table.rows else replace(view, top=0, rank=False, hide_empty=False)
        display = replace(self.display, page=1)
        return page_path(table, [*view.to_query(), *display.to_query(), *self.version])

    @property
    def layers(self) -> list[Link]:
        """Every layer, with the value of the parameter `layer` as its href."""
        height, _, depth = self.layout.lengths
        if depth == 1:
            return []
        shown = self.rows.start // height if len(self.rows) == height else -1
        lines = (self.layout.layer(place) for place in range(depth))
        return [Link(", ".join(line.labels), line.cell, place == shown) for place, line in enumerate(lines)]

    @property
    def neighbours(self) -> tuple[str, str]:
        """The URLs of the layers before and after the current one; empty where there is none."""
        links = self.layers
        shown = next((place for place, link in enumerate(links) if link.current), -1)
        before = self._with_display(layer=links[shown - 1].href) if shown > 0 else ""
        after = self._with_display(layer=links[shown + 1].href) if 0 <= shown < len(links) - 1 else ""
        return before, after

    @property
    def all_layers(self) -> Link:
        """All layers, one below the other."""
        current = self.display.layer == ALL_LAYERS
        return Link(gettext("All layers"), self._with_display(layer=ALL_LAYERS), current)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The hidden fields of the form that chooses a layer."""
        return [*self.request.to_query(), *self._whole_table()]

    def sorting(self, cell: str) -> Link | None:
        """The link of a column's header, from the largest first to the smallest to as listed; None without one.

        Args:
            cell: The column's name; "label" for the row labels.
        """
        layer = self.layer_cell
        name = cell if cell == "label" else ",".join(filter(None, (cell, layer))) or "value"
        rows, _, layers = self.layout.axes
        if not rows:
            return None
        if name != "label" and not (_have_totals(rows[1:]) and (layer or _have_totals(layers))):
            return None
        first, second = (name, f"-{name}") if name == "label" else (f"-{name}", name)
        then = {first: second, second: ""}.get(self.view.sort, first)
        order = {name: "ascending", f"-{name}": "descending"}.get(self.view.sort, "")
        return replace(self._with_view(order, sort=then), current=bool(order))

    @property
    def layer_cell(self) -> str:
        """The name of the layer shown; empty where all are."""
        height = self.layout.lengths[0]
        return self.layout.layer(self.rows.start // height).cell if len(self.rows) == height else ""

    def page(self, number: int) -> str:
        """The URL of another part of a large table."""
        display = replace(self.display, page=number)
        return page_path(self.request, [*self.view.to_query(), *display.to_query(), *self.version])

    @property
    def printed(self) -> str:
        """The URL of the whole table for printing."""
        return table_path(self.request, "print", self._whole_table())

    @property
    def block(self) -> str:
        """The URL of blocks of a large table."""
        items = [*self.view.to_query(), *self.display.to_query(), *self.version]
        return table_path(self.request, "block", items)

    def _whole_table(self) -> list[tuple[str, str]]:
        display = replace(self.display, layer="", page=1)
        return [*self.view.to_query(), *display.to_query(), *self.version]

    def _with_view(self, label: str, **changes: str | bool) -> Link:
        view = replace(self.view, **changes)  # type: ignore[arg-type]
        display = replace(self.display, page=1)
        items = [*view.to_query(), *display.to_query(), *self.version]
        return Link(label, page_path(self.request, items), view == self.view)

    def _with_display(self, **changes: str) -> str:
        display = replace(self.display, page=1, **changes)
        return page_path(self.request, [*self.view.to_query(), *display.to_query(), *self.version])


def _have_totals(axis: Iterable[Dimension]) -> bool:
    return all(dimension.total for dimension in axis)
