"""The data of a selection: cells of whole tables, as a document in one of PxWeb's formats.

One measure is one whole table. JSON-stat shows several contents at once, in the contents dimension; a file has one
measure, with its errors. The CSV has one line per cell, with codes and texts unless the client chooses one of them.
"""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import BadRequest, TooManyCells, UnknownFormat
from discreet.formats import Format, format_by_name, formats
from discreet.formats.writers.csv import safe_text
from discreet.model.messages.text import nearest
from discreet.model.release import Release, subset_release
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetService
from discreet.web.cache import ReleaseCache
from discreet.web.pxweb.metadata import contents_name, describe_dimensions, px_extension, roles
from discreet.web.pxweb.selection_syntax import Selected

_SEPARATORS = {"SeparatorTab": "\t", "SeparatorSpace": " ", "SeparatorSemicolon": ";"}
_TEXTS = ("UseCodes", "UseTexts", "UseCodesAndTexts")
#: The output parameters of PxWebApi; formats other than CSV ignore them.
CSV_PARAMETERS = (*_TEXTS, "IncludeTitle", *_SEPARATORS)


@dataclass(frozen=True, slots=True)
class Csv:
    """The options of CSV output."""

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
    """Parse the CSV options of known parameters, of which no two may contradict each other."""
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
    """An output format by PxWeb's name, with the CSV options."""

    name: str
    csv: Csv

    @property
    def form(self) -> Format:
        """Our format."""
        return format_by_name(FORMATS[self.name])


def output_formats() -> list[str]:
    """PxWeb's names of the installed formats."""
    installed = {form.name for form in formats() if form.installed}
    return [name for name, own in FORMATS.items() if own in installed]


def read_output(name: str, parameters: Sequence[str]) -> Output:
    """Parse the format and its parameters, ignoring case."""
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
    service: DatasetService, selected: Selected, output: Output, most_cells: int
) -> dict[str, CheckedRequest]:
    """The checked request of the whole table for every measure, within the limit of one call; nothing is counted."""
    measures = dict.fromkeys(content.measure for content in selected.contents)
    if len(measures) > 1 and output.name != DEFAULT_FORMAT:
        raise BadRequest(
            f"A file of the format {output.name} has one measure, not {' and '.join(measures)}.",
            f"Select one of them, or take {DEFAULT_FORMAT}.",
        )
    checked = {name: service.check(selected.request(service.dataset.id, name)) for name in measures}
    if selected.cells > most_cells:
        raise TooManyCells(
            f"The selection has {selected.cells:,} cells; one call gives at most {most_cells:,}.",
            "Ask for fewer values at a time: the parts of one table agree with each other.",
        )
    return checked


def cut_tables(
    cache: ReleaseCache, service: DatasetService, checked: dict[str, CheckedRequest], selected: Selected
) -> dict[str, Release]:
    """The selected cells of every measure's table."""
    codes = {each.dimension.name: each.codes for each in selected.chosen}
    return {name: subset_release(cache.release(service, each), codes) for name, each in checked.items()}


def write_output(cuts: dict[str, Release], selected: Selected, output: Output, base: str) -> bytes:
    """The document in the output format."""
    if output.name == DEFAULT_FORMAT:
        document = data_document(cuts, selected, base)
        return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    (release,) = cuts.values()
    return output.csv.write(release) if output.name == "csv" else output.form.write(release)


def data_document(cuts: dict[str, Release], selected: Selected, base: str) -> dict[str, Any]:
    """The data as JSON-stat in PxWeb's profile, with the contents dimension in its place."""
    own = {
        name: json.loads(format_by_name(FORMATS[DEFAULT_FORMAT]).write(each)) for name, each in cuts.items()
    }
    first = next(iter(cuts.values()))
    dataset = first.dataset
    described = describe_dimensions(dataset, first.dimensions, selected.contents, base)
    names = [*selected.stub, *selected.heading]
    axis, shape = names.index(contents_name(dataset)), first.values.shape
    numbers, letters = [], []
    for content in selected.contents:
        document = own[content.measure]
        plain = content.numbers == "value"
        numbers.append(document["value"] if plain else document["extension"][content.numbers])
        letters.append([document["status"].get(str(place), "") for place in range(first.cells)])
    values, status = _stack(numbers, shape, axis), _stack(letters, shape, axis)
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


def _stack(lists: list[list[Any]], shape: tuple[int, ...], axis: int) -> list[Any]:
    """Lists over the cells of a table, stacked along a new axis."""
    arrays = [np.array(items, dtype=object).reshape(shape) for items in lists]
    return [*np.stack(arrays, axis=axis).ravel().tolist()]
