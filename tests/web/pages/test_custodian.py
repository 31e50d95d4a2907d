"""The custodian's page is for custodians, and empty where nothing was found."""

from ..auth.conftest import office, office_client, with_key  # noqa: F401 - fixtures


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
