"""Static files under their fingerprint, and pages in which no label becomes markup and nothing loads from elsewhere."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.web.templating import FINGERPRINT, FOR_GOOD, PARTS, STATIC, STYLESHEET, bidi_isolate, plain

from .conftest import Page


def test_every_part_is_in_the_stylesheet_once():
    assert {path.stem for path in (STATIC / "css").iterdir()} == set(PARTS)
    assert STYLESHEET.count("--on-accent:") == 1


def test_a_page_names_files_of_one_fingerprint_that_are_kept_for_good(client):
    page = Page(client.get("/"))
    named = [e["href"] for e in page.all("link") if e["rel"] in {"icon", "stylesheet"}]
    named += [e["src"] for e in page.all("script") if "src" in e]
    assert len(named) == 3
    for address in named:
        assert FINGERPRINT in address
        assert client.get(address).headers["cache-control"] == FOR_GOOD


def test_without_the_fingerprint_a_file_is_the_same_and_not_kept_for_good(client):
    for path in ("discreet.css", "js/main.js"):
        fresh, kept = client.get(f"/static/{path}"), client.get(f"/static/{FINGERPRINT}/{path}")
        assert fresh.content == kept.content
        assert "immutable" not in fresh.headers.get("cache-control", "")
    assert client.get("/static/000000000000/js/main.js").status_code == 404


def test_styles_have_no_left_or_right():
    """A page that is written from right to left turns around: every rule names start and end."""
    sided = re.compile(
        r"(?:^|[\s;{])(?:(?:margin|padding|border)-(?:left|right)|left|right)\s*:|(?:text-align|float):\s*(?:left|right)"
    )
    assert sided.search(".x { margin-left: 0 }")
    assert sided.search(".x{ left: 0 }")
    assert not sided.search(".x { margin-inline-start: 0; text-align: end }")
    follows_the_pointer = "inset-inline-start: auto; left:"
    found = [line for line in STYLESHEET.splitlines() if sided.search(line)]
    assert [line for line in found if follows_the_pointer not in line] == []


OPENERS = {
    **dict.fromkeys("\u202a\u202b\u202d\u202e", "\u202c"),
    **dict.fromkeys("\u2066\u2067\u2068", "\u2069"),
}
TRICKY = st.text(st.sampled_from([*OPENERS, "\u202c", "\u2069", "a", "<", "&", "\x00", "\x9b", "\u05d0"]))


@given(TRICKY)
def test_every_direction_that_is_opened_is_closed_in_order_and_shown_text_is_shown_the_same_again(text):
    waiting, shown = [], plain(text)
    for character in shown:
        if character in OPENERS:
            waiting.append(OPENERS[character])
        elif character in "\u202c\u2069":
            assert waiting.pop() == character
    assert not waiting
    assert plain(shown) == shown


@given(st.text(st.characters(codec=None)))
def test_no_control_and_no_lone_surrogate_is_left_and_harmless_text_is_left_alone(text):
    shown = plain(text)
    shown.encode("utf-8")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    harmless = "".join(c for c in text if " " <= c <= "~")
    assert plain(harmless) == harmless


def test_markup_is_escaped_inside_its_own_direction():
    assert str(bidi_isolate('<a href="x">')) == "<bdi>&lt;a href=&#34;x&#34;&gt;</bdi>"


HOSTILE_ADDRESSES = [
    "/",
    "/errors",
    "/datasets/hostile",
    "/datasets/hostile?rows=bad&columns=good",
    "/datasets/hostile?rows=good&layers=bad",
    "/datasets/hostile?rows=good&filter=bad%3D%3Cb%3E",
    "/datasets/hostile?rows=%3Cscript%3Ealert(3)%3C/script%3E",
    "/datasets/hostile?rows=good&group=%22%3E%3Cscript%3E%3D1",
    "/datasets/hostile?%3Cscript%3E=1",
    "/datasets/hostile/variables/bad",
    "/datasets/hostile/variables/bad?rows=bad&group=bad=%3Cscript%3E:1",
    "/datasets/hostile/methodology",
    "/datasets/hostile/test/independence?rows=bad&columns=good",
    "/datasets/%3Cscript%3E",
    "/errors/%3Cscript%3E",
]


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_no_label_code_or_address_becomes_markup_and_nothing_comes_from_elsewhere(client, address):
    response = client.get(address)
    page = Page(response)
    assert not [e for e in page.elements if e["tag"] in {"b", "i"}]
    own, *data = page.all("script")
    assert own["src"].startswith("/static/")
    assert not own["text"]
    assert all(json.loads(e["text"])["@type"] == "Dataset" for e in data)
    assert {e["type"] for e in data} <= {"application/ld+json"}
    linked = [e["href"] for e in page.all("link") if e["rel"] != "alternate"]
    assert all(text.startswith("/static/") for text in linked + [e["src"] for e in page.all("img")])
    assert [e["src"].rpartition("/")[2] for e in page.all("img")] == ["mark.svg"]
    assert not [name for e in page.elements for name in e if name.startswith("on") or name == "style"]
    assert not set(response.text) & set(map(chr, [*range(9), *range(11, 32), 127]))


def test_a_command_in_a_sentence_is_code_and_no_markup(client):
    from discreet.web.templating import _ENVIRONMENT

    text = _ENVIRONMENT.filters["coded"]("Run `discreet <b>` now.")
    assert text == "Run <code>discreet &lt;b&gt;</code> now."
    assert "`" not in client.get("/datasets/people/methodology").text


def test_labels_stand_in_a_direction_of_their_own_and_close_what_they_open(client):
    page = Page(client.get("/datasets/hostile?rows=bad"))
    assert {"nul \ufffd and bell \ufffd", "\u202eright to left\u202c"} <= set(page.texts("th", scope="row"))
    rows = [i for i, e in enumerate(page.elements) if e["tag"] == "th" and e.get("scope") == "row"]
    assert all(page.elements[i + 1]["tag"] == "bdi" for i in rows)
