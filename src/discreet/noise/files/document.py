"""Our noise table document: JSON for people and machines.

It has the design (family, parameters, probabilities), the integers that are looked up (modulus, rows with values and
cumulative thresholds, repeats), the moments of the last row, the provenance, and a SHA-256 of the integers (`content_hash`),
so that a changed digit is refused. `discreet design` adds the probabilities before quantisation and the privacy audit.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any, NotRequired

from typing_extensions import TypedDict

from discreet import __version__
from discreet.errors import BadNoiseTable
from discreet.noise.table import ArrangedRow, ArrangedTable, NoiseRow, NoiseTable, content_hash, make_table

FORMAT = "discreet-noise-table"
VERSION = 1
#: Fields that a document may leave out.
OPTIONAL: dict[str, Any] = {"repeats": 1, "family": "file", "parameters": {}, "moments": {}}
JSON_KINDS = {int: "a whole number", str: "a text", list: "a list", dict: "an object"}
BIAS_TOLERANCE = 1e-9
SUM_TOLERANCE = 1e-6


class NoiseTableDocument(TypedDict):
    """A noise table: see docs/reference/noise-table-files.md."""

    family: str
    parameters: dict[str, Any]
    modulus: int
    rows: list[dict[str, Any]]
    repeats: int
    moments: dict[str, float]
    notes: list[str]
    format: str
    version: int
    provenance: dict[str, Any]
    content_sha256: str
    arrangement: NotRequired[list[dict[str, Any]]]


class NoisePlanDocument(TypedDict):
    """A noise plan under `dp`: every margin with its share, and every noise table once."""

    format: str
    version: int
    currency: str
    tables: list[dict[str, Any]]
    answer: dict[str, Any] | None
    noise: dict[str, dict[str, Any]]
    claim: dict[str, Any] | None
    residuals: NotRequired[list[dict[str, Any]]]


def to_document(table: NoiseTable) -> NoiseTableDocument:
    """The document of a table, ready for `json.dumps`; its probabilities are those of the integers."""
    document: NoiseTableDocument = {
        "family": table.family,
        "parameters": plain(table.parameters),
        "modulus": table.modulus,
        "rows": [
            {
                "count": count,
                "values": list(row.values),
                "probabilities": [float(p) for p in row.probabilities().values()],
                "thresholds": list(row.thresholds),
            }
            for count, row in enumerate(table.rows)
        ],
        "repeats": table.repeats,
        "moments": moments(table.rows[-1]),
        "notes": [],
        "format": FORMAT,
        "version": VERSION,
        "provenance": {"program": f"discreet {__version__}"},
        "content_sha256": content_hash(table),
    }
    if isinstance(table, ArrangedTable):
        arranged = enumerate(table.arranged)
        document["arrangement"] = [{"count": count, **plain(asdict(row))} for count, row in arranged]
    return document


def from_document(document: Mapping[str, Any]) -> NoiseTable:
    """The table of a document; refused if the integers contradict themselves, the hash or the moments."""
    document = {**OPTIONAL, **document}
    modulus, repeats = _require(document, "modulus", int), _require(document, "repeats", int)
    arranged = _read_rows(document, "rows", modulus)
    if "arrangement" in document:
        kept, arranged = arranged, _read_rows(document, "arrangement", modulus)
        if [row.distribution() for row in arranged] != [row.distribution() for row in kept]:
            raise BadNoiseTable("The arrangement of the keys does not have the law of the rows.")
    family, parameters = _require(document, "family", str), _require(document, "parameters", dict)
    table = make_table(modulus, arranged, repeats=repeats, family=family, parameters=parameters)
    if document.get("content_sha256") is not None and document["content_sha256"] != content_hash(table):
        raise BadNoiseTable(
            "The integers of the document do not have the hash that it declares.",
            "The file was changed after it was written: get it again, or design the table again.",
        )
    declared = _require(document, "moments", dict).get("bias")
    if declared is not None and not _is_finite(declared):
        raise BadNoiseTable('The document has no usable "moments.bias".', "It must be a number.")
    if declared is None:
        return table
    actual, count = float(table.rows[-1].mean()), len(table.rows) - 1
    if abs(declared - actual) > BIAS_TOLERANCE * max(1.0, abs(actual)):
        raise BadNoiseTable(
            f"The row of count {count} has mean {actual:.9g}; the document declares {declared:.9g}."
        )
    return table


def design_probabilities(document: Mapping[str, Any]) -> list[dict[int, float]]:
    """The probabilities of every row before quantisation, by value; empty if the document has none."""
    return [
        dict(zip(row["values"], row.get("probabilities") or [], strict=False)) for row in document["rows"]
    ]


def moments(row: NoiseRow) -> dict[str, float]:
    """Bias, variance and entropy (nats) of a row, as floats for people."""
    return {"bias": float(row.mean()), "variance": float(row.variance()), "entropy": row.entropy()}


def plain(value: Any) -> Any:
    """A value for JSON: fractions become floats, tuples lists, infinity null."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "items"):
        return {str(key): plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return [plain(each) for each in value] if hasattr(value, "__iter__") else str(value)


def _require(document: Mapping[str, Any], name: str, kind: type) -> Any:
    value = document.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadNoiseTable(f'The document has no usable "{name}".', f"It must be {JSON_KINDS[kind]}.")
    return value


def _is_finite(value: object) -> bool:
    """Whether a value is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _read_rows(document: Mapping[str, Any], name: str, modulus: int) -> list[ArrangedRow]:
    rows = _require(document, name, list)
    if not all(isinstance(row, dict) for row in rows):
        raise BadNoiseTable(
            f'An entry of "{name}" is no JSON object.', "Each has count, values and thresholds."
        )
    return [_read_row(place, row, modulus) for place, row in enumerate(rows)]


def _read_row(place: int, row: Mapping[str, Any], modulus: int) -> ArrangedRow:
    count = row.get("count", place)
    if count != place:
        kind = "is there twice" if isinstance(count, int) and count < place else "comes too early"
        raise BadNoiseTable(f"The row of count {count} {kind}: the row of count {place} is expected.")
    values, thresholds = _require(row, "values", list), _require(row, "thresholds", list)
    distribution = None if row.get("probabilities") is None else _require(row, "probabilities", list)
    if distribution is not None and not all(map(_is_finite, distribution)):
        raise BadNoiseTable(f"The row of count {row.get('count')}: its probabilities are not all numbers.")
    if len(values) != len(thresholds) or (distribution is not None and len(distribution) != len(values)):
        raise BadNoiseTable(
            f"The row of count {count} needs one threshold and one probability for each value."
        )
    if not all(isinstance(number, int) for number in (*values, *thresholds)):
        raise BadNoiseTable(f"The row of count {count}: values and thresholds are whole numbers.")
    if len(set(values)) != len(values) and sorted(values) == values:
        raise BadNoiseTable(f"The row of count {count} lists a value twice.")
    if distribution is not None and abs(math.fsum(distribution) - 1) > SUM_TOLERANCE:
        raise BadNoiseTable(
            f"The row of count {count}: its probabilities add up to {math.fsum(distribution):.9g}, not to 1."
        )
    # A value lost in quantisation has an empty interval and no key: leave it out.
    kept = [(v, t) for v, t, b in zip(values, thresholds, [0, *thresholds], strict=False) if t != b]
    try:
        found = ArrangedRow(tuple(v for v, _ in kept), tuple(t for _, t in kept))
    except BadNoiseTable as error:
        raise BadNoiseTable(f"The row of count {count}: {error.message}", error.advice) from None
    if found.thresholds[-1] != modulus:
        raise BadNoiseTable(
            f"The row of count {count} covers {found.thresholds[-1]} keys of {modulus}: it must cover all."
        )
    return found
