"""R cellKey's YAML, as `ck_params_cnts(ptable, path)` writes and `ck_read_yaml(path)` reads it.

The columns of the ptable are lists under `params: ptable:`. R writes nine digits, so bounds have eight decimals.

Source: R package cellKey 1.0.3 (`ck_params_cnts`, `ck_read_yaml`).
"""

from collections.abc import Mapping
from typing import Any

from discreet.errors import BadNoiseTable
from discreet.noise.files.key_intervals import is_header, read_intervals, write_intervals
from discreet.noise.table import NoiseTable

COLUMNS = ("i", "j", "p", "v", "lb", "ub")
#: The version of the package behind our test files; with another one R warns and continues.
CELLKEY_VERSION = "1.0.3"


def recognise(text: str) -> bool:
    """Whether the text has the two keys of a cellKey table."""
    lines = [line.strip() for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    return "ptable:" in lines and "params:" in lines


def read(text: str, *, biased: bool, parameters: Mapping[str, Any]) -> NoiseTable:
    """Read the count table of a cellKey configuration."""
    columns = _columns(text)
    names = tuple(columns)
    lengths = {len(column) for column in columns.values()}
    if not is_header(names) or len(lengths) != 1:
        raise BadNoiseTable(
            "The ptable of the YAML file lacks i, v or ub, or its columns differ in length.",
            "Write it again with ck_params_cnts(ptable, path).",
        )
    lines = [";".join(names), *(";".join(row) for row in zip(*columns.values(), strict=True))]
    return read_intervals("\n".join(lines), biased=biased, parameters=parameters)


def write(table: NoiseTable) -> str:
    """The configuration of a table, as `ck_read_yaml` takes it."""
    columns = dict(zip(COLUMNS, zip(*write_intervals(table), strict=True), strict=True))
    columns["type"] = ("all",) * len(columns["i"])
    listed = [
        line
        for name, column in columns.items()
        for line in (f"    {name}:", *(f"    - {entry}" for entry in column))
    ]
    tail = ["type: cnts", f"version: {CELLKEY_VERSION}", "ptype: params_cnts"]
    return "\n".join(["params:", "  ptable:", *listed, *tail]) + "\n"


def _columns(text: str) -> dict[str, list[str]]:
    """The columns as text, so that decimals stay as written."""
    found = _parse(text)
    if not isinstance(found, dict) or found.get("type") != "cnts":
        raise BadNoiseTable(
            "The YAML file is no cellKey configuration for counts.", "Its `type` must be `cnts`."
        )
    params = found.get("params")
    table = params.get("ptable") if isinstance(params, dict) else None
    if not isinstance(table, dict) or not all(
        isinstance(column, list) and all(isinstance(entry, str) for entry in column)
        for column in table.values()
    ):
        raise BadNoiseTable("The YAML file has no ptable with columns.", "`params: ptable:` must list them.")
    return {str(name).lower(): column for name, column in table.items()}


def _parse(text: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - only these files need it
    except ImportError:
        raise BadNoiseTable(
            "YAML files of cellKey need PyYAML, which is not installed.", 'Run pip install "discreet[yaml]".'
        ) from None
    try:
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader makes texts and nothing else
    except (yaml.YAMLError, RecursionError):
        raise BadNoiseTable("The file is not valid YAML.", "Write it again with ck_params_cnts.") from None
