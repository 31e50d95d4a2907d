"""The custodian's page is for custodians, and empty where nothing was found.

Every error code has a page with its meaning.
"""

from discreet.web.problems import error_explanations

from ..auth.conftest import office, office_client  # noqa: F401 - fixtures
from ..conftest import with_key


def test_others_are_refused_and_a_custodian_sees_it(office_client, office):  # noqa: F811 - fixtures
    _, keys = office
    for path in ("/custodian/alerts", "/api/alerts"):
        assert office_client.get(path).status_code == 401
        assert office_client.get(path, headers=with_key(keys["analyst"])).status_code == 403
        shown = office_client.get(path, headers=with_key(keys["custodian"]))
        assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
    assert office_client.get("/api/alerts", headers=with_key(keys["custodian"])).json() == {
        "holds": [],
        "alerts": [],
    }
    assert (
        "Nobody is held back"
        in office_client.get("/custodian/alerts", headers=with_key(keys["custodian"])).text
    )


def test_every_code_is_listed_and_explained(client):
    listed = client.get("/errors").text
    for code, (kind, _meaning) in error_explanations().items():
        assert f"/errors/{code}" in listed
        assert str(kind.title) in client.get(f"/errors/{code}").text
    missing = client.get("/errors/none-such")
    assert (missing.status_code, "/errors" in missing.text) == (404, True)
