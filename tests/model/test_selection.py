"""What an item means: codes first, declared order, whole classes; names of groups are no part of the request."""

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import BadRequest, UnknownCategory
from discreet.model import selection
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.limits import LONGEST_NAME, MOST_READ
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.selection import most_read, number_classes, select, shortest
from discreet.model.shape import table_shape
from discreet.model.variable import Category, Variable

BELOW, ABOVE = -math.inf, math.inf


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("25-29", (25, 29)),
        ("85+", (85, ABOVE)),
        ("7", (7, 7)),
        ("<5", (BELOW, 4)),
        ("10\u201314 years", (10, 14)),
        ("10 to 14", (10, 14)),
        ("85 years and over", (85, ABOVE)),
        ("5 or more", (5, ABOVE)),
        ("Under 5", (BELOW, 4)),
        ("2 rooms", (2, 2)),
        ("Unknown", None),
        ("2020-01-05", None),
        ("9-3", None),
        ("9" * 5000, None),
    ],
)
def test_a_class_is_read_from_a_code_and_from_a_label(text, bounds):
    found = {} if bounds is None else {0: bounds}
    assert number_classes([text], ["Any"]) == number_classes(["any"], [text]) == found


def test_codes_that_only_count_the_categories_are_no_numbers():
    """A reading category by category would take "None" for 1 and "Not stated" for 9."""
    labels = ["None", "1-999", "1000-1999", "Not stated"]
    assert number_classes(["1", "2", "3", "9"], labels) == {1: (1, 999), 2: (1000, 1999)}
    assert number_classes(["0", "1", "U"], ["None", "One", "Unknown"]) == {0: (0, 0), 1: (1, 1)}


AGES = ("0-4", "5-9", "10-14", "15-64", "65+", "U")
#: Characters that mean something somewhere in the grammar, beside some that do not.
HOSTILE = st.text(st.sampled_from("ab01.,+=\\:*?!-[ ]\u00e9"), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)


@pytest.fixture(scope="module")
def classes(town):
    """The town with ages in classes: unsorted codes, a label that two have, codes that look like notation."""
    own = parse_dataset(town.description)
    ages = Variable("years", "Years", tuple(Category(code, code.lower()) for code in AGES), not_stated="U")
    odd = ("zinc", "a..b", "apple", "x*", "x1", "region:N", "!=1", "Same")
    labels = ("Zinc", "Dots", "Apple", "Star", "One", "Colon", "Bang", "one")
    words = Variable("word", "Word", tuple(map(Category, odd, labels)))
    return replace(own, variables=(*own.variables, ages, words))


def codes(classes, name, item):
    return [classes.variable(name).codes[place] for place in select(classes, name, item)]


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
def test_an_item_means_its_categories(classes, name, item, meant):
    assert codes(classes, name, item) == meant


@pytest.mark.parametrize(
    ("name", "item", "error", "said"),
    [
        ("years", "20..64", BadRequest, '20 lies inside the category "15-64"'),
        ("years", "5..20", BadRequest, '20 lies inside the category "15-64".* end at the whole category'),
        ("years", "..", BadRequest, "has no end"),
        ("years", "64..5", BadRequest, "runs backwards"),
        ("word", "apple..zinc", BadRequest, "runs backwards"),  # in the declared order, not the alphabet's
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
def test_what_means_nothing_is_refused_in_plain_words(classes, name, item, error, said):
    with pytest.raises(error, match=said):
        select(classes, name, item)


def test_a_request_looks_for_so_many_things_and_no_more(classes):
    ranges = ",".join(["S1..S3"] * MOST_READ)
    canonical(request_from_text("town", rows=["sex"], filters=[f"area={ranges}"]), classes)
    with pytest.raises(BadRequest, match=f"has {MOST_READ + 1} ranges"):
        canonical(request_from_text("town", rows=["sex"], filters=[f"area={ranges},N?"]), classes)
    assert [most_read([5, size]) for size in (100_000, 250_000, 10**7)] == [MOST_READ, 20, 1]
    many = ",".join(["N1", "north one"] * MOST_READ)
    canonical(request_from_text("town", rows=["sex"], filters=[f"area={many}"]), classes)


@st.composite
def chosen(draw):
    """A variable with hostile codes and labels, and some of its codes in any order."""
    texts = draw(st.lists(HOSTILE, min_size=2, max_size=12, unique=True))
    labels = draw(st.lists(HOSTILE, min_size=len(texts), max_size=len(texts)))
    variable = Variable("bad", "Bad", tuple(map(Category, texts, labels)))
    some = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=len(texts) - 1, unique=True))
    return variable, tuple(some)


@given(case=chosen(), long=st.sampled_from([0, 20]))
def test_every_filter_reads_back_as_written_ranges_included(classes, case, long):
    variable, some = case
    bad = replace(classes, variables=(*classes.variables, variable))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "LONG", long)
        asked = canonical(TableRequest("town", ("sex",), filters=(("bad", some),)), bad)
    assert dict(asked.filters)["bad"] == tuple(code for code in variable.codes if code in some)
    again = canonical(request_from_text("town", rows=["sex"], filters=asked.filter_lines()), bad)
    assert (again, again.identity) == (asked, asked.identity)
    rest = tuple(code for code in variable.codes if code not in some)
    lines = TableRequest("", filters=(("bad!", rest),)).filter_lines()
    assert canonical(request_from_text("town", rows=["sex"], filters=lines), bad) == asked


