"""The addresses of what there is."""


def test_the_default_selection_is_told(px):
    told = px("/tables/town/defaultselection")
    assert {entry["variableCode"] for entry in told["selection"]} == {"sex", "ContentsCode"}
    assert (
        px("/tables/town/data", {"selection": told["selection"]})["value"] == px("/tables/town/data")["value"]
    )


def test_links_do_not_repeat_the_host_of_a_request(px):
    """Wrong alternative: links that lead to whatever a reader sent as Host."""
    text = (
        px.get("/tables", headers={"host": "evil.example"}).text
        + px.get("/tables/town/data", headers={"host": "evil.example"}).text
    )
    assert "evil.example" not in text
