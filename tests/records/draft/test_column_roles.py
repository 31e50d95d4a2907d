"""Ids, weights and sampling designs are found by usual names and by the shape of their values."""

from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest

from discreet.records.draft.column_facts import ColumnFacts, StagedColumns
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
from discreet.records.source import ColumnNotes, Source

N = 1000


def column(name, distinct=N, **given):
    whole = {"numeric": True, "whole": True, "low": 1.0, "high": float(distinct), "lengths": (1, 4)}
    return ColumnFacts(name, N, N, distinct, **(whole | given))


def weights(name, **given):
    return column(name, 900, **({"whole": False, "total": 5e5, "squares": 3e8, "decimals": 3} | given))


def test_hours_paid_are_no_id():
    """ "Paid" ends in "id"; a fraction is never an id."""
    words = ["hoursPaid", "paid", "PAID", "residence", "idle", "Identity_x", "valid", "w"]
    assert not any(map(has_id_name, words)), "letters within a word say nothing"
    hours = column("hoursPaid", whole=False)
    roles = find_roles([hours, column("employeeID", low=100_000, high=900_000, lengths=(6, 6))])
    assert roles.id.name == "employeeID"
    assert find_roles([hours]).id is None


def test_an_unnamed_id_has_a_shape_and_an_income_has_not():
    assert find_roles([column("nr")]).id.name == "nr"
    assert "the same pattern" in find_roles([column("nr")]).why
    assert find_roles([column("income", high=1e6, lengths=(1, 7))]).id is None


@pytest.mark.parametrize(
    "name", ["RB050", "PB040", "WTMEC2YR", "wtint4yr", "A_FNLWGT", "ASECWT", "pspwght", "weight", "w",
             "PWGTP", "W_FSTUWT", "grossingFactor", "GrossingUpFactor.y", "WTSUPP"],
)  # fmt: skip
def test_weights_of_known_surveys_are_found(name):
    assert is_weight(weights(name))
    assert not is_weight(replace(weights(name), low=-1.0))
    assert not is_weight(replace(weights(name), filled=N - 1))
    assert not any(map(is_weight, map(weights, ["birthweight", "weight_kg", "BMXWT", "hours", "awful"])))


@pytest.mark.parametrize("name", ["v005", "HV005", "weight", "w", "perwt"])
def test_a_few_codes_under_the_name_of_a_weight_are_none(name):
    """A column of six codes was the weight, because a survey programme calls its own v005."""
    codes = column(name, 6, low=0.0, total=2500.0)
    roles = find_roles([column("id"), codes, column("v001", 30), column("v022", 4)])
    assert (roles.weight, roles.strata, roles.clusters) == (None, None, None)
    assert roles.proposed == (("weight_column", name), ("strata", "v022"), ("clusters", "v001"))


def test_weights_of_dhs_have_six_decimals_implied_and_bring_its_units():
    weight, stratum, psu = column("v005", 900, total=1e9, high=9e6), column("v022", 8), column("v021", 60)
    roles = find_roles([column("caseid"), weight, stratum, psu])
    assert (roles.weight, roles.strata, roles.clusters) == (weight, stratum, psu)
    assert find_roles([replace(weight, total=5e4)]).weight is None
    roles = find_roles([weights("wt"), stratum, psu])  # the names of another programme than the weight's
    assert (roles.strata, roles.clusters) == (None, None)


def test_the_label_of_a_statistics_program_is_a_name():
    weight = weights("pwgt", notes=ColumnNotes("Person weight"))
    units = column("ea", 300, notes=ColumnNotes("Primary sampling unit"))
    roles = find_roles([weight, units])
    assert (roles.weight, roles.clusters) == (weight, units)
    assert find_roles([weights("bw", notes=ColumnNotes("Body weight in kg"))]).weight is None


def test_answers_of_a_questionnaire_are_no_replicate_weights():
    """Eight items answered 1 to 5 add up to about the weights of a small survey."""
    full = weights("weight", total=3000.0)
    items = [column(f"q{n:02d}", 5, total=3000.0) for n in range(1, 53)]
    assert find_roles([full, *items]).replicates == ()
    named = [replace(item, name=f"brr{n}") for n, item in enumerate(items)]
    roles = find_roles([full, *named])
    assert (roles.replicates, roles.proposed) == ((), (("replicates", "brr0..brr51"),))


def test_replicates_without_a_name_follow_the_weight():
    full, row = weights("weight"), tuple(weights(f"z{n}") for n in range(1, 13))
    assert find_roles([full, *row]).replicates == ()
    assert find_roles([full, *row], lambda one, _other: 0.9 * (one is full)).replicates == row
    apart = [replace(each, total=8e5) for each in row]
    assert find_roles([full, *apart], lambda _one, _other: 0.9).replicates == ()


@pytest.mark.parametrize(
    ("household", "person"), [("DB090", "RB050"), ("HHWT", "PERWT"), ("hh_weight", "weight")]
)
def test_the_weight_of_a_person_goes_before_that_of_the_household(household, person):
    """IPUMS and EU-SILC put the household's first; the wrong alternative takes the first."""
    assert find_roles([weights(household), weights(person)]).weight.name == person
    assert find_roles([weights(household)]).weight.name == household


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
        (column("note", 30, numeric=False, whole=False, lengths=(0, 200)), "free text"),
        (column("household_id", 20), "name says"),
        (replace(column("plz", 900, lengths=(5, 5)), records=10**6), "900 different values"),
        (column("empty", 0), "no value"),
        (column("sex", 2), None),
    ],
)
def test_what_is_left_out_has_its_reason(facts, words):
    assert words in why_left_out(facts) if words else why_left_out(facts) == ""


def test_a_caution_says_the_numbers():
    said = "household has 6,000 categories for 14,827 records: is it an id?"
    assert id_caution("household", 6000, 14827).startswith(said)
    assert (too_fine(399, 20), too_fine(400, 20)) == (True, False), "twenty records a category are enough"
    assert id_caution("region", 9, 100) is None
    assert "named like an id" in id_caution("interviewer_id", 9, 10**6)


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
    assert looked.values(fine, "coarse") == [("a1", "a", 1), ("a2", "a", 1), ("b1", "b", 1)]
