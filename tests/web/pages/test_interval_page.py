import pytest

API = "/api/datasets/people/interval"
PAGE = "/datasets/people/interval"
QUERY = "rows=sex&columns=origin"


def test_all_cells_are_answered_without_a_cell(client):
    document = client.get(f"{API}?{QUERY}").json()
    table = client.get(f"/api/datasets/people/table?{QUERY}&format=json").json()
    assert len(document["cells"]) == len(table["value"])
    assert all(cell["low"] <= cell["value"] <= cell["high"] for cell in document["cells"] if cell["value"])


def test_shares_and_differences_are_those_of_the_cells_named(client):
    share = client.get(f"{API}?{QUERY}&cell=sex=1&of=sex=1&of=sex=2").json()
    assert 0 < share["low"] <= share["estimate"] <= share["high"] < 1
    one, other = (client.get(f"{API}?{QUERY}&cell=sex={code}").json()["estimate"] for code in "12")
    difference = client.get(f"{API}?{QUERY}&cell=sex=1&minus=sex=2&level=0.9").json()
    assert difference["estimate"] == one - other
    assert difference["level"] == 0.9


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("&of=sex=1", "need a cell"),
        ("&cell=sex=9", "no code"),
        ("&cell=sox=1", "no variable"),
        ("&cell=1", "cannot be read"),
        ("&cell=sex=1&level=x", "level"),
        ("&cell=sex=1&level=2", "level"),
        ("&cell=sex=1&of=sex=1&minus=sex=2", "at once"),
        ("&cel=sex=1", "cel"),
    ],
)
@pytest.mark.parametrize("address", [API, PAGE])
def test_what_cannot_be_answered_is_refused_with_a_reason(client, address, more, told):
    response = client.get(f"{address}?{QUERY}{more}")
    assert response.status_code == 400
    assert told in response.text


def test_the_page_has_a_form_and_says_the_interval(client):
    assert "How sure" in client.get(f"{PAGE}?{QUERY}").text
    text = client.get(f"{PAGE}?{QUERY}&cell=sex=1&of=&minus=sex=2").text
    assert "Difference" in text
    assert "true number lies between" in text
    assert "true share lies between" in client.get(f"{PAGE}?{QUERY}&cell=sex=1&of=sex=1&of=sex=2").text
    assert PAGE in client.get(f"/datasets/people?{QUERY}").text


def test_the_form_proposes_the_cells_of_a_small_table_by_their_labels(client):
    text = client.get(f"{PAGE}?{QUERY}").text
    assert '<option value="sex=1,' in text
    assert text.count('list="cells"') == text.count('type="text"')
    assert "<datalist" not in client.get(f"{PAGE}?rows=district&columns=sex,age").text


def test_the_form_keeps_every_cell_that_was_given(client):
    text = client.get(f"{PAGE}?{QUERY}&cell=sex=1&of=sex=1&of=sex=2").text
    assert 'name="of" value="sex=2"' in text
    assert text.count('name="of"') == 3
    assert text.count('name="cell"') == 2
