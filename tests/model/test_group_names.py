"""Names of groups: words of whoever asks, kept beside the question and never part of it."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.model.dataset_toml import parse_dataset
from discreet.model.group_names import LONGEST_NAME
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.model.variable import Category, Variable

HOSTILE = st.text(st.sampled_from("ab0.,+=\\:*?!- <\u00e9"), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def ask(dataset, *groups, rows="age", **parts):
    return canonical(request_from_text("town", rows=[rows], groups=groups, **parts), dataset)


def labels(asked, dataset):
    return table_shape(asked, dataset).dimensions[0].labels


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
    assert canonical(replace(asked, filters=()), dataset).names == (
        ("age", ((("child",), "Young"), (("adult",), ""), (("old",), ""))),
    )


def test_a_name_that_the_group_has_anyway_is_no_name(dataset):
    assert ask(dataset, "sex=Male:1,2", rows="sex") == ask(dataset, rows="sex")


def test_a_level_in_a_group_is_no_name(dataset):
    asked = ask(dataset, "age=Big:grown:grown,child")
    assert asked == ask(dataset, "age=Big:adult+old,child")
    assert ask(dataset, "age=grown:grown,child") == ask(dataset, "age=adult+old,child")


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


def test_an_unnamed_group_keeps_its_label_for_itself(dataset):
    with pytest.raises(BadRequest, match="Two groups"):
        ask(dataset, r"age=Child \+ Adult:old,child+adult")


def test_a_group_of_a_level_may_have_the_name_that_it_has(dataset):
    assert labels(ask(dataset, "age=Grown up:adult+old,child"), dataset) == ("Child", "Grown up", "Total")


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
    given_request = TableRequest(
        "town", ("bad",), groups=(("bad", tuple(g for g, _ in groups)),), names=(("bad", groups),)
    )
    plain = canonical(replace(given_request, names=()), bad)
    try:
        asked = canonical(given_request, bad)
    except BadRequest as error:
        assert "called" in str(error)  # noqa: PT017 - only the name may be at fault
        return
    assert asked.identity == plain.identity
    for lines in (asked.group_lines(), given_request.group_lines()):
        assert canonical(request_from_text("town", rows=["bad"], groups=lines), bad) == asked
