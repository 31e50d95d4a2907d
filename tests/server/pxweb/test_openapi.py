"""PxWebApi in OpenAPI: every address, and every parameter that it reads."""

import pytest

from discreet.answer.doors import Doors
from discreet.server.pxweb.routes import pxweb_router


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


def test_every_address_is_described(described, small_workspace, small_settings):
    router = pxweb_router(Doors(small_workspace), small_settings, lambda _address: None)
    served = {route.path.replace(":path", "") for route in router.routes}
    assert served == {path for path in described["paths"] if path.startswith(router.prefix)}
    assert len(served) >= 7


def test_every_parameter_that_is_described_is_read(client, described):
    """Wrong alternative: a name in the description that the server refuses as unknown."""
    for path, operations in described["paths"].items():
        for name in (p for p in operations.get("get", {}).get("parameters", []) if p["in"] == "query"):
            if path.startswith("/api/pxweb/v2/tables"):
                word = f"{name['name']}[sex]" if name.get("style") == "deepObject" else name["name"]
                answer = client.get(f"{path.replace('{table_id}', 'people')}?{word}=")
                assert "There is no parameter" not in answer.text, (path, word)
