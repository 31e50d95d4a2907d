"""Small areas are refused alone and withheld among others, and a table with too many of them fails."""

from typing import ClassVar

import numpy as np
import pytest
from tests.rules.refusals import first_refusal

from discreet.errors import TableNotReleased
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical
from discreet.rules.noisy_table import NoisyTable, slices_of
from discreet.rules.rule_set import parse_rules
from discreet.rules.suppression import layout_for
from discreet.rules.verdict import rule_table_shape, verdict_of


class TestMinimumAreaSize:
    section: ClassVar = {
        "kind": "minimum-area-size",
        "variable": "area",
        "least": 100,
        "figures": {"N2": 80, "S3": 99},
    }

    def test_a_table_with_other_areas_in_it_is_not_refused(self, rules, ask, dataset):
        declared = rules(self.section)
        assert first_refusal(*ask(rows=["area"], columns=["sex"]), dataset, declared) is None
        assert first_refusal(*ask(rows=["area"], filters=["area=N1,N2"]), dataset, declared) is None
        assert first_refusal(*ask(rows=["area"], filters=["area=N2"]), dataset, declared) is not None

    def test_coarser_levels_are_not_its_business(self, rules, ask, dataset):
        assert first_refusal(*ask(rows=["region"]), dataset, rules(self.section)) is None

    def test_an_area_within_a_small_one_is_small(self, rules, ask, dataset):
        section = {**self.section, "variable": "region", "figures": {"N": 50}}
        assert first_refusal(*ask(rows=["sex"], filters=["area=N1"]), dataset, rules(section)) is not None
        assert first_refusal(*ask(rows=["sex"], filters=["area=S1"]), dataset, rules(section)) is None


def test_a_table_fails_when_more_than_a_share_of_its_areas_is_withheld(ask, noisy, rules, dataset):
    request, shape = ask(rows=["area"], columns=["sex", "age"])
    interior = np.full((5, 2, 3), 9)
    interior[:2] = [[9, 0, 0], [0, 0, 9]]
    zeros = {"kind": "share-of-zeros", "most": 0.5, "level": "area"}
    for most, fails in ((0.3, True), (0.4, False)):
        verdict = verdict_of(
            rules(zeros, {"kind": "blocked-areas", "most": most}), noisy(request, interior), dataset
        )
        assert (verdict.table_error is not None) is fails
        assert verdict.withheld == 2
    verdict = verdict_of(
        rules(zeros, {"kind": "blocked-areas", "most": 0.3}), noisy(request, interior), dataset
    )
    with pytest.raises(TableNotReleased, match=r"2 of 5 areas .* more than 30%"):
        layout_for(verdict, shape, dataset, "independent")


def test_minimum_area_size_withholds_small_areas_among_others(ask, noisy, rules, dataset, by_rule):
    request, _ = ask(rows=["area"])
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100, "figures": {"N2": 80, "S3": 99}}
    verdict = verdict_of(rules(section), noisy(request, 1), dataset)
    assert by_rule(verdict) == [False, True, False, False, True, False]


def test_the_figures_of_a_union_are_added_up(ask, noisy, rules, dataset, by_rule):
    request, _ = ask(rows=["area"], levels=["area=region"])
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100}
    for figures, withheld in (
        ({"N1": 40, "N2": 59}, True),
        ({"N1": 40, "N2": 60}, False),
        ({"N1": 40}, False),
    ):
        verdict = verdict_of(rules({**section, "figures": figures}), noisy(request, 1), dataset)
        assert by_rule(verdict) == [withheld, False, False]


def test_a_coarser_area_that_holds_a_small_one_alone_is_small(town):
    """The same people under another name: the wrong rule looks at the areas of its own level alone."""
    lone = parse_dataset(town.description.replace('"North two", parent = "N"', '"North two", parent = "S"'))
    request = canonical(TableRequest("town", rows=("region",), columns=("sex",)), lone)
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100, "figures": {"N1": 80, "S1": 70}}
    (rule,) = parse_rules([section], lone)
    assert rule.concerns(request, lone)
    shape = rule_table_shape(request, lone)
    table = NoisyTable(shape, np.full(shape.lengths, 50), np.zeros(shape.lengths, dtype=bool))
    assert rule.withholds(slices_of(table, lone)).tolist() == [True, False, False]
