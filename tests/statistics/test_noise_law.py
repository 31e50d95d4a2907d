"""The noise that is released follows the published table, and a table that is 5 % wrong is found out."""

import numpy as np
import pytest
from scipy import stats

from discreet.model.request import TableRequest
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

#: Of each chi-square test below; a fixed secret and fixed records make the outcome fixed.
FALSE_ALARM = 1e-6
AREAS = 60_000

DESCRIPTION = """
id = "many"
label = "Many small cells"
id_column = "id"
[[variable]]
name = "area"
categories = [{areas}]
[[variable]]
name = "sex"
categories = ["1", "2"]
[protection]
keys = "{keys}"
max_variables = 3
[protection.noise]
family = "maxent"
D = 5
V = 3
js = 2
"""


@pytest.fixture(scope="module")
def records():
    import pandas as pd

    rng = np.random.default_rng(17)
    size = rng.poisson(8, AREAS)
    area = np.repeat(np.arange(AREAS), size)
    sex = rng.choice(["1", "2"], area.size)
    return pd.DataFrame({"id": np.arange(area.size), "area": area.astype(str), "sex": sex})


@pytest.fixture(scope="module", params=["hashed", "participants-and-description", "additive"])
def changes(request, records, tmp_path_factory):
    """The true count and the change of every cell with people in it, and the noise table."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "secret").write_bytes(bytes(range(7, 39)))
    (folder / "secret").chmod(0o600)
    listed = ", ".join(f'"{n}"' for n in range(AREAS))
    load_dataset(folder, DESCRIPTION.format(areas=listed, keys=request.param), records)
    stored = Workspace(folder).stored("many")
    release = release_table(stored, TableRequest("many", ("area",), ("sex",), totals=False))
    exact = records.groupby(["area", "sex"]).size().unstack(fill_value=0)
    exact = exact.reindex([str(n) for n in range(AREAS)], fill_value=0).to_numpy()
    people = exact > 0
    return exact[people], (release.noisy - exact)[people], stored.protector.noise


def p_value(observed, probabilities):
    """Chi-square of observed changes against a distribution, rare values taken together."""
    values, expected = np.array(list(probabilities)), np.array(list(probabilities.values())) * observed.size
    assert np.isin(observed, values).all()
    counts, rare = (observed[:, None] == values).sum(axis=0), expected < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    return stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue


@pytest.mark.slow
def test_the_noise_of_every_row_follows_the_table_and_a_table_five_percent_wrong_is_rejected(changes):
    counts, noise, table = changes
    for count in range(1, 9):
        observed = noise[np.minimum(counts, 8) == count]
        distribution = {value: float(p) for value, p in table.row(count).probabilities().items()}
        assert observed.size > 1500
        assert p_value(observed, distribution) > FALSE_ALARM
    # All counts from 3 up, against a distribution whose chance of no change is 5 % too small.
    observed = noise[counts >= 3]
    truth = _mixture(counts[counts >= 3], table)
    assert p_value(observed, truth) > FALSE_ALARM
    spread = 1 + 0.05 * truth[0] / (1 - truth[0])
    wrong = {value: p * (0.95 if value == 0 else spread) for value, p in truth.items()}
    assert p_value(observed, wrong) < FALSE_ALARM


def _mixture(counts, table):
    """The distribution of the changes of cells with these counts taken together."""
    distribution: dict[int, float] = {}
    values, times = np.unique(counts, return_counts=True)
    for count, share in zip(values.tolist(), (times / times.sum()).tolist(), strict=True):
        for value, p in table.row(count).probabilities().items():
            distribution[value] = distribution.get(value, 0.0) + share * float(p)
    return dict(sorted(distribution.items()))
