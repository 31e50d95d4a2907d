"""What was spent is told as on the day of publication, and nothing can be spent.

Only published tables are answered; a refusal and every choice lead to one that is.

Without keys a protector knows its laws, its notes and its promises, and can protect nothing.
"""

from dataclasses import replace

import pytest
from cachetools import LRUCache

from discreet.errors import BadKey, NoBudget, NotPublished, OutsideUniverse, WorkspaceUnusable
from discreet.model.request import TableRequest
from discreet.publish import published_service
from discreet.publish.published_service import ABSENT, laws_of, public_protector
from discreet.release.dataset_service import unlock_service


@pytest.mark.slow
def test_the_budget_is_that_of_the_day_and_cannot_be_spent(side_of, ruled):
    side = side_of("universe")
    live, published = side.live.door("town"), side.published.door("town")
    assert published.budget() == live.budget()
    assert published.budget_left() == live.budget_left()
    with pytest.raises(NotPublished):
        published.margins((), "independent", 1)
    with pytest.raises(BadKey):
        published.ledger()
    with pytest.raises(NoBudget):
        ruled.published.door("town").budget()
    assert ruled.published.door("town").budget_left() is None


AREA = (("area", ("region", "area")),)


@pytest.fixture
def door(ruled):
    return ruled.published.door("town")


def test_another_table_is_refused_with_the_nearest_that_are_published(door):
    for asked in (
        TableRequest("town", ("sex",), ("age",), ("job",)),
        TableRequest("town", ("sex",), filters=(("age", ("old",)),)),
        TableRequest("town", ("sex",), totals=False),
        TableRequest("town", ("area",)),
    ):
        with pytest.raises(NotPublished, match="nearest") as refused:
            door.check(asked)
        assert refused.value.http_status == 403
        assert door.foresee(asked).refusal is not None
        for near in door.repairs(asked, counting=False):
            door.check(near)
        told = door.dry_run(asked)
        assert (told["allowed"], told["verdict"]["rules"][0]["code"]) == (False, "not-published")
    near = door.repairs(TableRequest("town", ("sex",), ("age",), ("job",)), counting=False)[0]
    assert (near.rows, near.columns, near.layers) == (("sex",), ("age",), ())


def test_a_choice_leads_to_a_published_table_or_nowhere(door):
    assert door.offer(TableRequest("town", ("area",))).levels == AREA
    assert door.offer(TableRequest("town", ("sex",), ("age",), ("job",))) is None
    larger = door.offer(TableRequest("town", ("area",), ("sex",), ("job",)))
    assert (set(larger.variables), larger.layers) == ({"area", "sex", "job"}, ("job",))
    assert door.offer(TableRequest("town", ("sex",), totals=False)) is None
    assert door.offer(TableRequest("town", ("region",))) is None
    assert door.start(TableRequest("town", ("region",))) in door.tables


def test_a_table_that_is_not_that_of_its_entry_is_not_given(ruled, door):
    """A signed list whose files were mixed up by its writer would answer with another table."""
    from discreet.errors import PublicationUnusable
    from discreet.publish.published_service import _read_table

    one, two = (door.check(table).asked for table in door.tables[:2])
    files = {request.variables: ref for request, ref in zip(door.tables, door._files.values(), strict=True)}
    _read_table(door._place, files[one.request.variables], one)
    with pytest.raises(PublicationUnusable, match="is not the table"):
        _read_table(door._place, files[one.request.variables], two)


def test_answers_are_kept_within_a_limit(door, monkeypatch):
    size = max(door.release(table).values.size for table in door.tables[:3])
    monkeypatch.setattr(door, "_cache", LRUCache(size, published_service._cells))
    for table in door.tables[:3]:
        door.release(table)
        door.release(replace(table, rows=table.variables, columns=()))
    assert len(door._cache) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ruled", "universe"])
def test_laws_and_promises_follow_from_what_is_public(side_of, name):
    door = side_of(name).live.door("town")
    keyless = public_protector(door.dataset, door.noise_text())
    question = door.check(TableRequest("town", ("sex",), ("age",)))
    law, tables = laws_of(keyless, question.shape)
    release = door.answer(question)
    assert law.document() == release.law.document()
    assert tables
    assert keyless.promise(door.dataset) == door.promise()


@pytest.mark.slow
def test_nothing_is_counted_protected_or_charged_without_keys(side_of):
    side = side_of("universe")
    published = side.published.door("town")
    with pytest.raises(OutsideUniverse):
        published.check(TableRequest("town", ("sex",), ("age",), ("job",), filters=(("area", ("N1",)),)))
    protector = unlock_service(published).protector
    noise = next(each.noise for each in protector.plan.joint.residuals if each.noise is not None)
    with pytest.raises(WorkspaceUnusable):
        protector.source.named(noise, ("sex",), 3)
    for use in (lambda: ABSENT(1), lambda: ABSENT.derive):
        with pytest.raises(WorkspaceUnusable):
            use()
