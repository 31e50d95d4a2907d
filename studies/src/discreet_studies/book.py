"""The methods book: what its pages show is made by commands, between markers, and never pasted.

A part of a page stands between two comments. The first names the commands, the table that their JSON becomes and
what the picture shows; everything up to the second is written by `scripts/build-book`:

    <!-- made by:
    discreet design laplace --epsilon 0.5 --plot distribution.svg
    table: noise
    picture: How often each noise value occurs
    -->
    ...
    <!-- end -->

`slow` on a line of its own says that the suite checks the part among its slow tests. Commands run in a copy of
the book's descriptions (`*.toml`), so a reader can run them in that folder as they stand.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet_studies.book_tables import TABLES

#: Runs the words of a command in a folder and gives back what it wrote on standard output.
Run = Callable[[Sequence[str], Path], str]

END = "<!-- end -->"
_PART = re.compile(r"(<!-- made by:\n(?P<recipe>.*?)-->\n)(?P<body>.*?)" + END, re.DOTALL)
_RUN = "from discreet.cli.main import run; run()"


@dataclass(frozen=True, slots=True)
class Part:
    """What one marker asks for.

    Args:
        commands: The commands, in order; the documents of those named like the last one make the table.
        table: The name of its table in `book_tables`, or nothing.
        picture: What the picture shows, for those who cannot see it; or nothing.
        slow: Whether it takes more than a few seconds.
    """

    commands: tuple[str, ...]
    table: str = ""
    picture: str = ""
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A part as it must stand on the page, and the pictures beside it."""

    text: str
    pictures: Mapping[str, bytes] = field(default_factory=dict)


def parts(page: str) -> list[tuple[Part, str]]:
    r"""Every part of a page with the text that stands there now.

    >>> page = "<!-- made by:\ndiscreet audit N.json\ntable: audit\n-->\nold\n<!-- end -->"
    >>> parts(page)
    [(Part(commands=('discreet audit N.json',), table='audit', picture='', slow=False), 'old\n')]
    """
    return [(read_part(found["recipe"]), found["body"]) for found in _PART.finditer(page)]


def read_part(recipe: str) -> Part:
    """The lines of a marker.

    Raises:
        BadRequest: a line that is neither a command nor a known word, or no command at all.
    """
    commands, words, slow = [], {"table": "", "picture": ""}, False
    for line in filter(None, map(str.strip, recipe.splitlines())):
        name, _, value = line.partition(":")
        if line.startswith("discreet "):
            commands.append(line)
        elif line == "slow":
            slow = True
        elif name in words:
            words[name] = value.strip()
        else:
            raise BadRequest(
                f'A marker of the book has the line "{line}".', "It knows discreet, table:, picture:, slow."
            )
    if not commands:
        raise BadRequest("A marker of the book has no command.", "Write the command that makes the part.")
    return Part(tuple(commands), words["table"], words["picture"], slow)


def make(part: Part, book: Path, run: Run) -> Made:
    """Run a part's commands and write what they found: picture, table, and the commands themselves."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        for description in book.glob("*.toml"):
            shutil.copy(description, folder)
        outputs = [run([*shlex.split(command)[1:], "--json"], folder) for command in part.commands]
        pictures = {file.name: file.read_bytes() for file in sorted(folder.rglob("*.svg"))}
    if bool(pictures) != bool(part.picture):
        raise BadRequest(
            f"{part.commands[-1]} made {len(pictures)} pictures.",
            "Give picture: its words, or leave them out.",
        )
    shown = [f"![{part.picture}]({name})" for name in pictures]
    if part.table:
        shown.append(_table(part, outputs))
    shown.append("\n".join(["```sh", *part.commands, "```"]))
    return Made("\n" + "\n\n".join(shown) + "\n\n", pictures)


def _table(part: Part, outputs: Sequence[str]) -> str:
    if part.table not in TABLES:
        raise BadRequest(f'The book has no table "{part.table}".', nearest(part.table, TABLES))
    last = part.commands[-1].split()[1]
    mine = zip(part.commands, outputs, strict=True)
    documents: list[dict[str, Any]] = [
        {"command": command} | json.loads(text) for command, text in mine if command.split()[1] == last
    ]
    return TABLES[part.table](documents)


def rebuilt(page: str, book: Path, run: Run) -> tuple[str, dict[str, bytes]]:
    """A page with every part made again, and its pictures."""
    pictures: dict[str, bytes] = {}

    def again(found: re.Match[str]) -> str:
        made = make(read_part(found["recipe"]), book, run)
        pictures.update(made.pictures)
        return f"{found[1]}{made.text}{END}"

    return _PART.sub(again, page), pictures


def build(book: Path, names: Sequence[str], report: Callable[[str], None]) -> None:
    """Write the chapters of these names again, all of them if none is named, with their pictures."""
    for path in sorted(book.glob("*.md")):
        if names and path.name not in names:
            continue
        text, pictures = rebuilt(path.read_text("utf-8"), book, by_process)
        path.write_text(text, "utf-8")
        for name, data in pictures.items():
            (book / name).write_bytes(data)
        report(f"Written: {path.name}" + "".join(f", {name}" for name in pictures))


def by_process(words: Sequence[str], folder: Path) -> str:
    """Run a command as a reader would, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BadRequest(f"discreet {shlex.join(words)} failed.", done.stderr.strip())
    return done.stdout
