"""Releases under every protection, by the public road: fixed secret, fixed records, fixed numbers.

Each release is hashed (values, noisy counts and statuses), and the values of some small tables are written in full, so
that a difference can be seen. The noise is exact Laplace unless the case says otherwise: no float decides it.
"""

import hashlib
import json
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from discreet.model.request import request_from_text
from discreet.release.joint_margins import JointMargins, dataset_margins
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import open_accounts, open_ledger

LAPLACE = 'family = "laplace"\nepsilon = 0.7\nm = 9'
DEFAULT = 'family = "maxent"\nD = 5\nV = 3\njs = 2'
REQUESTS = {
    "small": {"rows": ["sex"], "columns": ["age"]},
    "slice": {"rows": ["area"], "columns": ["age"], "layers": ["sex"], "filters": ["job=0,1,2"]},
    "nested": {"rows": ["area"], "columns": ["sex"], "levels": ["area=region,area"]},
    "groups": {"rows": ["age"], "columns": ["job"], "groups": ["age=adult+old"], "totals": False},
}
PROTECTIONS = {
    "hashed": f'keys = "hashed"\n[protection.noise]\n{LAPLACE}',
    "hashed, default noise": f'keys = "hashed"\n[protection.noise]\n{DEFAULT}',
    "hashed, 10^8 keys": f'keys = "hashed"\nmodulus = 100000000\n[protection.noise]\n{LAPLACE}',
    "hashed, 2^64 keys": f'keys = "hashed"\nmodulus = "2^64"\n[protection.noise]\n{LAPLACE}',
    "described": f'keys = "participants-and-description"\n[protection.noise]\n{LAPLACE}',
    "described, default noise": f'keys = "participants-and-description"\n[protection.noise]\n{DEFAULT}',
    "additive": f'keys = "additive"\nmodulus = 4096\n[protection.noise]\n{LAPLACE}',
    "abs": 'keys = "abs"\n[protection.noise]\nfamily = "abs"\nepsilon = 2.0\nD = 5',
    "abs, big_n": 'keys = "abs"\nbig_n = 65521\n[protection.noise]\nfamily = "abs"\nepsilon = 2.0\nD = 5',
    "pram": 'keys = "hashed"\n[protection.noise]\nfamily = "pram"',
    "dropadd": 'keys = "hashed"\n[protection.noise]\nfamily = "dropadd"\nm = 5\npercent = 3',
    "interior": f'additivity = "interior"\n[protection.noise]\n{LAPLACE}',
    "fitted": f'additivity = "fitted"\n[protection.noise]\n{LAPLACE}',
    "negative": f"non_negative = false\n[protection.noise]\n{LAPLACE}",
}


def facts(release):
    """What a release tells: a hash of all its numbers, and the numbers themselves where they are few."""
    arrays = (release.values, release.noisy, release.status, release.errors)
    kept = [None if array is None else np.asarray(array).tolist() for array in arrays]
    told = {"sha256": hashlib.sha256(json.dumps(kept).encode()).hexdigest()}
    return told | ({"values": kept[0]} if release.values.size <= 12 else {})


def with_protection(town, text):
    return town.description[: town.description.index("[protection]")] + f"[protection]\n{text}\n"


def check(golden, name, stored, requests, asker=None, **more):
    for word, parts in requests.items():
        request = request_from_text(stored.dataset.id, **{**parts, **more})
        golden.check(f"{name} | {word}", facts(release_table(stored, request, asker)))


@pytest.mark.parametrize("name", PROTECTIONS)
def test_releases_by_the_cell_key_method_never_change(golden, town, tmp_path, name):
    workspace = town.load(tmp_path, with_protection(town, PROTECTIONS[name]))
    stored = workspace.stored("town")
    golden.check(f"{name} | digest", stored.digest)
    check(golden, name, stored, REQUESTS)
    workspace.close()


@pytest.mark.parametrize("additivity", ["independent", "interior", "fitted"])
def test_a_reader_may_ask_for_another_additivity(golden, town_workspace, additivity):
    check(golden, f"asked {additivity}", town_workspace.stored("town"), REQUESTS, additivity=additivity)


# ---- weights -----------------------------------------------------------------------------------------

SURVEY = """
[survey]
form = "FORM"
sample_size = 3000
population_size = 120000
largest_weight = 60
relative_variance = 0.05
stratum = "sex"
stratum_weights = { 1 = 30, 2 = 50 }
"""


def surveyed(town, form, *, related=True):
    """The town as a sample: a man stands for 30, a woman for 40 to 60, or all for that; the description and the records."""
    man = np.array(town.records["sex"].to_pylist()) == "1"
    weights = np.random.RandomState(8).randint(4000, 6000, len(man))
    weights = np.where(man, 3000, weights) if related else weights
    spread = round(len(weights) * (weights**2).sum() / weights.sum() ** 2 - 1, 4)
    text = SURVEY.replace("FORM", form)
    text = text.replace("population_size = 120000", f"population_size = {weights.sum() / 100}")
    text = text.replace("largest_weight = 60", f"largest_weight = {weights.max() / 100}")
    text = text.replace("relative_variance = 0.05", f"relative_variance = {spread}")
    head = 'id_column = "person"\nweight_column = "w"\nweight_decimals = 2'
    weighted = town.description.replace('id_column = "person"', head)
    return Town(weighted, text, town.records.append_column("w", pa.array(weights / 100)))


