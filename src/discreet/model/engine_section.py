"""The section `[engine]`, the same in `dataset.toml` and `workspace.toml`: which engine keeps the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.model.section import section_of

if TYPE_CHECKING:
    from discreet.errors import DiscreetError


def engine_named(section: Any, error: type[DiscreetError]) -> str:
    """The kind that an `[engine]` section names, in `dataset.toml` or `workspace.toml`; empty if it names none.

    >>> from discreet.errors import BadDescription
    >>> engine_named({"kind": "duckdb"}, BadDescription)
    'duckdb'
    """
    kind = section_of(section, "engine", ["kind"], error).get("kind", "")
    if not isinstance(kind, str):
        raise error(f"`kind` of [engine] is {kind!r}.", "Put it in quotes.")
    return kind
