"""What the page says of a table, and how much of it is drawn at once."""

from .conftest import Page


def test_the_note_is_said_in_a_sentence_and_the_rest_of_it_is_one_click_away(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=age"))
    summary = next(" ".join(e["text"].split()) for e in page.all("summary") if "Note." in e["text"])
    assert summary.startswith("Note. Counts in this table have been randomly adjusted")
    assert "within ±" in summary
    assert "Totals are adjusted separately" not in summary
    (details,) = page.all("details", class_="note")
    assert "Totals are adjusted separately" in details["text"]
    assert "differentially private" not in details["text"]
    (promise,) = [e for e in page.all("details", class_="more") if "How this table is protected" in e["text"]]
    assert "open" not in promise
    assert "differentially private" in promise["text"]


def test_a_table_is_drawn_whole_up_to_the_limit_and_in_parts_beyond_it(client):
    """The fixture draws 1,000 cells at once. Wrong: to decide by the whole table where one layer is shown."""
    whole = Page(client.get("/datasets/people?rows=district&columns=age,job"))
    assert not whole.all("nav", class_="pager")
    assert len([e for e in whole.all("div") if e.get("data-module") == "windowed"]) == 0
    layered = "/datasets/people?rows=district&columns=age,origin&layers=region"
    assert not Page(client.get(layered)).all("nav", class_="pager")
    stacked = Page(client.get(f"{layered}&layer=all"))
    assert len(stacked.all("nav", class_="pager")) == 1
    (region,) = [e for e in stacked.all("div") if e.get("data-module") == "windowed"]
    assert (region["data-rows"], region["data-columns"]) == (str(49 * 3), "20")
    assert len(stacked.all("td")) == 1000


def test_wide_tables_have_sheets_for_paper_with_every_column(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=district"))
    assert len(page.all("section", class_="sheet")) == 7
    assert not Page(client.get("/datasets/people?rows=district&columns=sex")).all("section", class_="sheet")
