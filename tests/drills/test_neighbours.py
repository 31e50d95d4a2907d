"""What is refused by shape is the same on neighbours, and what is withheld follows from released counts.

Random requests go to a town and to a neighbour of it: without one person, with one elsewhere, or with one more, who is alone
in a cell. Statuses, refusals and the shape of answers must be the same. `make drills` asks 10,000 times a method.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from tests.black_box.conftest import Site
from tests.black_box.test_refusals import person_elsewhere, said
from tests.conftest import PRIVATE_TOWN, TOWN, town_records, write_secret
from tests.drills import every_face
from tests.drills.every_face import Asked, question, random_asked
from tests.web.conftest import people_description, people_records

from discreet.errors import Refused
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import structural_zeros
from discreet.release import checked_request as questions
from discreet.release import verdicts
from discreet.release.dataset_registry import DatasetRegistry, unlock_service
from discreet.release.verdicts import count_cells
from discreet.rules.noisy_table import NoisyTable
from discreet.rules.verdict import rule_table_shape, verdict_of
from discreet.web.app import create_app
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

pytestmark = [pytest.mark.drill, pytest.mark.slow]

PEOPLE = 400
#: Every kind of rule of shape.
BY_SHAPE = """
[[rule]]
kind = "max-variables"
most = 2
level = "area"
[[rule]]
kind = "max-cells"
most = 60
level = "area"
[[rule]]
kind = "forbidden-combination"
variables = ["age", "job"]
level = "area"
[[rule]]
kind = "mandatory-variables"
variable = "job"
needs = ["sex"]
[[rule]]
kind = "minimum-area-size"
variable = "area"
least = 100
figures = { N1 = 40 }
[[rule]]
kind = "free-groups"
variables = ["age"]
per_account = 3
[[rule]]
kind = "nested-groups"
fewer_than = 2
filters = true
"""
MOST_ZEROS = 0.5
BY_COUNTS = f'[[rule]]\nkind = "share-of-zeros"\nmost = {MOST_ZEROS}\nfrom_variables = 2\n'
METHODS = {
    "cellkey": TOWN.replace("[protection]\n", f"{BY_SHAPE}[protection]\nmax_cells = 150\n", 1),
    "dp": PRIVATE_TOWN.replace("[protection]\n", "[protection]\nmax_cells = 150\n", 1),
}
FACES = {getattr(every_face, name): n for name, n in {"table": 4, "page": 2, "dry_run": 2}.items()}
FACES |= {getattr(every_face, name): 1 for name in ("inference", "pxweb", "sdmx", "frame")}
#: The public name of a version.
DIGEST = r"\b[0-9a-f]{8,64}\b"
#: What the answer of a version differs in: its numbers, hence its length, and its digest, hence its tag.
OF_THE_NUMBERS = {"date", "etag", "content-length", "last-modified"}


def alone(records):
    """The records with one more person, in a cell that is empty otherwise."""
    names = ("area", "sex", "age", "job")
    taken = set(zip(*(records[name].to_pylist() for name in names), strict=True))
    cells = product(("N1", "N2", "S1", "S2", "S3"), "12", ("adult", "old"), "012")
    free = next(cell for cell in cells if cell not in taken)
    person = dict(zip(names, free, strict=True)) | {"region": free[0][0], "person": 9_999}
    return pa.concat_tables([records, pa.Table.from_pylist([person], schema=records.schema)])


RECORDS = town_records(PEOPLE)
NEIGHBOURS = {
    "one less": RECORDS.slice(0, PEOPLE - 1),
    "one elsewhere": person_elsewhere(RECORDS),
    "one more": alone(RECORDS),
}


@pytest.fixture
def opened(tmp_path):
    """Opens a workspace with some records behind HTTP: the same secret and accounts of the same shares everywhere."""
    sites = []

    def make(description, records, **options):
        folder = tmp_path / str(len(sites))
        write_secret(folder)
        load_dataset(folder, description, records)
        workspace = Workspace(folder, threads=1)
        chosen = replace(read_options(folder), pxweb_calls=1_000_000, **options)
        sites.append(Site(folder, workspace, TestClient(create_app(DatasetRegistry(workspace), chosen))))
        return sites[-1]

    yield make
    for site in sites:
        site.close()


def keys_of(site, *, dp):
    """The keys of two accounts; under `dp` each has a share of the budget."""
    share = {"ann": ("0.6", "analyst"), "bob": ("1", "reader")}
    if dp:
        return {name: site.share(name, *told) for name, told in share.items()}
    return {name: open_accounts(site.folder).create(name, role) for name, (_, role) in share.items()}


def answered(site, asked, key):
    headers = asked.headers | ({} if key is None else {"authorization": f"Bearer {key}"})
    return site.client.request(asked.method, asked.path, headers=headers, content=asked.body)


def difference(one, other):
    """In what two answers differ that numbers do not explain; None where in nothing."""
    if one.status_code != other.status_code:
        return f"{one.status_code} and {other.status_code}"
    if one.status_code >= 400:
        return None if _without_digest(said(one)) == _without_digest(said(other)) else "two refusals"
    is_part = one.status_code == 206  # its end, and the length of the whole, are those of the numbers' digits
    left_out = OF_THE_NUMBERS | ({"content-range"} if is_part else set())
    headers = [
        {name: re.sub(DIGEST, "#", a.headers[name]) for name in a.headers if name not in left_out}
        for a in (one, other)
    ]
    if headers[0] != headers[1]:
        return "headers"
    return None if is_part or skeleton(one) == skeleton(other) else "shapes"


def _without_digest(told):
    """A refusal without the public name of a version, which an unknown version is answered with."""
    status, content, headers = told
    length = {} if content is None else {"content-length": ""}
    return status, re.sub(DIGEST.encode(), b"#", content), headers | length


def skeleton(answer):
    """A tidy table without its numbers: which cells it has, and which of them are withheld or cannot occur."""
    if not answer.headers.get("content-type", "").startswith("text/csv") or not answer.content:
        return None
    text = answer.text.removeprefix("\ufeff")
    lines = csv.DictReader(io.StringIO(text), delimiter=";" if ";" in text.partition("\n")[0] else ",")
    return sorted(str({k: v for k, v in line.items() if k not in NUMBERS}) for line in lines)


NUMBERS = {"value", "signed", "rank", "percent", "relative_standard_error", "noise_share", "OBS_VALUE"}
#: What shows or leaves out rows by released numbers.
BY_NUMBERS = ("hide_empty", "top=", "nonzero", "sort=")


def compared(sites, keys, rng, requests):
    """How many answers had which status, and all that neighbours differ in."""
    seen, found = Counter(), []
    for _ in range(requests):
        face, asked = random_asked(rng, ["town"], FACES)
        if rng.random() < 0.3:
            query = [*question(rng, 1), ("format", "csv")]
            asked = Asked(every_face.address("/api/datasets/town/table", query))
        who = rng.choice([None, None, "ann", "bob"])
        one, other = (answered(site, asked, own.get(who)) for site, own in zip(sites, keys, strict=True))
        seen[one.status_code] += 1
        if one.status_code >= 400 and one.content.startswith(b"{"):
            seen[one.json().get("code", one.json().get("title"))] += 1
        seen["only_by_digest"] += one.status_code >= 400 and said(one) != said(other)
        differs = difference(one, other)
        if differs and not (differs == "shapes" and any(word in asked.path for word in BY_NUMBERS)):
            found.append((face, asked.path, differs))
    return seen, found


@pytest.mark.parametrize("method", METHODS)
def test_refusals_by_shape_are_identical_on_neighbours(opened, drill, method):
    requests, seen = drill.times(60, 10_000), Counter()
    some = list(NEIGHBOURS)[-drill.times(1, len(NEIGHBOURS)) :]
    for number, name in enumerate(some):
        sites = [opened(METHODS[method], each, cache_mb=0) for each in (RECORDS, NEIGHBOURS[name])]
        keys = [keys_of(site, dp=method == "dp") for site in sites]
        share = requests // len(some) + (number < requests % len(some))
        statuses, found = compared(sites, keys, random.Random(f"{method} {name}"), share)
        assert not found, (name, found[:3])
        seen += statuses
        if method == "dp":
            assert sites[0].state().spent == sites[1].state().spent
    assert {200, 400, 403} <= set(seen)
    assert max(status for status in seen if isinstance(status, int)) < 500
    drill.note(
        requests=requests,
        answered=sum(n for status, n in seen.items() if isinstance(status, int) and status < 400),
        refused=sum(n for status, n in seen.items() if isinstance(status, int) and status >= 400),
        refused_with_another_digest=seen.pop("only_by_digest", 0),
        kinds_of_refusals=sum(isinstance(code, str) for code in seen),
        different=0,
    )


def test_a_rule_that_looks_at_true_counts_is_found(opened, monkeypatch):
    """Wrong alternative: a rule of shape that refuses a table of more people than the town had."""
    own = questions.apply_rules

    def peeking(stored, asked, *more):
        if count_cells(stored, asked.shape).counts.max() > PEOPLE:
            raise Refused("The table is about too many people.", "Ask for less.")
        return own(stored, asked, *more)

    monkeypatch.setattr(questions, "apply_rules", peeking)
    sites = [opened(TOWN, each, cache_mb=0) for each in (RECORDS, NEIGHBOURS["one more"])]
    _, found = compared(sites, [keys_of(site, dp=False) for site in sites], random.Random(2), 40)
    assert found


# ---- withholding -------------------------------------------------------------------------------------


def share_of_zeros(shape, noisy, impossible):
    """The obvious reading of the rule: for each area and any two or more variables, how many cells are empty."""
    axes = range(len(shape.dimensions))
    place = next((n for n in axes if shape.dimensions[n].geography), None)
    withheld = np.zeros(1 if place is None else shape.lengths[place], dtype=bool)
    others = [n for n in axes if n != place]
    for area in range(len(withheld)):
        for size in range(2, len(others) + 1):
            for crossed in combinations(others, size):
                at = tuple(slice(-1) if n in crossed else area if n == place else -1 for n in axes)
                possible = ~impossible[at]
                if (noisy[at][possible] <= 0).sum() > MOST_ZEROS * possible.sum():
                    withheld[area] = True
    return withheld


def released(twin, shape):
    """The counts of a shape, as anybody gets them from a site without rules."""
    names = [d.name for d in shape.dimensions]
    whole = [("levels", "district=region,district")] if "district" in names else []
    answer = twin.get([("rows", ",".join(names)), ("format", "csv"), *whole])
    assert answer.status_code == 200, answer.text
    lines = csv.DictReader(io.StringIO(answer.text))
    values = {tuple(line[name] for name in names): int(line["value"] or 0) for line in lines}
    cells = [values[codes] for codes in product(*(d.codes for d in shape.dimensions))]
    return np.array(cells, dtype=np.int64).reshape(shape.lengths)


def foretold(twin, stored, request):
    """The areas that are withheld, by numbers that a site without rules released; and all of them."""
    shape = rule_table_shape(canonical(request, stored.dataset), stored.dataset)
    noisy, impossible = released(twin, shape), structural_zeros(shape, stored.dataset)
    verdict = verdict_of(stored.rules, NoisyTable(shape, noisy, impossible), stored.dataset)
    assert (verdict.by_rule.ravel() == share_of_zeros(shape, noisy, impossible)).all()
    place = next((d for d in shape.dimensions if d.geography), None)
    codes = ("_T",) if place is None else place.codes
    return {code for code, withheld in zip(codes, verdict.mask.ravel(), strict=True) if withheld}


CODES = {"sex": "12", "age": ["0-14", "15-64", "65+"], "job": "123", "origin": "1234"}


def people_question(rng):
    """The names of a table's variables and its filters."""
    place = rng.choice([["district"], ["district"], ["region"], []])
    names = rng.sample([*CODES], rng.choice([1, 2, 2, 3]))
    shown, name = names[: rng.choice([1, 2, 3])] + place, rng.choice(names)
    two = f"{name}={','.join(rng.sample(list(CODES[name]), 2))}"
    return rng.sample(shown, len(shown)), [two] if rng.random() < 0.3 else []


