"""The start-up part tells the processor time of each command; no time is asserted."""

import subprocess
import sys

import pytest

from discreet_studies.bench.part import Wish
from discreet_studies.bench.startup import commands, load_town, measure


@pytest.mark.slow
def test_every_command_is_timed_once(tmp_path):
    said = []
    results = list(measure(Wish(repeats=1, say=said.append)))
    assert [result["what"] for result in results] == list(commands(tmp_path))
    assert all(result["cpu_s"] >= 0 for result in results)
    assert len(said) == len(results)


@pytest.mark.slow
def test_the_table_that_is_timed_is_a_table(tmp_path):
    load_town(tmp_path)
    (words,) = (words for what, words in commands(tmp_path).items() if what.startswith("a table"))
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    assert "Persons by sex and age" in done.stdout
