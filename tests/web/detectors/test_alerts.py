"""Thresholds: declared in the workspace, or those of today.

Alerts come back as they were written, the newest first; a torn line takes none of the others with it.
"""

import pytest

from discreet.errors import BadOption
from discreet.web.detectors.alerts import ACTIONS, FILE, Alert, add_alert, read_alerts, read_thresholds
from discreet.web.detectors.patterns import DETECTORS


def test_what_is_declared_holds_and_the_rest_is_todays(tmp_path):
    (tmp_path / "workspace.toml").write_text("port = 9000\n[watch]\nhours = 2\nareas = [3, 0, 9]\n")
    found = read_thresholds(tmp_path)
    assert (found.hours, found.hold_minutes) == (2, 60)
    assert [found.action("areas", score) for score in (2, 3, 8, 9)] == ["", "alert", "alert", ACTIONS[-1]]
    assert found.of["recodes"] == DETECTORS[0].thresholds
    assert all(each.thresholds[2] == 0 for each in DETECTORS), "nobody is stopped unless the office says so"


@pytest.mark.parametrize(
    "lines",
    [
        "hour = 2",
        "hours = 0",
        'hours = "two"',
        "areas = 3",
        "areas = [1, 2]",
        "areas = [1, -2, 3]",
        "areas = [true, 1, 2]",
        "areas = [1, 2, 2001]",
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, lines):
    (tmp_path / "workspace.toml").write_text(f"[watch]\n{lines}\n")
    with pytest.raises(BadOption, match="watch"):
        read_thresholds(tmp_path)
    (tmp_path / "workspace.toml").write_text("watch = 3\n")
    with pytest.raises(BadOption, match="watch"):
        read_thresholds(tmp_path)


def test_alerts_come_back(tmp_path):
    assert read_alerts(tmp_path) == []
    made = [
        Alert(
            "2026-01-01T00:00:00+00:00",
            f"account:{n}",
            "recodes",
            "alert",
            n,
            "town",
            "age",
            ("town?rows=age",),
        )
        for n in range(3)
    ]
    for alert in made:
        add_alert(tmp_path, alert)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"at": "torn')
    assert read_alerts(tmp_path) == made[::-1]
    assert read_alerts(tmp_path, 1) == made[2:]
