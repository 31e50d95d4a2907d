"""What processes share: it may be lost, and then buckets are full; a hold is never made weaker."""

import time

from discreet.server.access.shared import SLOW, STOP, Hold, Shared


def test_a_file_that_cannot_be_used_counts_in_this_process(tmp_path, caplog):
    """To let everything through is the wrong alternative."""
    (tmp_path / "s").write_bytes(b"no database at all, and long enough to be taken for one" * 20)
    shared = Shared(tmp_path / "s", lambda: 1.0)
    assert [shared.take("a", 2, 10, 1)[0] for _ in range(3)] == [1, 1, 0]
    assert shared.holds() == {}
    assert "this process alone" in caplog.text


def test_a_clock_that_went_back_refills_nothing(tmp_path):
    now = [100.0]
    shared = Shared(tmp_path / "s", lambda: now[0])
    assert shared.take("a", 10, 10, 10)[0] == 10
    now[0] = 1.0
    assert shared.take("a", 10, 10, 1) == (0, 1.0)


def test_the_stricter_hold_stays_and_others_see_it(tmp_path):
    one, other = Shared(tmp_path / "s"), Shared(tmp_path / "s")
    soon = time.time() + 60
    one.hold(Hold("account:ann", STOP, soon, "refusals"))
    one.hold(Hold("account:ann", SLOW, soon + 60, "recodes"))
    assert [(each.action, each.until) for each in other.holds().values()] == [(STOP, soon + 60)]
    assert other.release("account:ann")
    assert not other.release("account:ann")
    assert other.holds() == {}
    one.hold(Hold("account:ben", SLOW, time.time() - 1, "recodes"))
    assert other.holds() == {}, "it is over"
