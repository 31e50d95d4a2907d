"""Only published tables are answered, without keys, and what was spent is that of the day of publication."""

from dataclasses import replace

import pytest
from cachetools import LRUCache

from discreet import errors
from discreet.model.request import TableRequest
from discreet.publish.published_service import distributions_of, public_protector
from discreet.release.dataset_registry import unlock_service


@pytest.mark.slow
def test_the_budget_is_that_of_the_day_and_cannot_be_spent(side_of, ruled):
    side = side_of("universe")
    live, published = side.live.open("town"), side.published.open("town")
    assert published.budget() == live.budget()
    assert published.budget_left() == live.budget_left()
    with pytest.raises(errors.NotPublished):
        published.margins((), "independent", 1)
    with pytest.raises(errors.BadKey):
        published.ledger()
    with pytest.raises(errors.NoBudget):
        ruled.published.open("town").budget()
    assert ruled.published.open("town").budget_left() is None


AREA = (("area", ("region", "area")),)


@pytest.fixture
def service(ruled):
    return ruled.published.open("town")


def test_another_table_is_refused_with_the_nearest_that_are_published(service):
    for asked in (
        TableRequest("town", ("sex",), ("age",), ("job",)),
        TableRequest("town", ("sex",), filters=(("age", ("old",)),)),
        TableRequest("town", ("sex",), totals=False),
        TableRequest("town", ("area",)),
    ):
        with pytest.raises(errors.NotPublished, match="nearest") as refused:
            service.check(asked)
        assert refused.value.http_status == 403
        assert service.foresee(asked).refusal is not None
        for near in service.repairs(asked, counting=False):
            service.check(near)
        told = service.dry_run(asked)
        assert (told["allowed"], told["verdict"]["rules"][0]["code"]) == (False, "not-published")
    near = service.repairs(TableRequest("town", ("sex",), ("age",), ("job",)), counting=False)[0]
    assert (near.rows, near.columns, near.layers) == (("sex",), ("age",), ())


def test_a_choice_leads_to_a_published_table_or_nowhere(service):
    assert service.offer(TableRequest("town", ("area",))).levels == AREA
    assert service.offer(TableRequest("town", ("sex",), ("age",), ("job",))) is None
    larger = service.offer(TableRequest("town", ("area",), ("sex",), ("job",)))
    assert (set(larger.variables), larger.layers) == ({"area", "sex", "job"}, ("job",))
    assert service.offer(TableRequest("town", ("sex",), totals=False)) is None
    assert service.offer(TableRequest("town", ("region",))) is None
    assert service.start(TableRequest("town", ("region",))) in service.tables


def test_a_table_that_is_not_that_of_its_entry_is_not_given(service, monkeypatch):
    """A signed list whose files were mixed up by its writer would answer with another table."""
    one, two = service.tables[:2]
    service.release(one)
    monkeypatch.setitem(service._files, two.identity, service._files[one.identity])
    with pytest.raises(errors.PublicationUnusable, match="is not the table"):
        service.release(two)


def test_answers_are_kept_within_a_limit(service, monkeypatch):
    size = max(service.release(table).values.size for table in service.tables[:3])
    monkeypatch.setattr(service, "_cache", LRUCache(size, service._cache.getsizeof))
    for table in service.tables[:3]:
        service.release(table)
        service.release(replace(table, rows=table.variables, columns=()))
    assert len(service._cache) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ruled", "universe"])
def test_distributions_and_promises_follow_from_what_is_public(side_of, name):
    service = side_of(name).live.open("town")
    keyless = public_protector(service.dataset, service.noise_text())
    question = service.check(TableRequest("town", ("sex",), ("age",)))
    distribution, tables = distributions_of(keyless, question.shape)
    release = service.answer(question)
    assert distribution.document() == release.distribution.document()
    assert tables
    assert keyless.promise(service.dataset) == service.promise()


@pytest.mark.slow
def test_nothing_is_counted_protected_or_charged_without_keys(side_of, ruled):
    side = side_of("universe")
    published = side.published.open("town")
    with pytest.raises(errors.OutsideUniverse):
        published.check(TableRequest("town", ("sex",), ("age",), ("job",), filters=(("area", ("N1",)),)))
    protector = unlock_service(published).protector
    noise = next(each.noise for each in protector.plan.joint.residuals if each.noise is not None)
    stored = unlock_service(ruled.published.open("town"))
    for use in (  # what is in the place of records and keys refuses any use
        lambda: protector.source.named(noise, ("sex",), 3),
        lambda: stored.engine.aggregate,
        lambda: stored.protector.keys(1),
        lambda: stored.protector.dice(1),
    ):
        with pytest.raises(errors.WorkspaceUnusable, match="no records and no keys"):
            use()
