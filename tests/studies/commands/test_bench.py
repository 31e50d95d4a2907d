"""`discreet bench`: parts by their names, numbers for people or JSON alone."""

import json

import pytest

from discreet_studies.bench import startup, tests_size
from discreet_studies.bench.part import Part


@pytest.fixture
def _toy(monkeypatch):
    """A part that measures nothing."""
    results = [{"what": "nothing", "cpu_s": 0.25}]
    monkeypatch.setattr(startup, "PART", Part(lambda _wish: results, startup.PART.columns))


@pytest.mark.usefixtures("_toy")
def test_json_stands_alone_on_standard_output(run_here):
    done = run_here("bench", "startup", "--json")
    assert json.loads(done.stdout) == [{"what": "nothing", "cpu_s": 0.25}]


@pytest.mark.usefixtures("_toy")
def test_people_see_a_table(run_here):
    assert "0.25 s" in run_here("bench", "startup").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rows", "ten"], "whole numbers"),
        (["tabel"], 'Did you mean "tables"?'),
        (["startup", "--points", "maxent-10x10-10"], "mean nothing to startup"),
        (["tests-size", "--points", "maxent-10x10-11"], 'Did you mean "maxent-10x10-1'),
    ],
)
def test_what_has_no_meaning_is_refused(run_here, words, said):
    done = run_here("bench", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_points_that_a_file_has_are_not_measured_again(run_here, tmp_path, monkeypatch):
    asked = []

    def measure(wish):
        asked.extend(wish.points)
        return [{"point": name, "tables": 7} for name in wish.points]

    columns = {"point": lambda r: r["point"], "tables": lambda r: str(r["tables"])}
    monkeypatch.setattr(tests_size, "PART", Part(measure, columns))
    keep = str(tmp_path / "sizes.json")
    names = "maxent-10x10-10,maxent-6x8-8"
    run_here("bench", "tests-size", "--points", "maxent-6x8-8", "--keep", keep)
    done = run_here("bench", "tests-size", "--points", names, "--keep", keep, "--markdown")
    assert asked == ["maxent-6x8-8", "maxent-10x10-10"]
    assert done.stdout.splitlines()[2:] == ["| maxent-10x10-10 | 7 |", "| maxent-6x8-8 | 7 |"]
