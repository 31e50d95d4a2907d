"""What was spent is told as on the day of publication, and nothing can be spent."""

import pytest

from discreet.errors import BadKey, NoBudget, NotPublished


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
