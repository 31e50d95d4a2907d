"""`discreet datasets`: one line a dataset, for people and as JSON."""

import json


def test_people_and_programs_see_the_same(run_here, town_versions):
    told = run_here("datasets", "-w", town_versions).stdout
    (found,) = json.loads(run_here("datasets", "--json", "-w", town_versions).stdout)["datasets"]
    assert (found["id"], found["kept"], found["method"]) == ("town", 3, "cellkey")
    assert "town" in told
    assert run_here("datasets", "-w", town_versions / "nothing").returncode == 4
