"""Without keys a protector knows its laws, its notes and its promises, and can protect nothing."""

import pytest

from discreet.answer.door import unlock_door
from discreet.errors import OutsideUniverse, WorkspaceUnusable
from discreet.model.request import TableRequest
from discreet.publish.keyless import ABSENT, keyless_protector, laws_of


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ruled", "universe"])
def test_laws_and_promises_follow_from_what_is_public(side_of, name):
    door = side_of(name).live.door("town")
    keyless = keyless_protector(door.dataset, door.noise_text())
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
    protector = unlock_door(published).protector
    noise = next(each.noise for each in protector.plan.joint.residuals if each.noise is not None)
    with pytest.raises(WorkspaceUnusable):
        protector.source.named(noise, ("sex",), 3)
    for use in (lambda: ABSENT(1), lambda: ABSENT.derive):
        with pytest.raises(WorkspaceUnusable):
            use()
