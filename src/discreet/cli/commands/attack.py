"""`discreet attack`: attacks on invented people. The package `discreet-studies` provides it."""

from __future__ import annotations

from discreet.cli.registry import EXAMINE, command_of_package

COMMAND = command_of_package(
    "discreet-studies",
    EXAMINE,
    "Attack invented people under each protection. It is in the package discreet-studies.",
)
