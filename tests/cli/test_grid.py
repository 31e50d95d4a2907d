"""A table on the screen: numbers are never cut, whatever the labels need."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from discreet.cli.grid import print_grid

LONG = "education x occupation x region of census-dp, version 2026"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_label_wraps_before_a_number_is_cut(width):
    said = Console(file=io.StringIO(), width=width)
    line = ["2026-11-16 00:59:05", "(custodian)", LONG, "1.976"]
    print_grid(said, "Charges", ["When (UTC)", "Account", "For", "Loss"], [line], 3)
    text = said.file.getvalue()
    assert "1.976" in text
    assert "Loss" in text
    assert max(map(len, text.splitlines())) <= width


def test_labels_that_fit_keep_their_width():
    said = Console(file=io.StringIO(), width=120)
    label = "a label of some length"
    print_grid(said, "T", ["For", "Loss"], [[label, "1"]], 1)
    assert label in said.file.getvalue()
