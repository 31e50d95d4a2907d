"""AES-256 as the standard defines it, and a stream whose words are found at any place."""

import numpy as np
import pytest

from discreet.records.block_cipher import counter_words, counter_words_at, encipher, pair_blocks

KEY = bytes(range(32))


def test_one_block_is_that_of_the_standard():
    """FIPS 197, appendix C.3."""
    plain = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), dtype=np.uint8)
    found = encipher(KEY, plain.reshape(1, 16))
    assert found.tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_each_block_is_enciphered_by_itself_and_none_gives_none():
    blocks = np.random.RandomState(1).randint(0, 256, (5, 16)).astype(np.uint8)
    whole = encipher(KEY, blocks)
    assert np.array_equal(whole[3:4], encipher(KEY, blocks[3:4]))
    assert encipher(KEY, blocks[:0]).shape == (0, 16)
    with pytest.raises(ValueError, match="16 bytes"):
        encipher(KEY, blocks.reshape(10, 8))


def test_integers_are_laid_out_low_first_and_little_endian():
    assert pair_blocks(np.array([1], dtype=np.uint64), 2).tobytes() == b"\x01" + bytes(7) + b"\x02" + bytes(7)


def test_a_word_of_the_stream_is_the_same_wherever_it_is_asked_for():
    stream = counter_words(KEY, 11)
    places = np.array([[10, 0], [3, 7]])
    assert np.array_equal(counter_words_at(KEY, places), stream[places])
    assert counter_words(KEY, 0).size == 0
