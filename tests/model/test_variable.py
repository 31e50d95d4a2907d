"""Variables, hierarchies and code lists that contradict themselves are refused."""

import pytest

from discreet.errors import BadDescription, UnknownCategory
from discreet.model.dataset_toml import parse_dataset
from discreet.model.variable import Category, Hierarchy, Variable


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('variable = "age"', 'variable = "aeg"', "is of the variable"),
        ('members = ["adult", "old"]', 'members = ["adult", "odl"]', "does not have"),
        ('members = ["adult", "old"]', "members = []", "empty"),
        ('members = ["adult", "old"]', 'members = ["old", "old"]', "shares a member"),
        ('name = "grown"', 'name = "sex"', "something else"),
        ('code = "grown"', 'code = "_T"', "code of its own"),
        (
            '[{ code = "grown", label = "Grown up", members = ["adult", "old"] }]',
            '["grown"]',
            "without code and members",
        ),
    ],
)
def test_a_wrong_code_list_is_refused(town, old, new, message):
    with pytest.raises(BadDescription) as raised:
        parse_dataset(town.description.replace(old, new, 1))
    assert message in str(raised.value)


def variable(*codes, **changes):
    return Variable(
        **{"name": "v", "label": "V", "categories": tuple(Category(c, c) for c in codes)} | changes
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: variable("a", "b", "a"), "lists the code 'a' twice"),
        (variable, "no categories"),
        (lambda: variable("a", name="1v"), "not usable"),
        (lambda: variable("a", name="v_label"), "column of that name"),
        (lambda: variable("a", not_stated="9"), "not among its categories"),
        (lambda: Category("_T", "All"), "reserved for totals"),
        (lambda: Hierarchy("h", "H", ("region",)), "two or more different levels"),
    ],
)
def test_what_contradicts_itself_is_refused(make, words):
    with pytest.raises(BadDescription, match=words):
        make()


def test_an_unknown_code_is_answered_with_the_nearest_and_a_cut_one_with_its_whole():
    with pytest.raises(UnknownCategory, match="adult"):
        variable("child", "adult").position("adlut")
    with pytest.raises(UnknownCategory) as cut:
        variable("a,b", "c").position("a")
    assert r"write it as a\,b" in str(cut.value)


def test_two_variables_of_the_same_categories_are_not_the_same():
    assert variable("a") != variable("a")
    assert variable("a").column == "v"
    assert "a" in variable("a")
    assert "b" not in variable("a")
