"""What an item means beside its variable: codes first, declared order, whole classes, and writing that reads back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest, UnknownCategory
from discreet.model import selection
from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.selection import MOST_READ, most_read, selected, shortest
from discreet.model.variable import Category, Variable

AGES = ("0-4", "5-9", "10-14", "15-64", "65+", "U")
#: Characters that mean something somewhere in the grammar, beside some that do not.
HOSTILE = st.text(st.sampled_from("ab01.,+=\\:*?!-[ ]\u00e9"), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)


@pytest.fixture(scope="module")
def dataset(town):
    """The town with ages in classes: unsorted codes, a label that two have, codes that look like notation."""
    own = parse_dataset(town.description)
    ages = Variable("years", "Years", tuple(Category(code, code.lower()) for code in AGES), not_stated="U")
    odd = ("zinc", "a..b", "apple", "x*", "x1", "region:N", "!=1", "Same")
    labels = ("Zinc", "Dots", "Apple", "Star", "One", "Colon", "Bang", "one")
    words = Variable("word", "Word", tuple(map(Category, odd, labels)))
    return replace(own, variables=(*own.variables, ages, words))


def codes(dataset, name, item):
    return [dataset.variable(name).codes[place] for place in selected(dataset, name, item)]


@pytest.mark.parametrize(
    ("name", "item", "meant"),
    [
        ("sex", "2", ["2"]),
        ("sex", "female", ["2"]),
        ("years", "5..64", ["5-9", "10-14", "15-64"]),
        ("years", "5-9..15-64", ["5-9", "10-14", "15-64"]),
        ("years", "15..", ["15-64", "65+"]),
        ("years", "..14", ["0-4", "5-9", "10-14"]),
        ("years", "15..u", ["15-64", "65+", "U"]),
        ("word", "zinc..apple", ["zinc", "a..b", "apple"]),
        ("word", "a..b", ["a..b"]),
        ("word", r"a\.\.b", ["a..b"]),
        ("word", r"a\.\.b..x1", ["a..b", "apple", "x*", "x1"]),
        ("word", "x*", ["x*"]),
        ("word", "x?", ["x*", "x1"]),
        ("word", r"\x*", ["x*"]),
        ("word", "region:N", ["region:N"]),
        ("word", "!=1", ["!=1"]),
        ("area", "region:N", ["N1", "N2"]),
        ("area", "region:north", ["N1", "N2"]),
        ("area", "region:N..S", ["N1", "N2", "S1", "S2", "S3"]),
        ("area", "S?", ["S1", "S2", "S3"]),
        ("area", "area:S*", ["S1", "S2", "S3"]),
        ("age", "grown:grown", ["adult", "old"]),
        ("job", "1..", ["1", "2"]),
    ],
)
def test_an_item_means_its_categories(dataset, name, item, meant):
    assert codes(dataset, name, item) == meant


def test_a_range_follows_the_declared_order_and_not_the_alphabet(dataset):
    alphabet = [code for code in sorted(dataset.variable("word").codes) if "apple" <= code <= "zinc"]
    assert codes(dataset, "word", "zinc..apple") != alphabet
    with pytest.raises(BadRequest, match="backwards"):
        selected(dataset, "word", "apple..zinc")


@pytest.mark.parametrize(
    ("name", "item", "error", "said"),
    [
        ("years", "20..64", BadRequest, '20 lies inside the category "15-64"'),
        ("years", "5..20", BadRequest, '20 lies inside the category "15-64".* end with the whole category'),
        ("years", "..", BadRequest, "has no end"),
        ("years", "64..5", BadRequest, "runs backwards"),
        ("years", "5-64", UnknownCategory, "written 5..64"),
        ("job", "..8", BadRequest, "ends at 8. Categories end at 0, 1, 2, 9"),
        ("word", "ONE", UnknownCategory, "2 categories of \"word\" are called 'ONE'. Write a code: x1, Same"),
        ("word", "zinc..pear", UnknownCategory, "no category 'pear'"),
        ("area", "region:Nord", UnknownCategory, '"region" has no category \'Nord\'. Did you mean "North"'),
        ("area", "regions:N", UnknownCategory, "no category 'regions:N'"),
        ("area", "Q*", UnknownCategory, r"no category 'Q\*'"),
        ("sex", "femal", UnknownCategory, 'Did you mean "Female"'),
        ("sex", "", UnknownCategory, "no category ''"),
        ("years", "9" * 5000 + "..", UnknownCategory, "no category"),
    ],
)
def test_what_means_nothing_is_refused_in_plain_words(dataset, name, item, error, said):
    with pytest.raises(error, match=said):
        selected(dataset, name, item)


def test_a_request_looks_for_so_many_things_and_no_more(dataset):
    ranges = ",".join(["S1..S3"] * MOST_READ)
    canonical(request_from_text("town", rows=["sex"], filters=[f"area={ranges}"]), dataset)
    with pytest.raises(BadRequest, match=f"has {MOST_READ + 1} ranges"):
        canonical(request_from_text("town", rows=["sex"], filters=[f"area={ranges},N?"]), dataset)
    assert [most_read([5, size]) for size in (100_000, 250_000, 10**7)] == [MOST_READ, 20, 1]
    many = ",".join(["N1", "north one"] * MOST_READ)
    canonical(request_from_text("town", rows=["sex"], filters=[f"area={many}"]), dataset)


@st.composite
def chosen(draw):
    """A variable with hostile codes and labels, and some of its codes in any order."""
    texts = draw(st.lists(HOSTILE, min_size=2, max_size=12, unique=True))
    labels = draw(st.lists(HOSTILE, min_size=len(texts), max_size=len(texts)))
    variable = Variable("bad", "Bad", tuple(map(Category, texts, labels)))
    some = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=len(texts) - 1, unique=True))
    return variable, tuple(some)


@given(case=chosen(), long=st.sampled_from([0, 20]))
def test_every_filter_reads_back_as_written_ranges_included(dataset, case, long):
    variable, some = case
    bad = replace(dataset, variables=(*dataset.variables, variable))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "LONG", long)
        asked = canonical(TableRequest("town", ("sex",), filters=(("bad", some),)), bad)
    assert dict(asked.filters)["bad"] == tuple(code for code in variable.codes if code in some)
    again = canonical(request_from_text("town", rows=["sex"], filters=asked.filter_lines()), bad)
    assert (again, again.identity) == (asked, asked.identity)
    rest = tuple(code for code in variable.codes if code not in some)
    other = request_from_text(
        "town", rows=["sex"], filters=TableRequest("", filters=(("bad!", rest),)).filter_lines()
    )
    assert canonical(other, bad) == asked


def test_long_lists_are_written_as_ranges_and_short_ones_as_before(dataset):
    many = Variable("n", "N", tuple(Category(f"c{n}", f"Number {n}") for n in range(60)))
    assert shortest(many, many.codes[:20]) == many.codes[:20]
    assert shortest(many, many.codes[:30]) == ("c0..c29",)
    assert shortest(many, (*many.codes[:25], "c30", "c40", "c41", "c42")) == ("c0..c24", "c30", "c40..c42")
    assert shortest(many, many.codes[::2]) == many.codes[::2]
    wide = replace(dataset, variables=(*dataset.variables, many))
    asked = canonical(request_from_text("town", rows=["sex"], filters=["n!=c30"]), wide)
    assert asked.permalink == "rows=sex&filter=n=c0..c29,c31..c59"
    assert len(dict(asked.filters)["n"]) == 59


def test_a_range_that_would_read_as_something_else_is_not_written(monkeypatch):
    monkeypatch.setattr(selection, "LONG", 0)
    taken = Variable("n", "N", tuple(Category(code, code) for code in ("aaaa", "bbbb", "cccc", "aaaa..cccc")))
    assert shortest(taken, ("aaaa", "bbbb", "cccc")) == ("aaaa", "bbbb", "cccc")
    labels = ("1", "2", "3", "aaaa..cccc", "AAAA..cccc")
    twice = Variable("n", "N", tuple(map(Category, ("aaaa", "bbbb", "cccc", "d", "e"), labels)))
    assert shortest(twice, ("aaaa", "bbbb", "cccc")) == ("aaaa", "bbbb", "cccc")


@pytest.mark.parametrize(
    ("lines", "permalink"),
    [
        ({"filters": ["word=x*,a..b"]}, "rows=word&filter=word=a..b,x%2A"),
        ({"filters": ["word=region:N,!\\=1"]}, "rows=word&filter=word=region%3AN,%21%5C=1"),
        ({"groups": ["word=region:N+x*,a..b+x1"]}, "rows=word&group=word=a..b%2Bx1,x%2A%2Bregion%3AN"),
    ],
)
def test_links_from_before_ranges_names_and_patterns_mean_and_say_what_they_did(dataset, lines, permalink):
    """The links are those of the grammar that had codes only; a reading of notation before codes changes them."""
    asked = canonical(request_from_text("town", rows=["word"], **lines), dataset)
    assert asked.permalink == permalink
    assert asked.names == ()
