"""A `Release` to a file: one module, one format, found by the registry; nothing else lists them.

A module of this folder binds `FORMAT`. Other packages and tests call `register`. Two formats may share an
ending, and then one of them owns it: that is the format of a file which is named by its ending alone.

A format gives a document in `pieces`, so that a large one leaves while it is made: `stream` is what faces send and
save, `write` is the same bytes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import BadRequest, UnknownFormat
from discreet.model.file_io import gather
from discreet.model.messages.text import message, nearest
from discreet.model.plugins import Extra, Registry

if TYPE_CHECKING:  # the names of formats are known without NumPy
    from discreet.model.columns import Listing
    from discreet.model.release import Release


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Args:
        name: What `--format` and `format=` take.
        label: What people call it, on a button.
        summary: What it is, in a few words.
        extension: The ending of its files, without the dot.
        media_type: What HTTP calls it; with a charset if it is text.
        pieces: The release as a document, piece by piece. What it cannot write it refuses before the first.
        owns_extension: Whether a file with its ending, and no format named, is in this format.
        python_name: The tail of `Table.to_...`; the name, with underscores, by default.
        needs: What must be installed for it.
        place: Where it stands among the formats: the smaller, the earlier.
        for_people: Whether people open it in a program with windows, rather than read it with code.
        lists: Whether it writes lines alone, so that it can write those of a listing, too.
    """

    name: str
    label: str
    summary: str
    extension: str
    media_type: str
    pieces: Callable[..., Iterable[bytes]]
    owns_extension: bool = True
    python_name: str = ""
    needs: Extra | None = None
    place: int = 100
    for_people: bool = False
    lists: bool = False

    def stream(self, release: Release | Listing) -> Iterator[bytes]:
        """The document in pieces worth sending; the first is made now, so that a refusal comes before any byte."""
        pieces = gather(self.pieces(release))
        return chain([next(pieces, b"")], pieces)

    def write(self, release: Release) -> bytes:
        """The whole document."""
        return b"".join(self.pieces(release))

    @property
    def method(self) -> str:
        """The method of a `Table` that writes it."""
        return f"to_{self.python_name or self.name.replace('-', '_')}"

    @property
    def is_picture(self) -> bool:
        """Whether a document is a picture."""
        return self.media_type.startswith("image/")

    @property
    def is_text(self) -> bool:
        """Whether a document is text."""
        return "charset=" in self.media_type

    @property
    def installed(self) -> bool:
        """Whether it can be written here."""
        return self.needs is None or not self.needs.missing


def _refuse_second_owner(new: Format, others: Iterable[Format]) -> None:
    owners = [o.name for o in others if o.owns_extension and o.extension == new.extension]
    if new.owns_extension and owners:
        raise ValueError(
            f'the format "{owners[0]}" owns the ending .{new.extension}: set owns_extension=False'
        )


_REGISTRY: Registry[Format] = Registry(
    "discreet.formats", "FORMAT", "format", UnknownFormat, _refuse_second_owner
)


def formats() -> tuple[Format, ...]:
    """Every format, in the order in which people are offered them."""
    return tuple(sorted(_REGISTRY.members(), key=lambda form: form.place))


def register(form: Format) -> None:
    """Offer a format of another package.

    Raises:
        ValueError: Its name is taken, or its ending has an owner already.
    """
    _REGISTRY.register(form)


def format_by_name(name: str) -> Format:
    """The format of a name, ready to write.

    Raises:
        UnknownFormat: With the nearest name.
        MissingExtra: It is not installed; the message says what to install.
    """
    return _ready(_REGISTRY.named(name))


def format_of_file(path: str | Path) -> Format:
    """The format that owns the ending of a file, ready to write.

    Raises:
        BadRequest: The file has no ending.
        UnknownFormat: With the nearest ending.
        MissingExtra: It is not installed; the message says what to install.
    """
    owners = {form.extension: form for form in formats() if form.owns_extension}
    ending = Path(path).suffix.lstrip(".").lower()
    if not ending:
        raise BadRequest(
            f"The file {Path(path).name!r} has no ending that names a format.",
            f"End it in {' or '.join(f'.{known}' for known in owners)}, or name the format.",
        )
    if ending not in owners:
        raise UnknownFormat(f'No format has the ending ".{ending}".', nearest(ending, owners))
    return _ready(owners[ending])


def listing_format(form: Format) -> Format:
    """The format, where it can write cells that are not 0 and nothing else.

    Raises:
        BadRequest: It needs all cells.
    """
    if form.lists:
        return form
    known = [each.name for each in formats() if each.lists]
    raise BadRequest(
        message("The format {name} needs all cells of a table, also those that are 0.", name=form.name),
        message("Take the format {known:or}.", known=tuple(known)),
    )


def _ready(form: Format) -> Format:
    if form.needs is not None:
        form.needs.refuse_missing(f'The format "{form.name}"')
    return form
