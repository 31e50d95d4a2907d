"""The page of a statement shows what was signed, word for word, or it is refused."""

import json

import pytest

from discreet.assess.statement_page import read_statement, statement_html
from discreet.errors import SignatureUnusable
from discreet.ledger.verification import verify_statement
from discreet.records.signing import signing_key
from discreet.workspace.operate.statement import make_statement


@pytest.fixture
def document(private_town):
    return make_statement(private_town.folder)


def test_a_page_and_a_json_file_hold_the_same_statement(document, private_town, tmp_path):
    page, plain = tmp_path / "s.html", tmp_path / "s.json"
    page.write_text(statement_html(document), "utf-8")
    plain.write_text(json.dumps(document), "utf-8")
    assert read_statement(plain) == (document, "")
    found, told = read_statement(page)
    assert found == document
    assert told == "The page shows what was signed, word for word."
    assert verify_statement(found, signing_key(private_town.folder).public)


def test_a_page_whose_words_were_changed_is_refused(document, tmp_path):
    """Wrong alternative: the signature of the JSON within, which a changed page still holds."""
    page = tmp_path / "s.html"
    text = statement_html(document)
    page.write_text(text.replace("<td>4</td>", "<td>1</td>", 1), "utf-8")
    assert page.read_text("utf-8") != text
    with pytest.raises(SignatureUnusable, match="does not show what was signed"):
        read_statement(page)


@pytest.mark.slow
def test_a_page_of_another_program_says_that_its_words_were_not_compared(document, tmp_path):
    page = tmp_path / "s.html"
    page.write_text(statement_html({**document, "program": "discreet 99"}), "utf-8")
    assert read_statement(page)[1] == "The words of the page were not compared: it was made by discreet 99."


@pytest.mark.slow
def test_names_cannot_break_out_of_the_page(document):
    name = "</script><script>alert(1)</script>"
    document["budgets"][0]["name"] = name
    text = statement_html(document)
    assert name not in text
    assert text.count("<script") == 1


@pytest.mark.parametrize(
    "content", ["", "no JSON", '<script type="application/json" id="statement">{</script>', None]
)
def test_a_file_that_is_no_statement_is_named(tmp_path, content):
    path = tmp_path / "s.html"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(SignatureUnusable, match=r"'s\.html' is no statement"):
        read_statement(path)
