"""A chain: a line that was changed, moved, left out or added does not follow."""

from discreet.web.audit.chain import ChainLink, sign_line, verify_line

KEY = b"k" * 32


def chain(number):
    lines, link = [], ChainLink()
    for n in range(number):
        line, link = sign_line(KEY, link, {"n": n, "text": 'quoted ", "mac": " inside'})
        lines.append(line)
    return lines


def is_sound(lines, key=KEY):
    link = ChainLink()
    for line in lines:
        link = verify_line(key, link, line)
        if link is None:
            return False
    return True


def test_each_line_follows_the_one_before_and_no_other_does():
    lines = chain(5)
    assert is_sound(lines)
    assert not is_sound(lines[1:])
    assert not is_sound([*lines[:2], *lines[3:]])
    assert not is_sound([lines[1], lines[0], *lines[2:]])
    assert not is_sound([*lines, lines[4]])
    assert not is_sound([*lines[:3], lines[3].replace('"n": 3', '"n": 9'), lines[4]])
    assert not is_sound(lines, b"x" * 32), "a chain without a key could be made anew by anybody"
    for torn in ("", "{}", lines[0][:-5], "null"):
        assert not is_sound([torn])
