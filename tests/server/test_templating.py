"""Pages: no label becomes markup, and nothing is loaded from elsewhere."""

import json

import pytest

from .conftest import Page

HOSTILE_ADDRESSES = [
    "/",
    "/datasets/hostile",
    "/datasets/hostile?rows=bad&columns=good",
    "/datasets/hostile?rows=good&layers=bad",
    "/datasets/hostile?rows=good&filter=bad%3D%3Cb%3E",
    "/datasets/hostile?rows=%3Cscript%3Ealert(3)%3C/script%3E",
    "/datasets/hostile?rows=good&group=%22%3E%3Cscript%3E%3D1",
    "/datasets/hostile?%3Cscript%3E=1",
    "/datasets/hostile/variables/bad",
    "/datasets/%3Cscript%3E",
    "/errors/%3Cscript%3E",
]


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_no_label_code_or_address_becomes_markup(client, address):
    response = client.get(address)
    page = Page(response)
    assert not [e for e in page.elements if e["tag"] in {"b", "i"}]
    own, *data = page.all("script")
    assert own["src"].startswith("/static/")
    assert not own["text"]
    assert all(json.loads(e["text"])["@type"] == "Dataset" for e in data)
    assert {e["type"] for e in data} <= {"application/ld+json"}
    assert [e["src"].rpartition("/")[2] for e in page.all("img")] == ["mark.svg"]
    assert not [name for e in page.elements for name in e if name.startswith("on") or name == "style"]
    assert not set(response.text) & set(map(chr, [*range(9), *range(11, 32), 127]))


def test_a_command_in_a_sentence_is_code_and_no_markup(client):
    from discreet.server.templating import _ENVIRONMENT

    text = _ENVIRONMENT.filters["coded"]("Run `discreet <b>` now.")
    assert text == "Run <code>discreet &lt;b&gt;</code> now."
    assert "`" not in client.get("/datasets/people/methodology").text


def test_labels_stand_in_a_direction_of_their_own_and_close_what_they_open(client):
    page = Page(client.get("/datasets/hostile?rows=bad"))
    labels = page.texts("th", scope="row")
    assert "nul \ufffd and bell \ufffd" in labels
    assert "\u202eright to left\u202c" in labels
    rows = [i for i, e in enumerate(page.elements) if e["tag"] == "th" and e.get("scope") == "row"]
    assert all(page.elements[i + 1]["tag"] == "bdi" for i in rows)


def test_pages_load_nothing_from_elsewhere_and_no_script_stands_in_them(client):
    for address in ("/", "/datasets/people", "/errors"):
        page = Page(client.get(address))
        scripts = page.all("script")
        assert {e["type"] for e in scripts if "src" not in e} <= {
            "application/ld+json"
        }  # data, which no browser runs
        links = [e for e in page.all("link") if e["rel"] != "alternate"]
        sources = [e["href"] for e in links] + [e["src"] for e in [*page.all("img"), *scripts] if "src" in e]
        assert all(source.startswith("/static/") for source in sources)
        assert all(client.get(source).status_code == 200 for source in sources)
