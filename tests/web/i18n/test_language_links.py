"""Links keep the language that the address of their page names."""

import pytest

from discreet.web.context import RequestContext, use_context
from discreet.web.i18n.language_links import add_language_to_links, has_languages, language_menu
from discreet.web.i18n.messages import RequestLanguage, languages
from discreet.web.urls import SiteUrl


@pytest.fixture
def speak():
    """Answer in a language, at a server below /t."""
    with use_context(RequestContext(site_url=SiteUrl("https://x.org", "/t"))) as context:

        def start(code, *, chosen):
            path, query = "/t/datasets/x", "rows=a%26b&top=3"
            context.language = RequestLanguage(languages()[code], chosen, path, query)

        yield start


PAGE = (
    '<a href="/t/datasets/x?rows=sex&amp;top=3#table">a</a><a href="https://x.org/t/">b</a><a href="#main">c</a>'
    '<a href="https://elsewhere.org/t/">d</a><a href="//elsewhere.org/">e</a><a href="/t/openapi.json">f</a>'
    '<a href="/t/api/datasets/x/table?rows=sex&amp;format=csv">g</a><a href="/t/datasets/x?lang=en">h</a>'
    '<form class="x" method="get" action="/t/datasets/x">'
)


def test_a_chosen_language_is_kept_by_every_link_of_ours_and_no_other(speak):
    speak("de", chosen=True)
    assert add_language_to_links(PAGE) == (
        '<a href="/t/datasets/x?rows=sex&amp;top=3&amp;lang=de#table">a</a><a href="https://x.org/t/?lang=de">b</a>'
        '<a href="#main">c</a><a href="https://elsewhere.org/t/">d</a><a href="//elsewhere.org/">e</a>'
        '<a href="/t/openapi.json">f</a><a href="/t/api/datasets/x/table?rows=sex&amp;format=csv&amp;lang=de">g</a>'
        '<a href="/t/datasets/x?lang=en">h</a><form class="x" method="get" action="/t/datasets/x">'
        '<input type="hidden" name="lang" value="de">'
    )


def test_a_language_that_the_browser_asked_for_is_named_by_downloads_only(speak):
    speak("de", chosen=False)
    assert add_language_to_links(PAGE) == PAGE.replace("format=csv", "format=csv&amp;lang=de")
    speak("en", chosen=False)
    assert add_language_to_links(PAGE) == PAGE


def test_text_that_looks_like_a_link_is_left_alone(speak):
    speak("de", chosen=True)
    assert add_language_to_links("<p>write href=&quot;/t/&quot;</p>") == "<p>write href=&quot;/t/&quot;</p>"


def test_the_menu_has_this_page_in_every_language(speak):
    speak("de", chosen=True)
    assert [(each.code, address, now) for each, address, now in language_menu()] == [
        ("en", "/t/datasets/x?rows=a%26b&top=3&lang=en", False),
        ("de", "/t/datasets/x?rows=a%26b&top=3&lang=de", True),
    ]


def test_addresses_for_programs_speak_no_language_but_for_labels():
    assert has_languages("/")
    assert has_languages("/api/datasets/x")
    assert has_languages("/api/datasets/x/table")
    assert not has_languages("/api/v2/tables")
    assert not has_languages("/static/x.css")
    assert not has_languages("/api/datasets/x/budget")
