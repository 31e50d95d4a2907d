"""Cell keys by their definition, noise by the slow and obvious way, and empty cells that are keyed by description."""

import hashlib
import hmac
import json
from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import discreet
from discreet.errors import BadDescription, BadNoiseTable
from discreet.inference.confidence_intervals.count_intervals import cell_interval
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.exact import ExactTable
from discreet.model.protection import Protection
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.shape import Dimension, Output, TableShape, structural_zeros, table_shape
from discreet.noise import maxent
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.protect import cell_keys as cell_key_noise
from discreet.protect.cell_keys import EmptyCells, add_noise, cell_chances, cell_keys
from discreet.records.keys import Secret

SUMS = np.array([0, 1, 2**32, 2**63 + 12345, 2**64 - 1], dtype=np.uint64)
PLACES = np.arange(5)


def keys_of(secret, mode, shape=None, sums=SUMS, places=PLACES, **protection):
    modulus = protection.get("modulus", 2**32)
    return cell_keys(secret, "town", Protection(keys=mode, **protection), modulus)(shape)(sums, places)


def slow_hash(key: bytes, low: int, high: int) -> int:
    block = low.to_bytes(8, "little") + high.to_bytes(8, "little")
    return int.from_bytes(Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(block)[:8], "little")


@pytest.mark.parametrize("modulus", [2**8, 2**32, 2**64, 10**8])
def test_hashed_keys_are_what_the_definition_says(secret, modulus):
    key = secret.derive("cell-key", "town")
    expected = [slow_hash(key, int(total), 0) % modulus for total in SUMS]
    assert keys_of(secret, "hashed", modulus=modulus).tolist() == expected


def test_chances_have_a_key_of_their_own(secret):
    """The key of the noise, the wrong alternative, would tell of the noise what a rung tells of a chance."""
    found = cell_chances(secret, "town")(SUMS)
    own, noise = (secret.derive(name, "town") for name in ("cell-chance", "cell-key"))
    assert found.tolist() == [(slow_hash(own, int(total), 0) >> 11) / 2**53 for total in SUMS]
    assert found.tolist() != [(slow_hash(noise, int(total), 0) >> 11) / 2**53 for total in SUMS]


def test_additive_keys_are_sums_modulo_the_modulus(secret):
    assert keys_of(secret, "additive", modulus=256).tolist() == [int(total) % 256 for total in SUMS]
    assert keys_of(secret, "additive", modulus=2**64).tolist() == SUMS.tolist()


def test_abs_keys_fold_four_bytes_of_the_sum_modulo_a_prime(secret):
    expected = []
    for total in SUMS:
        one, two, three, four = (int(total) % 4_294_967_291).to_bytes(4, "big")
        expected.append(one ^ two ^ three ^ four)
    assert keys_of(secret, "abs", modulus=256).tolist() == expected


class TestParticipantsAndDescription:
    """Rinott et al. 2.2: the same people asked in other words get other noise."""

    def keys(self, secret, dataset, **parts):
        shape = table_shape(canonical(request_from_text("town", **parts), dataset), dataset)
        sums = np.full(shape.cells, 7, dtype=np.uint64)
        found = cell_keys(secret, "town", Protection(keys="participants-and-description"), 2**32)(shape)(
            sums, np.arange(shape.cells)
        )
        return found.reshape(shape.lengths)

    def test_the_key_is_what_the_definition_says(self, secret, dataset):
        found = self.keys(secret, dataset, rows=["sex"], filters=["age=old,child"])
        describe = secret.derive("cell-description", "town")

        def token(name, codes):
            message = json.dumps([name, sorted(codes)], separators=(",", ":")).encode()
            return int.from_bytes(hmac.new(describe, message, hashlib.sha256).digest()[:8], "little")

        description = (token("age", ["child", "old"]) + token("sex", ["1"])) % 2**64
        key = secret.derive("cell-key-described", "town")
        assert int(found[0]) == slow_hash(key, 7, description) % 2**32

    def test_different_descriptions_of_the_same_people_differ(self, secret, dataset):
        found = self.keys(secret, dataset, rows=["sex"], columns=["age"])
        assert len(np.unique(found)) == found.size

    def test_a_slice_and_a_filter_that_say_the_same_agree(self, secret, dataset):
        table = self.keys(secret, dataset, rows=["sex"], columns=["age"])
        filtered = self.keys(secret, dataset, rows=["sex"], filters=["age=adult"])
        assert filtered.tolist() == table[:, 1].tolist()


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


SECRET = Secret(bytes(range(40, 72)))
NOISE_CELL_KEY_NOISE = NoiseTable(
    2**32,
    (
        NoiseRow((0,), (2**32,)),
        NoiseRow((-1, 2), (2**32 * 2 // 3, 2**32)),
        NoiseRow((-2, -1, 0, 1, 2), tuple(2**32 * n // 9 for n in (1, 3, 6, 8, 9))),
    ),
)


def shape_of(length: int) -> TableShape:
    outputs = tuple(Output(str(n), str(n), (n,)) for n in range(length))
    base = tuple(str(n) for n in range(length))
    return TableShape((Dimension("v", "V", outputs, tuple(range(length)), base, total=False),))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2**63)), min_size=1, max_size=30))
def test_each_cell_gets_the_noise_of_its_count_and_key(cells):
    counts = np.array([count for count, _ in cells])
    sums = np.array([total if count else 0 for count, total in cells], dtype=np.uint64)
    shape = shape_of(len(cells))
    keys = cell_keys(SECRET, "town", Protection(), 2**32)
    noisy = add_noise(ExactTable(shape, counts, sums), keys, NOISE_CELL_KEY_NOISE)
    for place, count in enumerate(counts.tolist()):
        key = int(keys(shape)(sums[place : place + 1], np.array([place]))[0])
        row = NOISE_CELL_KEY_NOISE.row(count)
        change = next(v for v, t in zip(row.values, row.thresholds, strict=True) if key < t)
        assert int(noisy[place]) == (count + change if count else 0)


@pytest.mark.parametrize("mode", ["hashed", "participants-and-description"])
def test_cells_are_looked_up_in_blocks_and_every_block_counts(mode, monkeypatch):
    """Wrong alternative: places that start again in every block."""
    random = np.random.default_rng(3)
    counts, sums = random.integers(0, 4, 1000), random.integers(0, 2**63, 1000).astype(np.uint64)
    keys = cell_keys(SECRET, "town", Protection(keys=mode), 2**32)
    whole = add_noise(ExactTable(shape_of(1000), counts.copy(), sums), keys, NOISE_CELL_KEY_NOISE)
    monkeypatch.setattr(cell_key_noise, "BLOCK", 7)
    exact = ExactTable(shape_of(1000), counts.copy(), sums)
    assert add_noise(exact, keys, NOISE_CELL_KEY_NOISE, in_place=True).tolist() == whole.tolist()
    assert whole.tolist() != counts.tolist()


def test_a_table_that_moves_zeros_is_refused():
    moving = NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),))
    exact = ExactTable(shape_of(1), np.array([3]), np.array([5], dtype=np.uint64))
    with pytest.raises(BadNoiseTable, match="empty cells"):
        add_noise(exact, cell_keys(SECRET, "town", Protection(), 2**32), moving)
