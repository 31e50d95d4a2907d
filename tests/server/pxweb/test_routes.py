"""The addresses of what there is."""


def test_the_default_selection_is_told(px):
    told = px("/tables/town/defaultselection")
    assert {entry["variableCode"] for entry in told["selection"]} == {"sex", "ContentsCode"}
    assert (
        px("/tables/town/data", {"selection": told["selection"]})["value"] == px("/tables/town/data")["value"]
    )


def test_links_do_not_repeat_the_host_of_a_request(px):
    """Wrong alternative: links that lead to whatever a reader sent as Host."""
    for path in ("/tables", "/tables/town/data"):
        foreign = px.get(path, headers={"host": "evil.example"})
        assert foreign.status_code == 421
        assert "href" not in foreign.text
