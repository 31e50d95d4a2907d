"""The audit log: no line is lost unnoticed, files are rotated, and one chain continues over files and processes."""

import json
import multiprocessing
import os
import signal
import time

import pytest
from filelock import FileLock

from discreet.errors import BadOption
from discreet.web.audit import log as module
from discreet.web.audit.chain import chain_files, has_line, last_link, log_chains, read_log_file, verify_log
from discreet.web.audit.log import AuditLog, LogPolicy

KEY = b"k" * 32
FORK = multiprocessing.get_context("fork")


def sound(folder):
    return [found.faults for found in verify_log(folder, KEY)]


def write(folder, number, rules=LogPolicy()):  # noqa: B008 - frozen
    with AuditLog(folder, KEY, rules) as log:
        for n in range(number):
            log.add({"n": n, "text": "x" * 50})
            if n % 7 == 0:
                log.flush()


def test_files_turn_over_by_size_and_the_chain_goes_on(tmp_path):
    write(tmp_path, 40, LogPolicy(most_bytes=1_000))
    write(tmp_path, 10)
    files = chain_files(tmp_path, "00")
    assert len(files) > 4
    assert [each["n"] for path in files for each in read_log_file(path) if "n" in each] == [
        *range(40),
        *range(10),
    ]
    assert sound(tmp_path) == [()]
    os.utime(files[-1], (time.time() - 86_400,) * 2)  # the next day
    write(tmp_path, 1)
    assert len(chain_files(tmp_path, "00")) == len(files) + 1


def test_old_files_end_and_the_head_says_where_the_chain_begins(tmp_path):
    """To remove the oldest file without a word is the wrong alternative: anybody could."""
    write(tmp_path, 40, LogPolicy(most_bytes=1_000))
    first, second, *_ = chain_files(tmp_path, "00")
    long_ago = time.time() - 91 * 86_400
    os.utime(first, (long_ago, long_ago))
    write(tmp_path, 1, LogPolicy(most_bytes=1))
    assert not first.exists()
    assert sound(tmp_path) == [()]
    assert verify_log(tmp_path, KEY)[0].first > 1
    second.unlink()
    assert "lacks its files" in sound(tmp_path)[0][0]


@pytest.mark.parametrize("harm", ["edit", "delete", "cut", "cut to the line", "swap", "head", "file"])
def test_what_was_done_to_a_log_is_found(tmp_path, harm):
    write(tmp_path, 20, LogPolicy(most_bytes=1_500))
    files = chain_files(tmp_path, "00")
    lines = files[-1].read_text().splitlines(keepends=True)
    if harm == "edit":
        lines[1] = lines[1].replace("xxx", "yyy", 1)
    elif harm == "delete":
        del lines[1]
    elif harm == "cut":
        lines[-1] = lines[-1][:20]
    elif harm == "cut to the line":
        del lines[-1]
    elif harm == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    files[-1].write_text("".join(lines))
    if harm == "head":
        head = tmp_path / "requests-00.head"
        head.write_text(head.read_text().replace('"head": [', '"head": [1'))
    if harm == "file":
        files[1].unlink()
    assert sound(tmp_path) != [()]


def test_an_end_that_was_cut_off_stays_visible_after_the_next_start(tmp_path):
    """To go on from the line that is left is the wrong alternative: the gap would be gone."""
    write(tmp_path, 20)
    path = chain_files(tmp_path, "00")[-1]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    write(tmp_path, 5)
    assert sound(tmp_path) != [()]


def _die(folder):
    log = AuditLog(folder, KEY, LogPolicy())
    for n in range(9):
        log.add({"n": n})
        log.flush()
    log._write_head = lambda _head: os.kill(os.getpid(), signal.SIGKILL)
    log.add({"n": 9})
    log.flush()


def test_a_process_that_is_killed_between_line_and_head_leaves_a_sound_chain(tmp_path):
    process = FORK.Process(target=_die, args=(tmp_path,))
    process.start()
    process.join()
    path = chain_files(tmp_path, "00")[-1]
    path.write_text(path.read_text() + '{"seq": 12, "torn')
    write(tmp_path, 3)
    assert sound(tmp_path) == [()]
    assert sum("n" in each for found in chain_files(tmp_path, "00") for each in read_log_file(found)) == 13


