"""What is refused under `dp`, and how it is said, is the same for neighbours; rules see released numbers only.

Random requests go to the town, the town without one person, with one person elsewhere, and without anybody. Whatever
the shape refuses is refused by the same bytes everywhere, dry runs and charges included.
"""

import io
import random

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest

import discreet.release.verdicts
from discreet.model.request import TableRequest, canonical
from discreet.records.engines.duckdb import DuckDBEngine
from discreet.release.checked_request import check_request, unlock
from discreet.release.verdicts import verdict_on
from discreet.rules.noisy_table import NoisyTable

from .conftest import load_under

pytestmark = pytest.mark.slow

REQUESTS = 150
RULES = """
[[rule]]
kind = "share-of-zeros"
most = 0.3
from_variables = 2

[[rule]]
kind = "mean-cell-size"
least = 20
rescues = ["share-of-zeros"]

[[rule]]
kind = "blocked-areas"
most = 0.5

"""
#: A refusal that the released numbers decide: those of neighbours differ, as released numbers do.
BY_COUNTS = "table-not-released"


def person_elsewhere(records):
    """The records with the last person in another area."""
    last = records.slice(records.num_rows - 1).to_pylist()[0]
    other = {"region": "N", "area": "N1"} if last["region"] == "S" else {"region": "S", "area": "S3"}
    moved = pa.Table.from_pylist([{**last, **other}], schema=records.schema)
    return pa.concat_tables([records.slice(0, records.num_rows - 1), moved])


def protected(description, rules, *lines):
    """A description with rules, and with more lines in its section on protection."""
    return description.replace("[protection]\n", "\n".join([f"{rules}[protection]", *lines, ""]), 1)


def neighbours_of(records):
    return {
        "all": records,
        "one less": records.slice(0, records.num_rows - 1),
        "one elsewhere": person_elsewhere(records),
        "nobody": records.slice(0, 0),
    }


@pytest.fixture
def sites(private_town, tmp_path, site_of):
    """Neighbouring towns behind HTTP, each with an account of one key per role; `max_cells` is small."""
    found = {}

    def make(rules):
        described = protected(private_town.description, rules, "max_cells = 150")
        for name, records in neighbours_of(private_town.records).items():
            load_under((private_town.folder / "secret").read_bytes(), tmp_path / name, described, records)
            found[name] = site_of(tmp_path / name)
        return found

    yield make
    for site in found.values():
        site.close()


def random_request(rng):
    """A request that may be good, outside, too large, or nonsense in one of many ways."""
    names = ["sex", "age", "job", "area", "region"]
    chosen = rng.sample(names, rng.choice([1, 1, 2, 2, 2, 3, 3, 4, 5]))
    cut = rng.randrange(len(chosen) + 1)
    query = [("rows", ",".join(chosen[:cut])), ("columns", ",".join(chosen[cut:]))]
    codes = {"sex": "12", "age": ["child", "adult", "old"], "job": "0129", "region": "NS"}
    codes["area"] = ["N1", "N2", "S1", "S2", "S3"]
    for name in rng.sample(names, rng.choice([0, 0, 1, 2])):
        kept = rng.sample(list(codes[name]), rng.randrange(1, len(codes[name]) + 1))
        query.append(("filter", f"{name}={','.join(kept)}"))
    if rng.random() < 0.3:
        name = rng.choice(names)
        two = rng.sample(list(codes[name]), 2)
        query.append(("group", f"{name}={'+'.join(two)}"))
    strange = [
        [("rows", "colour")],
        [("filter", "age=baby")],
        [("filter", "age=")],
        [("group", "age=child+old,old")],
        [("group", "age=child"), ("filter", "age=old")],
        [("levels", "area=region,area")],
        [("levels", "age=work")],
        [("measure", "weighted")],
        [("additivity", rng.choice(["fitted", "interior", "exactly"]))],
        [("totals", rng.choice(["no", "maybe"]))],
        [("column", "age")],
        [("format", rng.choice(["xml", "json"]))],
    ]
    if rng.random() < 0.5:
        query += rng.choice(strange)
    if not any(name == "format" for name, _ in query):
        query.append(("format", "csv"))
    return query