class Town(NamedTuple):
    description: str
    survey: str
    records: pa.Table


WEIGHTED = {name: REQUESTS[name] for name in ("small", "groups")}


@pytest.mark.parametrize("form", ["largest-weight", "average-weight", "public-strata"])
def test_weighted_releases_never_change(golden, town, tmp_path, errors_of_0_2_0, form):
    sample = surveyed(town, form)
    text = with_protection(sample, f"[protection.noise]\n{LAPLACE}") + sample.survey
    with errors_of_0_2_0():
        workspace = town.load(tmp_path / "old", text, sample.records)
    check(golden, f"weights {form}", workspace.stored("town"), WEIGHTED, measure="weighted")
    workspace.close()
    sample = surveyed(town, form, related=form != "average-weight")
    text = with_protection(sample, f"[protection.noise]\n{LAPLACE}") + sample.survey
    for design in ("", 'clusters = "household"\n'):
        workspace = town.load(tmp_path / f"new{len(design)}", text + design, in_households(sample.records))
        name = f"weights {form}, generalised{', clusters' * bool(design)}"
        check(golden, name, workspace.stored("town"), WEIGHTED, measure="weighted")
        workspace.close()


def in_households(records):
    """With a column of clusters of 30 people each."""
    return records.append_column("household", [np.arange(len(records)) // 30])


@pytest.mark.parametrize("form", ["average-weight", "public-strata", "invariant"])
def test_weighted_releases_under_dp_never_change(golden, private_town, tmp_path, errors_of_0_2_0, form):
    sample = surveyed(private_town, form)
    text = private_variant(sample, PRIVATE["known total"] if form == "invariant" else {}) + sample.survey
    wanted = {"one": {"rows": ["age"]}, "area": {"rows": ["area"]}}
    with errors_of_0_2_0():
        workspace = private_town.load(tmp_path / "old", text, sample.records)
    check(golden, f"dp weights {form}", workspace.stored("town"), wanted, measure="weighted")
    workspace.close()
    workspace = private_town.load(tmp_path / "new", text, sample.records)
    check(golden, f"dp weights {form}, generalised", workspace.stored("town"), wanted, measure="weighted")
    workspace.close()


# ---- dp ----------------------------------------------------------------------------------------------

INSIDE = {
    "small": {"rows": ["sex"], "columns": ["age"]},
    "one": {"rows": ["area"]},
    "zeros": {"rows": ["age"], "columns": ["job"]},
    "sums": {"rows": ["area"], "columns": ["sex"], "groups": ["area=N1+S1,N2+S2+S3"]},
    "slice": {"rows": ["area"], "columns": ["sex"], "filters": ["sex=2"]},
    "nested": {"rows": ["area"], "columns": ["sex"], "levels": ["area=region,area"]},
}
OUTSIDE = {"outside": {"rows": ["sex"], "columns": ["job"], "layers": ["area"]}}
GAUSSIAN = '[protection.noise]\nfamily = "gaussian"\n\n[protection.universe]'
PRIVATE = {
    "own": {},
    "sums": {'margins = "own"': 'margins = "sums"'},
    "known total": {'family = "town"': 'family = "town"\ninvariants = ["n"]\nneighbours = "replace-one"'},
    "two records": {
        'family = "town"': 'family = "town"\nrecords_per_unit = 2',
        'id_column = "person"': 'id_column = "person"\nunit_column = "person"',
    },
    "normal": {
        "[protection.universe]": '[protection.noise]\nfamily = "normal"\nm = 40\n\n[protection.universe]',
        "delta = 1e-9": "delta = 1e-2",
        "cap_delta = 1e-6": "cap_delta = 0.5",
    },
    "gaussian": {
        "[protection.universe]": GAUSSIAN,
        "answer_cost = 0.5": 'answer_cost = 0.01\nrule = "zcdp"\n',
    },
}
#: Shares that were computed in floating point: a last digit may differ between machines.
FLOAT = {"gaussian"}


def asker_of(workspace, folder):
    key = open_accounts(folder).create("ann", "analyst")
    ledger = open_ledger(folder)
    ledger.allow("town", "ann", (Fraction(2), Fraction(1, 10**2)))
    ledger.close()
    return workspace.asker(key)


def private_variant(private_town, changes):
    text = private_town.description
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIVATE)
def test_releases_under_dp_never_change(golden, private_town, tmp_path, name):
    if name in FLOAT and not golden.same_floats:
        pytest.skip("the floats of this machine are others")
    folder = tmp_path / "variant"
    workspace = private_town.load(folder, private_variant(private_town, PRIVATE[name]))
    stored = workspace.stored("town")
    check(golden, f"dp {name}", stored, INSIDE)
    check(golden, f"dp {name}", stored, OUTSIDE, asker_of(workspace, folder))
    golden.check(f"dp {name} | fingerprint", stored.protector.source.fingerprint)
    check_charges(golden, f"dp {name}", folder)
    workspace.close()


def check_charges(golden, name, folder):
    """What is booked in the ledger: names, and losses and failures where floats agree (accounting has some)."""
    ledger = open_ledger(folder)
    charges = ledger.state("town").charges
    ledger.close()
    golden.check(f"{name} | charged", sorted(str(each["request"]) for each in charges))
    if golden.same_floats:
        amounts = sorted([int(each["loss"]), int(each["failure"])] for each in charges)
        golden.check(f"{name} | amounts", amounts)


@pytest.mark.parametrize("method", ["independent", "efron-stein", "optimum"])
def test_margins_of_a_dataset_never_change(golden, private_town, method):
    if not golden.same_floats:
        pytest.skip("the floats of this machine are others")
    stored = private_town.load(private_town.folder).stored("town")
    wanted = dataset_margins(stored.dataset, "sex*age,age*job")
    released = JointMargins.of(stored, wanted, method, 1.0).release().document()
    golden.check(f"margins {method}", released["runs"][0]["margins"])
    check_charges(golden, f"margins {method}", private_town.folder)


# ---- codes declared in no order ----------------------------------------------------------------------

CODES = ["z", "ä", "10", "Ω", "9", "b", "日本"]
UNSORTED = """
id = "unsorted"
label = "Codes in no order"
id_column = "person"

[[variable]]
name = "zone"
categories = ["z", "ä", "10", "Ω", "9", "b", "日本"]

[[variable]]
name = "age"
categories = ["young", "old", "middle"]

[[variable]]
name = "Sex"
categories = ["m", "f"]
"""
UNSORTED_DP = """
[protection]
method = "dp"
[protection.universe]
margins = "own"
variables = ["zone", "age", "Sex"]
up_to = 2
[protection.budget]
calibrate = false
family = "unsorted"
epsilon = 3.0
cap_epsilon = 3.0
"""
IN_NO_ORDER = {
    "zones": {"rows": ["zone"], "columns": ["age"]},
    "picked": {"rows": ["zone"], "filters": ["age=old,middle"]},
    "grouped": {"rows": ["zone"], "columns": ["Sex"], "groups": ["zone=z+ä+10,Ω+9,b+日本"]},
    "filtered": {"rows": ["Sex"], "filters": ["zone=日本,ä,z"]},
}


def unsorted_records(count=400):
    rng = np.random.RandomState(12)
    columns = {"person": [f"p{n}" for n in rng.permutation(count)]}
    columns["zone"] = [CODES[n] for n in rng.choice(7, count)]
    columns["age"] = [["young", "old", "middle"][n] for n in rng.choice(3, count, p=[0.5, 0.3, 0.2])]
    columns["Sex"] = [["m", "f"][n] for n in rng.choice(2, count)]
    return pa.table(columns)


UNSORTED_PROTECTIONS = {
    "described": f"[protection]\n{PROTECTIONS['described']}",
    "hashed": f"[protection]\n{PROTECTIONS['hashed']}",
    "dp": UNSORTED_DP,
}


@pytest.mark.parametrize("name", UNSORTED_PROTECTIONS)
def test_codes_declared_in_no_order_and_not_ascii_keep_their_numbers(golden, town, tmp_path, name):
    workspace = town.load(tmp_path, UNSORTED + UNSORTED_PROTECTIONS[name], unsorted_records())
    stored = workspace.stored("unsorted")
    golden.check(f"unsorted {name} | digest", stored.digest)
    check(golden, f"unsorted {name}", stored, IN_NO_ORDER)
    workspace.close()


@pytest.mark.parametrize("name", ["described", "dp"])
def test_the_declared_order_of_codes_changes_no_number(town, tmp_path, name):
    """The same people and question, the codes declared in the order of their texts: cell by cell the same.

    Under dp the records of another list of codes are other records, so only the cell key method promises this.
    """
    listed = ", ".join(f'"{code}"' for code in sorted(CODES))
    declared = ", ".join(f'"{code}"' for code in CODES)
    assert declared in UNSORTED
    values = []
    for number, text in enumerate((UNSORTED, UNSORTED.replace(declared, listed))):
        workspace = town.load(tmp_path / str(number), text + UNSORTED_PROTECTIONS[name], unsorted_records())
        asked = request_from_text("unsorted", **IN_NO_ORDER["zones"])
        release = release_table(workspace.stored("unsorted"), asked)
        codes = release.dimensions[0].codes
        values.append({code: release.values[at].tolist() for at, code in enumerate(codes)})
        workspace.close()
    assert (values[0] == values[1]) == (name == "described")
