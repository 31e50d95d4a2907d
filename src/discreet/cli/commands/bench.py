"""`discreet bench`: what the README claims about speed. The package `discreet-studies` brings it."""

from __future__ import annotations

from discreet.cli.registry import OPERATE, brought_by

COMMAND = brought_by(
    "discreet-studies",
    OPERATE,
    "Time protected tables against their peers. It is in the package discreet-studies.",
)
