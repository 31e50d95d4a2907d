"""The download panel of a table: files, code, permalinks, citations and an iframe for other sites.

All of them name the public URL of the server, so they work from any machine. The registry of formats says which
files there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from discreet.formats import formats
from discreet.model.messages.citation import citation
from discreet.release.checked_request import CheckedRequest
from discreet.web.i18n.messages import gettext
from discreet.web.pages.links import QueryItems, api_path, page_path, version_pin
from discreet.web.pages.snippets import snippets
from discreet.web.templating import plain
from discreet.web.urls import site_url

#: The height of an iframe in pixels: around the table, per line, and at most.
_AROUND, _LINE, _HIGHEST = 260, 34, 800
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
