"""cellKey's YAML: read exactly as R writes it, and written so that it reads the same."""

import numpy as np
import pytest

from discreet.errors import BadNoiseTable
from discreet.noise import maxent
from discreet.noise.files import cellkey_yaml, read_noise_table, write_noise_table

#: As R's yaml::write_yaml(precision = 9) writes a ptable within ck_params_cnts.
WRITTEN_BY_R = """params:
  ptable:
    i:
    - 0
    - 1
    - 1
    j:
    - 0
    - 0
    - 2
    p:
    - 1.0
    - 0.5
    - 0.5
    v:
    - 0
    - -1
    - 1
    lb:
    - 0.0
    - 0.0
    - 0.5
    ub:
    - 1.0
    - 0.5
    - 1.0
    type:
    - all
    - all
    - all
type: cnts
version: 1.0.3
ptype: params_cnts
"""


def read(text):
    return cellkey_yaml.read(text, biased=False, parameters={})


def test_the_columns_of_the_file_are_the_rows_of_the_table(tmp_path):
    (tmp_path / "params.yaml").write_text(WRITTEN_BY_R)
    table = read_noise_table(tmp_path / "params.yaml")
    assert [row.values for row in table.rows] == [(0,), (-1, 1)]
    assert table.parameters["format"] == "cellkey-yaml"


def test_what_is_written_reads_the_same(tmp_path):
    table = maxent(D=3, V=1.5, js=1, modulus=10**8)
    write_noise_table(table, tmp_path / "params.yaml", "cellkey-yaml")
    assert read_noise_table(tmp_path / "params.yaml").rows == table.rows
    counts, keys = np.arange(9), np.arange(9, dtype=np.uint64) * 11_111_111
    assert (read_noise_table(tmp_path / "params.yaml").noise(counts, keys) == table.noise(counts, keys)).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WRITTEN_BY_R.replace("type: cnts", "type: nums"), "for counts"),
        (WRITTEN_BY_R.replace("    ub:", "    upper:"), "lacks i, v or ub"),
        (WRITTEN_BY_R.replace("    - 1.0\n    type", "    type"), "differ in length"),
        (WRITTEN_BY_R.replace("- 0.5", "- half"), "half"),
        ("params:\n  ptable:\n  - 1\ntype: cnts\n", "no ptable with columns"),
        ("params:\n  ptable:\n\t- {", "not valid YAML"),
        ("params: &a\n  ptable:\n    *a : 1\n", "not valid YAML|no cellKey"),
    ],
)
def test_a_broken_file_is_refused_with_what_is_wrong(text, said):
    assert cellkey_yaml.recognise(WRITTEN_BY_R)
    with pytest.raises(BadNoiseTable, match=said):
        read(text)
