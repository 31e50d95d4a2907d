"""All ways to keep a table: files, code, addresses, citations, a frame for other pages.

Each of them asks the same question again at the public address of the server, so that it works for whoever reads the
page, wherever it is hosted. Which files there are is known to the registry of formats alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from discreet.formats import Format, formats
from discreet.model.messages import citation as provenance
from discreet.release.checked_request import CheckedRequest
from discreet.web.i18n.messages import gettext
from discreet.web.pages import links as snippets
from discreet.web.pages.links import QueryItems
from discreet.web.templating import plain
from discreet.web.urls import site_url

#: The height of a frame: what stands around the table, a line of it, and the most.
_AROUND, _LINE, _HIGHEST = 260, 34, 800
#: What has a meaning of its own in BibTeX.
_BIBTEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": "", "~": "-", "^": ""})


@dataclass(frozen=True, slots=True)
class Download:
    """A link to a file."""

    label: str
    href: str
    summary: str


@dataclass(frozen=True, slots=True)
class DownloadPanel:
    """The ways to keep a table.

    Args:
        downloads: Links to files under a heading each: for people, for programs, pictures.
        codes: The language or program, and what is written in it.
        pinned: The address that names the version: its numbers never change.
        newest: The address that shows the version that is served.
        citations: The kind and the text.
        frame: The element that shows the table on another page.
        embed: The address of the table alone.
        feed: The address of the feed that tells of new versions.
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
    question: CheckedRequest, view: QueryItems, reading: QueryItems, version: QueryItems, chart: str = ""
) -> DownloadPanel:
    """The ways to keep the answer to a question, as the reader sees it.

    Args:
        question: What was asked.
        view: The parameters of the view.
        reading: How the page shows it: parameters of its own address alone.
        version: The parameter that names the version, if the reader named one.
        chart: The chart of the table that is drawn; empty where none fits.
    """
    base, asked, also = site_url().base, question.request, [*view, *version]
    pinned = base + snippets.page_path(asked, [*view, *reading, snippets.version_pin(question.digest)])
    embed = base + snippets.frame_path(asked, also)
    return DownloadPanel(
        downloads=_downloads(question, also, chart),
        codes=(
            ("Python", snippets.python(asked, base, also)),
            ("R", snippets.r(asked, base, also)),
            (gettext("Excel (Power Query)"), snippets.power_query(asked, base, also)),
            ("JavaScript", snippets.js_fetch(asked, base, also)),
            ("curl", snippets.curl(asked, base, also)),
            (gettext("Command line"), snippets.command(asked, base, also)),
        ),
        pinned=pinned,
        newest=base + snippets.page_path(asked, [*view, *reading]),
        citations=_citations(question, pinned),
        frame=_iframe(question, embed),
        embed=embed,
        feed=f"{base}/datasets/{asked.dataset}/feed.atom",
    )


def _downloads(
    question: CheckedRequest, also: QueryItems, chart: str
) -> tuple[tuple[str, tuple[Download, ...]], ...]:
    """A link for every format that can be written here, under its heading; pictures only where a chart fits."""
    groups: dict[str, list[Download]] = {
        gettext("To read and calculate"): [],
        gettext("Pictures"): [],
        gettext("For programs"): [],
    }
    for form in formats():
        if form.installed and (chart or not form.is_picture):
            drawn = [("chart", chart)] if form.is_picture else []
            href = snippets.api_path(question.request, form.name, [*also, *drawn]) + "&download=1"
            groups[_heading(form)].append(Download(form.label, href, form.summary))
    return tuple((heading, tuple(links)) for heading, links in groups.items() if links)


def _heading(form: Format) -> str:
    if form.is_picture:
        return gettext("Pictures")
    return gettext("To read and calculate") if form.for_people else gettext("For programs")


def _citations(question: CheckedRequest, address: str) -> tuple[tuple[str, str], ...]:
    """What to write under a table, and the same for programs that keep references."""
    dataset, digest = question.dataset, question.digest[:8]
    version = f"{dataset.version} ({digest})"
    told = {"title": question.title, "author": dataset.source, "booktitle": dataset.label, "edition": version}
    lines = [f"  {name} = {{{{{_bibtex(text)}}}}}," for name, text in told.items() if text]
    bibtex = "\n".join([f"@misc{{{dataset.id}-{digest},", *lines, f"  url = {{{address}}}", "}"])
    tags = {"TI": question.title, "AU": dataset.source, "T2": dataset.label, "ET": version, "UR": address}
    ris = "\n".join(
        ["TY  - DATA", *(f"{tag}  - {plain(text)}" for tag, text in tags.items() if text), "ER  - "]
    )
    return ((gettext("Text"), provenance.citation(question, address)), ("BibTeX", bibtex), ("RIS", ris))


def _bibtex(text: str) -> str:
    return plain(text).translate(_BIBTEX)


def _iframe(question: CheckedRequest, address: str) -> str:
    """An element for the source of another page: its title says to everybody what is inside."""
    request, lengths = question.request, {d.name: d.length for d in question.shape.dimensions}
    lines = 2 + len(request.columns)
    height = _AROUND + _LINE * lines
    for name in (*request.rows, *request.layers):
        height += _LINE * lengths.get(name, 1)
    title = escape(plain(question.title), quote=True)
    return (
        f'<iframe src="{escape(address)}" title="{title}" width="100%" height="{min(height, _HIGHEST)}" '
        'loading="lazy"></iframe>'
    )
