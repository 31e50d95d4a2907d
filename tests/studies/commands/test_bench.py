"""`discreet bench`: parts by their names, numbers for people or JSON alone."""

import json

import pytest

from discreet_studies.bench import startup
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
    [(["--rows", "ten"], "whole numbers"), (["tabel"], 'Did you mean "tables"?')],
)
def test_what_has_no_meaning_is_refused(run_here, words, said):
    done = run_here("bench", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
