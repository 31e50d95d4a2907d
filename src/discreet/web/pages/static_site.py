"""A static site: every published table as a page with its files, behind any web server or CDN, with no program behind it.

    index.html                      the datasets of the site
    ID/index.html                   the published tables of one: chosen by variables, found by words, listed
    ID/tables/SLUG/index.html       a table with its chart, note, files and citation
    ID/tables/SLUG/ID-SLUG.csv ...  its files, the bytes that `discreet table --out` writes
    ID/methodology.html, tables.json, noise.json, methodology.json

All links are relative, and no address has a query: the site works below any path, and from `python -m http.server`.
Everything is there without scripts; a small module narrows the list while the reader chooses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from discreet.errors import BadDescription, BadRequest, MissingExtra, Refused
from discreet.formats import formats
from discreet.model.dataset import Dataset
from discreet.model.messages.citation import citation
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.model.view import Picture
from discreet.publish.file_store import Storage
from discreet.publish.publisher import DatasetReport, Limits, PublishPlan, plan_publication
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.release.measures import default_measure
from discreet.web.assets import FINGERPRINT, STATIC, STYLESHEET
from discreet.web.pages import links as snippets
from discreet.web.pages.methodology_page import methodology_html
from discreet.web.pages.table_grid import Layout, grid
from discreet.web.templating import render

#: A page draws so many cells; the files have all.
PAGE_CELLS = 5_000
#: A name of a folder may be so long.
LONGEST_SLUG = 80
SITE = "site.json"
#: Beside the tables: lists, methodology, noise, stylesheet, script and mark.
_OTHERS = 10
#: Of the files of a table at most, in bytes: pages and charts, the numbers of a cell, and how often its words are said.
_WORDS, _CELL, _TIMES = 250_000, 300, 9


@dataclass(frozen=True, slots=True)
class SitePage:
    """A table of the site, as lists name it."""

    slug: str
    title: str
    variables: tuple[str, ...]
    labels: tuple[str, ...]
    cells: int
    request: TableRequest

    def as_json(self) -> dict[str, Any]:
        """As `tables.json` has it."""
        return {
            "title": self.title,
            "page": f"tables/{self.slug}/index.html",
            "variables": list(self.variables),
            "cells": self.cells,
            "query": self.request.permalink,
        }


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of a table."""

    label: str
    name: str
    summary: str


class _Writer:
    """Writes files that are not there yet as they are, and counts them."""

    def __init__(self, place: Storage) -> None:
        self.place, self.files, self.bytes, self.written = place, 0, 0, 0

    def __call__(self, name: str, content: bytes | str) -> None:
        raw = content.encode() if isinstance(content, str) else content
        self.files, self.bytes = self.files + 1, self.bytes + len(raw)
        if self.place.size(name) != len(raw) or self.place.read(name) != raw:
            self.place.write(name, raw)
            self.written += 1


def plan_site(doors: DatasetRegistry, dataset_id: str, limits: Limits) -> PublishPlan:
    """Which tables a site would have, and how many files and bytes at most; no record is counted.

    Raises:
        BadDescription: No tables are declared.
        Refused, TooMuchToPublish: As for a publication.
    """
    door = doors.door(dataset_id)
    if door.dataset.publish.universe:
        raise BadDescription(
            "A site has a page for every table, and [publish] declares a universe.",
            "Declare `variables` or `tables` in place of it.",
        )
    plan = plan_publication(doors, dataset_id, limits)
    requests = _one_layout_each(plan.requests)
    files = len(requests) * (len(_file_formats()) + 2) + _OTHERS
    size = sum(_table_bytes(door.foresee(request).asked.shape) for request in requests)
    limits.refuse_more(files, size)
    return replace(plan, requests=tuple(requests), files=files, bytes=size)


def _table_bytes(shape: TableShape) -> int:
    """The most that the files of a table take: every format says each cell, most of them with its codes and labels."""
    words = sum(
        max(len(each.code.encode()) + len(each.label.encode()) for each in dimension.outputs)
        for dimension in shape.dimensions
    )
    return _WORDS + shape.cells * (_CELL + _TIMES * words)


