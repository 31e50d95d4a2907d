"""Where a request looks: whoever sees a finer level sees the coarser ones too."""

from discreet.model.hierarchy import (
    ancestors_or_self,
    at_or_below,
    coarser,
    finer,
    finest,
    groupings,
    variables_showing,
    visible_levels,
)


def test_levels_above_and_below_a_level(dataset):
    assert (finer(dataset, "region"), finer(dataset, "area")) == ({"area"}, frozenset())
    assert (coarser(dataset, "area"), coarser(dataset, "sex")) == (("region",), ())
    assert finest(dataset, frozenset({"region", "area", "sex"})) == ("area", "sex")


def test_a_filter_on_areas_sees_areas_even_where_regions_are_shown(ask, dataset):
    coarse, _ = ask(rows=["area"], levels=["area=region"])
    assert visible_levels(coarse, dataset, "area") == {"region"}
    assert not at_or_below(coarse, dataset, "area")
    filtered, _ = ask(rows=["area"], levels=["area=region"], filters=["area=N1"])
    assert visible_levels(filtered, dataset, "area") == {"area"}
    assert at_or_below(filtered, dataset, "area")


def test_areas_show_their_regions_and_regions_do_not_show_areas(ask, dataset):
    areas, regions = ask(rows=["area"])[0], ask(rows=["region"])[0]
    assert variables_showing(areas, dataset, "region") == {"area"}
    assert variables_showing(regions, dataset, "area") == frozenset()
    assert at_or_below(regions, dataset, None)


def test_a_level_is_its_own_ancestor(dataset):
    assert ancestors_or_self(dataset, "area", "region").tolist() == [0, 0, 1, 1, 1]
    assert ancestors_or_self(dataset, "sex", "sex").tolist() == [0, 1]


def test_declared_unions_are_coarser_levels_and_code_lists(dataset):
    assert set(groupings(dataset, "area")) == {"region"}
    assert set(groupings(dataset, "job")) == {"work"}
