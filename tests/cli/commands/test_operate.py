"""Accounts on the command line: a key is printed once and alone, and a revoked one opens nothing."""

import json
import shutil
import time

import pytest

from discreet.model.request import TableRequest
from discreet.records.signing import SIGNING_KEY, read_public_key, signing_key
from discreet.web import run as web_run
from discreet.web.audit.log import AuditLog, LogPolicy
from discreet.web.auth.rate_limit import STOP, Hold, RateLimitStore
from discreet.web.detectors.monitor import Alert, add_alert
from discreet.workspace.folder_layout import log_key


def test_a_key_is_alone_on_standard_output_and_never_listed(run_here, town_folder, tmp_path):
    nowhere = run_here("account", "list", "-w", tmp_path / "elsewhere")
    assert (nowhere.returncode, "There is no folder" in nowhere.stderr) == (4, True)
    nobody = run_here("account", "list", "-w", town_folder)
    assert (nobody.stdout, "account create NAME" in nobody.stderr) == ("", True)
    made = run_here("account", "create", "ann", "--role", "analyst", "-w", town_folder)
    key = made.stdout.strip()
    assert made.returncode == 0
    assert len(made.stdout.split()) == 1
    assert key not in made.stderr
    listed = run_here("account", "list", "--json", "-w", town_folder)
    assert [(each["account"], each["role"]) for each in json.loads(listed.stdout)] == [("ann", "analyst")]
    assert key not in listed.stdout


def test_keys_have_scopes_and_an_end_and_are_revoked_one_by_one(run_here, town_folder):
    folder = ("-w", town_folder)
    run_here("account", "create", "ann", "--role", "analyst", *folder)
    made = run_here("account", "key", "ann", "--role", "reader", "--dataset", "town", "--days", "30", *folder)
    assert made.returncode == 0
    keys = json.loads(run_here("account", "list", "--json", *folder).stdout)[0]["keys"]
    assert [(each["role"], each["datasets"]) for each in keys] == [("analyst", None), ("reader", ["town"])]
    assert "key " + keys[1]["id"] in run_here("account", "list", *folder).stdout
    assert run_here("account", "revoke", "ann", "--key", keys[1]["id"], *folder).returncode == 0
    asked = ("table", "town", "--rows", "sex", "--json", *folder)
    assert run_here(*asked, DISCREET_KEY=made.stdout.strip()).returncode != 0
    assert "Revoked ann" in run_here("account", "revoke", "ann", *folder).stderr
    assert "ann  analyst  revoked" in run_here("account", "list", *folder).stdout
    assert run_here("account", "key", "ann", "--role", "custodian", *folder).returncode == 2
    assert run_here("account", "key", "ann", "--days", "0", *folder).returncode == 2
    assert "without a key" in run_here("account", "create", "olga@office", "--no-key", *folder).stderr


def test_a_log_is_verified_and_a_changed_one_is_named(run_here, town_folder):
    folder = town_folder
    assert "no log" in run_here("log", "verify", "-w", folder).stderr
    with AuditLog(folder / "server" / "log", log_key(folder), LogPolicy()) as log:
        for n in range(3):
            log.add({"n": n})
    sound = run_here("log", "verify", "-w", folder)
    end = sound.stdout.split()[-1]
    assert (sound.returncode, "sound" in sound.stdout) == (0, True)
    assert run_here("log", "verify", "--expect", end, "-w", folder).returncode == 0
    assert run_here("log", "verify", "--expect", "00:9:" + "0" * 32, "-w", folder).returncode != 0
    path = next((folder / "server" / "log").glob("*.jsonl"))
    path.write_text(path.read_text().replace('"n": 1', '"n": 7'))
    changed = run_here("log", "verify", "-w", folder)
    assert changed.returncode != 0
    assert "line 3" in changed.stderr


@pytest.mark.slow
def test_alerts_are_shown_judged_again_and_a_hold_is_lifted(run_here, town_folder):
    folder = town_folder
    assert "no alerts" in run_here("log", "alerts", "-w", folder).stderr
    with AuditLog(folder / "server" / "log", log_key(folder), LogPolicy()) as log:
        for n in range(6):
            item = {"dataset": "town", "request": f"rows=sex&filter=area={'+'.join('abc'[: n % 3 + 1])}"}
            log.add(
                {"at": "2026-01-01T00:00:00+00:00", "who": "ann", "asked": [item], "decision": "answered"}
            )
    add_alert(
        folder / "server",
        Alert("2026-01-01T00:00:00+00:00", "account:ann", "areas", "stop", 30, "town", "area"),
    )
    RateLimitStore(folder / "server" / "shared.sqlite").hold(
        Hold("account:ann", STOP, time.time() + 600, "areas")
    )
    shown = run_here("log", "alerts", "-w", folder)
    assert "account:ann  areas  30  town area  stop" in shown.stdout
    assert "held back: account:ann" in shown.stdout
    assert json.loads(run_here("log", "alerts", "--again", "--json", "-w", folder).stdout)["alerts"] == []
    assert "is no longer blocked" in run_here("log", "release", "account:ann", "-w", folder).stderr
    assert run_here("log", "release", "account:ann", "-w", folder).returncode == 2


