"""The universe: the declared tables of a differentially private dataset. No other table is ever answered.

A margin is a sorted tuple of variable names; () is the grand total. Each person is counted in d cells, one of every
margin that is released with independent noise. Two levels of one hierarchy are never in one margin: the finer one
determines the other. Categories and structural zeros come from the description, never from records.

Source: Rinott et al. (2018), section 7; the grand total is counted in d, which the paper leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription, UnknownVariable
from discreet.model.dataset import Dataset
from discreet.model.description.sections import check_value, is_texts, refuse_first, refuse_unknown_keys
from discreet.model.hierarchy import ancestors, inside, is_at_least_as_fine, is_level_of
from discreet.model.limits import MOST_MARGINS
from discreet.model.messages.text import nearest
from discreet.model.privacy_budget import Terms, parse_terms
from discreet.model.shape import zero_cells
from discreet.model.survey import DP_FORMS

Margin = tuple[str, ...]

KEYS = ("variables", "up_to", "tables", "exclude", "margins", "importance")
STYLES = ("own", "sums", "joint")
#: The weight of every table, in place of a list of weights.
WEIGHTS = ("tables", "cells")


@dataclass(frozen=True, slots=True)
class Invariant:
    """A margin whose counts are declared public: the only reason for which an exact count may be released.

    Only `parse_universe` creates one, from `invariants` of the description that is sealed with a version.
    """

    margin: Margin


@dataclass(frozen=True, slots=True)
class Universe:
    """The declared margins, and those with independent noise.

    Args:
        declared: Every declared margin, by size and then by name.
        margins: Those with independent noise and a share of the budget; all others are sums of their cells.
        style: `own`: every declared margin has independent noise. `sums`: only the largest have. `joint`: all are linear
            functions of residuals that are measured once, and agree.
        importance: The stated weight of some declared margins; the default is 1.
        known: The declared margins that are invariants: public, exact, without noise.
        excluded: Margins that are never answered, nor any margin that contains one of them.
        by_cells: Under `joint`, a table weighs as much as it has cells.
    """

    declared: tuple[Margin, ...]
    margins: tuple[Margin, ...]
    style: str = "own"
    importance: tuple[tuple[Margin, Fraction], ...] = ()
    known: tuple[Invariant, ...] = ()
    excluded: tuple[Margin, ...] = ()
    by_cells: bool = False

    @property
    def d(self) -> int:
        """The number of cells in which each person is counted: one of every released margin."""
        return len(self.margins)

    @property
    def noisy(self) -> tuple[Margin, ...]:
        """The declared margins that are not public."""
        return tuple(margin for margin in self.declared if not self.knows(margin))

    def knows(self, margin: Margin) -> bool:
        """Whether the counts of a declared margin are public."""
        return any(each.margin == margin for each in self.known)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(sorted({name for margin in self.declared for name in margin}))

    def weight(self, margin: Margin) -> Fraction:
        """The stated importance of a margin, 1 by default."""
        return dict(self.importance).get(margin, Fraction(1))

    def weight_of(self, margin: Margin, dataset: Dataset) -> Fraction:
        """The weight of a margin in a joint plan: its cells, or its stated importance."""
        return Fraction(margin_cells(margin, dataset)) if self.by_cells else self.weight(margin)

    def excludes(self, margin: Margin, dataset: Dataset) -> Margin | None:
        """The excluded margin that a margin contains; None where it may be queried."""
        return next((out for out in self.excluded if contains(margin, out, dataset)), None)

    def with_margin(self, margin: Margin) -> Universe:
        """The universe with one more released margin, for an interactive answer."""
        if margin in self.margins or self.knows(margin):
            return self
        return replace(
            self, declared=tuple(dict.fromkeys((*self.declared, margin))), margins=(*self.margins, margin)
        )

    def without(self, variable: str, dataset: Dataset) -> Universe:
        """The universe with one variable left out of every table."""
        declared = tuple(margin for margin in self.declared if variable not in margin)
        known = tuple(each for each in self.known if variable not in each.margin)
        margins = noisy_margins(declared, self.style, dataset, known)
        importance = tuple(entry for entry in self.importance if variable not in entry[0])
        return replace(self, declared=declared, margins=margins, importance=importance, known=known)


def parse_universe(
    entry: Mapping[str, Any],
    dataset: Dataset,
    *,
    known_total: bool = False,
    held: tuple[str, ...] = (),
) -> Universe:
    """Parse `[protection.universe]`; see docs/reference/dp-universe.md for its keys.

    `known_total` says that the number of records is an invariant, `held` names the variable whose totals are.
    """
    refuse_unknown_keys(entry, KEYS, "[protection.universe]")
    if not {"variables", "tables"} & set(entry):
        # A forgotten section would spend the whole budget on the grand total.
        raise BadDescription(
            "[protection.universe] lists neither `variables` nor `tables`.",
            'Write variables = ["sex", "age"] and up_to = 2: the tables that will ever be answered.',
        )
    style = entry.get("margins", "own")
    if style not in STYLES:
        raise BadDescription(f'`margins` of the universe is "{style}".', nearest(str(style), STYLES))
    excluded = [canonical_margin(names, dataset) for names in _lists(entry, "exclude")]
    declared = _margins_of(entry, dataset, excluded)
    known = _invariants(declared, dataset, held) if known_total else ()
    margins = noisy_margins(declared, style, dataset, known)
    if not margins:
        raise BadDescription(
            "The universe declares no table.",
            "List `variables` and `up_to`, or `tables`, in [protection.universe].",
        )
    importance, word = _importance(entry, dataset, set(declared)), entry.get("importance")
    if word in WEIGHTS and style != "joint":
        raise BadDescription(
            f'`importance` is "{word}", and the margins are not joint.',
            'Write margins = "joint", or a list of { table, weight }.',
        )
    return Universe(declared, margins, style, importance, known, tuple(excluded), word == "cells")


def _invariants(
    declared: tuple[Margin, ...], dataset: Dataset, held: tuple[str, ...]
) -> tuple[Invariant, ...]:
    """The grand total, and every declared margin that follows from the totals of a variable."""
    for name in held:
        if not any(name == variable.name for variable in dataset.variables):
            raise BadDescription(
                f'"{name}" cannot be an invariant: it is neither "n" nor a variable.',
                nearest(name, [variable.name for variable in dataset.variables]),
            )
        if (name,) not in declared:
            raise BadDescription(
                f'The totals of "{name}" are invariants, and the universe does not declare them.',
                f'Write tables = [["{name}"]] in [protection.universe], or take "{name}" out of `invariants`.',
            )
    follow = (margin for margin in declared if margin and contains(held, margin, dataset))
    return (Invariant(()), *map(Invariant, follow))


def noisy_margins(
    declared: tuple[Margin, ...], style: str, dataset: Dataset, known: tuple[Invariant, ...]
) -> tuple[Margin, ...]:
    """The margins with independent noise: all, or the largest, without invariants."""
    chosen = maximal(declared, dataset) if style == "sums" else declared
    public = {each.margin for each in known}
    return tuple(margin for margin in chosen if margin not in public)


def canonical_margin(names: Iterable[str], dataset: Dataset) -> Margin:
    """A table as a margin: each variable once, only the finest level of a hierarchy, sorted."""
    known = set(names)
    for name in sorted(known):
        try:
            dataset.variable(name)
        except UnknownVariable as error:
            raise BadDescription(
                f'The universe names the variable "{name}", which the dataset does not have.', error.advice
            ) from None
    coarser = {c for c in known for f in known if c != f and ancestors(dataset, f, c) is not None}
    return tuple(sorted(known - coarser))


def contains(margin: Margin, other: Margin, dataset: Dataset) -> bool:
    """Whether every cell of the other margin is a sum of cells of this one."""
    return _variables_within(margin, dataset).issuperset(other)


@lru_cache(maxsize=MOST_MARGINS * 4)
def _variables_within(margin: Margin, dataset: Dataset) -> frozenset[str]:
    """The variables that a margin determines: its own and their coarser levels."""
    names = (variable.name for variable in dataset.variables)
    return frozenset(n for n in names if any(is_at_least_as_fine(dataset, fine, n) for fine in margin))


def maximal(margins: tuple[Margin, ...], dataset: Dataset) -> tuple[Margin, ...]:
    """The margins that are not sums of another."""
    return tuple(
        margin
        for margin in margins
        if not any(other != margin and contains(other, margin, dataset) for other in margins)
    )


def margin_cells(margin: Margin, dataset: Dataset) -> int:
    """How many cells a margin has, structural zeros included."""
    return math.prod(len(dataset.variable(name)) for name in margin)


def margin_zeros(
    margin: Margin, dataset: Dataset, kept: Mapping[str, NDArray[np.int64]] | None = None
) -> NDArray[np.bool_]:
    """The cells of a margin that are structural zeros, in the order of the description's categories.

    A structural zero on a region also empties the region's areas, and one on all areas of a region the region.

    `kept` has by variable the positions to look at; all by default.
    """
    positions = [(kept or {}).get(name, np.arange(len(dataset.variable(name)))) for name in margin]

    def within(name: str, codes: frozenset[str]) -> tuple[int, NDArray[np.bool_]] | None:
        declared = np.array([code in codes for code in dataset.variable(name).codes])
        for axis, own in enumerate(margin):
            flags = inside(dataset, name, declared, own)
            if flags is not None:
                return axis, flags[positions[axis]]
        return None

    return zero_cells(dataset, tuple(len(each) for each in positions), within)


def _margins_of(entry: Mapping[str, Any], dataset: Dataset, excluded: list[Margin]) -> tuple[Margin, ...]:
    """All tables of up to `up_to` variables without the excluded ones, and the extra tables."""
    names = sorted(set(_names(entry.get("variables", []), "variables")))
    canonical_margin(names, dataset)
    up_to = entry.get("up_to", min(2, len(names)))
    fits = isinstance(up_to, int) and not isinstance(up_to, bool) and 0 <= up_to <= len(names)
    check_value(fits, up_to, "`up_to` of the universe", f"Give a number from 0 to {len(names)}.")
    if sum(math.comb(len(names), size) for size in range(up_to + 1)) > MOST_MARGINS:
        raise BadDescription(
            f"All tables of up to {up_to} of {len(names)} variables are more than {MOST_MARGINS:,}.",
            "Lower `up_to`, or list fewer variables.",
        )
    found = {
        each
        for size in range(up_to + 1)
        for each in combinations(names, size)
        if not any(is_level_of(dataset, a, b) for a, b in combinations(each, 2))
        and not any(contains(each, out, dataset) for out in excluded)
    }
    for listed in _lists(entry, "tables"):
        margin = canonical_margin(listed, dataset)
        if any(contains(margin, out, dataset) for out in excluded):
            raise BadDescription(
                f"The table {' x '.join(margin)} is listed in `tables` and contains an excluded one.",
                "Take it out of `tables` or of `exclude`.",
            )
        found.add(margin)
    return tuple(sorted(found, key=lambda margin: (len(margin), margin)))


def _importance(
    entry: Mapping[str, Any], dataset: Dataset, declared: set[Margin]
) -> tuple[tuple[Margin, Fraction], ...]:
    stated: dict[Margin, Fraction] = {}
    entries = entry.get("importance", [])
    if entries in WEIGHTS:
        return ()
    advice = 'Write [{ table = ["sex", "age"], weight = 5 }]; or, for joint margins, "tables" or "cells".'
    check_value(isinstance(entries, list), entries, "`importance` of the universe", advice)
    for each in entries:
        if not isinstance(each, dict) or set(each) != {"table", "weight"}:
            raise BadDescription(
                f"`importance` has the entry {each!r}.", 'Write { table = ["sex", "age"], weight = 5 }.'
            )
        margin = canonical_margin(_names(each["table"], "importance"), dataset)
        weight = each["weight"]
        fits = isinstance(weight, int | float) and not isinstance(weight, bool) and 0 < weight < math.inf
        check_value(fits, weight, f"The importance of {' x '.join(margin)}", "Give a number above 0.")
        if margin not in declared or margin in stated:
            raise BadDescription(
                f"`importance` names the table {' x '.join(margin) or '()'}, which is not declared or named twice.",
                "Name each declared table at most once.",
            )
        stated[margin] = Fraction(str(weight))
    return tuple(sorted(stated.items()))


def _lists(entry: Mapping[str, Any], key: str) -> list[list[str]]:
    lists = entry.get(key, [])
    if not isinstance(lists, list):
        raise BadDescription(
            f"`{key}` of the universe is not a list of tables.", f'Write {key} = [["sex", "age"]].'
        )
    return [_names(each, key) for each in lists]


def _names(value: Any, key: str) -> list[str]:
    if not is_texts(value):
        raise BadDescription(
            f"`{key}` of the universe has {value!r}, which is not a list of names.", 'Write ["sex", "age"].'
        )
    if len(set(value)) != len(value):
        raise BadDescription(f"`{key}` of the universe names a variable twice.", "Name each once.")
    return list(value)


@lru_cache(maxsize=256)
def dp_terms(dataset: Dataset) -> tuple[Terms, Universe]:
    """The terms and the universe of a dataset under `dp`, checked against each other."""
    terms = parse_terms(dataset.protection.budget)
    universe = parse_universe(
        dataset.protection.universe, dataset, known_total=terms.known_total, held=terms.held
    )
    form = None if dataset.survey is None else dataset.survey.form
    refuse_first(
        (
            terms.records_per_unit > 1 and dataset.unit_column is None,
            "A person may have several records, and no column tells whose a record is.",
            "Name it with `unit_column`, or set records_per_unit to 1.",
        ),
        (dataset.key_column is not None, "Record keys mean nothing under dp.", "Take out `key_column`."),
        (
            form is not None and form not in DP_FORMS,
            f'The weight form "{form}" reads exact weights, which dp does not release.',
            f"Use {', '.join(DP_FORMS[:-1])} or {DP_FORMS[-1]}.",
        ),
        (
            form == "invariant" and not terms.known_total,
            'The weight form "invariant" holds the sample size fixed, which is not declared.',
            'Write invariants = ["n"] and neighbours = "replace-one" in [protection.budget].',
        ),
    )
    return terms, universe
