"""The documentation site: every page, both notebooks run, no broken link, and nothing from outside."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OUTSIDE = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?\s(?:src|href)=["'](?:https?:)?//""")


@pytest.mark.slow
def test_the_site_is_made_of_every_page_and_needs_nothing_from_outside(tmp_path):
    site = tmp_path / "site"
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs", site], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr[-2000:]
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    sources = [path for path in (ROOT / "docs").rglob("*") if path.suffix in {".md", ".ipynb"}]
    assert {path.relative_to(ROOT).with_suffix("").as_posix() for path in sources} <= pages
    former = (ROOT / "tests/docs/pages-0.2.0.txt").read_text("utf-8").split()
    assert {f"docs/{page}" for page in former} <= pages
    assert not [path for path in site.rglob("*.html") if OUTSIDE.search(path.read_text("utf-8"))]
    assert "Counts in this table have been randomly adjusted" in (
        site / "docs/notebooks/reader.html"
    ).read_text("utf-8")
    assert "CONFIDENTIAL: this assessment" in (site / "docs/notebooks/custodian.html").read_text("utf-8")
    assert (site / "searchindex.js").stat().st_size > 100_000


def test_a_script_from_elsewhere_would_be_found():
    assert OUTSIDE.search('<script async src="https://cdn.example.org/x.js"></script>')
    assert not OUTSIDE.search('<script src="../_static/x.js"></script><a href="https://example.org">')


@pytest.mark.slow
def test_a_broken_link_ends_the_build(tmp_path):
    shutil.copytree(ROOT / "docs" / "site", tmp_path / "docs" / "site")
    links = "[there](there.md), [gone](gone.md) and [no](there.md#no)"
    (tmp_path / "docs" / "README.md").write_text(f"# Pages\n\n{links}\n", "utf-8")
    (tmp_path / "docs" / "there.md").write_text("# There\n", "utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "dummy", "-c", "docs/site", ".", "out"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 1
    missing = re.findall(r"docs/README\.md:3: WARNING: .*?: '([^']+)' \[myst\.xref_missing\]", made.stderr)
    assert missing == ["gone.md", "no"], made.stderr
