"""The attacks of the red team: their names and descriptions, for the methodology of a dataset.

discreet attack NAME          runs one on invented people
discreet attack NAME --keep   stores its result for the methodology of the workspace's datasets
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.model.messages.text import message


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: the argument of `discreet attack`, and its description. docs/methods/attack-NAME.md explains it."""

    name: str
    what: str

    @property
    def command(self) -> str:
        """The command that measures it for a workspace."""
        return f"discreet attack {self.name} --keep"


RED_TEAM = (
    Attack(
        "bob",
        message(
            "Pairs of tables that differ by one known person are compared, to learn an attribute of this "
            "person."
        ),
    ),
    Attack(
        "averaging",
        message(
            "One count is asked in many ways, in other words and as sums of regrouped parts, and the "
            "answers are averaged."
        ),
    ),
    Attack(
        "versions",
        message(
            "The same tables of two versions are compared, to name the attributes of people who were "
            "removed in between."
        ),
    ),
    Attack(
        "withheld",
        message("Areas that a rule withholds are estimated as totals less the areas that are shown."),
    ),
    Attack(
        "weights",
        message(
            "Counts, weighted counts and sampling errors of the same cells of a survey are put together, "
            "to find the counts."
        ),
    ),
)


def all_results(study: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of all protections, the baseline first."""
    return [each for each in (study["baseline"], *study["results"]) if each]
