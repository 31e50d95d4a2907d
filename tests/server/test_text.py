from hypothesis import given
from hypothesis import strategies as st

from discreet.server.text import isolated, plain

OPENERS = {
    **dict.fromkeys("\u202a\u202b\u202d\u202e", "\u202c"),
    **dict.fromkeys("\u2066\u2067\u2068", "\u2069"),
}
TRICKY = st.text(st.sampled_from([*OPENERS, "\u202c", "\u2069", "a", "<", "&", "\x00", "\x9b", "\u05d0"]))


@given(TRICKY)
def test_every_direction_that_is_opened_is_closed_in_order(text):
    waiting = []
    for character in plain(text):
        if character in OPENERS:
            waiting.append(OPENERS[character])
        elif character in "\u202c\u2069":
            assert waiting.pop() == character
    assert not waiting


@given(st.text(st.characters(codec=None)))
def test_no_control_and_no_lone_surrogate_is_left(text):
    shown = plain(text)
    shown.encode("utf-8")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)


@given(TRICKY)
def test_shown_text_is_shown_the_same_again(text):
    assert plain(plain(text)) == plain(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_harmless_text_is_left_alone(text):
    assert plain(text) == text


def test_markup_is_escaped_inside_its_own_direction():
    assert str(isolated('<a href="x">')) == "<bdi>&lt;a href=&#34;x&#34;&gt;</bdi>"
