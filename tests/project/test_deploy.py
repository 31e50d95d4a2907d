"""What docs/how-to/deploy.md gives an engineer: proxies that pass every byte on, a unit that systemd takes, an image."""

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from discreet.workspace.demo import spudlandia_batches, spudlandia_description
from discreet.workspace.versions.load_version import load_dataset
from discreet_studies.bench.serve import free_port

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
HOST = "tables.example.org"
ADDRESSES = (
    "/",
    "/datasets/spudlandia?rows=age",
    "/api/datasets/spudlandia/table?rows=age&columns=gender&format=csv",
    "/api/pxweb/v2/tables",
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deploy")
    load_dataset(folder, spudlandia_description(), spudlandia_batches())
    (folder / "workspace.toml").write_text(f'public_url = "https://{HOST}"\n', "utf-8")
    return folder


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout privkey.pem -out fullchain.pem"
    subprocess.run(
        [*shlex.split(made), "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


def nginx(folder, certificate, upstream, port):
    """The shipped file, with other ports and paths, inside the frame that Debian gives it."""
    shipped = (DEPLOY / "nginx.conf").read_text("utf-8")
    site = shipped.replace("127.0.0.1:8000", upstream).replace("listen 443", f"listen 127.0.0.1:{port}")
    site = site.replace("listen 80;", f"listen 127.0.0.1:{free_port()};")
    site = site.replace("/etc/ssl/discreet", str(certificate))
    kept = " ".join(f"{n}_temp_path {folder};" for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    frame = f"user {os.environ.get('USER', 'root')}; " if os.geteuid() == 0 else ""
    frame += f"daemon off; pid {folder}/pid; error_log stderr; events {{}}"
    (folder / "nginx.conf").write_text(f"{frame} http {{ access_log off; {kept} {site} }}", "utf-8")
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder, certificate, upstream, port):
    """The shipped file with a certificate that is given: there is nobody to fetch one from."""
    shipped = (DEPLOY / "Caddyfile").read_text("utf-8")
    given = f"{HOST}:{port} {{\n\ttls {certificate}/fullchain.pem {certificate}/privkey.pem"
    site = shipped.replace("127.0.0.1:8000", upstream).replace(f"{HOST} {{", given, 1)
    settings = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    (folder / "Caddyfile").write_text(settings + site, "utf-8")
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@contextmanager
def running(command, folder, port):
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **home})
    try:
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, (folder / "log").read_text("utf-8")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [nginx, caddy])
def test_a_proxy_passes_every_byte_on(proxy, workspace, certificate, served, tmp_path):
    """A proxy that compresses, buffers or rewrites would change tags and bytes; one that hides the name gets 421."""
    if not shutil.which(proxy.__name__, path=f"{os.environ['PATH']}:/usr/sbin"):
        pytest.skip(f"{proxy.__name__} is not installed; as root `make test` installs it")
    port = free_port()
    with (
        served(workspace) as direct,
        running(proxy(tmp_path, certificate, direct.removeprefix("http://"), port), tmp_path, port),
        httpx.Client(verify=ssl.create_default_context(cafile=certificate / "fullchain.pem")) as secure,
        httpx.Client(headers={"host": HOST}) as plain,
    ):
        for address in ADDRESSES:
            extra = {"sni_hostname": HOST}
            url = f"https://127.0.0.1:{port}{address}"
            through = secure.get(url, headers={"host": HOST}, extensions=extra)
            straight = plain.get(direct + address)
            assert (through.status_code, through.content) == (straight.status_code, straight.content)
            assert straight.status_code == 200
            assert through.headers.get("etag") == straight.headers.get("etag")
            assert through.headers["strict-transport-security"]
            assert "127.0.0.1" not in through.text  # links name what readers ask for


@pytest.mark.slow
def test_systemd_takes_the_unit_and_finds_little_exposed(tmp_path):
    """A unit without its sandbox is rated 9 and more."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not here")
    shipped = (DEPLOY / "discreet.service").read_text("utf-8")
    shipped = shipped.replace("/usr/local/lib/discreet/bin/discreet", "/bin/true")
    bare = re.sub(r"(?s)# It reads its program.*?(?=\[Install\])", "", shipped)
    for name, text, most in (("sandboxed", shipped, 15), ("bare", bare, 15)):
        unit = tmp_path / f"{name}.service"
        unit.write_text(text, "utf-8")
        subprocess.run(["systemd-analyze", "verify", unit], check=True, capture_output=True)
        rated = ["systemd-analyze", "security", "--offline=true", f"--threshold={most}", unit]
        found = subprocess.run(rated, check=False, capture_output=True, text=True)
        assert (found.returncode == 0) == (name == "sandboxed"), found.stdout[-300:]


def test_the_image_is_not_root_and_copies_what_is_there():
    lines = (DEPLOY / "Containerfile").read_text("utf-8").splitlines()
    last = max(place for place, line in enumerate(lines) if line.startswith("FROM "))
    assert [line for line in lines[last:] if line.startswith("USER ")] == ["USER 10001"]
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert all((ROOT / source).exists() for sources in copied for source in sources)
    built = {source for sources in copied for source in sources}
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    wanted = re.findall(r'^(?:readme|license-files) = \[?"([^"]+)', project, re.MULTILINE)
    assert {*wanted, "pyproject.toml", "src"} <= built
    assert not [line for line in lines if ":latest" in line or "secret" in line.lower()]


def test_the_base_image_is_pinned_by_one_digest():
    lines = (DEPLOY / "Containerfile").read_text("utf-8").splitlines()
    bases = {line.split()[1] for line in lines if line.startswith("FROM ")}
    assert len(bases) == 1
    assert re.fullmatch(r"docker\.io/library/python:3\.13\.\d+-slim-\w+@sha256:[0-9a-f]{64}", *bases)


def test_the_page_names_the_files_that_are_shipped():
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text("utf-8")
    assert {f"deploy/{path.name}" for path in DEPLOY.iterdir()} <= set(re.findall(r"deploy/[\w.]+", page))
