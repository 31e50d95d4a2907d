"""Which language an answer speaks."""

import pytest

from discreet.errors import NotAcceptable
from discreet.formats import formats
from discreet.model.messages.text import message
from discreet.web.i18n.translation import languages
from discreet.web.negotiation import choose_format
from discreet.workspace.versions.load_version import load_dataset

from .conftest import client_of, people_description, people_records
from .pseudo import CODE, PSEUDO, unsaid, with_pseudo_labels

TABLE = "/api/datasets/people/table?rows=sex"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("APPLICATION/*", "json"),
        ("text/csv; header=present; q=0.5, image/gif", "csv"),
        ("image/png", "png"),
        (BROWSER, "html"),
        ("text/csv, */*", "csv"),
        ("*/*;q=0.1, application/vnd.apache.parquet", "parquet"),
        ("application/json;q=0, text/csv;q=0.1", "csv"),
        ("text/html;q=0.1, application/json;q=0.3", "json"),
        ("text/csv;q=much", "csv"),
        (",,text/csv,", "csv"),
    ],
)
def test_the_header_chooses_the_format(accept, name):
    assert choose_format(accept).name == name


def test_an_explicit_type_is_judged_by_its_own_wish_and_other_text_by_the_range():
    accept = "text/*;q=0.9, text/csv;q=0.2, text/html;q=0.1, application/json;q=0.3"
    assert choose_format(accept).name not in {"csv", "html", "json"}


def test_every_media_type_leads_to_a_format_of_it():
    for form in formats():
        kind = form.media_type.partition(";")[0]
        assert choose_format(kind).media_type.partition(";")[0] == kind


@pytest.mark.parametrize("accept", ["image/gif", "application/json;q=0", "text", "*/*;q=0"])
def test_what_is_not_offered_is_406_with_the_list(client, accept):
    with pytest.raises(NotAcceptable):
        choose_format(accept)
    response = client.get(TABLE, headers={"accept": accept})
    assert (response.status_code, response.json()["code"]) == (406, "not-acceptable")
    assert "text/csv" in response.json()["advice"]


def test_a_named_format_wins_and_only_a_choice_by_the_header_varies(client):
    by_header = client.get(TABLE, headers={"accept": "text/csv"})
    named = client.get(TABLE + "&format=csv", headers={"accept": "application/json"})
    assert by_header.content == named.content
    assert by_header.headers["etag"] == named.headers["etag"]
    assert "Accept" in by_header.headers["vary"].split(", ")
    assert "Accept" not in named.headers["vary"].split(", ")
    again = client.get(TABLE, headers={"accept": "text/csv", "if-none-match": by_header.headers["etag"]})
    assert (again.status_code, "Accept" in again.headers["vary"].split(", ")) == (304, True)
    other = client.get(TABLE, headers={"if-none-match": by_header.headers["etag"]})
    assert other.status_code == 200
    assert client.get(TABLE + "&format=cvs", headers={"accept": "text/csv"}).status_code == 400


PAGE = "/datasets/people?rows=age&columns=sex"


def spoken(client, language, address=PAGE, **headers):
    return client.get(address, headers={"accept-language": language, **headers})


def test_the_address_decides_then_the_browser_then_english(client):
    german = spoken(client, "de-AT,de;q=0.9,en;q=0.1")
    assert '<html lang="de" dir="ltr">' in german.text
    assert german.headers["content-language"] == "de"
    assert "accept-language" in german.headers["vary"].lower()
    english = spoken(client, "de", f"{PAGE}&lang=en")
    assert '<html lang="en" dir="ltr">' in english.text
    assert "accept-language" not in english.headers["vary"].lower()
    assert '<html lang="en" dir="ltr">' in spoken(client, "xx, *;q=0.1").text


def test_a_copy_in_one_language_is_never_taken_for_another(client):
    english, german = (spoken(client, code).headers["etag"] for code in ("en", "de"))
    assert english != german
    assert spoken(client, "de", **{"if-none-match": english}).status_code == 200
    again = spoken(client, "de", **{"if-none-match": german})
    assert (again.status_code, "accept-language" in again.headers["vary"].lower()) == (304, True)


def test_a_language_that_is_not_there_is_refused_and_names_those_that_are(client):
    refused = client.get(f"{PAGE}&lang=xx")
    assert refused.status_code == 400
    assert "lang=en or lang=de" in refused.text
    assert client.get(f"{PAGE}&lang=de&lang=en").status_code == 400
    assert client.get(f"{PAGE}&lang=").status_code == 200  # an empty field of a form
    assert client.get("/api/datasets/people/table?rows=sex&lang=xx").json()["code"] == "bad-request"


