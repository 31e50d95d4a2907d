"""How Sphinx makes the documentation site: `make docs`.

The pages are those of `docs/` as they stand, with their relative links, and the few pages at the top of the project.
Their order is that of docs/README.md: each heading of it is a chapter, each link under it a page. A link or a heading
that does not exist ends the build (`-W`). Nothing is fetched from outside, when the site is made or when it is read.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

import discreet

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
INDEX = "docs/README"

project = "Discreet"
author = "The Discreet developers"
project_copyright = "The Discreet developers"
release = version = discreet.__version__
root_doc = INDEX
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_reredirects"]
include_patterns = ["docs/**", "*.md"]
exclude_patterns = ["docs/site/**", ".venv", "build", "studies", "src", "tests", "requirements", ".git"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
default_role = "code"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
html_theme = "furo"
html_title = f"Discreet {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-dark"
lexers |= {"mermaid": TextLexer(), "powerquery": TextLexer()}  # shown as they are written

_LINK = re.compile(r"\]\(((?!https?:)[^)#]+\.(?:md|ipynb))(?:#[^)]*)?\)")


def moved(former: str, page: str) -> str:
    """Where a former page redirects to: the relative URL of its successor."""
    name, _, section = page.partition("#")
    return posixpath.relpath(f"{name}.html", posixpath.dirname(former)) + (f"#{section}" if section else "")


redirects = {
    f"docs/{former}": moved(former, page)
    for former, page in tomllib.loads((ROOT / "docs/site/redirects.toml").read_text("utf-8")).items()
}


def chapters(index: str) -> list[tuple[str, list[str]]]:
    """The chapters of the site: the headings of docs/README.md with the pages that they link, each page once."""
    seen: set[str] = set()
    found = []
    for part in re.split(r"^## ", index, flags=re.MULTILINE):
        title = part.partition("\n")[0].lstrip("# ")
        pages = [page for page in dict.fromkeys(_LINK.findall(part)) if page not in seen]
        seen.update(pages)
        found.append((title, pages))
    return found


def _with_contents(_app: Sphinx, name: str, source: list[str]) -> None:
    """Give the pages that list others their table of contents."""
    if name == INDEX:
        blocks = [_toctree(pages, title) for title, pages in chapters(source[0]) if pages]
        source[0] += "\n\n" + "\n\n".join(blocks) + "\n"
    elif name == "docs/book/README":
        source[0] += "\n\n" + _toctree(
            list(dict.fromkeys(re.findall(r"\]\((\d\d-[^)#]+\.md)\)", source[0]))), ""
        )


def _toctree(pages: list[str], caption: str) -> str:
    named = f":caption: {caption}\n" if caption and caption != "The documentation" else ""
    lines = "\n".join(_document(page) for page in pages)
    return f"```{{toctree}}\n:hidden:\n{named}\n{lines}\n```"


def _document(page: str) -> str:
    """A link of docs/README.md as Sphinx writes it: from the top where it leaves docs/."""
    stem = page.rpartition(".")[0]
    return f"/{stem.removeprefix('../')}" if stem.startswith("../") else stem


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _with_contents)
