"""PX: the file of PxWeb and PC-Axis, keywords in their order, `DATA` last.

The mandatory note is NOTEX, which every program must show; promise, version and citation are NOTE. A missing number is a
symbol: `"."` is withheld (c), `".."` cannot occur (z), `"..."` is an error that a cell does not have. PX has one number per
cell, so further numbers are categories of a last variable, `content`: value, signed, relative_standard_error, noise_share,
and `unreliable`, 1 where the value is of low reliability (u). PX text has no quotation marks and no line ends: they become
apostrophes and blanks. `AGGREGALLOWED=NO`, because sums of protected numbers add up their noise.
Source: the PX file format of Statistics Sweden, AXIS-VERSION 2013.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.formats.writers.csv import join_lines, number_texts, take, text_array
from discreet.model.columns import NONE, Lines, Numbers, blocks, numbers_of
from discreet.model.messages.sentences import provenance
from discreet.model.release import STATUS_MEANING, STATUSES, Release

#: The variable of the numbers, and its category for low reliability.
CONTENT, UNRELIABLE = "content", "unreliable"
#: Characters of one quoted piece: a line of PX has at most 256.
PIECE = 200
#: The symbol of a missing number, by the status of the cell.
_SYMBOLS = ('"..."', '"."', '".."', '"..."')


def to_px(release: Release) -> Iterator[bytes]:
    """The release as a PX file: the keywords, then the data block by block."""
    flagged = bool((release.status == STATUSES.index("u")).any())
    contents = _contents(release, NONE, flagged=flagged)
    axes = [(d.name, d.label, d.codes, d.labels) for d in release.dimensions]
    if len(contents) > 1:
        codes = tuple(numbers.name for numbers in contents)
        axes.append((CONTENT, CONTENT, codes, tuple(numbers.meaning for numbers in contents)))
    names = unique_texts(label for _, label, _, _ in axes)
    value, *beside = contents
    floats = [numbers.values.dtype.kind == "f" for numbers in beside]
    decimals = 15 if value.values.dtype.kind == "f" else int(any(floats))
    decimals = release.measure.decimals or decimals
    lines = _head(release, names, decimals=decimals)
    named = list(zip(names, axes, strict=True))
    lines += [_line("VALUES", unique_texts(labels), name) for name, (_, _, _, labels) in named]
    lines += [_line("CODES", unique_texts(codes), name) for name, (_, _, codes, _) in named]
    lines += [_line("VARIABLECODE", [axis[0]], name) for name, axis in named]
    told = [f"{name}: {text}" for name, text in provenance(release) if text != release.notes[0]]
    lines += [_line("SOURCE", [release.dataset.source])] if release.dataset.source else []
    lines += [_line("NOTEX", [release.notes[0]]), _line("NOTE", [" # ".join(told)])]
    lines += [_line("DATASYMBOL1", [STATUS_MEANING["c"]]), _line("DATASYMBOL2", [STATUS_MEANING["z"]])]
    yield ("\n".join(lines) + "\nDATA=\n").encode()
    for block in blocks(release):
        yield join_lines(_data(release, block, flagged=flagged), " ")
    yield b";\n"


def clean_text(text: str) -> str:
    r"""Text that PX can hold: no quotation marks, line ends or control characters.

    >>> clean_text('two\nlines, "said"')
    "two lines, 'said'"
    """
    return re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text).replace('"', "'")


def unique_texts(texts: Iterable[str]) -> list[str]:
    """Clean texts, made distinct by numbers.

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
    """The numbers of some cells, with a flag of low reliability if the table has such cells."""
    contents = numbers_of(release, lines)
    if flagged:
        flags = (release.status.flat[lines] == STATUSES.index("u")).astype(np.int64)
        contents.append(Numbers(UNRELIABLE, STATUS_MEANING["u"], flags, contents[0].missing))
    return contents


def _head(release: Release, names: list[str], *, decimals: int) -> list[str]:
    """The keywords before the categories, in the order of the specification."""
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
        _line("UNITS", [release.measure.unit(dataset)]),
        *([_line("STUB", names[:-1])] if names[1:] else []),
        _line("HEADING", names[-1:]),
    ]


def _line(keyword: str, texts: Iterable[str], of: str = "") -> str:
    """One keyword with its texts; a long text is split into pieces on separate lines."""
    quoted = []
    for clean in map(clean_text, texts):
        pieces = [clean[start : start + PIECE] for start in range(0, len(clean), PIECE)] or [""]
        quoted.append("\n".join(f'"{piece}"' for piece in pieces))
    return keyword + (f'("{of}")' if of else "") + "=" + ",\n".join(quoted) + ";"


def _data(release: Release, lines: Lines, *, flagged: bool) -> list[pa.Array]:
    """The numbers of some cells, or the symbols of their status."""
    symbols = take(text_array(_SYMBOLS), release.status.flat[lines])
    return [
        pc.if_else(pa.array(numbers.missing), symbols, number_texts(numbers))
        for numbers in _contents(release, lines, flagged=flagged)
    ]
