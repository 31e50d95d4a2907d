"""The log on the command line: sound or not, alerts, and a hold that is lifted."""

import json
import time

import pytest

from discreet.web.audit.log import AuditLog, LogPolicy
from discreet.web.auth.rate_limit import STOP, Hold, RateLimitStore
from discreet.web.detectors.alerts import Alert, add_alert
from discreet.workspace.server_state import log_key


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
    assert "may go on" in run_here("log", "release", "account:ann", "-w", folder).stderr
    assert run_here("log", "release", "account:ann", "-w", folder).returncode == 2
