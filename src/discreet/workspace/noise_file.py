"""The noise table of a version, as the integers that were designed when it was loaded.

A design is computed in floating point, and a last digit may differ between machines; the integers are
computed once, stored beside the records and covered by the digest. What is looked up for ever after is
this file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from discreet.errors import BadNoiseTable, DiscreetError, WorkspaceUnusable
from discreet.mechanism.noise_table import NoiseRow, NoiseTable

if TYPE_CHECKING:
    from pathlib import Path

NOISE = "noise.json"


def write_noise(table: NoiseTable) -> str:
    """The noise table as text: the same table always gives the same text."""
    rows = [{"values": row.values, "thresholds": row.thresholds} for row in table.rows]
    document = {
        "family": table.family,
        "parameters": dict(table.parameters),
        "modulus": table.modulus,
        "repeats": table.repeats,
        "rows": rows,
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def read_noise(path: Path) -> NoiseTable:
    """Read the noise table of a version; anything wrong with it means no answers."""
    try:
        document = json.loads(path.read_text("utf-8"))
        rows = tuple(NoiseRow(tuple(row["values"]), tuple(row["thresholds"])) for row in document["rows"])
        return NoiseTable(
            document["modulus"], rows, document["repeats"], document["family"], document["parameters"]
        )
    except (OSError, ValueError, KeyError, TypeError, BadNoiseTable) as error:
        reason = f" {error.message}" if isinstance(error, DiscreetError) else ""
        raise WorkspaceUnusable(
            f"The noise table of version {path.parent.name[:8]} cannot be used.{reason}",
            "Load the dataset again.",
        ) from None
