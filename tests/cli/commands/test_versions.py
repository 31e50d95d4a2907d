"""`discreet versions`: which is served, and why another is not."""

import json


def test_each_version_with_its_state(run_here, town_versions):
    found = json.loads(run_here("versions", "town", "--json", "-w", town_versions).stdout)["versions"]
    assert [(v["version"], v["current"], bool(v["closed"])) for v in found] == [
        ("0", False, True), ("1", False, False), ("2", True, False),
    ]  # fmt: skip
    told = run_here("versions", "town", "-w", town_versions).stdout
    assert "served" in told
    assert "few records" in " ".join(told.split())