def write_site(
    doors: DatasetRegistry,
    dataset_id: str,
    place: Storage,
    limits: Limits,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> DatasetReport:
    """Write the published tables of a dataset as a site, beside the other datasets of the same site.

    Raises:
        BadDescription: No tables are declared.
        Refused, TooMuchToPublish: As for a publication.
    """
    door, write, plan = doors.door(dataset_id), _Writer(place), plan_site(doors, dataset_id, limits)
    _write_assets(write)
    pages, refused = [], list(plan.refused)
    waiting: list[tuple[SitePage, dict[str, Any]]] = []
    for number, request in enumerate(plan.requests):
        progress(number, len(plan.requests))
        try:
            release = door.answer(door.check(request))
        except Refused as refusal:
            refused.append(("*".join(request.variables), str(refusal.message)))
            continue
        found = _page_of(release)
        pages.append(found)
        waiting.append(
            (
                found,
                _table_files(
                    write, f"{dataset_id}/tables/{found.slug}", f"{dataset_id}-{found.slug}", release
                ),
            )
        )
    for found, shown in waiting:  # a page names its neighbours, which are known now
        near = [each for each in pages if _is_near(found, each)]
        text = render(
            "site_table.html", up="../../../", page=found, near=near, door=_dataset_context(door), **shown
        )
        write(f"{dataset_id}/tables/{found.slug}/index.html", text)
    _write_dataset(write, doors, dataset_id, pages)
    _write_index(write, door.dataset)
    return DatasetReport(
        dataset_id, door.digest, len(pages), tuple(refused), write.files, write.bytes, write.written
    )


def slug_of(request: TableRequest, dataset: Dataset) -> str:
    """The name of a table's folder: its variables, and its measure where that is not the first.

    >>> from discreet.model.dataset import Dataset
    >>> from discreet.model.request import TableRequest
    >>> from discreet.model.variable import Category, Variable
    >>> people = Dataset("people", "People", (Variable("Sex", "Sex", (Category("1", "Male"),)),), "id")
    >>> slug_of(TableRequest("people", ("Sex",)), people)
    'sex'
    """
    name = "-".join(request.variables).lower()
    if request.measure != default_measure(dataset):
        name = f"{request.measure}.{name}"
    if len(name) <= LONGEST_SLUG:
        return name
    return f"{name[:LONGEST_SLUG]}.{sha256(name.encode()).hexdigest()[:12]}"


def _one_layout_each(requests: Iterable[TableRequest]) -> list[TableRequest]:
    """One layout of each table: where the order of variables matters, a publication has all, and a site the first."""
    found = {request.identity: request for request in reversed(list(requests))}
    return list(reversed(found.values()))


def _page_of(release: Release) -> SitePage:
    return SitePage(
        slug_of(release.request, release.dataset),
        release.title,
        release.request.variables,
        tuple(dimension.label for dimension in release.dimensions),
        release.cells,
        release.request,
    )


def _is_near(one: SitePage, other: SitePage) -> bool:
    """Whether two tables differ by one variable, or by their measure alone."""
    apart = len(set(one.variables) ^ set(other.variables))
    same = one.request.measure == other.request.measure
    return (apart == 1 and same) or (apart == 0 and not same)


def _file_formats() -> list[Any]:
    return [form for form in formats() if form.installed and not form.is_picture]


def _table_files(write: _Writer, folder: str, stem: str, release: Release) -> dict[str, Any]:
    """Write the files of a table, and give what its page shows."""
    files = []
    for form in _file_formats():
        name = f"{stem}.{form.extension}" if form.owns_extension else f"{stem}.{form.name}.{form.extension}"
        content = form.write(release)
        write(f"{folder}/{name}", content)
        files.append(SiteFile(form.label, name, form.summary))
    chart = _chart(release)
    if chart is not None:
        write(f"{folder}/{stem}.svg", chart)
    layout = Layout(release)
    height, width, depth = layout.lengths
    drawn = min(height * depth, max(1, PAGE_CELLS // width))
    return {
        "title": release.title,
        "grid": grid(layout, range(drawn), range(min(width, PAGE_CELLS))),
        "drawn": drawn,
        "rows": height * depth,
        "files": files,
        "chart": f"{stem}.svg" if chart is not None else "",
        "notes": release.notes,
        "promise": release.promise,
        "facts": snippets.table_facts(release.dataset, release.request),
        "citation": citation(release),
    }


def _chart(release: Release) -> bytes | None:
    """The first chart that fits the table; None where none fits, or none can be drawn here."""
    for form in formats():
        if form.extension == "svg" and form.installed:
            try:
                return form.write(replace(release, picture=Picture()))
            except (BadRequest, MissingExtra):
                return None
    return None


def _dataset_context(door: DatasetService) -> dict[str, Any]:
    return {"dataset": door.dataset, "digest": door.digest, "note": door.note()}


def _write_assets(write: _Writer) -> None:
    """The stylesheet, the script and the mark, named by what they hold."""
    write(f"assets/{FINGERPRINT}/discreet.css", STYLESHEET)
    write(f"assets/{FINGERPRINT}/site.js", (STATIC / "js" / "site.js").read_bytes())
    write(f"assets/{FINGERPRINT}/mark.svg", (STATIC / "mark.svg").read_bytes())


def _write_dataset(
    write: _Writer, doors: DatasetRegistry, dataset_id: str, pages: Sequence[SitePage]
) -> None:
    door = doors.door(dataset_id)
    named = {name for page in pages for name in page.variables}
    variables = [each for each in door.dataset.variables if each.name in named]
    methodology = doors.methodology(dataset_id)
    methodology = {**methodology, "noise": {**methodology["noise"], "href": "noise.json"}}
    listed = {"dataset": dataset_id, "digest": door.digest, "tables": [page.as_json() for page in pages]}
    write(f"{dataset_id}/methodology.html", methodology_html(methodology, door.dataset))
    write(f"{dataset_id}/methodology.json", _json(methodology))
    write(f"{dataset_id}/noise.json", door.noise_text())
    write(f"{dataset_id}/tables.json", _json(listed))
    text = render("site_tables.html", up="../", pages=pages, variables=variables, door=_dataset_context(door))
    write(f"{dataset_id}/index.html", text)


def _write_index(write: _Writer, dataset: Dataset) -> None:
    """The list of datasets, with those that stand there already."""
    before = json.loads(write.place.read(SITE)) if write.place.size(SITE) is not None else []
    own = {name: str(getattr(dataset, name)) for name in ("id", "label", "description")}
    listed = sorted(
        [own, *(each for each in before if each["id"] != dataset.id)], key=lambda each: each["id"]
    )
    write(SITE, _json(listed))
    write("index.html", render("site_datasets.html", up="", datasets=listed))


def _json(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
