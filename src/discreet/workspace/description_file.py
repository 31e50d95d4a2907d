"""Read the metadata of a dataset (its description) from its file, with its code-list files, and let errors name that file.

`categories_file = "areas.csv"` names a CSV in UTF-8 with the columns `code`, `label` (by default the code) and `parent` (by
default none). Its categories are inserted into the text before it is parsed, so one text is loaded and sealed.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import BadData, BadDescription, NotFound
from discreet.records.draft.toml_text import toml_string

_LINE = re.compile(r'^categories_file[ \t]*=[ \t]*("(?:[^"\\\n]|\\.)*")[ \t]*(#.*)?$', re.MULTILINE)
COLUMNS = ("code", "label", "parent")


def insert_code_lists(text: str, folder: Path) -> str:
    """The description with each `categories_file` replaced by the categories of that file.

    Raises:
        NotFound: There is no such file.
        BadDescription: It is no list of categories.
    """
    return _LINE.sub(lambda found: _categories(folder / json.loads(found[1])), text)


def _categories(path: Path) -> str:
    if not path.is_file():
        raise NotFound(f"There is no file {str(path)!r}, which `categories_file` names.", "Check the path.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if "code" not in (rows.fieldnames or ()) or set(rows.fieldnames or ()) - set(COLUMNS):
                raise BadDescription(
                    f"{path.name} has the columns {', '.join(rows.fieldnames or ['none'])}.",
                    "Name them code, label and parent; the last two may be left out.",
                )
            listed = [_category(row, path, rows.line_num) for row in rows]
    except (UnicodeDecodeError, csv.Error):
        raise BadDescription(f"{path.name} is no CSV file in UTF-8.", "Save it as CSV in UTF-8.") from None
    return "categories = [\n" + "".join(f"  {each},\n" for each in listed) + "]"


def _category(row: dict[str, str | None], path: Path, line: int) -> str:
    if None in row.values() or None in row:
        raise BadDescription(f"Line {line} of {path.name} is torn.", "Give every line the same fields.")
    given = {key: (value or "").strip() for key, value in row.items()}
    pairs = (f"{key} = {toml_string(value)}" for key, value in given.items() if value or key == "code")
    return f"{{ {', '.join(pairs)} }}"


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
        return insert_code_lists(path.read_text("utf-8-sig"), path.parent)
    except UnicodeDecodeError:
        raise BadDescription(
            f"{path.name} is not a text file in UTF-8.", "Save the description as plain text in UTF-8."
        ) from None


@contextmanager
def name_description_in_errors(path: Path) -> Iterator[None]:
    """Let error messages name the file that was read in place of `dataset.toml`.

    >>> from pathlib import Path
    >>> with name_description_in_errors(Path("town.toml")):
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
