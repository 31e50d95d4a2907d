"""Empty cells by description: one number in every table, none for structural zeros, and the declared share."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.errors import BadDescription
from discreet.inference.intervals import cell_interval
from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.model.shape import structural_zeros, table_shape
from discreet.noise import maxent
from discreet.protect.empty_cells import EmptyCells

FALSE_ALARM = 1e-6
NOISE = """
[protection]
zeros = "perturbed"
max_variables = 4

[protection.noise]
family = "maxent"
D = 5
V = 3
js = 2
made_up = 0.2
dropped = 0.1
"""
FEW = 40


@pytest.fixture(scope="module")
def description(town):
    """The town, most of whose cells are empty once it has few people."""
    return town.description[: town.description.index("[protection]")] + NOISE


@pytest.fixture(scope="module")
def catalogue(town, description, tmp_path_factory):
    workspace = town.load(tmp_path_factory.mktemp("empty"), description, town.records.slice(0, FEW))
    workspace.close()
    with discreet.open(workspace.folder) as opened:
        yield opened


def test_empty_cells_show_small_counts_and_structural_zeros_none(catalogue):
    table = catalogue.table("town", rows=["area", "age"], columns=["sex", "job"])
    release = table.release
    impossible = structural_zeros(table_shape(release.request, release.dataset), release.dataset)
    assert impossible.any()
    assert not release.values[impossible].any()
    frame = table.to_pandas().query("area == 'N2' and age == 'old' and job == '1' and sex != '_T'")
    assert set(frame["value"]) <= {0, 3, 4, 5}
    assert (release.values[~impossible] == 4).any()


def test_a_cell_has_one_number_however_it_is_asked_for(catalogue):
    """Wrong alternative: keys of the people in a cell, of whom there are none, would be one key for all."""
    sliced = catalogue.table("town", rows=["area"], columns=["age"], filters={"sex": ["1"], "job": ["2"]})
    whole = catalogue.table("town", rows=["job", "sex"], columns=["age"], layers=["area"])
    frame = whole.to_pandas().query("sex == '1' and job == '2'").set_index(["area", "age"])["value"]
    other = sliced.to_pandas().set_index(["area", "age"])["value"]
    assert (frame.loc[other.index] == other).all()
    assert len(set(whole.to_pandas()["value"])) > 4


def test_the_share_of_made_up_cells_is_the_declared_one(description, secret):
    dataset = parse_dataset(description)
    shape = table_shape(TableRequest("town", ("area", "sex"), ("age", "job")), dataset)
    noise = maxent(D=5, V=3, js=2, made_up=0.2, dropped=0.1)
    counts, shown, cells = np.zeros(shape.lengths, dtype=np.int64), 0, 0
    for name in range(30):
        empty = EmptyCells(secret, replace(dataset, id=f"town{name}"), noise.modulus)
        places = empty.places(counts, shape)
        found = noise.noise(counts.ravel()[places], empty.keys(shape, places))
        shown, cells = shown + np.count_nonzero(found), cells + places.size
    assert stats.binomtest(int(shown), cells, 0.2).pvalue > FALSE_ALARM
    assert stats.binomtest(int(shown), cells, 0.17).pvalue < FALSE_ALARM


def test_an_interval_of_a_small_count_begins_at_zero(catalogue):
    """Where zeros stay, a shown 3 says that somebody is there; here it does not."""
    table = catalogue.table("town", rows=["area"], columns=["age"], filters={"job": ["2"]})
    frame = table.to_pandas()
    shown = frame[frame["value"].between(3, 5)]
    assert len(shown)
    for row in shown.itertuples():
        assert table.interval(row.area, row.age).low == 0
    kept = maxent(D=5, V=3, js=2)
    assert all(cell_interval(int(value), kept).low > 0 for value in shown["value"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('zeros = "perturbed"', 'zeros = "gone"'), 'zeros is "gone"'),
        (('zeros = "perturbed"', ""), "`made_up` and `dropped`"),
        (("made_up = 0.2\ndropped = 0.1", ""), "shows some empty cells"),
        (
            (
                'family = "maxent"\nD = 5\nV = 3\njs = 2\nmade_up = 0.2\ndropped = 0.1',
                'family = "laplace"\nepsilon = 1',
            ),
            "none below zero",
        ),
        (('zeros = "perturbed"', 'zeros = "perturbed"\nmethod = "dp"'), "means nothing under the method dp"),
    ],
)
def test_half_of_it_is_refused(town, description, tmp_path, change, said):
    with pytest.raises(BadDescription) as refused:
        town.load(tmp_path, description.replace(*change), town.records.slice(0, FEW))
    assert said in refused.value.message


def test_weights_are_refused(description):
    with pytest.raises(BadDescription, match="is for counts"):
        parse_dataset(
            description.replace('id_column = "person"', 'id_column = "person"\nweight_column = "weight"')
        )
