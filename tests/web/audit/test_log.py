"""The audit log: no line is lost unnoticed, files are rotated, and one chain continues over files and processes.

The note of a request: every question once, and a bounded number of them.

Addresses are kept as the office decides.
"""

import hashlib
import os
import random
import signal
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from filelock import FileLock
from tests.web.conftest import in_processes

from discreet.model.request import TableRequest
from discreet.web.audit import chain, log
from discreet.web.audit import log as module
from discreet.web.audit.log import AuditLog, LogPolicy
from discreet.web.context import RequestContext, use_context

KEY = b"k" * 32


def sound(folder):
    return [found.faults for found in chain.verify_log(folder, KEY)]


def write(folder, number, rules=LogPolicy()):  # noqa: B008 - frozen
    with AuditLog(folder, KEY, rules) as log:
        for n in range(number):
            log.add({"n": n, "text": "x" * 50})
            if n % 7 == 0:
                log.flush()


def lines_of(folder, key="n"):
    """The lines of a chain that have a key."""
    return [
        each for path in chain.chain_files(folder, "00") for each in chain.read_log_file(path) if key in each
    ]


def test_files_turn_over_by_size_and_day_and_the_chain_goes_on(tmp_path):
    write(tmp_path, 40, LogPolicy(most_bytes=1_000))
    write(tmp_path, 10)
    files = chain.chain_files(tmp_path, "00")
    assert len(files) > 4
    assert [each["n"] for each in lines_of(tmp_path)] == [*range(40), *range(10)]
    assert sound(tmp_path) == [()]
    os.utime(files[-1], (time.time() - 86_400,) * 2)  # the next day
    write(tmp_path, 1)
    assert len(chain.chain_files(tmp_path, "00")) == len(files) + 1


def test_old_files_end_and_the_head_says_where_the_chain_begins(tmp_path):
    """To remove the oldest file without a word is the wrong alternative: anybody could."""
    write(tmp_path, 40, LogPolicy(most_bytes=1_000))
    first, second, *_ = chain.chain_files(tmp_path, "00")
    os.utime(first, (time.time() - 91 * 86_400,) * 2)
    write(tmp_path, 1, LogPolicy(most_bytes=1))
    assert not first.exists()
    assert sound(tmp_path) == [()]
    assert chain.verify_log(tmp_path, KEY)[0].first > 1
    second.unlink()
    assert "lacks its files" in sound(tmp_path)[0][0]


@pytest.mark.parametrize(
    "harm", ["edit", "delete", "cut", "cut to the line", "swap", "twice", "head", "file"]
)
def test_what_was_done_to_a_log_is_found_and_stays_visible_after_the_next_start(tmp_path, harm):
    """To go on from the line that is left is the wrong alternative: the gap would be gone."""
    write(tmp_path, 20, LogPolicy(most_bytes=1_500))
    files = chain.chain_files(tmp_path, "00")
    first, one, other, *rest = files[-1].read_text().splitlines(keepends=True)
    changed = {
        "edit": [first, one.replace("xxx", "yyy", 1), other, *rest],
        "delete": [first, other, *rest],
        "cut": [first, one, other, *rest[:-1], rest[-1][:20]],
        "cut to the line": [first, one, other, *rest[:-1]],
        "swap": [first, other, one, *rest],
        "twice": [first, one, other, *rest, rest[-1]],
    }
    if harm == "head":
        head = tmp_path / "requests-00.head"
        head.write_text(head.read_text().replace('"head": [', '"head": [1'))
    elif harm == "file":
        files[1].unlink()
    else:
        files[-1].write_text("".join(changed[harm]))
    assert sound(tmp_path) != [()]
    if harm != "head":
        write(tmp_path, 5)
        assert sound(tmp_path) != [()], "the next start does not heal it"


def _die(folder):
    log = AuditLog(folder, KEY, LogPolicy())
    for n in range(9):
        log.add({"n": n})
        log.flush()
    log._write_head = lambda _head: os.kill(os.getpid(), signal.SIGKILL)
    log.add({"n": 9})
    log.flush()


