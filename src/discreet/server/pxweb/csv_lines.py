"""CSV as a PxWeb program asks for it: codes, texts or both, with another separator, with the title above.

The file is the tidy CSV of Discreet: one line a cell. Without a parameter it has codes and texts.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.formats import named_format
from discreet.formats.csv import safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.model.release import Release

_SEPARATORS = {"SeparatorTab": "\t", "SeparatorSpace": " ", "SeparatorSemicolon": ";"}
_TEXTS = ("UseCodes", "UseTexts", "UseCodesAndTexts")
#: Every parameter of PxWebApi; formats other than CSV have codes and texts whatever is said.
WORDS = (*_TEXTS, "IncludeTitle", *_SEPARATORS)


@dataclass(frozen=True, slots=True)
class Csv:
    """How the CSV is written."""

    separator: str = ","
    shown: str = "UseCodesAndTexts"
    titled: bool = False

    def write(self, release: Release) -> bytes:
        """The release as CSV."""
        document = named_format("csv").write(release)
        if self == Csv():
            return document
        header, *lines = csv.reader(io.StringIO(document.decode()))
        labels = {f"{dimension.name}_label" for dimension in release.dimensions}
        hidden = {"UseCodes": labels, "UseTexts": {name.removesuffix("_label") for name in labels}}
        kept = [at for at, name in enumerate(header) if name not in hidden.get(self.shown, ())]
        written = io.StringIO()
        writer = csv.writer(written, delimiter=self.separator, lineterminator="\n")
        writer.writerows([[safe_text(release.title)]] if self.titled else [])
        writer.writerows([line[at] for at in kept] for line in (header, *lines))
        return written.getvalue().encode()


def read_csv(words: Sequence[str]) -> Csv:
    """The parameters, each of them known.

    Raises:
        BadRequest: Two of them contradict each other.
    """
    separators, texts = ([word for word in words if word in known] for known in (_SEPARATORS, _TEXTS))
    for given in (set(separators), set(texts)):
        if len(given) > 1:
            raise BadRequest(f"{' and '.join(sorted(given))} cannot be combined.", "Give one of them.")
    separator = _SEPARATORS[separators[0]] if separators else ","
    return Csv(separator, texts[0] if texts else "UseCodesAndTexts", "IncludeTitle" in words)
