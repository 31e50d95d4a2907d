"""What would be published is known before anything is counted, and too much is refused."""

from dataclasses import replace

import pytest

from discreet.errors import BadDescription, TooMuchToPublish
from discreet.publish.publish_plan import Limits, _refuse_no_universe, declared_requests, plan_publication


def test_too_much_is_refused_beforehand_with_its_size(ruled):
    for limits in (Limits(files=3), Limits(bytes=1000)):
        with pytest.raises(TooMuchToPublish, match=r"15 files and some [\d,]{5,} bytes"):
            plan_publication(ruled.live, "town", limits)
    plan = plan_publication(ruled.live, "town", Limits())
    assert (len(plan.requests), plan.files) == (11, 15)
    written = sum(path.stat().st_size for path in (ruled.folder / "files").iterdir())
    assert written < plan.bytes


def test_nothing_is_counted_for_a_plan(ruled, monkeypatch):
    monkeypatch.setattr("discreet.answer.pipeline.count_cells", None)
    assert len(plan_publication(ruled.live, "town", Limits()).requests) == 11


def test_absurdly_many_tables_are_refused_without_listing_them(ruled):
    from discreet.model.publish_section import Publish
    from discreet.publish.publish_plan import _at_most

    many = Publish(variables=tuple(f"v{n}" for n in range(400)), up_to=9)
    files, size = _at_most(replace_publish(ruled.live.door("town").dataset, many))
    assert files > 10**17
    with pytest.raises(TooMuchToPublish):
        Limits().refuse_more(files, size)


def replace_publish(dataset, publish):
    """A dataset with another section, unchecked."""
    import copy

    other = copy.copy(dataset)
    object.__setattr__(other, "publish", publish)
    return other


@pytest.mark.slow
def test_the_shortest_variable_stands_along_the_top_and_fitted_tables_have_one_order(ruled, side_of):
    requests = {each.variables: each for each in declared_requests(ruled.live.door("town").dataset)}
    assert requests[("area", "sex")].columns == ("sex",)
    assert dict(requests[("area", "sex")].levels) == {"area": ("region", "area")}
    fitted = [set(each.variables) for each in declared_requests(side_of("fitted").live.door("town").dataset)]
    assert fitted.count({"sex", "age"}) == 1


@pytest.mark.slow
def test_a_universe_with_rules_is_not_given_away(side_of):
    """Residuals tell every table of the universe, also what a rule would withhold."""
    side = side_of("universe")
    dataset, parts = side.live.door("town").dataset, side.live.public_parts("town")
    _refuse_no_universe(dataset, parts)
    ruled = replace(dataset, rules=({"kind": "mean-cell-size"},))
    with pytest.raises(BadDescription, match="gives away"):
        _refuse_no_universe(ruled, parts)
