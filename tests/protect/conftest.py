import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import parse_terms
from discreet.model.universe import parse_universe
from discreet.protect.plan import make_plan

UNIVERSE = {"variables": ["sex", "age", "job"], "up_to": 2}


@pytest.fixture(scope="session")
def dataset(town):
    return parse_dataset(town.description)


def dataset_of(**lengths):
    """A dataset by the number of categories of each variable."""
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = [{", ".join(repr(str(n)) for n in range(length))}]\n'
        for name, length in lengths.items()
    )
    return parse_dataset(f'id = "x"\nlabel = "X"\nid_column = "i"\n{variables}')


def plan_of(dataset, noise=None, universe=None, **terms):
    """A plan of declared tables under a budget of epsilon 1 and delta 1e-9."""
    promised = parse_terms({"family": "census", "epsilon": 1.0, "cap_epsilon": 8.0, "delta": 1e-9, **terms})
    declared = parse_universe(universe or UNIVERSE, dataset, known_total=promised.known_total)
    return make_plan(dataset, declared, promised, noise or {"family": "laplace"})
