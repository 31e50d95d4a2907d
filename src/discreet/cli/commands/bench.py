"""`discreet bench`: benchmarks. The package `discreet-studies` provides it."""

from __future__ import annotations

from discreet.cli.registry import OPERATE, command_of_package

COMMAND = command_of_package(
    "discreet-studies",
    OPERATE,
    "Time protected tables against their peers. It is in the package discreet-studies.",
)
