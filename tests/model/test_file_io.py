"""A document is saved whole or not at all; small CSV files are read, or refused with what is wrong with them."""

import os
import stat
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadData, NotFound
from discreet.model.file_io import PIECE, gather, measure_size, parse_rows, read_rows, save, whole_number


@given(st.lists(st.binary(max_size=9)), st.integers(1, 12))
def test_gathered_pieces_are_the_same_bytes_and_long_enough(pieces, least):
    found = list(gather(pieces, least))
    assert b"".join(found) == b"".join(pieces)
    assert all(len(piece) >= least for piece in found[:-1])
    assert all(found), "an empty piece would end a chunked answer"


def broken():
    yield b"half"
    raise RuntimeError("it breaks")


def test_a_file_is_there_whole_or_as_it_was(tmp_path):
    """Wrong alternative: pieces written under the file's own name."""
    path = tmp_path / "table.csv"
    save([b"old"], path)
    with pytest.raises(RuntimeError):
        save(broken(), path)
    assert path.read_bytes() == b"old"
    with pytest.raises(RuntimeError):
        save(broken(), tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path):
    path, link = tmp_path / "table.csv", tmp_path / "link.csv"
    save([b"one"], path)
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    link.symlink_to(path)
    save([b"two", b" three"], link)
    assert link.is_symlink()
    assert path.read_bytes() == b"two three"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    """Wrong alternative: a rename over whatever has the name, as over /dev/stdout."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    save([b"a", b"b"], pipe)
    reader.join(10)
    assert read == [b"ab"]
    assert pipe.is_fifo()


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        save([b""], tmp_path / "no" / "table.csv")
    assert caught.value.filename == str(tmp_path / "no" / "table.csv")


@pytest.mark.parametrize("length", [0, 5, 3 * PIECE, 2_000_000])
def test_what_is_kept_in_between_comes_back_with_its_size(length):
    data = os.urandom(length)
    size, pieces = measure_size(iter([data[:3], data[3:]]))
    assert size == length
    assert b"".join(pieces) == data


def test_blank_lines_and_a_byte_order_mark_do_not_count(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n\r\n1,2\r\n")
    assert read_rows(tmp_path / "x.csv") == [["a", "b"], ["1", "2"]]


def test_what_is_no_text_no_csv_or_no_file_is_said(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfea")
    with pytest.raises(BadData, match="not a text file in UTF-8"):
        read_rows(tmp_path / "x.csv")
    with pytest.raises(NotFound, match="no file"):
        read_rows(tmp_path / "none.csv")
    with pytest.raises(BadData, match='Line 2 of "x" is no CSV'):
        parse_rows(["a,b\n", '"' + "y" * 200_000 + "\n"], "x")


@pytest.mark.parametrize("cell", ["", "x", "1.5", "--1", "²", "9" * 30, str(2**53 + 1)])
def test_only_counts_are_whole_numbers(cell):
    assert whole_number(cell) is None
    assert whole_number(str(-(2**53))) == -(2**53)
