"""What is promised is read as the decimals that were written; terms that promise nothing are refused."""

from fractions import Fraction

import pytest

from discreet.errors import BadDescription
from discreet.model.terms import parse_terms

#: What a budget must say.
NEEDED = {"name": "census", "epsilon": 1, "cap_epsilon": 4}


def test_terms_are_read_as_the_decimals_that_were_written():
    terms = parse_terms({"family": "census", "epsilon": 0.1, "delta": 1e-9, "cap_epsilon": 3})
    assert (terms.epsilon, terms.delta, terms.cap_epsilon) == (Fraction(1, 10), Fraction(1, 10**9), 3)
    assert (terms.changes, terms.known_total) == (1, False)
    known = parse_terms({**NEEDED, "neighbours": "replace-one", "invariants": ["n"]})
    assert (known.changes, known.known_total) == (2, True)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"epsilon": 1}, "lacks `name`"),
        ({"family": "f", "epsilon": 1}, "lacks `cap_epsilon`"),
        ({"family": "f"}, "lacks `epsilon`"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "eps": 1}, "unknown key"),
        ({"family": "f", "epsilon": 0, "cap_epsilon": 4}, "above 0"),
        ({"family": "f", "epsilon": "1", "cap_epsilon": 4}, "Give a number"),
        ({"family": "f", "epsilon": True, "cap_epsilon": 4}, "Give a number"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "delta": 1}, "below 1"),
        ({"family": "f", "epsilon": 2, "cap_epsilon": 1}, "cap"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "neighbours": "bounded"}, "neighbours"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "invariants": ["n"]}, "replace-one"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "invariants": ["sex", "age"]}, "Name one variable"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "invariants": "n"}, "invariants"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "records_per_unit": 0}, "1 to 1000"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "records_per_unit": 1.5}, "whole number"),
        ({"family": "", "epsilon": 1, "cap_epsilon": 4}, "no name"),
        (
            {"family": "f", "epsilon": 1, "cap_epsilon": 4, "answer_cost": 4.5},
            "answer_cost is 4.5, and the budget has cap_epsilon 4",
        ),
        ({"family": "f", "epsilon": 1, "cap_epsilon": 4, "max_exact": 1}, "between 0 and 1"),
        ({"family": "f", "epsilon": 0.1234567890123, "cap_epsilon": 4}, "at most 12 decimals"),
        ({"family": "f", "epsilon": 1, "cap_epsilon": 4, "delta": 1.5e-18}, "at most 18 decimals"),
        ({"family": "f", "epsilon": float("inf"), "cap_epsilon": 4}, "Give a number"),
        ({"family": 3, "epsilon": 1, "cap_epsilon": 4}, "quotes"),
    ],
)
def test_terms_that_promise_nothing_are_refused(entry, words):
    with pytest.raises(BadDescription, match=words):
        parse_terms(entry)
