"""The links above a table: each changes one thing of the address, so that all work without scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.view import View
from discreet.web.i18n.messages import gettext, lower_label
from discreet.web.pages import links as snippets
from discreet.web.pages.display_options import ALL_LAYERS, DisplayOptions
from discreet.web.pages.links import Link
from discreet.web.pages.table_grid import NAMINGS, Layout

_PERCENTS = {
    "": message("Count"),
    "row": message("Row %"),
    "column": message("Column %"),
    "table": message("Table %"),
}
_TURNED = {"row": "column", "column": "row"}
_NAMINGS = {"labels": message("Labels"), "codes": message("Codes"), "both": message("Both")}


@dataclass(frozen=True, slots=True)
class Toolbar:
    """All that can be changed about how a table is read.

    Args:
        request: The canonical request.
        view, reading: How it is shown now.
        version: The version that the address names, as a parameter.
        layout: The release laid out.
        rows: The rows that are shown, of those of all layers.
    """

    request: TableRequest
    view: View
    reading: DisplayOptions
    version: snippets.QueryItems
    layout: Layout
    rows: range

    @property
    def percents(self) -> list[Link]:
        """Counts, and percentages of every total that the table has."""
        words = ["", *(word for word in ("row", "column", "table") if self._has_total(word))]
        links = [self._viewed(gettext(_PERCENTS[word]), percent=word) for word in words]
        return links if len(links) > 1 else []

    @property
    def base(self) -> str:
        """What 100 % is, in words; empty without percentages."""
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
        return sentences.get(
            self.view.percent, self.view.percent and gettext("100 % is one cell of the table.")
        )

    @property
    def orders(self) -> list[Link]:
        """The orders of rows that have a word."""
        if not self.layout.axes[0]:
            return []
        orders = {"": gettext("As listed"), "label": gettext("A to Z")}
        orders |= (
            {"-value": gettext("Largest first")}
            if self._has_totals(self.layout.release.dimensions[1:])
            else {}
        )
        links = [self._viewed(label, sort=sort) for sort, label in orders.items()]
        return (
            links
            if any(link.current for link in links)
            else [*links, self._viewed(gettext("By a column"), sort=self.view.sort)]
        )

    @property
    def namings(self) -> list[Link]:
        """Labels, codes or both."""
        return [
            Link(
                gettext(_NAMINGS[word]),
                self._path(reading=replace(self.reading, labels=word)),
                word == self.reading.labels,
            )
            for word in NAMINGS
        ]

    @property
    def empty(self) -> Link | None:
        """Hides empty rows, or shows them again."""
        if not self.layout.axes[0]:
            return None
        return replace(
            self._viewed(gettext("Hide empty"), hide_empty=not self.view.hide_empty),
            current=self.view.hide_empty,
        )

    @property
    def swap(self) -> str:
        """The same table with rows and columns exchanged."""
        asked = replace(self.request, rows=self.request.columns, columns=self.request.rows)
        view = replace(self.view, sort="", percent=_TURNED.get(self.view.percent, self.view.percent))
        view = view if asked.rows else replace(view, top=0, rank=False, hide_empty=False)
        return snippets.page_path(
            asked, [*view.to_query(), *replace(self.reading, page=1).to_query(), *self.version]
        )

    @property
    def layers(self) -> list[Link]:
        """Every layer, by the name that the address takes."""
        height, _, depth = self.layout.lengths
        if depth == 1:
            return []
        one = len(self.rows) == height
        shown = self.rows.start // height if one else -1
        lines = (self.layout.layer(place) for place in range(depth))
        return [Link(", ".join(line.labels), line.cell, place == shown) for place, line in enumerate(lines)]

    @property
    def neighbours(self) -> tuple[str, str]:
        """The addresses of the layers before and after the one shown; empty where there is none."""
        links = self.layers
        shown = next((place for place, link in enumerate(links) if link.current), -1)
        before = self._layer(links[shown - 1].href) if shown > 0 else ""
        after = self._layer(links[shown + 1].href) if 0 <= shown < len(links) - 1 else ""
        return before, after

    @property
    def all_layers(self) -> Link:
        """All layers, one below the other."""
        return Link(gettext("All layers"), self._layer(ALL_LAYERS), self.reading.layer == ALL_LAYERS)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """What a form that chooses a layer must keep of the address."""
        reading = replace(self.reading, layer="", page=1)
        return [*self.request.to_query(), *self.view.to_query(), *reading.to_query(), *self.version]

    def sorting(self, cell: str) -> Link | None:
        """The link of a column's header: the largest first, then the smallest, then as listed; None where it has none.

        Args:
            cell: The column's name; "label" for the row labels.
        """
        layer = self.layer_cell
        name = cell if cell == "label" else ",".join(filter(None, (cell, layer))) or "value"
        rows, _, layers = self.layout.axes
        named = bool(layer) or self._has_totals(layers)
        if not rows or (name != "label" and not (self._has_totals(rows[1:]) and named)):
            return None
        first, second = (name, f"-{name}") if name == "label" else (f"-{name}", name)
        then = {first: second, second: ""}.get(self.view.sort, first)
        told = {name: "ascending", f"-{name}": "descending"}.get(self.view.sort, "")
        return replace(self._viewed(told, sort=then), current=bool(told))

    @property
    def layer_cell(self) -> str:
        """The layer that is shown, as a cell is named; empty where all are."""
        height = self.layout.lengths[0]
        return self.layout.layer(self.rows.start // height).cell if len(self.rows) == height else ""

    def page(self, number: int) -> str:
        """Another part of a large table."""
        return self._path(reading=replace(self.reading, page=number))

    @property
    def printed(self) -> str:
        """The whole table for paper."""
        reading = replace(self.reading, layer="", page=1)
        return snippets.table_path(
            self.request, "print", [*self.view.to_query(), *reading.to_query(), *self.version]
        )

    @property
    def block(self) -> str:
        """Where the parts of a large table come from."""
        return snippets.table_path(
            self.request, "block", [*self.view.to_query(), *self.reading.to_query(), *self.version]
        )

    def _has_total(self, word: str) -> bool:
        rows, columns, _ = self.layout.axes
        axis = {"row": columns, "column": rows, "table": rows + columns}[word]
        both = word != "table" or bool(rows and columns)
        return bool(axis) and both and self._has_totals(axis)

    def _has_totals(self, axis: Iterable[Dimension]) -> bool:
        return all(dimension.total for dimension in axis)

    def _viewed(self, label: str, **changes: str | bool) -> Link:
        view = replace(self.view, **changes)  # type: ignore[arg-type]
        return Link(label, self._path(view=view), view == self.view)

    def _layer(self, layer: str) -> str:
        return self._path(reading=replace(self.reading, layer=layer))

    def _path(self, *, view: View | None = None, reading: DisplayOptions | None = None) -> str:
        """The address with another view, or read in another way; either starts at its first page."""
        shown = reading or self.reading
        shown = shown if reading and reading.page != self.reading.page else replace(shown, page=1)
        return snippets.page_path(
            self.request,
            [*(self.view if view is None else view).to_query(), *shown.to_query(), *self.version],
        )
