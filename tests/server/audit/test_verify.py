"""A mac that was written down elsewhere proves later that the log up to it is the same."""

from discreet.server.audit.log import LogRules, RequestLog, chain_files
from discreet.server.audit.verify import has_line, last_link, processes, verify_log

KEY = b"k" * 32


def test_an_end_that_was_written_down_is_still_there_and_a_log_made_anew_lacks_it(tmp_path):
    """A chain that was made anew with the stolen key is sound in itself: only the end elsewhere tells."""
    for folder, text in ((tmp_path / "real", "asked"), (tmp_path / "anew", "another")):
        with RequestLog(folder, KEY, LogRules()) as log:
            log.add({"text": text})
    (real,), (anew,) = verify_log(tmp_path / "real", KEY), verify_log(tmp_path / "anew", KEY)
    assert real.faults == anew.faults == ()
    written_down = f"00:{real.last}:{real.mac}"
    assert has_line(tmp_path / "real", written_down)
    assert not has_line(tmp_path / "anew", written_down)
    assert processes(tmp_path / "real") == ["00"]
    assert last_link(chain_files(tmp_path / "real", "00")[0]).mac == real.mac


def test_another_secret_verifies_nothing(tmp_path):
    with RequestLog(tmp_path, KEY, LogRules()) as log:
        log.add({"n": 1})
    assert "another secret" in verify_log(tmp_path, b"x" * 32)[0].faults[0]
    assert verify_log(tmp_path / "none", KEY) == []