def answers(sites, query, account=None):
    """The answers of all sites to one request; each has a key of its own for the account."""
    return [site.get(query, None if account is None else keys[account]) for site, keys in sites]


def with_accounts(sites):
    """Every site with an analyst who may pay once, and a reader."""
    return [
        (site, {"ann": site.share("ann", "0.6"), "bob": site.share("bob", 1, "reader")}) for site in sites
    ]


def said(answer):
    """Everything that a refusal tells."""
    kept = {name: text for name, text in answer.headers.items() if name != "date"}
    return answer.status_code, answer.content, kept


@pytest.mark.parametrize("rules", ["", RULES], ids=["no rules", "rules on counts"])
def test_refusals_by_shape_and_dry_runs_are_identical_on_neighbours_and_rules_on_counts_change_none(
    sites, rules
):
    """Without such rules a dry run before each request is identical, too, and costs nothing."""
    rng, seen, costs = random.Random(8), set(), set()
    asked = with_accounts(sites(rules).values())
    for _ in range(REQUESTS):
        query, account = random_request(rng), rng.choice([None, None, "ann", "bob"])
        for way in (query,) if rules else ([*query, ("dry_run", "1")], query):
            got = answers(asked, way, account)
            codes = {"answered" if a.status_code == 200 else a.json()["code"] for a in got}
            assert len(codes) == 1 or (rules and codes == {"answered", BY_COUNTS}), way
            if way is not query:
                costs |= {a.json()["cost"]["epsilon"] > 0 for a in got if a.status_code == 200}
            if way is not query or not codes & {"answered", BY_COUNTS}:
                assert all(said(answer) == said(got[0]) for answer in got), way
        seen |= codes
    assert {"answered", "outside-universe", "too-many-cells", "budget-spent", "not-allowed"} <= seen
    assert {"unknown-variable", "unknown-category", "bad-request", "unknown-format"} <= seen
    assert (BY_COUNTS in seen, costs) == ((True, set()) if rules else (False, {True, False}))
    spent = [site.state() for site, _ in asked]
    assert {state.spent for state in spent} == {spent[0].spent}
    assert len(spent[0].charges) == 2


@pytest.fixture
def looked_at(monkeypatch):
    """Every table that a rule was shown."""
    seen, verdict_of = [], discreet.release.verdicts.verdict_of

    def spied(rules, table, dataset):
        seen.append(table)
        return verdict_of(rules, table, dataset)

    monkeypatch.setattr(discreet.release.verdicts, "verdict_of", spied)
    return seen


def released(site, shape, key):
    """The cells of a table that a rule was shown as anybody gets them from a site without rules."""
    names = ",".join(dimension.name for dimension in shape.dimensions)
    levels = [
        ("levels", f"{d.name}=region,area") for d in shape.dimensions if d.name == "area" and d.length > 6
    ]
    answer = site.get([("rows", names), ("format", "csv"), *levels], key)
    assert answer.status_code == 200, answer.text
    values = pv.read_csv(io.BytesIO(answer.content))["value"]
    return values.cast(pa.int64()).fill_null(0).to_numpy().reshape(shape.lengths)


def ruled_and_plain(town, home, site_of):
    """A site with rules on counts, and its twin without: the same secret and records."""
    for name, rules in (("ruled", RULES), ("plain", "")):
        described = protected(town.description, rules, "non_negative = false")
        load_under((town.folder / "secret").read_bytes(), home / name, described, town.records)
    return site_of(home / "ruled"), site_of(home / "plain")


def test_every_table_that_a_rule_sees_equals_one_that_is_released(private_town, tmp_path, site_of, looked_at):
    """A twin without rules has the same noise, since rules are in no key: what rules see is what it publishes."""
    sites = site, twin = ruled_and_plain(private_town, tmp_path, site_of)
    keys = [each.share("ann", 5) for each in sites]
    rng = random.Random(12)
    for _ in range(120):
        query = random_request(rng)
        site.get(query, keys[0])
        site.get([*query, ("dry_run", "1")], keys[0])
    assert len(looked_at) > 8
    assert any(len(table.shape.dimensions) > 2 for table in looked_at)
    for table in looked_at:
        assert type(table) is NoisyTable
        wanted = released(twin, table.shape, keys[1])
        told = np.where(table.impossible, 0, table.noisy)
        assert (told == np.where(table.impossible, 0, wanted)).all(), table.shape.dimensions
    for each in sites:
        each.close()


