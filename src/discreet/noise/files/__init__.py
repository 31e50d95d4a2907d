"""Noise table files: one module per format, recognised by content."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreet.errors import BadNoiseTable, BadRequest, NotFound, UnknownFormat
from discreet.model.messages.text import nearest
from discreet.noise.files import cellkey_r, cellkey_yaml, ons, superstar, tau_argus
from discreet.noise.files.delimited import MOST_DIGITS
from discreet.noise.files.document import from_document, to_document
from discreet.noise.table import NoiseTable, content_hash

__all__ = ["FORMATS", "content_hash", "from_document", "read_noise_table", "to_document", "write_noise_table"]


#: The formats of `write_noise_table`.
FORMATS: Mapping[str, Callable[[NoiseTable], str]] = {
    "json": lambda table: json.dumps(to_document(table), indent=2, ensure_ascii=False) + "\n",
    "ons": ons.write,
    "tau-argus": tau_argus.write,
    "sas": tau_argus.write_sas,
    "cellkey": cellkey_r.write,
    "cellkey-yaml": cellkey_yaml.write,
    "superstar": superstar.write,
}
#: The modules that read a format, in the order in which they try to recognise a file.
READERS: Mapping[str, Any] = {
    "tau-argus": tau_argus,
    "ons": ons,
    "cellkey-yaml": cellkey_yaml,
    "cellkey": cellkey_r,
    "superstar": superstar,
}


def read_noise_table(
    path: str | Path, *, biased: bool | None = None, small_n: int | None = None
) -> NoiseTable:
    """Read a noise table of any format, recognised by its content.

    Args:
        path: The file.
        biased: Whether a mean other than zero is accepted. By default tau-Argus, SAS and cellKey tables must be
            unbiased, as ptable makes them; ONS and SuperSTAR tables declare nothing and may be biased; our
            documents declare their mean themselves.
        small_n: SmallN of a SuperSTAR server, if it is not 10; other formats have none.
    """
    file = Path(path)
    if not file.is_file():
        raise NotFound(f'There is no noise table file "{file}".', "Check the name.")
    try:
        data = file.read_bytes()
        provenance = {"file": file.name, "file_sha256": hashlib.sha256(data).hexdigest()}
        return _read(data.decode("utf-8-sig"), provenance, biased, small_n)
    except UnicodeDecodeError:
        raise BadNoiseTable(f'"{file.name}" is not a text file in UTF-8.') from None


def write_noise_table(table: NoiseTable, path: str | Path, format: str = "json") -> None:  # noqa: A002
    """Write a noise table; refused if the format cannot express it exactly."""
    if format not in FORMATS:
        raise UnknownFormat(f'Format "{format}" is not offered.', nearest(format, FORMATS))
    Path(path).write_text(FORMATS[format](table), encoding="utf-8")


def _read(text: str, provenance: dict[str, Any], biased: bool | None, small_n: int | None) -> NoiseTable:
    if text.lstrip().startswith("{"):
        return from_document(_json(text))
    name = next((name for name, module in READERS.items() if module.recognise(text)), None)
    if name is None:
        raise BadNoiseTable(
            f'"{provenance["file"]}" is no noise table that we know.',
            "Known: our JSON, ONS (pcv,ckey,pvalue), tau-Argus and SAS (i;j;p;v;p_int_ub), cellKey "
            "(i,j,p,v,lb,ub, or its YAML), SuperSTAR (a matrix of whole numbers).",
        )
    if small_n is not None and (name != "superstar" or small_n < 1):
        raise BadRequest(
            f"SmallN is {small_n} for a file in format {name}.", "It is a number from 1, for SuperSTAR."
        )
    options: dict[str, Any] = {} if small_n is None else {"small_n": small_n}
    options["biased"] = name in {"ons", "superstar"} if biased is None else biased
    table: NoiseTable = READERS[name].read(text, parameters={"format": name} | provenance, **options)
    return table


def _json(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise BadNoiseTable(f"The document is not valid JSON (line {error.lineno}): {error.msg}.") from None
    except RecursionError:
        raise BadNoiseTable("The document is nested too deeply for a noise table.") from None
    if not isinstance(found, dict):
        raise BadNoiseTable("The document is not a JSON object.")
    return found


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise BadNoiseTable(
            f"The document has a whole number of {len(text):,} digits.",
            f"A noise table has none of more than {MOST_DIGITS}: get the file again.",
        )
    return int(text)