def test_a_process_that_is_killed_between_line_and_head_leaves_a_sound_chain(tmp_path):
    in_processes(1, _die, tmp_path)
    path = chain.chain_files(tmp_path, "00")[-1]
    path.write_text(path.read_text() + '{"seq": 12, "torn')
    write(tmp_path, 3)
    assert [(found.faults, found.lost) for found in chain.verify_log(tmp_path, KEY)] == [((), 0)]
    assert len(lines_of(tmp_path)) == 13


def _die_with_lines_in_the_queue(folder):
    with AuditLog(folder, KEY, LogPolicy()) as log:
        for n in range(12):
            log.add({"n": n})
            if n == 4:
                log.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def _die_while_answering(folder):
    log = AuditLog(folder, KEY, LogPolicy())
    log.expect_line()
    log.expect_line()
    log.add({"n": 1})
    log.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_request_that_a_killed_process_was_answering_is_counted(tmp_path):
    """Wrong alternative: a request counts when its line is queued, which is after its response was sent."""
    in_processes(1, _die_while_answering, tmp_path)
    assert (len(lines_of(tmp_path)), chain.verify_log(tmp_path, KEY)[0].lost) == (1, 1)


def _die_after_listing(folder):
    chain.remove_counter = lambda _path: os.kill(os.getpid(), signal.SIGKILL)
    AuditLog(folder, KEY, LogPolicy()).__enter__()


def test_lines_that_a_killed_process_did_not_write_are_counted_and_listed_by_the_next_one(tmp_path):
    """Wrong alternative: a chain alone, which ends soundly at the last line that was written."""
    for _ in range(2):  # the second process lists the lines of the first
        in_processes(1, _die_with_lines_in_the_queue, tmp_path)
    (found,) = chain.verify_log(tmp_path, KEY)
    assert (len(lines_of(tmp_path)), found.lost) == (10, 14)
    assert "lacks 7 lines" in found.faults[0]
    in_processes(1, _die_after_listing, tmp_path)  # the next start does not list them twice
    write(tmp_path, 3)
    (found,) = chain.verify_log(tmp_path, KEY)
    assert (found.faults, found.lost) == ((), 14)
    assert sum(each["lost"] for each in lines_of(tmp_path, "lost")) == 14
    assert not list(tmp_path.glob("*.count"))


def test_a_running_process_lacks_no_line_and_a_response_that_ends_after_it_has_one(tmp_path):
    with AuditLog(tmp_path, KEY, LogPolicy()) as log:
        log.add({"n": 1})
        assert all(found.lost == 0 for found in chain.verify_log(tmp_path, KEY))
        log.expect_line()
    assert list(tmp_path.glob("*.count")), "its response has not ended"
    log.add({"n": 2})
    assert [each["n"] for each in lines_of(tmp_path)] == [1, 2]
    assert not list(tmp_path.glob("*.count"))
    assert sound(tmp_path) == [()]


def _write_many(folder):
    with AuditLog(folder, KEY, LogPolicy(most_bytes=4_000)) as log:
        for n in range(60):
            log.add({"n": n, "process": os.getpid()})
            log.flush()


def test_several_processes_write_one_chain(tmp_path):
    """Wrong alternative: without the file lock two processes continue from the same line."""
    in_processes(3, _write_many, tmp_path)
    assert (chain.log_chains(tmp_path), sound(tmp_path)) == (["00"], [()])
    lines = lines_of(tmp_path)
    assert len(lines) == 180
    assert len({each["process"] for each in lines}) == 3


def test_a_log_of_0_2_with_a_chain_for_each_process_is_continued_and_verifies(tmp_path, monkeypatch):
    for name in ("00", "01"):
        monkeypatch.setattr(module, "CHAIN", name)
        write(tmp_path, 5)
    monkeypatch.undo()
    write(tmp_path, 5)
    assert (chain.log_chains(tmp_path), sound(tmp_path)) == (["00", "01"], [(), ()])


