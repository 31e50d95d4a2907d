"""Without keys a protector knows its laws, its notes and its promises, and can protect nothing."""

import pytest

from discreet.errors import OutsideUniverse, WorkspaceUnusable
from discreet.model.request import TableRequest
from discreet.publish.public_protector import ABSENT, laws_of, public_protector
from discreet.release.dataset_service import unlock_service


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
