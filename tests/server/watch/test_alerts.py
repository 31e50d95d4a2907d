"""Alerts come back as they were written, the newest first; a torn line takes none of the others with it."""

from discreet.server.watch.alerts import FILE, Alert, add_alert, read_alerts


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
