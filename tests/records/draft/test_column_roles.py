"""Ids, weights and sampling designs are found by usual names and by the shape of their values."""

from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest

from discreet.records.draft.column_facts import ColumnFacts, StagedColumns, natural
from discreet.records.draft.column_roles import (
    age_ends,
    find_roles,
    has_id_name,
    id_caution,
    is_place,
    is_weight,
    too_fine,
    why_left_out,
)
from discreet.records.source import Source

N = 1000


def column(name, distinct=N, **given):
    whole = {"numeric": True, "whole": True, "low": 1.0, "high": float(distinct), "lengths": (1, 4)}
    return ColumnFacts(name, N, N, distinct, **(whole | given))


def weights(name, **given):
    return column(name, 900, **({"whole": False, "total": 5e5, "squares": 3e8, "decimals": 3} | given))


def test_hours_paid_are_no_id():
    """ "Paid" ends in "id"; a fraction is never an id."""
    hours = column("hoursPaid", whole=False)
    roles = find_roles([hours, column("employeeID", low=100_000, high=900_000, lengths=(6, 6))])
    assert roles.id.name == "employeeID"
    assert find_roles([hours]).id is None


def test_an_unnamed_id_has_a_shape_and_an_income_has_not():
    assert find_roles([column("nr")]).id.name == "nr"
    assert "one shape" in find_roles([column("nr")]).why
    assert find_roles([column("income", high=1e6, lengths=(1, 7))]).id is None


@pytest.mark.parametrize(
    "name", ["RB050", "PB040", "WTMEC2YR", "wtint4yr", "A_FNLWGT", "ASECWT", "V005", "pspwght", "weight", "w",
             "PWGTP", "W_FSTUWT", "grossingFactor", "GrossingUpFactor.y", "WTSUPP"],
)  # fmt: skip
def test_weights_of_known_surveys_are_found(name):
    assert is_weight(weights(name))
    assert not is_weight(replace(weights(name), low=-1.0))
    assert not is_weight(replace(weights(name), filled=N - 1))


@pytest.mark.parametrize(
    ("household", "person"), [("DB090", "RB050"), ("HHWT", "PERWT"), ("hh_weight", "weight")]
)
def test_the_weight_of_a_person_goes_before_that_of_the_household(household, person):
    """IPUMS and EU-SILC put the household's first; the wrong alternative takes the first."""
    assert find_roles([weights(household), weights(person)]).weight.name == person
    assert find_roles([weights(household)]).weight.name == household


@pytest.mark.parametrize("name", ["birthweight", "weight_kg", "BMXWT", "hours", "awful"])
def test_the_weight_of_a_body_is_none(name):
    assert not is_weight(weights(name))


def test_the_design_of_a_sample_is_found():
    strata, psu = column("SDMVSTRA", 15), column("SDMVPSU", 2)
    roles = find_roles([column("SEQN"), weights("WTMEC2YR"), strata, psu])
    assert (roles.strata, roles.clusters) == (strata, psu)
    replicates = [weights(f"repwt{n}") for n in range(1, 61)]
    roles = find_roles([column("id"), weights("wt"), strata, *replicates])
    assert roles.replicates == tuple(replicates)
    assert roles.strata is None
    visits = [weights(f"obs{n}", total=10.0) for n in range(1, 20)]
    assert find_roles([column("id"), weights("wt"), *visits]).replicates == ()


def test_age_classes_are_as_fine_as_the_records_allow():
    ages = column("age", 90, high=95.0, low=0.0)
    assert len(age_ends(ages)) == 17
    assert len(age_ends(replace(ages, records=200))) == 8
    assert len(age_ends(replace(ages, records=90))) == 3
    assert age_ends(replace(ages, records=50)) == ()
    assert age_ends(replace(ages, name="wage")) == ()


def test_places_are_known_by_words():
    assert [is_place(column(name)) for name in ("NUTS2", "region_code", "db040", "island", "statement")] == [
        True, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (column("income", 300, high=90_000.0, lengths=(1, 5)), "fewer than 20"),
        (replace(column("pay", 300, lengths=(1, 5)), records=10**6), "amounts"),
        (replace(column("born", 70, low=1930.0, high=2000.0, lengths=(4, 4)), records=10**6), "single years"),
        (column("seen", 50, numeric=False, whole=False, dates=True), "dates"),
        (column("note", 30, numeric=False, whole=False, lengths=(0, 200)), "texts"),
        (column("household_id", 20), "name says"),
        (replace(column("plz", 900, lengths=(5, 5)), records=10**6), "900 different values"),
        (column("empty", 0), "no value"),
        (column("sex", 2), None),
    ],
)
def test_what_is_left_out_has_its_reason(facts, words):
    assert words in why_left_out(facts) if words else why_left_out(facts) == ""


@pytest.mark.parametrize(
    "name", ["person_id", "personID", "PID", "id", "ID", "hh-id", "idHousehold", "HHID", "id2"]
)
def test_a_name_that_says_id(name):
    assert has_id_name(name)


@pytest.mark.parametrize(
    "name", ["hoursPaid", "paid", "PAID", "residence", "idle", "Identity_x", "valid", "w"]
)
def test_letters_within_a_word_say_nothing(name):
    """The wrong alternative looks for the letters: hoursPaid was an id."""
    assert not has_id_name(name)
    assert name == "w" or "id" in name.lower()


def test_twenty_records_a_category_are_enough():
    assert not too_fine(400, 20)
    assert too_fine(399, 20)


def test_a_caution_says_the_numbers():
    assert id_caution("household", 6000, 14827).startswith(
        "household has 6,000 categories for 14,827 records: is it an id?"
    )
    assert id_caution("region", 9, 100) is None
    assert "called an id" in id_caution("interviewer_id", 9, 10**6)


@pytest.fixture
def look():
    connection = duckdb.connect()

    def at(**columns):
        table = pa.table(columns)
        return StagedColumns(connection, Source(connection.from_arrow(table), len(table), "x"))

    yield at
    connection.close()


def test_words_for_missing_are_no_values(look):
    (column,) = look(x=["1", "NA", " 2 ", "", None, "n/a"]).columns
    assert (column.filled, column.distinct, column.whole) == (2, 2, True)
    assert column.missing == ("NA", "n/a")
    assert column.gaps


def test_numbers_dates_and_texts_are_told_apart(look):
    looked = look(a=["1", "22"], b=["1.5", "2"], c=["2020-01-01", "2021-12-31"], d=["x1", "y2"])
    assert [c.whole for c in looked.columns] == [True, False, False, False]
    assert [c.numeric for c in looked.columns] == [True, True, False, False]
    assert [c.dates for c in looked.columns] == [False, False, True, False]
    assert looked.columns[0].lengths == (1, 2)
    assert looked.columns[1].decimals == 1


def test_a_finer_column_nests_only_where_it_tells_the_coarser_one(look):
    looked = look(fine=["a1", "a2", "b1"], coarse=["a", "a", "b"], other=["x", "y", "x"])
    fine, coarse, other = looked.columns
    assert looked.nests(fine, coarse)
    assert not looked.nests(coarse, other)
    assert looked.values(fine, "coarse") == [("a1", "a"), ("a2", "a"), ("b1", "b")]


def test_people_count_ages_by_their_numbers():
    assert sorted(["10-14", "5-9", "-1", "100+", "x"], key=natural) == ["-1", "5-9", "10-14", "100+", "x"]
