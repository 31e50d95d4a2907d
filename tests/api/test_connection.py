"""Retries, copies, limits and errors of a connection, with a transport that answers as it is told."""

import json
import ssl
import threading
import warnings
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address

import httpx
import pytest

from discreet.api import connection as module
from discreet.api.connection import Connection
from discreet.errors import BadKey, DiscreetError, Refused, ServerUnusable, TooManyCells, all_errors


class Server:
    """Answers one response after the other, the last again and again, and remembers what it was asked."""

    def __init__(self, *responses):
        self.responses, self.asked, self.waited = list(responses), [], []

    def __call__(self, request):
        self.asked.append(request)
        given = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(given, Exception):
            raise given
        return given(request) if callable(given) else given

    def connection(self, base="https://example.org/stats", key=None):
        return Connection(base, key, transport=httpx.MockTransport(self), sleep=self.waited.append)


def answer(status=200, body=b"{}", **headers):
    return lambda _request: httpx.Response(
        status, content=body, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


def problem(code, status=400):
    told = {"code": code, "detail": "What happened.", "advice": "What to do.", "status": status}
    return answer(status, json.dumps(told).encode(), content_type="application/problem+json")


def test_a_question_goes_below_the_address_with_the_key():
    server = Server(answer())
    server.connection(key="secret").fetch("/api/datasets", [("rows", "a b,é"), ("group", "x=1+2")])
    (asked,) = server.asked
    assert asked.url.path == "/stats/api/datasets"
    assert asked.url.params["group"] == "x=1+2"
    assert asked.url.params["rows"] == "a b,é"
    assert asked.headers["authorization"] == "Bearer secret"


def test_a_busy_server_is_asked_again_when_it_says_and_at_most_three_times():
    server = Server(answer(429, retry_after="7"), answer(503), answer())
    assert server.connection().fetch("/api").body == b"{}"
    assert server.waited == [7.0, 1.0]  # not 0.5: the wait grows with every attempt
    busy = Server(problem("workspace-unusable", 503))
    with pytest.raises(DiscreetError, match="What happened") as raised:
        busy.connection().fetch("/api")
    assert raised.value.code == "workspace-unusable"
    assert len(busy.asked) == 1 + module.RETRIES


@pytest.mark.parametrize(
    ("first", "waited"),
    [
        (answer(503, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), [0.0]),
        (answer(503, retry_after="3600"), []),
        (problem("too-many-cells", 403), []),
    ],
)
def test_neither_a_refusal_nor_a_long_wait_is_asked_again_and_a_date_may_lie_in_the_past(first, waited):
    server = Server(first, answer())
    with nullcontext() if waited else pytest.raises((TooManyCells, ServerUnusable)):
        server.connection().fetch("/api")
    assert (server.waited, len(server.asked)) == (waited, 1 + len(waited))


def test_a_stream_is_taken_as_it_comes_and_never_kept():
    taken = []

    def pieces():
        for piece in (b"one", b"two"):
            taken.append(piece)
            yield piece

    server = Server(
        answer(503), lambda _request: httpx.Response(200, content=pieces(), headers={"etag": "x"})
    )
    connection = server.connection()
    stream = connection.stream("/api")
    assert next(stream) == b"one"
    assert taken == [b"one"]  # not the whole of it first
    assert list(stream) == [b"two"]
    list(connection.stream("/api"))
    assert "if-none-match" not in server.asked[-1].headers


def test_a_stream_that_is_refused_or_breaks_off_says_so():
    def breaks():
        yield b"half"
        raise httpx.ReadError("gone")

    with pytest.raises(TooManyCells):
        Server(problem("too-many-cells")).connection().stream("/api")
    stream = Server(lambda _request: httpx.Response(200, content=breaks())).connection().stream("/api")
    with pytest.raises(ServerUnusable, match="breaks off"):
        list(stream)


def test_a_broken_connection_is_tried_again_and_then_told():
    server = Server(httpx.ConnectError("no"), httpx.ReadTimeout("slow"), answer())
    assert server.connection().fetch("/api").body == b"{}"
    dead = Server(httpx.ConnectError("no"))
    with pytest.raises(ServerUnusable, match="does not answer") as raised:
        dead.connection().fetch("/api")
    assert raised.value.advice
    assert len(dead.asked) == 4


def test_a_copy_is_used_only_after_the_server_said_that_it_holds():
    """Wrong: to answer from the copy without asking; then a new version would be missed."""
    tags = iter(['"one"', '"one"', '"two"'])

    def versions(request):
        tag = next(tags)
        if request.headers.get("if-none-match") == tag:
            return httpx.Response(304, headers={"etag": tag})
        return httpx.Response(200, content=tag.encode(), headers={"etag": tag})

    server = Server(versions)
    connection = server.connection()
    assert [connection.fetch("/api").body for _ in range(3)] == [b'"one"', b'"one"', b'"two"']
    assert [asked.headers.get("if-none-match") for asked in server.asked] == [None, '"one"', '"one"']


def test_what_may_not_be_stored_is_not_kept():
    server = Server(answer(etag='"one"', cache_control="private, no-store"))
    connection = server.connection()
    for _ in range(2):
        connection.fetch("/api")
    assert server.asked[1].headers.get("if-none-match") is None


def test_copies_have_a_limit(monkeypatch):
    monkeypatch.setattr(module, "CACHE_BYTES", 25)
    server = Server(answer(body=b"0123456789", etag='"one"'))
    connection = server.connection()
    for path in "abc":
        connection.fetch(f"/{path}")
    connection.fetch("/a")
    connection.fetch("/c")
    assert [asked.headers.get("if-none-match") for asked in server.asked] == [None] * 4 + ['"one"']


def test_an_answer_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_ANSWER", 1000)
    read = []

    def endless():
        while len(read) < 10_000:
            read.append(1)
            yield b"x" * 100

    server = Server(lambda _request: httpx.Response(200, content=endless()))
    with pytest.raises(ServerUnusable, match="more than"):
        server.connection().fetch("/api")
    assert len(read) < 20


def test_every_error_of_a_server_is_the_error_of_its_code():
    for kind in all_errors():
        with pytest.raises(DiscreetError, match=r"What happened\.") as raised:
            Server(problem(kind.code, 400)).connection().fetch("/api")
        assert type(raised.value) is kind
        assert raised.value.advice == "What to do."
    with pytest.raises(Refused) as refused:
        Server(problem("a-rule-of-your-own", 403)).connection().fetch("/api")
    assert refused.value.code == "a-rule-of-your-own"


@pytest.mark.parametrize(
    "body", [b"<html>404</html>", b"[" * 100_000, b'{"code": "x"', b"\xff", b"[]", b'{"code": "x"}']
)
def test_what_is_no_server_of_discreet_is_told_so(body):
    with pytest.raises(ServerUnusable, match="no answer of Discreet"):
        Server(answer(404, body)).connection().fetch("/api")
    if body not in {b"[]", b'{"code": "x"}'}:  # an error without our fields, though it is JSON
        with pytest.raises(ServerUnusable, match="cannot be read"):
            Server(answer(body=body)).connection().fetch("/api").json()


def test_a_redirect_to_another_host_does_not_get_the_key():
    server = Server(answer(302, location="https://elsewhere.org/api"), answer())
    server.connection(key="secret").fetch("/api")
    assert server.asked[1].url.host == "elsewhere.org"
    assert "authorization" not in server.asked[1].headers


def test_redirects_end_and_never_lead_out_of_tls():
    with pytest.raises(ServerUnusable, match="redirects more than"):
        Server(answer(302, location="https://example.org/again")).connection().fetch("/api")
    with pytest.raises(ServerUnusable, match="without encryption"):
        Server(answer(302, location="http://example.org/api"), answer()).connection().fetch("/api")
    with pytest.raises(ServerUnusable):
        Server(answer(302, location="file:///etc/passwd"), answer()).connection().fetch("/api")


def self_signed(folder):
    """A certificate that nobody vouches for, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    made = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(made).not_valid_after(made + timedelta(days=40_000))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = builder.add_extension(names, critical=True).sign(key, hashes.SHA256())
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private = key.private_bytes(pem, form, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(certificate.public_bytes(pem) + private)
    return folder / "both.pem"


@pytest.mark.slow
def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path, monkeypatch):
    """Wrong: `verify=False`, with which whoever is on the way reads the key."""
    file = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    asked = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers["authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"https://127.0.0.1:{server.server_address[1]}"
    try:
        with pytest.raises(ServerUnusable, match="no certificate that can be trusted"):
            Connection(base, "secret").fetch("/api")
        assert asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        assert Connection(base, "secret").fetch("/api").body == b"{}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_key_without_encryption_is_warned_about_and_a_key_to_this_machine_is_not():
    with pytest.warns(UserWarning, match="without encryption"):
        Server(answer()).connection("http://example.org", key="secret")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Server(answer()).connection("http://example.org")
        Server(answer()).connection("http://127.0.0.1:1", key="secret")


def test_a_key_that_no_header_can_carry_is_refused_without_telling_it():
    for key in ("schlüssel", "two\r\nx-lines: 1"):
        with pytest.raises(BadKey) as refused:
            Server(answer()).connection(key=key)
        assert key not in str(refused.value)
    server = Server(answer())
    server.connection(key=" secret\n").fetch("/api")
    assert server.asked[0].headers["authorization"] == "Bearer secret"


def test_the_key_stands_in_no_line_and_no_message():
    connection = Server(problem("unknown-variable")).connection(key="very-secret")
    with pytest.raises(DiscreetError) as raised:
        connection.fetch("/api")
    assert "very-secret" not in repr(connection) + str(raised.value)
