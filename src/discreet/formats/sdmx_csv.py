"""SDMX-CSV 2.0: `STRUCTURE,STRUCTURE_ID,ACTION`, the variables, `OBS_VALUE`, then the attributes.

`OBS_STATUS` by SDMX's own code list: A is a released value, Q is withheld (c), M cannot occur (z), U is of low
reliability (u). The numbers beside the value are SIGNED, RELATIVE_STANDARD_ERROR and NOISE_SHARE. Title, notes,
promise, digest and citation belong to the table: they are attributes that the first line carries for all.
The dataflow is named by the dataset and its variables, so that each has the dimensions that its name says.
Source: https://github.com/sdmx-twg/sdmx-csv, version 2.0.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv import Dialect, joined_lines, number_texts, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from discreet.model.release import Release

AGENCY = "DISCREET"
#: SDMX's OBS_STATUS in the order of our status letters: released, withheld, not applicable, unreliable.
OBS_STATUS = ("A", "Q", "M", "U")


def to_sdmx_csv(release: Release) -> Iterator[bytes]:
    """The release as SDMX-CSV 2.0: the header, then block by block."""
    from discreet.model.columns import NONE, blocks, numbers_of

    _, *beside = numbers_of(release, NONE)
    words = _words(release)
    names = [dimension.name for dimension in release.dimensions]
    attributes = ["OBS_STATUS", *(numbers.name.upper() for numbers in beside), *words]
    yield (
        ",".join(["STRUCTURE", "STRUCTURE_ID", "ACTION", *names, "OBS_VALUE", *attributes]) + "\n"
    ).encode()
    codes = [quoted(dimension.codes, Dialect()) for dimension in release.dimensions]
    for lines in blocks(release):
        yield joined_lines([*_observations(release, lines, codes), *_first_line(lines, words)], ",")


def dataflow(release: Release) -> str:
    """The name of the table's dataflow: `DISCREET:census-sex-age(1.0.0)`."""
    names = "-".join([release.dataset.id, *(dimension.name for dimension in release.dimensions)])
    return f"{AGENCY}:{names}(1.0.0)"


def _observations(release: Release, lines: slice, codes: list[pa.Array]) -> list[pa.Array]:
    """The fields that every line has."""
    import pyarrow as pa

    from discreet.model.columns import numbers_of, places_of

    count = lines.stop - lines.start
    same = [pa.repeat(pa.scalar(text, pa.large_string()), count) for text in _structure(release)]
    coded = [
        texts.take(pa.array(places))
        for texts, (_, places) in zip(codes, places_of(release, lines), strict=True)
    ]
    value, *beside = [number_texts(numbers) for numbers in numbers_of(release, lines)]
    status = pa.array(OBS_STATUS, pa.large_string()).take(pa.array(release.status.flat[lines]))
    return [*same, *coded, value, status, *beside]


def _structure(release: Release) -> tuple[str, str, str]:
    return "dataflow", dataflow(release), "I"


def _words(release: Release) -> dict[str, str]:
    from discreet.model.provenance import citation

    return {
        "TITLE": release.title,
        "NOTE": " ".join(release.notes),
        "PROMISE": " ".join(release.promise),
        "DATASET_VERSION": release.dataset.version,
        "DIGEST": release.digest,
        "CITATION": citation(release),
    }


def _first_line(lines: slice, words: dict[str, str]) -> list[pa.Array]:
    """Columns that have a text in the first line of the table and nothing below it."""
    import numpy as np
    import pyarrow as pa

    places = pa.array((np.arange(lines.start, lines.stop) > 0).astype(np.int8))
    nothing = pa.array([""], pa.large_string())
    return [pa.concat_arrays([quoted((text,), Dialect()), nothing]).take(places) for text in words.values()]


FORMAT = Format(
    "sdmx-csv",
    "SDMX-CSV",
    "SDMX-CSV 2.0",
    "csv",
    "application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8",
    to_sdmx_csv,
    owns_extension=False,
    place=80,
)
