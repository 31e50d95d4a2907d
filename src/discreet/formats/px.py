"""PX: the file of PxWeb and PC-Axis, keywords in their order, `DATA` last.

The mandatory note is NOTEX, which every program must show; promise, version and citation are NOTE. A number that
is missing is a symbol: `"."` is withheld (c), `".."` cannot occur (z), `"..."` is an error that a cell does not have.
PX has one number a cell. Where a table has numbers beside its values, they are one more variable, `content`,
which comes last: value, signed, relative_standard_error, noise_share, and `unreliable`, 1 where the value is of low
reliability (u).

PX text has no quotation mark and no line end: they become an apostrophe and a blank. `AGGREGALLOWED=NO`, since sums
of protected numbers add up their noise. Source: the PX file format of Statistics Sweden, AXIS-VERSION 2013.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv import join_lines, number_texts
from discreet.model.messages.text import message

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.model.columns import Lines, Numbers
    from discreet.model.release import Release


#: The variable that says which number stands in a column, and its category for low reliability.
CONTENT, UNRELIABLE = "content", "unreliable"
#: Letters of one quoted piece: a line of PX has at most 256.
PIECE = 200
#: What stands in place of a missing number, by the number of the cell's status.
_SYMBOLS = ('"..."', '"."', '".."', '"..."')


def to_px(release: Release) -> Iterator[bytes]:
    """The release as a PX file: the keywords, then the data block by block."""
    from discreet.model.columns import NONE, blocks
    from discreet.model.release import STATUSES

    flagged = bool((release.status == STATUSES.index("u")).any())
    contents = _contents(release, NONE, flagged=flagged)
    axes = [(d.name, d.label, d.codes, d.labels) for d in release.dimensions]
    if len(contents) > 1:
        codes = tuple(numbers.name for numbers in contents)
        axes.append((CONTENT, CONTENT, codes, tuple(numbers.meaning for numbers in contents)))
    names = unique_texts(label for _, label, _, _ in axes)
    lines = _head(release, names, decimals=_decimals(contents))
    lines += [
        _line("VALUES", unique_texts(texts), name) for name, (_, _, _, texts) in zip(names, axes, strict=True)
    ]
    lines += [
        _line("CODES", unique_texts(texts), name) for name, (_, _, texts, _) in zip(names, axes, strict=True)
    ]
    lines += [_line("VARIABLECODE", [axis[0]], name) for name, axis in zip(names, axes, strict=True)]
    lines += _words(release)
    yield ("\n".join(lines) + "\nDATA=\n").encode()
    for block in blocks(release):
        yield join_lines(_data(release, block, flagged=flagged), " ")
    yield b";\n"


def clean_text(text: str) -> str:
    r"""Text that PX can hold: no quotation mark, no line end and no control character.

    >>> clean_text('two\nlines, "said"')
    "two lines, 'said'"
    """
    return re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text).replace('"', "'")


def unique_texts(texts: Iterable[str]) -> list[str]:
    """Clean texts, all different as PX wants them; one that is there already gets a number.

    >>> unique_texts(["a", 'say "x"', "say 'x'", "a"])
    ['a', "say 'x'", "say 'x' (2)", 'a (2)']
    """
    taken: dict[str, None] = {}
    for text in map(clean_text, texts):
        name, number = text, 1
        while name in taken:
            number += 1
            name = f"{text} ({number})"
        taken[name] = None
    return list(taken)


def _contents(release: Release, lines: Lines, *, flagged: bool) -> list[Numbers]:
    """The numbers of some cells; where some of the table are unreliable, which."""
    import numpy as np

    from discreet.model.columns import Numbers, numbers_of
    from discreet.model.release import STATUS_MEANING, STATUSES

    contents = numbers_of(release, lines)
    if flagged:
        flags = (release.status.flat[lines] == STATUSES.index("u")).astype(np.int64)
        contents.append(Numbers(UNRELIABLE, STATUS_MEANING["u"], flags, contents[0].missing))
    return contents


def _decimals(contents: list[Numbers]) -> int:
    value, *beside = contents
    return 15 if value.values.dtype.kind == "f" else int(any(n.values.dtype.kind == "f" for n in beside))


def _head(release: Release, names: list[str], *, decimals: int) -> list[str]:
    """Everything before the categories, in the order of the specification."""
    dataset = release.dataset
    return [
        _line("CHARSET", ["ANSI"]),
        _line("AXIS-VERSION", ["2013"]),
        _line("CODEPAGE", ["utf-8"]),
        _line("LANGUAGE", ["en"]),
        f"DECIMALS={decimals};",
        f"SHOWDECIMALS={min(decimals, 6)};",
        _line("MATRIX", [dataset.id[:20]]),
        "AGGREGALLOWED=NO;",
        _line("SUBJECT-CODE", [dataset.id[:20]]),
        _line("SUBJECT-AREA", [dataset.label]),
        _line("TITLE", [release.title]),
        _line("CONTENTS", [release.measure.title(dataset)]),
        _line("UNITS", [dataset.unit]),
        *([_line("STUB", names[:-1])] if names[1:] else []),
        _line("HEADING", names[-1:]),
    ]


def _words(release: Release) -> list[str]:
    """Source, the mandatory note, and all else that travels with the table."""
    from discreet.model.messages.citation import provenance
    from discreet.model.release import STATUS_MEANING

    told = [f"{name}: {text}" for name, text in provenance(release) if text != release.notes[0]]
    return [
        *([_line("SOURCE", [release.dataset.source])] if release.dataset.source else []),
        _line("NOTEX", [release.notes[0]]),
        _line("NOTE", [" # ".join(told)]),
        _line("DATASYMBOL1", [STATUS_MEANING["c"]]),
        _line("DATASYMBOL2", [STATUS_MEANING["z"]]),
    ]


def _line(keyword: str, texts: Iterable[str], of: str = "") -> str:
    """One keyword with its texts; a long text is broken into pieces on lines of their own."""
    return keyword + (f'("{of}")' if of else "") + "=" + ",\n".join(map(_quote, texts)) + ";"


def _quote(text: str) -> str:
    clean = clean_text(text)
    pieces = [clean[start : start + PIECE] for start in range(0, len(clean), PIECE)] or [""]
    return "\n".join(f'"{piece}"' for piece in pieces)


def _data(release: Release, lines: Lines, *, flagged: bool) -> list[pa.Array]:
    """The numbers of some cells, or the symbols of their status."""
    import pyarrow as pa
    import pyarrow.compute as pc

    symbols = pa.array(_SYMBOLS, pa.large_string()).take(pa.array(release.status.flat[lines]))
    return [
        pc.if_else(pa.array(numbers.missing), symbols, number_texts(numbers))
        for numbers in _contents(release, lines, flagged=flagged)
    ]


FORMAT = Format("px", "PX", message("a PX file"), "px", "text/x-px; charset=utf-8", to_px, place=70)