def test_a_rule_shown_true_counts_would_be_noticed(private_town, looked_at, monkeypatch, site_of, tmp_path):
    """The same comparison finds out a product that shows a rule the true counts."""
    site, twin = ruled_and_plain(private_town, tmp_path, site_of)
    monkeypatch.setattr("discreet.release.verdicts._places", lambda *_: None)
    site.get("rows=area&columns=sex,age&format=csv", site.share("ann", 2))
    site.get("rows=area,sex&format=csv")
    right = [table.noisy for table in looked_at]
    looked_at.clear()
    site.workspace.stored("town").verdicts.clear()
    monkeypatch.setattr(
        "discreet.protect.dp_protector.DpProtector.protect",
        lambda _self, exact, **_: type("Bare", (), {"noisy": exact.counts.astype(np.int64)})(),
    )
    stored = site.workspace.stored("town")
    request = canonical(TableRequest("town", ("area", "age", "sex")), stored.dataset)
    question = check_request(stored, request)
    verdict_on(stored, unlock(question)[1], request, question.shape)
    monkeypatch.undo()
    wanted = released(twin, looked_at[0].shape, twin.share("ann", 2))
    assert any((table == wanted).all() for table in right if table.shape == wanted.shape)
    assert (looked_at[0].noisy != wanted).any()


def test_a_dry_run_over_http_reads_nothing_that_is_not_paid_for(site, monkeypatch):
    key = site.share("ann", 2)
    before = site.state().spent
    monkeypatch.setattr(DuckDBEngine, "aggregate", lambda *_: pytest.fail("a record was read"))
    outside = [("rows", "sex,job"), ("columns", "area"), ("dry_run", "1")]
    found = site.get(outside, key).json()
    assert found["allowed"]
    assert found["cost"]["epsilon"] == pytest.approx(0.5)
    assert found["verdict"]["total"] == 1
    nobody = site.get(outside).json()
    assert not nobody["allowed"]
    assert nobody["verdict"]["rules"][0]["code"] == "outside-universe"
    assert nobody["cost"] == {"epsilon": 0, "delta": 0}
    assert site.get(outside, "dk_wrong").status_code == 401
    assert site.state().spent == before


def test_a_dry_run_with_rules_reads_nothing_that_is_not_paid_for(
    private_town, tmp_path, site_of, monkeypatch
):
    """Rules on counts wait until the table is paid for; then the dry run has their verdict, for nothing."""
    private_town.load(tmp_path / "w", protected(private_town.description, RULES)).close()
    site = site_of(tmp_path / "w")
    key, outside = site.share("ann", 2), [("rows", "area,sex"), ("columns", "age"), ("dry_run", "1")]
    with monkeypatch.context() as patch:
        patch.setattr(DuckDBEngine, "aggregate", lambda *_: pytest.fail("a record was read"))
        assert site.get(outside, key).json()["verdict"]["rules"] == []
    site.get(outside[:2], key)
    spent = site.state().spent
    after = site.get(outside).json()
    assert after["cost"] == {"epsilon": 0, "delta": 0}
    assert after["verdict"]["total"] == 5
    assert site.state().spent == spent
    site.close()


def test_nothing_is_read_before_it_is_charged(site, monkeypatch):
    """The charge is on disk when the first record is read, and a refused charge reads none."""
    key, poor = site.share("ann", 2), site.share("eve", "0.1")
    charges, aggregate = len(site.state().charges), DuckDBEngine.aggregate
    reads = []

    def watched(engine, query):
        reads.append(len(site.state().charges))
        return aggregate(engine, query)

    monkeypatch.setattr(DuckDBEngine, "aggregate", watched)
    outside = "rows=sex,job&columns=area"
    assert site.get(outside, poor).json()["code"] == "budget-spent"
    assert reads == []
    assert site.get(outside, key).status_code == 200
    assert reads
    assert set(reads) == {charges + 1}