EVERYWHERE = "0.0.0.0"  # noqa: S104 - what it means is tested


def test_options_of_serve_win_and_a_server_that_everybody_reaches_says_what_that_means(
    run_here, folder, monkeypatch
):
    """Nothing was said: an office that listens on all addresses believed that somebody asks for keys."""
    served = []
    monkeypatch.setattr(web_run, "serve", lambda *given: served.append(given))
    serve = ("serve", "-w", folder, "--port", "8123")
    assert "Everybody" not in run_here(*serve, "--threads", "2").stderr
    ((registry, options),) = served
    assert registry.folder == folder
    assert (options.port, options.host, options.threads) == (8123, "127.0.0.1", 2)
    said = run_here(*serve, "--host", EVERYWHERE).stderr
    assert "Anyone who can reach port 8123 of this machine may ask" in said
    assert "no TLS" in said
    behind = run_here(*serve, "--host", EVERYWHERE, DISCREET_TRUSTED_PROXIES="10.0.0.1")
    assert "Everybody" not in behind.stderr


@pytest.mark.slow
def test_the_demo_is_built_where_it_is_asked_for_and_found_again(run_process, tmp_path):
    first = run_process("demo", "--no-serve", "-w", tmp_path / "demo")
    assert first.returncode == 0
    assert "Built the demo workspace" in first.stderr
    assert "Found the demo workspace" in run_process("demo", "--no-serve", "-w", tmp_path / "demo").stderr
    done = run_process(
        "table", "census", "--rows", "sex", "--columns", "age", "--format", "csv", "-w", tmp_path / "demo"
    )
    assert len(done.stdout.splitlines()) == 1 + 3 * 22


SECTION = '\n[publish]\nvariables = ["sex", "age"]\n'


@pytest.fixture(scope="module")
def published(town, tmp_path_factory):
    folder = tmp_path_factory.mktemp("publish") / "w"
    town.load(folder, town.description + SECTION).close()
    return folder


def test_a_dry_run_tells_how_much_and_writes_nothing(run_here, published, tmp_path):
    told = run_here("publish", "town", "--to", tmp_path / "tables", "--dry-run", "--json", "-w", published)
    found = json.loads(told.stdout)
    assert (len(found["tables"]), found["files"], found["refused"]) == (3, 7, [])
    assert not (tmp_path / "tables").exists()
    words = run_here("publish", "town", "--to", tmp_path / "tables", "--dry-run", "-w", published).stdout
    assert "3 tables would be published: 7 files" in words
    site = ("publish", "town", "--to", tmp_path / "site", "--site", "--dry-run", "--json", "-w", published)
    assert json.loads(run_here(*site).stdout)["files"] > 20


def test_what_is_published_is_served_without_a_workspace(run_here, published, tmp_path, monkeypatch):
    tables, key = tmp_path / "tables", tmp_path / "key.pem"
    told = json.loads(run_here("publish", "town", "--to", tables, "--json", "-w", published).stdout)
    assert (told["tables"], told["written"], told["changed"]) == (3, 5, True)
    assert run_here("public-key", "--out", key, "-w", published).returncode == 0
    served = []
    monkeypatch.setattr(web_run, "serve", lambda *given: served.append(given))
    monkeypatch.setenv("DISCREET_WORKSPACE", str(tmp_path / "nowhere"))
    assert run_here("serve", "--published", tables, "--public-key", key, "--port", "8123").returncode == 0
    unchecked = run_here("serve", "--published", tables)
    assert "was not verified" in unchecked.stderr.replace("\n", " ")
    (registry, options), _ = served
    assert options.port == 8123
    assert registry.open("town").release(TableRequest("town", ("sex",))).value("_T") is not None


def test_wrong_options_of_serve_are_refused(run_here, published, tmp_path):
    tables = tmp_path / "tables"
    for given in (
        ("--public-key", tables),
        ("--published", tables, "-w", published),
    ):
        assert run_here("serve", *given).returncode == 2
    assert run_here("serve", "--published", tables).returncode == 70


def test_it_writes_the_public_half_alone(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    assert run_here("public-key", "--out", tmp_path / "public.pem", "-w", folder).returncode == 0
    assert read_public_key(tmp_path / "public.pem") == signing_key(folder).public
    assert run_here("public-key", "-w", tmp_path / "nowhere").returncode == 4
    shown = run_here("public-key", "-w", folder)
    assert shown.stdout == (tmp_path / "public.pem").read_text()
    inside = (folder / SIGNING_KEY).read_text().splitlines()[1]
    assert inside not in shown.stdout + shown.stderr


def test_it_asks_and_names_the_datasets(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    secret = (folder / "secret").read_bytes()
    refused = run_here("secret", "rotate", "-w", folder)
    assert refused.returncode != 0
    assert (folder / "secret").read_bytes() == secret
    done = run_here("secret", "rotate", "--yes", "-w", folder)
    assert "Load again: town" in " ".join(done.stderr.split())
    assert secret.hex() not in done.stderr
    assert (folder / "secret").read_bytes() != secret
