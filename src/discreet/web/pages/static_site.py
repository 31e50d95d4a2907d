"""A static site: every published table as a page with its files, for any web server or CDN.

    index.html, ID/index.html       the datasets of the site, and the tables of a dataset with a search
    ID/tables/SLUG/                 a page with chart, note and citation, and the files that `discreet table --out` writes
    ID/methodology.html, tables.json, noise.json, methodology.json

All links are relative and have no query, so the site works below any path, from any file server and without scripts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from discreet.errors import BadDescription, BadRequest, MissingExtra, Refused
from discreet.formats import Format, formats
from discreet.model.dataset import Dataset
from discreet.model.messages.sentences import citation
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.model.view import Picture
from discreet.publish.file_store import Storage
from discreet.publish.publisher import DatasetReport, Limits, PublishPlan, plan_publication
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.measures import default_measure
from discreet.web.pages.methodology_page import methodology_html
from discreet.web.pages.table_grid import Layout, grid, table_facts
from discreet.web.templating import FINGERPRINT, STATIC, STYLESHEET, render

#: The most cells on a page; the files have all.
PAGE_CELLS = 5_000
#: The longest folder name.
LONGEST_SLUG = 80
SITE = "site.json"
#: Files besides the tables: lists, methodology, noise, stylesheet, script and logo.
_OTHERS = 10
#: Upper bounds in bytes for the files of a table: fixed part, per cell, and how often a cell repeats its labels.
_WORDS, _CELL, _TIMES = 250_000, 300, 9


@dataclass(frozen=True, slots=True)
class SitePage:
    """A table of the site in lists."""

    slug: str
    title: str
    variables: tuple[str, ...]
    cells: int
    request: TableRequest

    def is_near(self, other: SitePage) -> bool:
        """Whether two tables differ by one variable, or by their measure alone."""
        apart = len(set(self.variables) ^ set(other.variables))
        same = self.request.measure == other.request.measure
        return (apart == 1 and same) or (apart == 0 and not same)


class _Writer:
    """Writes changed files, and counts all files and bytes."""

    def __init__(self, place: Storage) -> None:
        self.place, self.files, self.bytes, self.written = place, 0, 0, 0

    def __call__(self, name: str, content: bytes | str) -> None:
        raw = content.encode() if isinstance(content, str) else content
        self.files, self.bytes = self.files + 1, self.bytes + len(raw)
        if self.place.size(name) != len(raw) or self.place.read(name) != raw:
            self.place.write(name, raw)
            self.written += 1


def plan_site(registry: DatasetRegistry, dataset_id: str, limits: Limits) -> PublishPlan:
    """The tables of a site, and upper bounds of its files and bytes; no record is counted."""
    service = registry.open(dataset_id)
    if service.dataset.publish.universe:
        raise BadDescription(
            "A site has a page for every table, and [publish] declares a universe.",
            "Declare `variables` or `tables` in place of it.",
        )
    plan = plan_publication(registry, dataset_id, limits)
    # One layout of each table: a publication has all orders of variables, a site the first.
    first = {request.identity: request for request in reversed(plan.requests)}
    requests = tuple(reversed(first.values()))
    files = len(requests) * (len(_file_formats()) + 2) + _OTHERS
    size = 0
    for shape in (service.foresee(request).asked.shape for request in requests):
        labels = sum(
            max(len(each.code.encode()) + len(each.label.encode()) for each in dimension.outputs)
            for dimension in shape.dimensions
        )
        size += _WORDS + shape.cells * (_CELL + _TIMES * labels)
    limits.refuse_more(files, size)
    return replace(plan, requests=requests, files=files, bytes=size)


def write_site(
    registry: DatasetRegistry,
    dataset_id: str,
    place: Storage,
    limits: Limits,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> DatasetReport:
    """Write the published tables of a dataset as a site, next to the other datasets of the same site."""
    service, write = registry.open(dataset_id), _Writer(place)
    plan = plan_site(registry, dataset_id, limits)
    write(f"assets/{FINGERPRINT}/discreet.css", STYLESHEET)
    for path in (STATIC / "js" / "site.js", STATIC / "mark.svg"):
        write(f"assets/{FINGERPRINT}/{path.name}", path.read_bytes())
    about = {"dataset": service.dataset, "digest": service.digest, "note": service.note()}
    pages, refused = [], list(plan.refused)
    contexts: list[dict[str, Any]] = []
    for number, request in enumerate(plan.requests):
        progress(number, len(plan.requests))
        try:
            release = service.answer(service.check(request))
        except Refused as refusal:
            refused.append(("*".join(request.variables), str(refusal.message)))
            continue
        page = SitePage(
            slug_of(request, service.dataset), release.title, request.variables, release.cells, request
        )
        pages.append(page)
        contexts.append(
            _table_files(write, f"{dataset_id}/tables/{page.slug}", f"{dataset_id}-{page.slug}", release)
        )
    for page, shown in zip(pages, contexts, strict=True):  # a page links its neighbours, which are known now
        near = [each for each in pages if page.is_near(each)]
        text = render("site_table.html", up="../../../", near=near, service=about, **shown)
        write(f"{dataset_id}/tables/{page.slug}/index.html", text)
    named = {name for page in pages for name in page.variables}
    variables = [each for each in service.dataset.variables if each.name in named]
    methodology = registry.methodology(dataset_id)
    methodology = {**methodology, "noise": {**methodology["noise"], "href": "noise.json"}}
    tables = [
        {
            "title": page.title,
            "page": f"tables/{page.slug}/index.html",
            "variables": list(page.variables),
            "cells": page.cells,
            "query": page.request.permalink,
        }
        for page in pages
    ]
    listed = {"dataset": dataset_id, "digest": service.digest, "tables": tables}
    write(f"{dataset_id}/methodology.html", methodology_html(methodology, service.dataset))
    write(f"{dataset_id}/methodology.json", _json(methodology))
    write(f"{dataset_id}/noise.json", service.noise_text())
    write(f"{dataset_id}/tables.json", _json(listed))
    text = render("site_tables.html", up="../", pages=pages, variables=variables, service=about)
    write(f"{dataset_id}/index.html", text)
    before = json.loads(place.read(SITE)) if place.size(SITE) is not None else []
    own = {name: str(getattr(service.dataset, name)) for name in ("id", "label", "description")}
    others = [each for each in before if each["id"] != dataset_id]
    datasets = sorted([own, *others], key=lambda each: each["id"])
    write(SITE, _json(datasets))
    write("index.html", render("site_datasets.html", up="", datasets=datasets))
    return DatasetReport(
        dataset_id, service.digest, len(pages), tuple(refused), write.files, write.bytes, write.written
    )


def slug_of(request: TableRequest, dataset: Dataset) -> str:
    """The name of a table's folder: its variables, and its measure where that is not the default.

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


def _file_formats() -> list[Format]:
    return [form for form in formats() if form.installed and not form.is_picture]


def _table_files(write: _Writer, folder: str, stem: str, release: Release) -> dict[str, Any]:
    """Write the files of a table; return the template variables of its page."""
    files = []
    for form in _file_formats():
        name = f"{stem}.{form.extension}" if form.owns_extension else f"{stem}.{form.name}.{form.extension}"
        write(f"{folder}/{name}", form.write(release))
        files.append((form, name))
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
        "facts": table_facts(release.dataset, release.request),
        "citation": citation(release),
    }


def _chart(release: Release) -> bytes | None:
    """The first chart that fits the table; None where none fits or charts are not installed."""
    form = next((each for each in formats() if each.extension == "svg" and each.installed), None)
    with suppress(BadRequest, MissingExtra):
        return None if form is None else form.write(replace(release, picture=Picture()))
    return None


def _json(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
