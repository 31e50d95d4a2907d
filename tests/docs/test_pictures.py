"""The pictures of docs/pictures are those that scripts/pictures draws, and can be read without seeing them."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from .pages import DOCS, ROOT

LOADER = SourceFileLoader("pictures_script", str(ROOT / "scripts/pictures"))
SCRIPT = module_from_spec(spec_from_loader("pictures_script", LOADER))
LOADER.exec_module(SCRIPT)
SLOW = {"risk-utility", "two-tests"}
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SCRIPT.PICTURES]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_what_the_script_draws(name):
    assert SCRIPT.PICTURES[name]() == (DOCS / f"pictures/{name}.svg").read_text("utf-8")


@pytest.mark.parametrize("name", SCRIPT.PICTURES)
def test_a_picture_has_text_alternatives_both_themes_and_a_page(name):
    picture = (DOCS / f"pictures/{name}.svg").read_text("utf-8")
    (words,) = re.findall(r'<desc id="d">(.*?)</desc>', picture)
    assert len(words) > 60
    assert "prefers-color-scheme:dark" in picture
    pages = "".join(path.read_text("utf-8") for path in DOCS.rglob("*.md"))
    (said,) = re.findall(rf"!\[(.*?)\]\([^)]*pictures/{name}\.svg\)", pages)
    assert len(said) > 40
