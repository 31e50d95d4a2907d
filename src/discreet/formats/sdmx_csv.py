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
    import pyarrow as pa

    from discreet.model.release import Release

AGENCY = "DISCREET"
#: SDMX's OBS_STATUS in the order of our status letters: released, withheld, not applicable, unreliable.
OBS_STATUS = ("A", "Q", "M", "U")


def to_sdmx_csv(release: Release) -> bytes:
    """The release as SDMX-CSV 2.0."""
    from discreet.model.columns import numbers_of, places_of

    _, *beside = numbers_of(release)
    words = _words(release)
    names = [dimension.name for dimension, _ in places_of(release)]
    attributes = ["OBS_STATUS", *(numbers.name.upper() for numbers in beside), *words]
    header = ",".join(["STRUCTURE", "STRUCTURE_ID", "ACTION", *names, "OBS_VALUE", *attributes]) + "\n"
    return header.encode() + joined_lines([*_observations(release), *_first_line(release.cells, words)], ",")


def dataflow(release: Release) -> str:
    """The name of the table's dataflow: `DISCREET:census-sex-age(1.0.0)`."""
    names = "-".join([release.dataset.id, *(dimension.name for dimension in release.dimensions)])
    return f"{AGENCY}:{names}(1.0.0)"


def _observations(release: Release) -> list[pa.Array]:
    """The fields that every line has."""
    import pyarrow as pa

    from discreet.model.columns import numbers_of, places_of

    same = [pa.repeat(pa.scalar(text, pa.large_string()), release.cells) for text in _structure(release)]
    codes = [quoted(d.codes, Dialect()).take(pa.array(places)) for d, places in places_of(release)]
    value, *beside = [number_texts(numbers) for numbers in numbers_of(release)]
    status = pa.array(OBS_STATUS, pa.large_string()).take(pa.array(release.status.ravel()))
    return [*same, *codes, value, status, *beside]


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


def _first_line(cells: int, words: dict[str, str]) -> list[pa.Array]:
    """Columns that have a text in their first line and nothing below it."""
    import numpy as np
    import pyarrow as pa

    places = np.ones(cells, dtype=np.int8)
    places[0] = 0
    return [
        pa.concat_arrays([quoted((text,), Dialect()), pa.array([""], pa.large_string())]).take(
            pa.array(places)
        )
        for text in words.values()
    ]


FORMAT = Format(
    "sdmx-csv",
    "SDMX-CSV",
    "SDMX-CSV 2.0",
    "csv",
    "application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8",
    to_sdmx_csv,
    owns_extension=False,
)
