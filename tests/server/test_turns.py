"""One thread makes what many want; few wait, and none without end."""

from __future__ import annotations

import threading

from discreet.server.turns import Turns


def test_one_thread_makes_what_many_want():
    turns, kept, made, gate = Turns(12, 60), {}, [], threading.Barrier(12)

    def want():
        gate.wait()
        with turns.alone("tag"):
            if "tag" not in kept:
                made.append(1)
                kept["tag"] = "answer"

    threads = [threading.Thread(target=want) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_others_go_on_while_something_else_is_made():
    turns = Turns(0, 60)
    with turns.alone("slow"), turns.alone("quick"):
        pass


def test_few_wait_and_the_rest_go_on_by_themselves():
    """Wrong alternative: all of them wait, each with a thread of the server."""
    turns, made = Turns(3, 60), []

    def want():
        with turns.alone("tag"):
            made.append(turns.waiting)

    threads = [threading.Thread(target=want) for _ in range(10)]
    with turns.alone("tag"):
        for thread in threads:
            thread.start()
        while len(made) < 7 or turns.waiting < 3:
            threading.Event().wait(0.005)
        assert len(made) == 7
    for thread in threads:
        thread.join()
    assert len(made) == 10
    assert turns.waiting == 0


def test_nobody_waits_without_end():
    turns, made = Turns(3, 0.01), []
    with turns.alone("tag"), turns.alone("tag"):
        made.append(1)
    assert made == [1]
    assert turns.waiting == 0
    with turns.alone("tag"):
        pass