def withheld_areas(site, names, filters):
    """The areas of which a table shows nothing; None where it is refused as a whole."""
    answer = site.get([("rows", ",".join(names)), *(("filter", each) for each in filters), ("format", "csv")])
    if answer.status_code != 200:
        assert answer.json()["code"] == "table-not-released", answer.text
        return None
    place = next((name for name in names if name in {"district", "region"}), None)
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    areas = ["_T" if place is None else line[place] for line in lines]
    shown = {area for area, line in zip(areas, lines, strict=True) if line["status"] != "c"}
    return set(areas) - shown, set(areas)


def unlike_released(site, twin, rng, requests):
    """The questions whose withheld areas do not follow from released counts; and what became of all of them."""
    stored = unlock_service(DatasetRegistry(site.workspace).open("people"))
    known, found, seen = {}, [], Counter()
    for _ in range(requests):
        names, filters = people_question(rng)
        request = request_from_text("people", rows=names, filters=filters)
        used = frozenset(canonical(request, stored.dataset).used)
        if used not in known:
            known[used] = foretold(twin, stored, request)
        got = withheld_areas(site, names, filters)
        wanted = known[used]
        seen["refused" if got is None else "some" if got[0] else "none"] += 1
        if (got is None and not wanted) or (got is not None and got[0] != wanted & got[1]):
            found.append((names, filters, got, wanted))
    return found, seen


@pytest.fixture
def withholding(opened):
    """People of whom rules withhold areas, and a twin without rules: the same noise, since rules are in no key."""
    plain, people = people_description(), people_records()
    ruled = plain.replace("[protection]\n", f"{BY_COUNTS}[protection]\n", 1)
    return [replace(opened(text, people, cache_mb=0), dataset="people") for text in (ruled, plain)]


def test_withholding_follows_from_released_counts(withholding, drill):
    requests = drill.times(60, 10_000)
    found, seen = unlike_released(*withholding, random.Random(4), requests)
    assert not found, found[:3]
    assert {"some", "none", "refused"} <= set(seen)
    drill.note(requests=requests, with_areas_withheld=seen["some"], refused=seen["refused"], different=0)


def test_a_rule_on_true_counts_is_found(withholding, monkeypatch):
    """Wrong alternative: the same rules look at the true counts."""
    stored = unlock_service(DatasetRegistry(withholding[0].workspace).open("people"))
    exact = lambda shape, _noisy, impossible: NoisyTable(shape, count_cells(stored, shape).counts, impossible)  # noqa: E731
    monkeypatch.setattr(verdicts, "NoisyTable", exact)
    found, _ = unlike_released(*withholding, random.Random(4), 40)
    assert found
