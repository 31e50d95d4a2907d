"""The request of a page is parsed once, and links to other tables keep what still has a meaning."""

import pytest
from starlette.datastructures import QueryParams

from discreet.model.messages.text import join_sentences, message
from discreet.web.i18n.messages import REQUEST_LANGUAGE, RequestLanguage, languages, localise
from discreet.web.pages.page_request import link_parameters
from discreet.web.pages.table_page import first_sentence


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("percent=row&sort=-value&version=7&labels=codes", "percent=row&sort=-value&labels=codes&version=7"),
        ("percent=sex=1&sort=-sex=1&rank=yes", "rank=yes"),
        ("layer=sex=1&page=3&show=chart&chart=bars", "show=chart"),
    ],
)
def test_links_to_other_tables_drop_what_names_a_cell_of_this_one(query, kept):
    assert "&".join(map("=".join, link_parameters(QueryParams(query)))) == kept


@pytest.mark.parametrize("code", ["en", "de"])
def test_an_abbreviation_does_not_end_the_first_sentence_of_a_note(code):
    """Wrong: to cut a note at the first full stop before a blank."""
    first, second = message("Counts of {unit} have noise.", unit="St. Mary"), message("Totals, too.")
    token = REQUEST_LANGUAGE.set(RequestLanguage(languages()[code]))
    try:
        note = localise(join_sentences([join_sentences([first, second]), message("The end.")]))
        assert first_sentence(note) == ("Counts of St. Mary have noise.", ["Totals, too.", "The end."])
    finally:
        REQUEST_LANGUAGE.reset(token)
