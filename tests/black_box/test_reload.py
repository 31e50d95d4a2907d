"""Loading again under `dp`: whatever gives other noise or another promise is charged or refused, never free."""

from dataclasses import replace

import pyarrow as pa
import pytest

from discreet.errors import BadDescription, BudgetSpent, LedgerUnusable
from discreet.ledger.ledger import Ledger
from discreet.model.request import TableRequest
from discreet.release.joint_margins import JointMargins, dataset_margins
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import open_ledger
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

SEX = 'categories = [{ code = "1", label = "Male" }, { code = "2", label = "Female" }]'
BY_SEX = TableRequest("town", ("sex",))


def spent(folder, family="town"):
    ledger = open_ledger(folder)
    try:
        return ledger.state(family).spent[0]
    finally:
        ledger.close()


def reloaded(town, description, records=None):
    """Load the town again, with another description or other records."""
    load_dataset(town.folder, description, town.records if records is None else records)


def with_column(records, name, values):
    return records.set_column(records.schema.get_field_index(name), name, pa.array(values))


def noisy(town):
    return release_table(Workspace(town.folder).stored("town"), BY_SEX).noisy.tolist()


def test_codes_that_change_places_with_their_records_need_a_new_version(private_town):
    """Positions stay, codes move: the old noise on the other count would release the exact difference of two."""
    swapped = SEX.replace('"1"', '"x"').replace('"2"', '"1"').replace('"x"', '"2"')
    other = {"1": "2", "2": "1"}
    records = with_column(
        private_town.records, "sex", [other[code] for code in private_town.records["sex"].to_pylist()]
    )
    with pytest.raises(BadDescription, match="other records"):
        reloaded(private_town, private_town.description.replace(SEX, swapped), records)


@pytest.mark.slow
@pytest.mark.parametrize("more", [', { code = "3", label = "Other" }]', ', { code = "0", label = "Other" }]'])
def test_one_more_category_is_no_free_second_draw_of_the_noise(private_town, more):
    before = noisy(private_town)
    longer = private_town.description.replace(SEX, SEX[:-1] + more)
    with pytest.raises(BadDescription, match="other records"):
        reloaded(private_town, longer)
    assert noisy(private_town) == before
    second = longer.replace('version = "1"', 'version = "2"')
    cost = spent(private_town.folder)
    reloaded(private_town, second)
    assert spent(private_town.folder) == 2 * cost


@pytest.mark.slow
def test_renamed_codes_need_a_new_version_and_renamed_labels_do_not(private_town):
    renamed = SEX.replace('"1"', '"m"').replace('"2"', '"f"')
    records = with_column(
        private_town.records,
        "sex",
        [{"1": "m", "2": "f"}[c] for c in private_town.records["sex"].to_pylist()],
    )
    with pytest.raises(BadDescription, match="other records"):
        reloaded(private_town, private_town.description.replace(SEX, renamed), records)
    before, cost = noisy(private_town), spent(private_town.folder)
    reloaded(private_town, private_town.description.replace("Female", "Woman"))
    assert noisy(private_town) == before
    assert spent(private_town.folder) == cost


@pytest.mark.slow
@pytest.mark.parametrize(("version", "invariants"), [("1", ""), ("2", '\ninvariants = ["n"]')])
def test_a_family_keeps_its_neighbours(private_town, version, invariants):
    """Noise at epsilon 4 for one person more or less is noise at 8 for one person replaced: no sum bounds both."""
    changed = f'epsilon = 8.0\nneighbours = "replace-one"{invariants}'
    other = private_town.description.replace("epsilon = 4.0", changed, 1)
    other = other.replace('version = "1"', f'version = "{version}"')
    before = spent(private_town.folder)
    with pytest.raises(BadDescription, match="are for add-remove neighbours"):
        reloaded(private_town, other)
    assert spent(private_town.folder) == before


def test_the_same_noise_promised_to_persons_of_more_records_is_charged_for_them(private_town):
    """Epsilon 8 for two records is the noise of epsilon 4 for one; it may not be had for what one has paid."""
    named = private_town.records.append_column("who", pa.array([f"p{n // 2}" for n in range(3000)]))
    two = private_town.description.replace("epsilon = 4.0", "epsilon = 8.0\nrecords_per_unit = 2", 1)
    two = two.replace('id_column = "person"', 'id_column = "person"\nunit_column = "who"')
    with pytest.raises(BudgetSpent, match='budget "town"'):
        reloaded(private_town, two, named)
    assert spent(private_town.folder) <= 4


def test_a_dataset_keeps_its_family(private_town):
    """Under another name the same persons would have a second lifetime cap."""
    other = private_town.description.replace('family = "town"', 'family = "village"')
    for version in ("1", "2"):
        with pytest.raises(BadDescription, match='loaded in the budget "town"'):
            reloaded(private_town, other.replace('version = "1"', f'version = "{version}"'))
    assert spent(private_town.folder) <= 4


@pytest.mark.slow
def test_a_ledger_that_forgot_the_version_answers_no_margins_either(private_town, tmp_path):
    stored = Workspace(private_town.folder).stored("town")
    blank = Ledger.create(tmp_path / "blank.sqlite", bytes(range(32)))
    forgot = replace(stored, protector=replace(stored.protector, ledger=blank))
    wish = JointMargins.of(forgot, dataset_margins(stored.dataset, "sex*age"), "independent", 0.5)
    with pytest.raises(LedgerUnusable, match="does not know of this version"):
        wish.release()


def test_a_refused_publication_leaves_no_cap_behind(private_town):
    folder = private_town.folder
    lower = private_town.description.replace("cap_epsilon = 9.0", "cap_epsilon = 5.0").replace(
        'version = "1"', 'version = "2"'
    )
    with pytest.raises(BudgetSpent):
        reloaded(private_town, lower)
    ledger = open_ledger(folder)
    assert ledger.state("town").cap[0] == 9
    ledger.close()