def test_a_redirect_and_every_link_keep_a_chosen_language(client):
    raw = client.get("/datasets/people?rows=age&columns=&lang=de", follow_redirects=False)
    assert raw.headers["location"].endswith("lang=de#table")
    page = client.get(f"{PAGE}&lang=de").text
    assert 'href="/?lang=de"' in page
    assert '<input type="hidden" name="lang" value="de">' in page
    wished = spoken(client, "de").text
    assert 'href="/"' in wished  # what the browser asks for it asks for again
    assert 'type="hidden" name="lang"' not in wished


def test_documents_for_programs_are_english_whatever_the_browser_says(client):
    plain, asked = client.get(f"{TABLE}&format=csv"), spoken(client, "de", f"{TABLE}&format=csv")
    assert asked.content == plain.content
    assert asked.headers["etag"] == plain.headers["etag"]
    assert "accept-language" not in asked.headers.get("vary", "").lower()


#: Words of pages that are names in every language: of the program, of parameters, of noise families and keys.
NAMES = {
    "Accept", "Arrow", "Excel", "Parquet", "Python", "curl", "map", "Discreet", "HTTP", "JSON", "Poisson",
    "additivity", "age", "attack", "averaging", "bob", "cell", "delta", "discreet", "district", "epsilon",
    "exact", "fitted", "hashed", "independent", "job", "js", "lang", "maxent", "none", "nothing", "origin",
    "people", "quantise", "region", "sex", "version", "versions", "weights", "withheld", "wrong"
}  # fmt: skip
PAGES = (
    "/",
    "/datasets/people",
    "/datasets/people?rows=age&columns=sex",
    "/datasets/people?rows=age,sex&columns=job&layers=region&percent=row&rank=yes",
    "/datasets/people?rows=age&columns=sex&filter=origin=1,2,3&totals=no&additivity=interior",
    "/datasets/people?rows=age&group=age=0-14%2B15-64&measure=count&top=1",
    "/datasets/people?rows=district&levels=district=region,district&columns=sex&hide_empty=yes",
    "/datasets/people?rows=district&columns=age,sex,job",
    "/datasets/people?rows=district&columns=age,sex,job,origin",
    "/datasets/people?rows=wrong",
    "/datasets/people?rows=age&filter=sex=9",
    "/datasets/people?rows=age&filter=age=30..20",
    "/datasets/people?rows=age&columns=age",
    "/datasets/people?rows=age&version=nothing",
    "/datasets/people/variables/district",
    "/datasets/people/methodology",
    "/datasets/people/test/independence?rows=age&columns=sex",
    "/datasets/people/interval?rows=age&columns=sex",
    "/datasets/people/interval?rows=age&columns=sex&cell=sex=1&of=sex=1&of=sex=2",
    "/datasets/people/budget",
    "/datasets/none",
    "/nothing/here",
    "/datasets/people?rows=age&columns=sex&show=chart&chart=grouped",
    "/datasets/people?rows=age&columns=sex&show=chart&chart=map",
    "/datasets/people/verdict?rows=age&columns=sex",
    "/datasets/people/print?rows=age&columns=sex",
    "/embed/datasets/people?rows=age&columns=sex",
    "/api",
    "/errors",
    "/errors/refused",
)


@pytest.fixture(scope="module")
def pseudo_client(tmp_path_factory):
    """A workspace whose labels are in brackets, read in the invented language."""
    folder = tmp_path_factory.mktemp("pseudo")
    load_dataset(folder, with_pseudo_labels(people_description()), people_records())
    before = dict(languages())
    languages()[CODE] = PSEUDO
    yield client_of(folder, page_cells=1000)
    languages().clear()
    languages().update(before)


@pytest.mark.parametrize("address", PAGES)
def test_no_page_shows_a_word_that_no_catalogue_has(pseudo_client, address):
    page = pseudo_client.get(address, headers={"accept-language": CODE})
    assert f'<html lang="{CODE}" dir="rtl">' in page.text or "<html" not in page.text  # a part of a page
    assert unsaid(page.text, NAMES) == []


def test_a_word_of_a_template_and_a_sentence_inside_another_would_be_found():
    assert unsaid("<p>⟦All··⟧ Rows</p>", set()) == ["Rows | ⟦All··⟧ Rows"]
    assert unsaid(f"<p>{PSEUDO.translate(message('In {reason}.', reason='this table'))}</p>", set())
    assert not unsaid(
        f"<p>{PSEUDO.translate(message('In {reason}.', reason=message('this table')))}</p>", set()
    )
    assert unsaid('<a title="More">⟦More·⟧</a>', set()) == ["More | More"]
