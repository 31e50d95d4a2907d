"""Releases under `dp`: what is declared is answered, what is paid for too, and nothing else; the ledger decides."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet import errors
from discreet.formats import format_by_name
from discreet.model.request import TableRequest
from discreet.records.tabulate import tabulate
from discreet.release.checked_request import check_request
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import LEDGER, open_accounts
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

INSIDE = TableRequest("town", ("sex",), ("age",))

OUTSIDE = TableRequest("town", ("sex",), ("job",), ("area",))


THREE = TableRequest("town", ("sex",), ("age",), ("job",))


@pytest.fixture
def workspace(private_town):
    return Workspace(private_town.folder)


@pytest.fixture
def stored(workspace):
    return workspace.stored("town")


def ask(stored, rows, columns=(), **parts):
    return release_table(stored, TableRequest("town", rows, columns, **parts))


def exact(stored, request):
    return tabulate(stored.engine, check_request(stored, request).shape).counts


def test_a_declared_table_is_released_with_noise_on_every_cell(stored):
    release = release_table(stored, INSIDE)
    assert (release.distribution.terms == 1).all()
    noise = release.noisy - exact(stored, INSIDE)
    assert np.count_nonzero(noise) > noise.size / 2
    assert np.abs(noise).max() < 100
    assert release.promise[0].startswith(
        "All answers from the declared tables of this version together are computationally ("
    )
    assert "one person added or removed" in release.promise[0]


def test_an_empty_cell_has_noise_and_an_impossible_one_is_not_applicable(stored):
    release = ask(stored, ("age",), ("job",), totals=False)
    child = release.dimensions[0].codes.index("child")
    assert [release.value("child", code) for code in ("1", "2", "9")] == [None] * 3
    assert (release.distribution.terms[child] == [1, 0, 0, 0]).all()
    assert release.value("adult", "0") is not None


def test_a_recode_a_slice_and_a_coarser_level_are_sums_of_released_cells(stored):
    whole = ask(stored, ("area",), ("sex",))
    groups = (("area", (("N1", "S1"), ("N2", "S2", "S3"))),)
    grouped = ask(stored, ("area",), ("sex",), groups=groups)
    assert grouped.noisy[0, 0] == whole.noisy[0, 0] + whole.noisy[2, 0]
    assert grouped.distribution.terms[:2, 0].tolist() == [2, 3]
    region = ask(stored, ("region",), ("sex",))
    assert region.noisy[0, 0] == whole.noisy[:2, 0].sum()
    assert ask(stored, ("area",), ("sex",), filters=(("sex", ("2",)),)).noisy[0, 0] == whole.noisy[0, 1]
    nested = ask(stored, ("area",), ("sex",), levels=(("area", ("region", "area")),))
    assert (nested.distribution.terms > 0).all()
    assert not nested.missing.any()
    assert (nested.noisy[[1, 2, 4, 5, 6, 7]] == whole.noisy).all()
    assert (nested.noisy[[0, 3, 7]] == region.noisy).all()


def test_what_is_outside_is_refused_by_its_shape_and_costs_nothing(stored, private_town, spent):
    before = spent(private_town.folder)
    with pytest.raises(errors.OutsideUniverse, match="area x job") as refused:
        release_table(stored, OUTSIDE)
    assert "at epsilon 0.5: send your key. All who may see the dataset can then" in refused.value.advice
    assert spent(private_town.folder) == before


def test_an_account_with_a_share_pays_once_and_then_it_is_free_for_everybody(workspace, share, spent):
    folder = workspace.folder
    asker = workspace.asker(share(folder, "ann", "0.6"))
    before = spent(folder)
    first = release_table(workspace.stored("town"), OUTSIDE, asker)
    # What is paid for beyond the declared tables is in the family's cap, not in the claim of the declared ones.
    assert first.promise[0].startswith("All answers from the declared tables of this version together")
    assert "for all its datasets and versions together" in first.promise[1]
    assert spent(folder) - before == pytest.approx(Fraction(1, 2), abs=1e-9)
    again = release_table(Workspace(folder).stored("town"), OUTSIDE)
    assert format_by_name("json").write(first) == format_by_name("json").write(again)
    slice_of_it = replace(OUTSIDE, filters=(("area", ("N1", "S2")),))
    release_table(workspace.stored("town"), slice_of_it)
    with pytest.raises(errors.BudgetSpent, match='account "ann"'):
        release_table(workspace.stored("town"), THREE, asker)
    assert spent(folder) - before == pytest.approx(Fraction(1, 2), abs=1e-9)


def test_paying_for_a_table_changes_no_answer_inside_the_universe(workspace, stored, share):
    before = release_table(stored, INSIDE)
    release_table(stored, THREE, workspace.asker(share(workspace.folder, "ann", 2)))
    after = release_table(workspace.stored("town"), INSIDE)
    assert format_by_name("json").write(before) == format_by_name("json").write(after)


def test_a_reader_cannot_spend_and_an_account_without_share_neither(workspace, share):
    reader = workspace.asker(share(workspace.folder, "bob", 2, role="reader"))
    with pytest.raises(errors.NotAllowed, match="needs the role analyst"):
        release_table(workspace.stored("town"), OUTSIDE, reader)
    poor = workspace.asker(open_accounts(workspace.folder).create("eve", "analyst"))
    with pytest.raises(errors.BudgetSpent, match='"eve"'):
        release_table(workspace.stored("town"), OUTSIDE, poor)


def test_the_family_cap_ends_all_spending(workspace, stored, share, spent):
    asker = workspace.asker(share(workspace.folder, "ann", 100))
    names = "job,region area,job age,job,sex job,region,sex age,job,region age,region,sex age,area,sex area,job,sex"
    names += " age,area,job age,job,region,sex age,area,job,sex"  # none is a sum of one before it
    *tables, last = (TableRequest("town", tuple(each.split(","))) for each in names.split())
    for table in tables:  # 4 of the universe and ten times 0.5 make the cap of 9
        release_table(stored, table, asker)
    with pytest.raises(errors.BudgetSpent, match='budget "town"'):
        release_table(stored, last, asker)
    assert spent(workspace.folder) <= 9


@pytest.mark.parametrize("harm", ["missing", "other", "damaged"])
def test_without_its_ledger_nothing_is_answered(private_town, harm):
    path = private_town.folder / LEDGER
    for extra in (path, path.with_name(LEDGER + "-wal"), path.with_name(LEDGER + "-shm")):
        extra.unlink(missing_ok=True)
    if harm == "other":
        elsewhere = private_town.folder.parent / "elsewhere"
        (elsewhere / "datasets").mkdir(parents=True)
        open_accounts(elsewhere)
        (elsewhere / LEDGER).rename(path)
    elif harm == "damaged":
        path.write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
    with pytest.raises(errors.LedgerUnusable):
        release_table(Workspace(private_town.folder).stored("town"), INSIDE)
    if harm != "other":
        with pytest.raises(errors.LedgerUnusable):
            load_dataset(private_town.folder, private_town.description, private_town.records)


def test_a_ledger_that_disappears_while_serving_ends_all_answers(stored, private_town):
    release_table(stored, INSIDE)
    (private_town.folder / LEDGER).rename(private_town.folder / "away")
    with pytest.raises(errors.LedgerUnusable):
        release_table(stored, INSIDE)


@pytest.mark.slow
def test_a_version_belongs_to_its_records(private_town, stored, spent):
    changed = private_town.records.slice(1)
    with pytest.raises(errors.BadDescription, match="other records"):
        load_dataset(private_town.folder, private_town.description, changed)
    before = release_table(stored, INSIDE)
    second = private_town.description.replace('version = "1"', 'version = "2"')
    cost = spent(private_town.folder)
    load_dataset(private_town.folder, second, changed)
    assert spent(private_town.folder) == 2 * cost
    after = release_table(Workspace(private_town.folder).stored("town"), INSIDE)
    assert (before.noisy != after.noisy).mean() > 0.5
    third = private_town.description.replace('version = "1"', 'version = "3"')
    with pytest.raises(errors.BudgetSpent, match='budget "town"'):
        load_dataset(private_town.folder, third, changed)
    assert Workspace(private_town.folder).stored("town").dataset.version == "2"


@pytest.mark.parametrize("file", ["noise.json", "records.fingerprint"])
def test_an_edited_plan_or_fingerprint_is_not_served(private_town, file):
    (path,) = private_town.folder.glob(f"datasets/town/*/{file}")
    path.write_text(path.read_text().replace('"share": "', '"share": "1', 1) if "json" in file else "0" * 32)
    with pytest.raises(errors.WorkspaceUnusable, match="changed after"):
        Workspace(private_town.folder).stored("town")


@pytest.mark.slow
def test_a_household_keeps_as_many_records_as_are_promised(private_town, tmp_path):
    """Units may be coarser than persons. Wrong alternative: all 3,000 records are counted, and a household costs more."""
    people = private_town.records.append_column("house", pa.array([f"h{n // 3}" for n in range(3000)]))
    several = private_town.description.replace(
        'id_column = "person"', 'id_column = "person"\nunit_column = "house"'
    )
    for most in (1, 2):
        lines = f'family = "town"\nrecords_per_unit = {most}\ninvariants = ["n"]\nneighbours = "replace-one"'
        folder = tmp_path / str(most)
        load_dataset(folder, several.replace('family = "town"', lines), people)
        release = release_table(Workspace(folder).stored("town"), INSIDE)
        assert release.value("_T", "_T") == most * 1000
    assert "one person (of at most 2 records)" in release.promise[0]


@pytest.mark.slow
def test_gaussian_noise_under_the_zcdp_rule_is_published_and_asked_beyond(
    private_town, tmp_path, share, spent
):
    gaussian = private_town.description.replace(
        "[protection.universe]", '[protection.noise]\nfamily = "gaussian"\n\n[protection.universe]'
    ).replace("answer_cost = 0.5", 'answer_cost = 0.01\nrule = "zcdp"\n')
    folder = tmp_path / "zcdp"
    load_dataset(folder, gaussian, private_town.records)
    workspace = Workspace(folder)
    inside = release_table(workspace.stored("town"), INSIDE)
    assert "zero-concentrated" in inside.promise[0] or "loss distribution" in inside.promise[0]
    asker = workspace.asker(share(folder, "ann", "0.015"))
    before = spent(folder)
    release_table(workspace.stored("town"), OUTSIDE, asker)
    assert float(spent(folder) - before) == pytest.approx(0.01, rel=1e-6)
    with pytest.raises(errors.BudgetSpent):
        release_table(workspace.stored("town"), TableRequest("town", ("sex", "age", "job")), asker)
