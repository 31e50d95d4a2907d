"""The five papers: what each is called, where it appeared, and which module recomputes it.

A module is imported when its paper is asked for. It exports `EXHIBITS`: from a name as "table 3" to a function
of the effort.
"""

from dataclasses import dataclass
from importlib import import_module

from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet_studies.exhibit import Exhibits

ALL = "all"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper that is recomputed."""

    name: str
    title: str
    reference: str

    def exhibits(self) -> Exhibits:
        """Its exhibits by name, in the order of the paper."""
        found: Exhibits = import_module(f"discreet_studies.{self.name}").EXHIBITS
        return found


PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "rinott2018",
            "Confidentiality and Differential Privacy in the Dissemination of Frequency Tables",
            "Rinott, O'Keefe, Shlomo & Skinner (2018), Statistical Science 33(3), 358-385",
        ),
        Paper(
            "shlomo2019",
            "Comparison of Three Post-tabular Confidentiality Approaches for Survey Weighted Frequency Tables",
            "Shlomo, Krenzke & Li (2019)",
        ),
        Paper(
            "yang2012",
            "Differential Privacy for Protecting Multi-dimensional Contingency Table Data: Extensions and "
            "Applications",
            "Yang, Fienberg & Rinaldo (2012)",
        ),
        Paper(
            "sadeghi2022",
            "On the Connection between the ABS Perturbation Methodology and Differential Privacy",
            "Sadeghi & Chien (2022)",
        ),
        Paper(
            "bailie2020",
            "Big Data, Differential Privacy and National Statistical Organisations",
            "Bailie (2020), Statistical Journal of the IAOS 36(4), 1067-1074",
        ),
    )
}


def papers(name: str) -> tuple[Paper, ...]:
    """The paper of a name, or every paper for "all".

    >>> papers("bailie2020")[0].title
    'Big Data, Differential Privacy and National Statistical Organisations'

    Raises:
        BadRequest: with the nearest known name.
    """
    if name == ALL:
        return tuple(PAPERS.values())
    if name not in PAPERS:
        raise BadRequest(f'There is no paper "{name}".', nearest(name, [*PAPERS, ALL]))
    return (PAPERS[name],)


def wanted_exhibits(paper: Paper, wanted: list[str]) -> list[str]:
    """The names of the exhibits that are asked for; all of the paper's if none is named.

    Raises:
        BadRequest: the paper has no such exhibit; the message lists those that it has.
    """
    known = list(paper.exhibits())
    for name in wanted:
        if name not in known:
            raise BadRequest(f"{paper.name} has no {name} here.", f"It has: {', '.join(known)}.")
    return wanted or known


def exhibits_of(chosen: tuple[Paper, ...], wanted: list[str]) -> list[tuple[str, str]]:
    """Paper and exhibit for everything that is asked for; of several papers those that have it.

    Raises:
        BadRequest: None has it; the message lists what there is.
    """
    if len(chosen) == 1:
        return [(chosen[0].name, name) for name in wanted_exhibits(chosen[0], wanted)]
    found = [
        (paper.name, name) for paper in chosen for name in paper.exhibits() if not wanted or name in wanted
    ]
    missing = [name for name in wanted if name not in {each for _, each in found}]
    if missing:
        raise BadRequest(f"No paper has {missing[0]} here.", "Ask for one paper to see what it has.")
    return found
