"""`discreet reproduce`: the papers' tables and figures. The package `discreet-studies` provides it."""

from __future__ import annotations

from discreet.cli.registry import EXAMINE, command_of_package

COMMAND = command_of_package(
    "discreet-studies",
    EXAMINE,
    "Recompute a paper's tables and figures. It is in the package discreet-studies.",
)
