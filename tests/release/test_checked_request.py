"""A request is checked before anything is counted: limits hold by the shape alone, and a dry run reads no number."""

from dataclasses import replace

import pytest

from discreet.errors import TooManyCells
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, request_from_text
from discreet.release.dry_run import dry_run, try_request
from discreet.release.pipeline import release_table


@pytest.fixture(scope="module")
def stored(town_workspace):
    return town_workspace.stored("town")


class NoEngine:
    """An engine that must not be asked."""

    def aggregate(self, query):
        raise AssertionError("the engine was asked")

    def close(self):
        """Nothing to let go of."""


def wide_dataset(variables: int, categories: int) -> str:
    listed = ", ".join(f'"{n}"' for n in range(categories))
    sections = "".join(f'[[variable]]\nname = "v{n}"\ncategories = [{listed}]\n' for n in range(variables))
    return f'id = "wide"\nlabel = "Wide"\nid_column = "id"\n{sections}[protection]\nmax_variables = 1000\n'


@pytest.mark.parametrize(("variables", "size"), [(9, "2,357,947,691"), (300, "about 10^312")])
def test_a_table_that_is_too_large_is_refused_before_anything_is_counted(stored, variables, size):
    wide = replace(stored, dataset=parse_dataset(wide_dataset(variables, 10)), engine=NoEngine())
    names = tuple(f"v{n}" for n in range(variables))
    with pytest.raises(TooManyCells) as raised:
        release_table(wide, TableRequest("wide", names))
    assert size in str(raised.value)


def test_geography_does_not_count_as_a_variable_and_no_filter_that_keeps_everybody_does(stored):
    for filters in (["region=N"], ["region=N", "job=0,1,2,9"]):
        release_table(stored, request_from_text("town", rows=["sex", "age", "area"], filters=filters))
    release_table(stored, request_from_text("town", rows=["sex", "age", "job", "area"], filters=["region=N"]))


SPARSE = {"rows": ["area"], "columns": ["age", "occupation"]}


@pytest.mark.slow
def test_a_dry_run_tells_size_and_verdict_and_no_number(census):
    told = dry_run(census, request_from_text("census", **SPARSE))
    assert set(told) == {"cells", "allowed", "verdict", "suggestion"}
    assert set(told["verdict"]) == {"passed", "blocked", "total", "table_error", "rules"}
    assert told["cells"] == release_table(census, request_from_text("census", **SPARSE)).cells
    assert told["allowed"]
    refused = dry_run(census, request_from_text("census", rows=["sex", "age", "education", "employment"]))
    assert not refused["allowed"]
    assert refused["verdict"]["rules"][0]["code"] == "too-many-variables"
    assert refused["verdict"]["rules"][0]["advice"]
    assert refused["suggestion"]


def test_a_dry_run_that_a_rule_of_shape_refuses_asks_no_engine(census):

    class NoEngine:
        def aggregate(self, query):
            raise AssertionError("the engine was asked")

    quiet = replace(census, engine=NoEngine(), verdicts={})
    assert (
        try_request(quiet, TableRequest("census", ("sex", "age", "education", "employment"))).refusal
        is not None
    )
