"""A dry run tells the size, the verdict and the cost, and reads no number."""

from dataclasses import replace

import pytest

from discreet.model.request import TableRequest, request_from_text
from discreet.release.dry_run import dry_run, try_request
from discreet.release.pipeline import release_table

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