def test_another_process_that_holds_the_lock_for_long_loses_no_line(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.01)
    log, other = AuditLog(tmp_path, KEY, LogPolicy()), FileLock(tmp_path / "requests-00.lock")
    log.add({"n": 1})
    with other:
        log.flush()
        assert log.failed
    log.close()
    assert not log.failed
    assert sound(tmp_path) == [()]
    assert chain.verify_log(tmp_path, KEY)[0].last == 2


def test_lines_that_wait_are_bounded_by_their_letters(tmp_path, monkeypatch):
    """Wrong alternative: by their number alone, while each may hold thousands of areas."""
    monkeypatch.setattr(module, "MAX_QUEUED_CHARS", 100)
    lost = []
    log = AuditLog(tmp_path, KEY, LogPolicy(), on_lost=lost.append)
    for n in range(5):
        log.add({"n": n, "asked": [{"request": "x" * 20, "packed": "y" * 20}]})
    log.add({"n": 5})
    assert (log.lost, sum(lost)) == (3, 3)
    log.close()
    assert [each["n"] for each in lines_of(tmp_path)] == [0, 1, 5]


def test_a_log_that_cannot_be_written_loses_nothing_that_fits_and_counts_the_rest(tmp_path, monkeypatch):
    log = AuditLog(tmp_path, KEY, LogPolicy("stop"))
    monkeypatch.setattr(module, "MAX_QUEUED", 3)
    real = module._append

    def fails(_path, _text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_append", fails)
    for n in range(5):
        log.add({"n": n})
        log.flush()
    assert log.failed
    monkeypatch.setattr(module, "_append", real)
    log.flush()
    log.close()
    assert not log.failed
    assert [each["n"] for each in lines_of(tmp_path)] == [0, 1, 2]
    assert [each["lost"] for each in lines_of(tmp_path, "lost")] == [2]
    assert [(found.faults, found.lost) for found in chain.verify_log(tmp_path, KEY)] == [((), 2)]


def test_a_write_that_fails_half_way_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("whole\n")

    @contextmanager
    def half(*_given, **_more):
        def write(text):
            with open(path, "a") as file:  # noqa: PTH123
                file.write(text[:3])
            raise OSError(28, "No space left on device")

        yield SimpleNamespace(write=write)

    monkeypatch.setattr(type(path), "open", half)
    with pytest.raises(OSError, match="No space"):
        module._append(path, "another\n")
    monkeypatch.undo()
    assert path.read_text() == "whole\n"


def test_an_end_that_was_written_down_is_still_there_and_a_log_made_anew_lacks_it(tmp_path):
    """A chain that was made anew with the stolen key is sound in itself: only the end elsewhere tells."""
    for folder, text in ((tmp_path / "real", "asked"), (tmp_path / "anew", "another")):
        with AuditLog(folder, KEY, LogPolicy()) as log:
            log.add({"text": text})
    (real,), (anew,) = chain.verify_log(tmp_path / "real", KEY), chain.verify_log(tmp_path / "anew", KEY)
    assert real.faults == anew.faults == ()
    written_down = f"00:{real.last}:{real.mac}"
    assert chain.has_line(tmp_path / "real", written_down)
    assert not chain.has_line(tmp_path / "anew", written_down)
    assert chain.log_chains(tmp_path / "real") == ["00"]
    assert chain.last_link(chain.chain_files(tmp_path / "real", "00")[0])[0].mac == real.mac


def test_another_secret_verifies_nothing(tmp_path):
    """A chain without a key could be made anew by anybody."""
    write(tmp_path, 1)
    assert "another secret" in chain.verify_log(tmp_path, b"x" * 32)[0].faults[0]
    assert chain.verify_log(tmp_path / "none", KEY) == []


def test_what_is_no_line_follows_no_other():
    line, _ = chain.sign_line(KEY, chain.ChainLink(), {"n": 1, "text": 'quoted ", "mac": " inside'})
    assert chain.verify_line(KEY, chain.ChainLink(), line)
    for torn in ("", "{}", line[:-5], "null"):
        assert chain.verify_line(KEY, chain.ChainLink(), torn) is None


@pytest.fixture
def queries():
    """What is recorded of the current request."""
    with use_context(RequestContext()) as context:
        yield context.queries


def test_a_query_is_recorded_once_and_their_number_is_bounded(queries):
    for cells in (1, 2):
        log.record_query(TableRequest("town", ("sex",)), "0123456789", cells=cells)
    note = {"dataset": "town", "version": "01234567", "request": "rows=sex", "cells": 1}
    assert list(queries.values()) == [note]
    for number in range(50):
        log.record_query(TableRequest("town", (f"v{number}",)), "d")
    assert len(queries) == log.MOST_ASKED


def test_of_a_long_request_its_beginning_and_its_hash_are_recorded(queries):
    """Two that begin alike are two; one that is just not too long is whole."""
    codes = tuple(f"A{number:04}" for number in range(500))
    long = [TableRequest("town", ("sex",), filters=(("area", codes[:end]),)) for end in (499, 500)]
    for request in long:
        log.record_query(request, "d")
    log.record_query(TableRequest("town", ("x" * (log.LONGEST - len("rows=")),)), "d")
    *cut, whole = queries.values()
    assert [note["request"] for note in cut] == [long[0].permalink[: log.LONGEST]] * 2
    hashes = [hashlib.sha256(request.permalink.encode()).hexdigest() for request in long]
    assert [note["sha256"] for note in cut] == hashes
    assert len(whole["request"]) == log.LONGEST
    assert "sha256" not in whole
    links = [*(request.permalink for request in long), whole["request"]]
    assert [log.unpack_request(note) for note in queries.values()] == links


def test_a_line_has_bounded_room(queries):
    """Random codes pack badly: some find room, the rest are told by their hash."""
    rng, asked = random.Random(5), []
    for _ in range(log.MOST_ASKED):
        codes = tuple(rng.randbytes(6).hex() for _ in range(400))
        asked.append(TableRequest("town", ("sex",), filters=(("area", codes),)))
    for request in asked:
        log.record_query(request, "d")
    notes = list(queries.values())
    found = [log.unpack_request(note) for note in notes]
    fitted = [request.permalink for request in asked[: len(found) - found.count(None)]]
    assert found == [*fitted, *[None] * (log.MOST_ASKED - len(fitted))]
    assert 1 < len(fitted) < 10
    assert sum(len(note.get("packed", "")) for note in notes) <= log.MOST_PACKED


@pytest.mark.parametrize("packed", ["", "no base64", "eJw=", "eJxLBAAAYgBi"])
def test_what_was_packed_otherwise_is_not_read(packed):
    note = {"request": "b", "sha256": hashlib.sha256(b"b").hexdigest(), "packed": packed}
    assert log.unpack_request(note) is None


FOUR, SIX = "203.0.113.77", "2001:db8:1:2:3:4:5:6"


def test_what_is_kept_is_what_was_chosen():
    kept = {how: log.AddressPolicy(b"k", how).stored for how in ("full", "truncated", "none", "hashed")}
    assert (kept["full"](FOUR), kept["truncated"](FOUR), kept["none"](FOUR)) == (FOUR, "203.0.113.0/24", "")
    assert kept["truncated"](SIX) == "2001:db8:1::/48"
    assert kept["hashed"](FOUR) == kept["hashed"](f"::ffff:{FOUR}") != kept["hashed"]("203.0.113.78")
    assert FOUR not in kept["hashed"](FOUR)
    other = log.AddressPolicy(b"other").stored(FOUR)
    assert other != kept["hashed"](FOUR), "without the key nobody can try addresses"
