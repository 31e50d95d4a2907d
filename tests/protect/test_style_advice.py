"""Own noise or sums: Rinott's section 7 comes out, and the advice names the smaller."""

import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.terms import parse_terms
from discreet.model.universe import parse_universe
from discreet.protect.plan import make_plan
from discreet.protect.style_advice import style_advice

CUBE = 'id = "cube"\nlabel = "Cube"\nid_column = "id"\n' + "".join(
    f'[[variable]]\nname = "{name}"\ncategories = [{", ".join(repr(str(n)) for n in range(10))}]\n'
    for name in "abcd"
).replace("'", '"')


def advice(universe, epsilon=0.05, **terms):
    dataset = parse_dataset(CUBE)
    stated = parse_terms({"family": "f", "epsilon": epsilon, "cap_epsilon": epsilon, **terms})
    declared = parse_universe(universe, dataset, known_total=stated.known_total)
    return style_advice(make_plan(dataset, declared, stated, {"family": "laplace"}), dataset)


def test_the_two_way_margins_of_the_paper():
    """Six margins of 10 x 10 of a table of 10^4: 8.5/eps with noise of their own, which sums cannot better."""
    pairs = [[a, b] for place, a in enumerate("abcd") for b in "abcd"[place + 1 :]]
    own = advice({"variables": [], "up_to": 0, "tables": pairs, "exclude": []})
    # The grand total is declared too: seven tables.
    assert own["own"] * 0.05 == pytest.approx(7 * 2**0.5, rel=0.02)
    everything = advice({"variables": ["a", "b", "c", "d"], "up_to": 4})
    assert everything["own"] * 0.05 <= 16 * 2**0.5 * 1.02
    assert everything["sums"] == pytest.approx(
        sum(2**0.5 * 10 ** (summed / 2) * ways for summed, ways in enumerate((1, 4, 6, 4, 1))) / 16 / 0.05,
        rel=0.02,
    )


def test_the_advice_names_the_smaller_deviation():
    found = advice({"variables": ["a", "b"], "up_to": 2})
    better = min(("own", "sums"), key=found.get)
    assert f'"{better}"' in found["advice"]
