"""SDMX in OpenAPI: every address, and the types of its answers."""

import jsonschema
import pytest
from tests.server.test_answer_documents import resolved

from discreet.answer.doors import Doors
from discreet.server.sdmx.routes import sdmx_router


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


def test_every_address_is_described(described, small_workspace):
    router = sdmx_router(Doors(small_workspace))
    served = {route.path.replace(":path", "") for route in router.routes}
    assert served == {path for path in described["paths"] if path.startswith(router.prefix)}
    assert len(served) >= 7


def test_answers_of_sdmx_are_as_described(client, described):
    answer = client.get("/api/sdmx/data/people-sex")
    content = described["paths"]["/api/sdmx/data/{flow}"]["get"]["responses"]["200"]["content"]
    kind = content[answer.headers["content-type"].partition(";")[0]]["schema"]
    jsonschema.Draft202012Validator(resolved(described, kind)).validate(answer.json())
    assert set(answer.json()) == set(described["components"]["schemas"]["SdmxData"]["properties"])
