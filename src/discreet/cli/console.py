"""What the command line says: documents on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from discreet.model.one_line import printable
from discreet.model.pieces import save

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from discreet.errors import DiscreetError

#: Progress, logs and errors. Standard output is kept for documents.
messages = Console(stderr=True, highlight=False)
#: Human-readable results.
output = Console(highlight=False)


def report_error(error: DiscreetError) -> int:
    """Print an error with its advice to standard error and return its exit code."""
    message = printable(error.message)
    messages.print(Text.assemble((f"{error.title}: ", "bold red"), message), soft_wrap=True)
    if error.advice:
        messages.print(Text(printable(error.advice)), soft_wrap=True)
    return error.exit_code


def emit(document: str | Iterable[bytes], out: Path | None) -> None:
    """Write a document to a file, whole or not at all, or alone on standard output."""
    pieces = [document.encode("utf-8")] if isinstance(document, str) else document
    if out is not None:
        save(pieces, out)
        messages.print(f"Written: {out}", soft_wrap=True)
        return
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()


def emit_picture(chart: Any, out: Path) -> None:
    """Write a chart as FILE.svg or FILE.png."""
    from discreet.pictures.save import save as save_picture

    save_picture(chart, out)
    messages.print(f"Written: {out}", soft_wrap=True)


def emit_json(value: Any, out: Path | None = None) -> None:
    """Write a value as JSON, alone on standard output or to a file."""
    emit(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", out)
