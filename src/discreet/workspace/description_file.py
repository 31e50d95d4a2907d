"""The description as the custodian's file: its text, and errors that name the file as the custodian named it.

`model` reads a text and calls it `dataset.toml`, which is its usual name; whoever opened a file of another name is told
that name.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import BadData, BadDescription, NotFound
from discreet.workspace.code_list_files import with_code_lists

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USUAL_NAME = "dataset.toml"


def read_description(path: Path) -> str:
    """The text of a description, with the categories of its code-list files in it.

    Raises:
        NotFound: There is no such file.
        BadDescription: The file is no text in UTF-8.
    """
    if not path.is_file():
        raise NotFound(f"There is no file {str(path)!r}.", "Draft one with `discreet describe`.")
    try:
        return with_code_lists(path.read_text("utf-8-sig"), path.parent)
    except UnicodeDecodeError:
        raise BadDescription(
            f"{path.name} is not a text file in UTF-8.", "Save the description as plain text in UTF-8."
        ) from None


@contextmanager
def description_named(path: Path) -> Iterator[None]:
    """Let what is wrong with a description, or with records against it, name the file that was read.

    >>> from pathlib import Path
    >>> with description_named(Path("town.toml")):
    ...     raise BadDescription("dataset.toml lacks id.", "Add it.")
    Traceback (most recent call last):
    discreet.errors.BadDescription: town.toml lacks id. Add it.
    """
    try:
        yield
    except (BadDescription, BadData) as error:
        error.message, error.advice = (
            text.replace(USUAL_NAME, path.name) for text in (error.message, error.advice)
        )
        raise
