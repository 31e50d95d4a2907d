"""How many times as large the errors that readers are told of a survey are as the custodian's exact errors of sampling.

The demo survey, with a fixed secret: every total, share, ratio and difference of three tables. Printed errors contain the
noise and the bias that a load lets through, and are rounded up.

`python tests/statistics/test_weighted_errors.py` prints the table of docs/evidence/survey-errors.md.
"""

from hashlib import sha256
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest

from discreet.assess.survey_errors import survey_errors
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.workspace.demo.spudlandia import spudlandia_batches, spudlandia_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

DOCS = Path(__file__).parents[2] / "docs" / "evidence" / "survey-errors.md"
TABLES = [("state", "likes"), ("age", "likes"), ("gender", "frequency")]
KINDS = ("total", "share of everybody", "share of a row", "ratio", "difference", "difference of two shares")
#: Errors of less than a thousandth are those of totals that the design fixes.
FIXED = 1e-3


def words(shape):
    """What is asked of a table, in the custodian's words: by kind."""
    rows, columns = ([code for code in d.codes if code != "_T"] for d in shape.dimensions)
    shares = {(row, column): f"{row},{column} / {row},_T" for row in rows for column in columns}
    return {
        "total": [f"{row},{column}" for row, column in shares],
        "share of everybody": [f"{row},{column} / _T,_T" for row, column in shares],
        "share of a row": list(shares.values()),
        "ratio": [f"{row},{a} / {row},{b}" for row in rows for a, b in combinations(columns, 2)],
        "difference": [f"{row},{a} - {row},{b}" for row in rows for a, b in combinations(columns, 2)],
        "difference of two shares": [
            f"{shares[a, column]} - {shares[b, column]}"
            for a, b in combinations(rows, 2)
            for column in columns
        ],
    }


def compared(folder):
    """The quotients of told and exact errors by kind, and how many estimates of each were refused an error."""
    (folder / "secret").write_bytes(sha256(b"weighted errors").digest())
    (folder / "secret").chmod(0o600)
    load_dataset(folder, spudlandia_description(), pa.Table.from_batches(list(spudlandia_batches())))
    found = {kind: [] for kind in KINDS}
    service = DatasetRegistry(Workspace(folder)).open("spudlandia")
    for row, column in TABLES:
        asked = TableRequest("spudlandia", (row,), (column,))
        release = service.release(TableRequest("spudlandia", (row,), (column,), measure="weighted"))
        for kind, texts in words(release).items():
            for each in survey_errors(service, asked, texts).estimates:
                if each.standard_error > FIXED * abs(each.value):
                    told = each.printed_error and each.printed_error * abs(each.printed_value)
                    found[kind].append(told and told / each.standard_error)
    return found


def lines(found):
    """The rows of the table."""
    for kind, quotients in found.items():
        told = [each for each in quotients if each is not None]
        yield f"| {kind} | {np.median(told):.2f} | {min(told):.2f} | {len(told)} of {len(quotients)} |"


@pytest.mark.slow
def test_the_table_of_the_docs_is_what_is_measured(tmp_path):
    found = compared(tmp_path)
    text = DOCS.read_text()
    assert [line for line in lines(found) if line not in text] == []
    for kind, quotients in found.items():
        told = [each for each in quotients if each is not None]
        assert 1 <= np.median(told) <= 1.3, kind
        assert min(told) >= 0.95, f"{kind}: the released count may be below the true one"
        assert np.quantile(told, 0.95) <= 1.7, kind


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        print("\n".join(lines(compared(Path(folder)))))
