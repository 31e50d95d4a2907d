"""Bob: two cells that differ by one person, asked again and again in other company.

Bob is the only worker of his workplace hired today. For a context c (everybody, or those who share one of Bob's
known traits, alone or together with others) the attacker asks for

    A_c   workers of the workplace in c, by salary
    B_c   the same, in service for more than a day

In one column of the two tables the people are the same; in the other they differ by Bob. Where the noise is keyed by
participants the first column shows the same numbers, always: a column that differs is a proof of where Bob is.
Otherwise each pair is evidence (`evidence`), and evidence adds up. Under `dp` the cell "hired today" itself is asked,
once for every released margin: other contexts are sums of cells that are known already.

Source: Rinott et al. (2018), section 2.2, second paragraph, and the end of section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.evidence import add_evidence, apply_to_pairs, cell_evidence, log_ratio, pair_evidence
from discreet.attacks.interface import Notebook
from discreet.attacks.knowledge import CELLKEY, DP, UNPROTECTED, spent
from discreet.errors import BadRequest
from discreet.model.request import TableRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.attacks.interface import Interface
    from discreet.attacks.knowledge import Knowledge
    from discreet.model.dataset import Dataset
    from discreet.model.universe import Margin
    from discreet.noise.table import NoiseRow

#: Whom a pair of tables is about: everybody (no variable), or those with one of some codes of a variable.
Context = tuple[str, tuple[str, ...]] | None


@dataclass(frozen=True, slots=True)
class Scene:
    """Which variables play which part, all of them public.

    Args:
        place: The variable of the workplaces.
        sensitive: What the attacker wants to know, with two categories: yes and no.
        alone: The variable and the code that only Bob has at his workplace.
    """

    place: str
    sensitive: str
    alone: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Bob:
    """What the attacker knows of one person: the workplace, and traits."""

    place: str
    traits: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What the attack found, one line for each Bob, one column for each pair of tables.

    Args:
        evidence: Log-likelihood ratio of yes against no of each pair; infinite for a proof.
        differs: Whether the two numbers differ, in the column "yes" and in the column "no".
        queries: How many different tables had been asked after each pair.
        epsilon: Under `dp`, what the margins asked so far cost together.
        rows: Under `dp`, the noise of the margins in which Bob's own cells were read, in order.
    """

    evidence: NDArray[np.float64]
    differs: NDArray[np.bool_]
    queries: tuple[int, ...]
    epsilon: tuple[float, ...] | None = None
    rows: tuple[NoiseRow, ...] = ()


def contexts(bob: Bob, dataset: Dataset) -> Iterator[Context]:
    """Groups that Bob belongs to: everybody, those like him, those like him in any other company.

    Traits alone come first, then his category in union with 1, 2, ... others; the union of all is everybody.
    """
    yield None
    codes = {name: dataset.variable(name).codes for name, _ in bob.traits}
    for extra in range(max((len(each) for each in codes.values()), default=1)):
        for name, code in bob.traits:
            own, all_codes = codes[name].index(code), codes[name]
            for others in combinations(range(1, len(all_codes)), extra):
                if extra < len(all_codes) - 1:
                    places = sorted((own + step) % len(all_codes) for step in (0, *others))
                    yield name, tuple(all_codes[place] for place in places)


def attack(
    interface: Interface, knowledge: Knowledge, scene: Scene, bobs: Sequence[Bob], pairs: int
) -> Findings:
    """Ask so many pairs of tables about every Bob.

    Raises:
        BadRequest: There are not so many contexts.
    """
    plans = [list(contexts(bob, knowledge.dataset)) for bob in bobs]
    available = min(map(len, plans), default=0)
    if not 1 <= pairs <= available:
        raise BadRequest(f"{pairs} pairs are asked for.", f"Give a number from 1 to {available}.")
    asking = _Asking(Notebook(interface), knowledge, scene, bobs)
    evidence = np.zeros((len(bobs), pairs))
    differs = np.zeros((len(bobs), pairs, 2), dtype=np.bool_)
    queries, losses = [], []
    for pair in range(pairs):
        for context in dict.fromkeys(plan[pair] for plan in plans):
            here = np.array([number for number, plan in enumerate(plans) if plan[pair] == context])
            evidence[here, pair], differs[here, pair] = asking.pair(context, here)
        queries.append(asking.notebook.asked)
        losses.append(asking.loss())
    epsilon = tuple(losses) if knowledge.protection == DP else None
    return Findings(evidence, differs, tuple(queries), epsilon, tuple(asking.read.values()))


@dataclass(frozen=True, slots=True)
class _Asking:
    """The tables of one attack, asked for all Bobs at once."""

    notebook: Notebook
    knowledge: Knowledge
    scene: Scene
    bobs: Sequence[Bob]
    read: dict[Margin, NoiseRow] = field(default_factory=dict)
    answered: dict[TableRequest, Margin] = field(default_factory=dict)

    def pair(
        self, context: Context, here: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The evidence of one pair of tables about some Bobs, and in which columns its numbers differ."""
        name, alone = self.scene.alone
        rest = tuple(code for code in self.knowledge.dataset.variable(name).codes if code != alone)
        first, second = self._numbers(context, None, here), self._numbers(context, (name, rest), here)
        if self.knowledge.protection == DP:
            return self._own_cells(context, here), first != second
        columns = apply_to_pairs(self._of_pair, first, second)
        return add_evidence(columns[:, 0], columns[:, 1]), first != second

    def loss(self) -> float:
        """Under `dp`, the epsilon of all margins that have answered."""
        if self.knowledge.protection != DP:
            return 0.0
        for request in self.notebook.answers:
            if request not in self.answered:
                self.answered[request] = self.knowledge.answered_by(request)[0].margin
        return float(spent(self.knowledge.declared, set(self.answered.values())))

    def _of_pair(self, first: int, second: int) -> float:
        """The evidence of two numbers of one column that Bob is in it."""
        if self.knowledge.protection == UNPROTECTED:
            return log_ratio(float(first - second == 1), float(first == second))
        shared = self.knowledge.protection == CELLKEY
        return pair_evidence(self.knowledge.law, first, second, shared=shared)

    def _own_cells(self, context: Context, here: NDArray[np.int64]) -> NDArray[np.float64]:
        """Under `dp`: Bob's own cells of a margin that was not read yet; unions are sums of what is known."""
        if context is not None and len(context[1]) > 1:
            return np.zeros(here.size)
        name, alone = self.scene.alone
        request = self._request(context, (name, (alone,)))
        table = self.knowledge.answered_by(request)[0]
        row = self.read.setdefault(table.margin, table.noise.rows[0])
        cells = self._numbers(context, (name, (alone,)), here)
        found = np.vectorize(partial(cell_evidence, row), otypes=[np.float64])(cells)
        return add_evidence(found[:, 0], found[:, 1])

    def _numbers(
        self, context: Context, also: tuple[str, tuple[str, ...]] | None, here: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The two released numbers, yes and no, at the workplaces of some Bobs."""
        answer = self.notebook.ask(self._request(context, also))
        lines = {code: line for line, code in enumerate(answer.codes[0])}
        return answer.values[[lines[self.bobs[number].place] for number in here]]

    def _request(self, context: Context, also: tuple[str, tuple[str, ...]] | None) -> TableRequest:
        filters = tuple(each for each in (context, also) if each is not None)
        return TableRequest(
            self.knowledge.dataset.id,
            (self.scene.place,),
            (self.scene.sensitive,),
            filters=filters,
            totals=False,
        )
