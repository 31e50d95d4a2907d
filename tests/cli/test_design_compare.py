"""Families side by side at one epsilon and delta."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app


def run(*words):
    return CliRunner().invoke(app, ["design", *words], catch_exceptions=True)


def document(*words):
    result = run(*words, "--json")
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


def test_compare_sets_the_families_side_by_side():
    found = document("compare", "--epsilon", "1.5", "--m", "7")
    by_name = {side["family"]: side for side in found["families"]}
    assert by_name["normal"]["parameters"]["m"] == 12
    assert by_name["laplace"]["within"][5][0] == pytest.approx(0.635, abs=5e-4)
    shown = run("compare", "--epsilon", "1.5", "--m", "7").stdout
    assert "laplace" in shown
    assert "0.64" in shown
