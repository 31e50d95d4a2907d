"""What a dataset under `dp` declares: its terms and its universe, read together and checked against each other."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import BadDescription
from discreet.model.survey import DP_FORMS
from discreet.model.terms import parse_terms
from discreet.model.universe import parse_universe

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.terms import Terms
    from discreet.model.universe import Universe


@lru_cache(maxsize=256)
def declared_dp(dataset: Dataset) -> tuple[Terms, Universe]:
    """The terms and the universe of a dataset whose protection is `dp`.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    terms = parse_terms(dataset.protection.budget)
    universe = parse_universe(
        dataset.protection.universe, dataset, known_total=terms.known_total, held=terms.held
    )
    if terms.records_per_unit > 1 and dataset.unit_column is None:
        raise BadDescription(
            "A person may have several records, and no column tells whose a record is.",
            "Name it with `unit_column`, or set records_per_unit to 1.",
        )
    if dataset.key_column is not None:
        raise BadDescription("Record keys mean nothing under dp.", "Take out `key_column`.")
    _check_weights(dataset, terms, universe)
    return terms, universe


def _check_weights(dataset: Dataset, terms: Terms, universe: Universe) -> None:
    form = None if dataset.survey is None else dataset.survey.form
    if form is None:
        return
    if form not in DP_FORMS:
        raise BadDescription(
            f'The weight form "{form}" reads exact weights, which dp does not release.',
            f"Use {', '.join(DP_FORMS[:-1])} or {DP_FORMS[-1]}.",
        )
    if form == "largest-weight" and universe.style == "joint":
        raise BadDescription(
            'The weight form "largest-weight" counts steps of each cell, which are not the sums of their parts.',
            'Write margins = "own" or "sums" in [protection.universe].',
        )
    if form == "invariant" and not terms.known_total:
        raise BadDescription(
            'The weight form "invariant" holds the sample size fixed, which is not declared.',
            'Write invariants = ["n"] and neighbours = "replace-one" in [protection.budget].',
        )