def test_long_lists_are_written_as_ranges_and_short_ones_as_before(classes):
    many = Variable("n", "N", tuple(Category(f"c{n}", f"Number {n}") for n in range(60)))
    assert shortest(many, many.codes[:20]) == many.codes[:20]
    assert shortest(many, many.codes[:30]) == ("c0..c29",)
    assert shortest(many, (*many.codes[:25], "c30", "c40", "c41", "c42")) == ("c0..c24", "c30", "c40..c42")
    assert shortest(many, many.codes[::2]) == many.codes[::2]
    wide = replace(classes, variables=(*classes.variables, many))
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
def test_links_from_before_ranges_names_and_patterns_mean_and_say_what_they_did(classes, lines, permalink):
    """The links are those of the grammar that had codes only; a reading of notation before codes changes them."""
    asked = canonical(request_from_text("town", rows=["word"], **lines), classes)
    assert asked.permalink == permalink
    assert asked.names == ()


def ask(classes, *groups, rows="age", **parts):
    return canonical(request_from_text("town", rows=[rows], groups=groups, **parts), classes)


def labels(asked, classes):
    return table_shape(asked, classes).dimensions[0].labels


def test_a_name_is_the_label_of_its_group_and_no_part_of_the_question(dataset):
    named = ask(dataset, "age=Young:child+adult,Aged:old")
    plain = ask(dataset, "age=child+adult,old")
    assert labels(named, dataset) == ("Young", "Aged", "Total")
    assert labels(plain, dataset) == ("Child + Adult", "Old", "Total")
    assert named.identity == plain.identity
    assert named.groups == plain.groups
    # A name in the identity would tell the two apart, as their requests do.
    assert named != plain
    assert table_shape(named, dataset).dimensions[0].codes == table_shape(plain, dataset).dimensions[0].codes
    assert named.permalink == "rows=age&group=age=Young%3Achild%2Badult,Aged%3Aold"


def test_names_of_all_single_categories_leave_no_group(dataset):
    named = ask(dataset, "sex=Men:1,2", rows="sex")
    assert named.groups == ()
    assert named.identity == ask(dataset, rows="sex").identity
    assert labels(named, dataset) == ("Men", "Female", "Total")
    assert named.permalink == "rows=sex&group=sex=Men%3A1,2"
    assert canonical(named, dataset) == named
    assert canonical(replace(named, rows=("age",), names=named.names), dataset).names == ()


def test_a_name_stays_with_what_the_filter_leaves_of_its_group(dataset):
    asked = ask(dataset, "age=Young:child+adult,old", filters=["age!=adult"])
    assert labels(asked, dataset) == ("Young", "Old", "Total")
    assert asked.groups == ()
    names = ((("child",), "Young"), (("adult",), ""), (("old",), ""))
    assert canonical(replace(asked, filters=()), dataset).names == (("age", names),)


def test_a_level_in_a_group_is_no_name_and_a_group_of_a_level_may_have_its_name(dataset):
    assert ask(dataset, "age=Big:grown:grown,child") == ask(dataset, "age=Big:adult+old,child")
    assert ask(dataset, "age=grown:grown,child") == ask(dataset, "age=adult+old,child")
    named = ask(dataset, "age=Grown up:adult+old,child")
    assert labels(named, dataset) == ("Child", "Grown up", "Total")


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("age=Old:child+adult", "calls something else so"),
        ("age=ADULT:child+old", "calls something else so"),
        ("age=Grown Up:child+old", "calls something else so"),
        ("age=Total:child+old", "calls something else so"),
        ("age=total (all persons):child", "calls something else so"),
        ("age=X:child,x:old", "Two groups of"),
        ("age=Child + Adult:old,child+adult", "cannot be read|Two groups|no category"),
        ("age=a\tb:child", "control characters"),
        ("age=\x1b[31mred:child", "control characters"),
        ("age=\u202eevil:child", "control characters"),
        (f"age={'n' * (LONGEST_NAME + 1)}:child", f"1 to {LONGEST_NAME} characters"),
        ("age=:child", "1 to"),
        ("age=Young:chlid", 'Did you mean "child"'),
    ],
)
def test_a_name_that_could_mislead_is_refused(dataset, group, said):
    with pytest.raises(BadRequest, match=said):
        ask(dataset, group)


@given(st.data())
def test_every_named_group_reads_back_as_written(dataset, data):
    codes = data.draw(st.lists(HOSTILE, min_size=2, max_size=6, unique=True))
    names = data.draw(st.lists(HOSTILE | st.just(""), min_size=3, max_size=3))
    variable = Variable("bad", "Bad", tuple(Category(code, code) for code in codes))
    bad = replace(dataset, variables=(*dataset.variables, variable))
    places = [data.draw(st.integers(0, 3)) for _ in codes]
    parts = [tuple(c for c, place in zip(codes, places, strict=True) if place == part) for part in range(3)]
    groups = tuple((part, name) for part, name in zip(parts, names, strict=True) if part)
    assume(groups)
    plain_groups = (("bad", tuple(group for group, _ in groups)),)
    given_request = TableRequest("town", ("bad",), groups=plain_groups, names=(("bad", groups),))
    plain = canonical(replace(given_request, names=()), bad)
    try:
        asked = canonical(given_request, bad)
    except BadRequest as error:
        assert "called" in str(error)  # noqa: PT017 - only the name may be at fault
        return
    assert asked.identity == plain.identity
    for lines in (asked.group_lines(), given_request.group_lines()):
        assert canonical(request_from_text("town", rows=["bad"], groups=lines), bad) == asked
