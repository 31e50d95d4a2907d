"""Keys from a fixed secret: derived keys, record keys, cell keys, description keys, fingerprints and digests."""

import hashlib

import numpy as np
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import KEY_MODES, Protection
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.protect import description_keys as described
from discreet.protect.cell_keys import cell_keys, description_tokens
from discreet.records.fingerprint import Fingerprint
from discreet.records.keys import counter_words, counter_words_at, encipher, pair_blocks, record_keys

IDS = ["1", "2", "1000", "person-7", "Åsa", "日本", ""]
CONTEXT = described.NoiseContext("places", "2024", "ab" * 16, "laplace:1.0:feed")
PLACES = """
id = "places"
label = "Codes in no order"
id_column = "i"
[[variable]]
name = "zone"
categories = ["z", "ä", "10", "Ω", "9", "b", "日本"]
[[variable]]
name = "Age"
categories = ["young", "old", "middle"]
[[variable]]
name = "sex"
categories = ["m", "f"]
"""


def hashes(ids=IDS):
    digests = b"".join(hashlib.sha256(each.encode()).digest()[:16] for each in ids)
    return np.frombuffer(digests, dtype=np.uint8).reshape(-1, 16)


@pytest.fixture(scope="module")
def places():
    return parse_dataset(PLACES)


@pytest.mark.parametrize("labels", [(), ("record-key", "town"), ("a", "bc"), ("ab", "c"), ("Ω", "", "日本")])
def test_derived_keys(golden, secret, labels):
    golden.check(f"derived {list(labels)}", secret.derive(*labels).hex())


@pytest.mark.parametrize("lineage", ["town", "census", "Åland"])
def test_record_keys(golden, secret, lineage):
    golden.check(f"record keys {lineage}", record_keys(secret, lineage, hashes()).tolist())


def test_blocks_and_streams(golden):
    key = bytes(range(32))
    low = np.array([0, 1, 2**32, 2**63 + 5], dtype=np.uint64)
    blocks = pair_blocks(low, np.array([9, 0, 2**40, 2**64 - 1], dtype=np.uint64))
    golden.check("blocks", blocks.tobytes().hex())
    golden.check("enciphered", encipher(key, blocks).tobytes().hex())
    golden.check("stream", counter_words(key, 5).tolist())
    golden.check("stream at", counter_words_at(key, np.array([[4, 0], [10**12, 3]])).tolist())


@pytest.mark.parametrize("mode", KEY_MODES)
@pytest.mark.parametrize("modulus", [2**64, 2**32, 4096, 10**8, 256])
def test_cell_keys(golden, secret, town, mode, modulus):
    """Keys of a small table with a filter, a group and totals, from sums that reach 2^62."""
    dataset = parse_dataset(town.description)
    request = request_from_text(
        "town", rows=["age"], columns=["sex"], filters=["job=2,0"], groups=["age=old+child"]
    )
    shape = table_shape(canonical(request, dataset), dataset)
    places = np.arange(shape.cells)
    sums = (np.arange(shape.cells, dtype=np.uint64) * np.uint64(0x0123456789ABCDE) + np.uint64(77)) % 2**62
    protection = Protection(keys=mode, modulus=256 if mode == "abs" else modulus)
    keys = cell_keys(secret, "town", protection, modulus)(shape)(sums, places)
    golden.check(f"cell keys {mode} {modulus}", keys.tolist())


@pytest.mark.parametrize(
    "parts",
    [
        {"rows": ["zone"]},
        {"rows": ["Age"], "columns": ["sex"], "filters": ["zone=日本,ä,z"]},
        {"rows": ["zone"], "groups": ["zone=z+ä+10,Ω+9,b+日本"], "totals": False},
    ],
    ids=["zones", "filtered", "grouped"],
)
def test_tokens_of_codes_declared_in_no_order(golden, secret, places, parts):
    shape = table_shape(canonical(request_from_text("places", **parts), places), places)
    tokens = description_tokens(secret.derive("cell-description", "places"), shape)
    golden.check(f"tokens {parts}", tokens(np.arange(shape.cells)).reshape(shape.lengths).tolist())


@pytest.mark.parametrize("margin", [(), ("zone",), ("zone", "Age"), ("sex", "zone", "Age")])
def test_description_keys_of_codes_declared_in_no_order(golden, secret, places, margin):
    """The whole margin, and a slice in the declared order of the codes."""
    cells = described.canonical_cells(margin, places)
    name = "*".join(margin)
    golden.check(f"margin {name} domain", cells.domain)
    golden.check(f"margin {name} names", [list(cells.names), list(cells.lengths)])
    golden.check(
        f"margin {name} first keys",
        described.margin_keys(secret, CONTEXT, cells, min(4, cells.cells)).tolist(),
    )
    kept = [np.array([1, 0])[:length] for length in cells.lengths]
    golden.check(f"margin {name} slice", described.block_keys(secret, CONTEXT, cells, kept).tolist())
    whole = [np.arange(length) for length in cells.lengths]
    golden.check(f"margin {name} whole", described.block_keys(secret, CONTEXT, cells, whole, 2**16).tolist())


def test_named_keys(golden, secret):
    golden.check("named", described.keys_by_name(secret, CONTEXT, ("coefficients", "Ω"), 4).tolist())
    golden.check("named, few keys", described.keys_by_name(secret, CONTEXT, ("x",), 4, 256).tolist())


@pytest.mark.parametrize("columns", [0, 1, 2, 3])
def test_fingerprints_and_digests(golden, secret, columns):
    """Of seven records with some columns, negative numbers among them."""
    codes = [np.array([0, 3, 1, 2, 250, 7, 1], dtype=np.uint8), np.array([-9, 4, 2**40, 0, 1, 1, 5])]
    codes.append(np.array([500, 2, 9, 60_000, 1, 0, 0], dtype=np.uint16))
    fingerprint = Fingerprint(secret, "town")
    fingerprint.add(hashes()[:3], [column[:3] for column in codes[:columns]])
    fingerprint.add(hashes()[3:], [column[3:] for column in codes[:columns]])
    golden.check(f"fingerprint of {columns} columns", fingerprint.of_records("meaning Ω"))
    golden.check(f"digest of {columns} columns", fingerprint.digest('id = "town"\nlabel = "Åland"\n'))
