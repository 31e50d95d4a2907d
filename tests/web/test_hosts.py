import pytest
from fastapi.testclient import TestClient

from discreet.errors import BadOption
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.web.hosts import host_patterns
from discreet.workspace.options import read_options

from .conftest import Page

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what an office writes
PAGE = "/datasets/people?rows=sex"


def client_for(workspace, folder, arrived="192.168.1.20", **options):
    app = create_app(DatasetRegistry(workspace), read_options(folder, **options))
    return TestClient(app, base_url=f"http://{arrived}:8000")


@pytest.fixture(scope="module")
def office(small_workspace, small_folder):
    """A server that listens everywhere, without any other option."""
    return client_for(small_workspace, small_folder, host=EVERYWHERE)


@pytest.fixture(scope="module")
def below(small_workspace, small_folder):
    return client_for(small_workspace, small_folder, public_url="https://x.example/tables")


def asked(client, host, path=PAGE):
    return client.get(path, headers={"host": host})


@pytest.mark.parametrize(
    "host", ["192.168.1.20:8000", "192.168.1.20", "localhost:8000", "LOCALHOST", "127.0.0.1:9", "[::1]:8000"]
)
def test_in_an_office_without_options_the_own_addresses_are_answered(office, host):
    (address,) = Page(asked(office, host)).texts("p", class_="address")
    assert address.partition("&version=")[0] == f"http://{host.lower()}{PAGE}"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "192.168.1.21:8000", "localhost.evil.example", "evil.example:8000", "localhost:80@evil.example",
     "localhost/evil", "localhost:80:90", "localhost:", "0.0.0.0:8000", "[::1", "a b", "127.0.0.1.evil.example"],
)  # fmt: skip
def test_a_foreign_host_is_refused_and_reaches_no_link(office, below, host):
    """The wrong alternative, to write the request's host into links as it comes, is what this rejects."""
    page, problem = asked(office, host), asked(office, host, "/api/datasets")
    assert (page.status_code, problem.status_code) == (421, 421)
    assert problem.json()["code"] == "untrusted-host"
    assert "trusted_hosts" in problem.json()["advice"]
    assert not [e for e in Page(page).all("a") if "evil" in e["href"]]
    assert asked(below, host, "/tables/api/datasets").json()["type"] == "/tables/errors/untrusted-host"
    assert asked(office, host, "/static/discreet.css").status_code == 421


def test_hosts_and_patterns_of_the_option_are_trusted(small_workspace, small_folder, tmp_path):
    client = client_for(
        small_workspace,
        small_folder,
        trusted_hosts="Stats.example, *.office.example",
        public_url="https://x.example",
    )
    for host in ("stats.example", "a.office.example:8000", "x.example"):
        assert asked(client, host).status_code == 200
    for host in ("office.example", "aoffice.example", "a.stats.example"):
        assert asked(client, host).status_code == 421
    anybody = client_for(small_workspace, small_folder, trusted_hosts="*")
    assert asked(anybody, "whoever.example").status_code == 200
    assert asked(anybody, "who ever").status_code == 421


def test_a_list_of_hosts_can_stand_in_the_file(tmp_path):
    (tmp_path / "workspace.toml").write_text('trusted_hosts = ["a.example", "b.example"]\n')
    assert {"a.example", "b.example"} <= host_patterns(read_options(tmp_path), None)


@pytest.mark.parametrize("name", ["https://x.org", "x.org:80", "x.org/a", "*x.org", "x *"])
def test_a_name_that_no_host_has_is_refused_at_the_start(small_workspace, small_folder, name):
    with pytest.raises(BadOption, match="trusted_hosts"):
        client_for(small_workspace, small_folder, trusted_hosts=name)


def test_everywhere_is_no_name_of_a_host(small_folder):
    assert EVERYWHERE not in host_patterns(read_options(small_folder, host=EVERYWHERE), None)
    assert "10.0.0.5" in host_patterns(read_options(small_folder, host="10.0.0.5"), None)


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [
        ("1.1", [b"localhost"], 200),
        ("1.1", [], 400),
        ("1.1", [b"localhost", b"evil.example"], 400),
        ("1.1", [b"localhost", b"localhost"], 400),
        ("1.0", [b"localhost", b"localhost"], 400),
        ("1.0", [], 200),
    ],
)
def test_a_request_has_one_host_and_one_of_http_1_0_may_have_none(office, version, hosts, status):
    """Wrong alternative: the first of two; a proxy before us may have read the other one."""
    given = {"http_version": version, "headers": [(b"host", host) for host in hosts]}

    async def app(scope, receive, send):
        await office.app({**scope, **given}, receive, send)

    answer = TestClient(app).get("/api/datasets")
    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "bad-request"