def _write_many(folder):
    with AuditLog(folder, KEY, LogPolicy(most_bytes=4_000)) as log:
        for n in range(60):
            log.add({"n": n, "process": os.getpid()})
            log.flush()


def test_several_processes_write_one_chain(tmp_path):
    """Wrong alternative: without the file lock two processes continue from the same line."""
    team = [FORK.Process(target=_write_many, args=(tmp_path,)) for _ in range(3)]
    for process in team:
        process.start()
    for process in team:
        process.join()
    assert (log_chains(tmp_path), sound(tmp_path)) == (["00"], [()])
    lines = [each for path in chain_files(tmp_path, "00") for each in read_log_file(path) if "n" in each]
    assert len(lines) == 180
    assert len({each["process"] for each in lines}) == 3


def test_a_log_of_0_2_with_a_chain_for_each_process_is_continued_and_verifies(tmp_path, monkeypatch):
    for chain in ("00", "01"):
        monkeypatch.setattr(module, "CHAIN", chain)
        write(tmp_path, 5)
    monkeypatch.undo()
    write(tmp_path, 5)
    assert (log_chains(tmp_path), sound(tmp_path)) == (["00", "01"], [(), ()])


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
    assert verify_log(tmp_path, KEY)[0].last == 2


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
    text = "".join(file.read_text() for file in chain_files(tmp_path, "00"))
    assert [f'"n": {n}' in text for n in range(6)] == [True, True, False, False, False, True]


@pytest.mark.parametrize("failure", ["go-on", "stop"])
def test_a_log_that_cannot_be_written_loses_nothing_that_fits_and_counts_the_rest(
    tmp_path, monkeypatch, failure
):
    log = AuditLog(tmp_path, KEY, LogPolicy(failure))
    monkeypatch.setattr(module, "MAX_QUEUED", 3)
    real, full = module._append, []

    def fails(path, text):
        full.append(path)
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
    written = [each for path in chain_files(tmp_path, "00") for each in read_log_file(path)]
    assert [each["n"] for each in written if "n" in each] == [0, 1, 2]
    assert [each["lost"] for each in written if "lost" in each] == [2]
    assert sound(tmp_path) == [()]


def test_a_write_that_fails_half_way_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("whole\n")

    class Half:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, text):
            with open(path, "a") as file:  # noqa: PTH123
                file.write(text[:3])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "open", lambda *_, **__: Half())
    with pytest.raises(OSError, match="No space"):
        module._append(path, "another\n")
    monkeypatch.undo()
    assert path.read_text() == "whole\n"


def test_another_word_for_a_failure_is_refused():
    with pytest.raises(BadOption, match="log_failure"):
        LogPolicy("perhaps")


def test_lines_are_json(tmp_path):
    write(tmp_path, 2)
    assert all(json.loads(line) for path in chain_files(tmp_path, "00") for line in path.open())


def test_an_end_that_was_written_down_is_still_there_and_a_log_made_anew_lacks_it(tmp_path):
    """A chain that was made anew with the stolen key is sound in itself: only the end elsewhere tells."""
    for folder, text in ((tmp_path / "real", "asked"), (tmp_path / "anew", "another")):
        with AuditLog(folder, KEY, LogPolicy()) as log:
            log.add({"text": text})
    (real,), (anew,) = verify_log(tmp_path / "real", KEY), verify_log(tmp_path / "anew", KEY)
    assert real.faults == anew.faults == ()
    written_down = f"00:{real.last}:{real.mac}"
    assert has_line(tmp_path / "real", written_down)
    assert not has_line(tmp_path / "anew", written_down)
    assert log_chains(tmp_path / "real") == ["00"]
    assert last_link(chain_files(tmp_path / "real", "00")[0]).mac == real.mac


def test_another_secret_verifies_nothing(tmp_path):
    with AuditLog(tmp_path, KEY, LogPolicy()) as log:
        log.add({"n": 1})
    assert "another secret" in verify_log(tmp_path, b"x" * 32)[0].faults[0]
    assert verify_log(tmp_path / "none", KEY) == []
