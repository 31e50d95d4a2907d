"""CSV as a PxWeb program asks for it: codes, texts or both, with another separator, with the title above.

The file is the tidy CSV of Discreet: one line a cell. Without a parameter it has codes and texts.

The numbers of a selection: cuts of whole tables, as a document of one of PxWeb's formats.

One measure is one whole table. JSON-stat shows several contents at once, in the dimension of the contents; the files
have one measure each, and beside its values its errors, as they always have.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import BadRequest, TooManyCells, UnknownFormat
from discreet.formats import format_by_name, formats
from discreet.formats.csv import safe_text
from discreet.model.messages.text import nearest
from discreet.model.release import Release, subset_release
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_service import DatasetService
from discreet.web.pxweb.metadata import contents_name, describe_dimensions, px_extension, roles
from discreet.web.pxweb.value_selection import Selected
from discreet.web.release_cache import ReleaseCache

_SEPARATORS = {"SeparatorTab": "\t", "SeparatorSpace": " ", "SeparatorSemicolon": ";"}
_TEXTS = ("UseCodes", "UseTexts", "UseCodesAndTexts")
#: Every parameter of PxWebApi; formats other than CSV have codes and texts whatever is said.
CSV_PARAMETERS = (*_TEXTS, "IncludeTitle", *_SEPARATORS)


@dataclass(frozen=True, slots=True)
class Csv:
    """How the CSV is written."""

    separator: str = ","
    shown: str = "UseCodesAndTexts"
    titled: bool = False

    def write(self, release: Release) -> bytes:
        """The release as CSV."""
        document = format_by_name("csv").write(release)
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


#: PxWeb's names of formats, and ours; `json-px` is not offered.
FORMATS = {
    "json-stat2": "json",
    "csv": "csv",
    "px": "px",
    "xlsx": "xlsx",
    "html": "html",
    "parquet": "parquet",
}
DEFAULT_FORMAT = "json-stat2"


@dataclass(frozen=True, slots=True)
class Output:
    """The document that is wanted: PxWeb's name of a format, and how a CSV is written."""

    name: str
    csv: Csv

    @property
    def extension(self) -> str:
        """The ending of its files."""
        return format_by_name(FORMATS[self.name]).extension

    @property
    def media_type(self) -> str:
        """What HTTP calls it."""
        return format_by_name(FORMATS[self.name]).media_type


def output_formats() -> list[str]:
    """The formats that can be written here, by PxWeb's names."""
    installed = {form.name for form in formats() if form.installed}
    return [name for name, own in FORMATS.items() if own in installed]


def read_output(name: str, parameters: Sequence[str]) -> Output:
    """The format and its parameters, in any case.

    Raises:
        UnknownFormat, BadRequest: With what there is.
    """
    wanted = (name or DEFAULT_FORMAT).lower()
    if wanted not in output_formats():
        raise UnknownFormat(f'There is no output format "{name}".', nearest(name, output_formats()))
    words = {word.lower(): word for word in CSV_PARAMETERS}
    for parameter in parameters:
        if parameter.lower() not in words:
            raise BadRequest(
                f'There is no output format parameter "{parameter}".', nearest(parameter, CSV_PARAMETERS)
            )
    return Output(wanted, read_csv([words[parameter.lower()] for parameter in parameters]))


def check_tables(
    door: DatasetService, selected: Selected, output: Output, most_cells: int
) -> dict[str, CheckedRequest]:
    """The question of the whole table for every measure; what cannot be answered is refused before it is counted.

    Raises:
        BadRequest: The format has one measure a file, and several are asked for.
        Refused: A rule does not allow the whole table, or more numbers are asked for than one call gives.
    """
    measures = dict.fromkeys(content.measure for content in selected.contents)
    if len(measures) > 1 and output.name != DEFAULT_FORMAT:
        raise BadRequest(
            f"A file of the format {output.name} has one measure, not {' and '.join(measures)}.",
            f"Select one of them, or take {DEFAULT_FORMAT}.",
        )
    checked = {name: door.check(selected.request(door.dataset.id, name)) for name in measures}
    if selected.cells > most_cells:
        raise TooManyCells(
            f"The selection has {selected.cells:,} cells; one call gives at most {most_cells:,}.",
            "Ask for fewer values at a time: the parts of one table agree with each other.",
        )
    return checked


def cut_tables(
    wholes: ReleaseCache, door: DatasetService, asked: dict[str, CheckedRequest], selected: Selected
) -> dict[str, Release]:
    """The cut of every measure's table."""
    codes = {each.dimension.name: each.codes for each in selected.chosen}
    return {name: subset_release(wholes.release(door, question), codes) for name, question in asked.items()}


def write_output(cuts: dict[str, Release], selected: Selected, output: Output, base: str) -> bytes:
    """The document; of a file the cut of its one measure."""
    if output.name == DEFAULT_FORMAT:
        document = data_document(cuts, selected, base)
        return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    (release,) = cuts.values()
    if output.name == "csv":
        return output.csv.write(release)
    return format_by_name(FORMATS[output.name]).write(release)


def data_document(cuts: dict[str, Release], selected: Selected, base: str) -> dict[str, Any]:
    """The numbers as JSON-stat in PxWeb's profile, the contents where they are placed."""
    own = {
        name: json.loads(format_by_name(FORMATS[DEFAULT_FORMAT]).write(each)) for name, each in cuts.items()
    }
    first = next(iter(cuts.values()))
    dataset = first.dataset
    described = describe_dimensions(dataset, first.dimensions, selected.contents, base)
    names = [*selected.stub, *selected.heading]
    axis, shape = names.index(contents_name(dataset)), first.values.shape
    values = _stack([_numbers(own[c.measure], c.numbers) for c in selected.contents], shape, axis)
    status = _stack([_letters(own[c.measure]["status"], first.cells) for c in selected.contents], shape, axis)
    extensions = {name: document["extension"] for name, document in own.items()}
    return {
        "version": "2.0",
        "class": "dataset",
        "label": "; ".join(release.title for release in cuts.values()),
        "source": dataset.source,
        "note": [*dict.fromkeys(note for release in cuts.values() for note in release.notes)],
        "role": roles(dataset, first.dimensions),
        "id": names,
        "size": [len(described[name]["category"]["index"]) for name in names],
        "dimension": {name: described[name] for name in names},
        "value": values,
        "status": {str(place): letter for place, letter in enumerate(status) if letter},
        "extension": {
            **px_extension(dataset, heading=selected.heading, stub=selected.stub),
            **(next(iter(extensions.values())) if len(cuts) == 1 else {"measures": extensions}),
        },
    }


def _numbers(document: dict[str, Any], name: str) -> list[Any]:
    """One kind of numbers of our own JSON-stat."""
    found: list[Any] = document["value"] if name == "value" else document["extension"][name]
    return found


def _letters(status: dict[str, str], cells: int) -> list[str]:
    return [status.get(str(place), "") for place in range(cells)]


def _stack(lists: list[list[Any]], shape: tuple[int, ...], axis: int) -> list[Any]:
    """Lists over the cells of a table, beside each other along a new axis."""
    arrays = []
    for items in lists:
        array = np.empty(len(items), dtype=object)
        array[:] = items
        arrays.append(array.reshape(shape))
    return [*np.stack(arrays, axis=axis).ravel().tolist()]
