"""File formats of a release, found by the registry.

A module of this folder binds `FORMAT` to its format, or to several; other packages call `register`. Formats can share a file
extension, but one of them owns it, for files without a format. A format yields a document in `pieces`, so that a large one
is sent while it is made.
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
        name: The value of `--format` and `format=`.
        label: The label of a button.
        summary: A short description.
        extension: The file extension, without the dot.
        media_type: The media type, with a charset if it is text.
        pieces: Yields the document of a release; it must refuse before the first piece.
        owns_extension: Whether a file with this extension and no named format has this format.
        python_name: The suffix of `Table.to_...`; by default the name, with underscores.
        needs: The optional dependencies.
        place: The position in the list of formats, ascending.
        for_people: Whether people open it in an application, rather than read it with code.
        lists: Whether it writes rows only, so that it can write a listing, too.
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

    @property
    def file_ending(self) -> str:
        """The end of a download's name; it names a format that does not own its extension.

        >>> format_by_name("sdmx-csv").file_ending, format_by_name("px").file_ending
        ('sdmx.csv', 'px')
        """
        parts = [] if self.owns_extension else [p for p in self.name.split("-") if p != self.extension]
        return "-".join(parts) + "." * bool(parts) + self.extension

    def stream(self, release: Release | Listing) -> Iterator[bytes]:
        """The document in pieces worth sending; the first is made now, so that a refusal comes before any byte."""
        pieces = gather(self.pieces(release))
        return chain([next(pieces, b"")], pieces)

    def write(self, release: Release) -> bytes:
        return b"".join(self.pieces(release))

    @property
    def method(self) -> str:
        """The method of a `Table`."""
        return f"to_{self.python_name or self.name.replace('-', '_')}"

    @property
    def is_picture(self) -> bool:
        return self.media_type.startswith("image/")

    @property
    def is_text(self) -> bool:
        return "charset=" in self.media_type

    @property
    def installed(self) -> bool:
        return self.needs is None or not self.needs.missing


def _refuse_second_owner(new: Format, others: Iterable[Format]) -> None:
    owners = [o.name for o in others if o.owns_extension and o.extension == new.extension]
    if new.owns_extension and owners:
        raise ValueError(
            f'the format "{owners[0]}" owns the ending .{new.extension}: set owns_extension=False'
        )


#: Other names of formats.
ALIASES = {"jsonstat": "json", "json-stat": "json"}
_REGISTRY: Registry[Format] = Registry(
    "discreet.formats", "FORMAT", "format", UnknownFormat, _refuse_second_owner
)


def formats() -> tuple[Format, ...]:
    """Every format, in the order in which they are offered."""
    return tuple(sorted(_REGISTRY.members(), key=lambda form: form.place))


def register(form: Format) -> None:
    """Add a format of another package.

    Raises:
        ValueError: Its name is taken, or its extension has an owner already.
    """
    _REGISTRY.register(form)


def format_by_name(name: str) -> Format:
    """The format of a name, ready to write.

    Raises:
        UnknownFormat: With the nearest name.
        MissingExtra: It is not installed; the message says what to install.
    """
    return _ready(_REGISTRY.named(ALIASES.get(name, name)))


def format_of_file(path: str | Path) -> Format:
    """The format that owns the extension of a file, ready to write.

    Raises:
        BadRequest: The file has no extension.
        UnknownFormat: With the nearest extension.
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
    """The format, if it can write only the cells that are not 0.

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
