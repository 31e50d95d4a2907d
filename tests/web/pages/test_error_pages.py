"""Every error code has a page with its meaning."""

from discreet.web.problems import error_explanations


def test_every_code_is_listed_and_explained(client):
    listed = client.get("/errors").text
    for code, (kind, _meaning) in error_explanations().items():
        assert f"/errors/{code}" in listed
        assert str(kind.title) in client.get(f"/errors/{code}").text
    missing = client.get("/errors/none-such")
    assert (missing.status_code, "/errors" in missing.text) == (404, True)
