import random
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from discreet.errors import BadRequest, UnknownCategory, UnknownVariable
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical, request_from_text


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def ask(**parts):
    return request_from_text("town", **parts)


def test_a_filter_that_keeps_everybody_is_no_filter(dataset):
    assert canonical(ask(rows=["age"], filters=["sex=2,1"]), dataset) == ask(rows=["age"])


def test_order_and_repetition_of_codes_do_not_matter(dataset):
    one = canonical(ask(rows=["sex"], filters=["age=old,child", "job=1"]), dataset)
    other = canonical(ask(rows=["sex"], filters=["job=1,1", "age=child", "age=old"]), dataset)
    assert one == other


def test_groups_of_single_categories_are_no_groups(dataset):
    assert canonical(ask(rows=["age"], groups=["age=old,adult,child"]), dataset) == ask(rows=["age"])


def test_a_group_keeps_only_what_the_filter_keeps(dataset):
    asked = canonical(ask(rows=["age"], groups=["age=child+old,adult"], filters=["age=child,adult"]), dataset)
    assert asked.groups == ()
    assert asked.filters == (("age", ("child", "adult")),)


def test_the_layout_does_not_change_the_question(dataset):
    one = canonical(ask(rows=["sex"], columns=["age"]), dataset)
    other = canonical(ask(rows=["age", "sex"]), dataset)
    assert one.identity == other.identity
    assert one != other


def test_the_permalink_asks_the_same_question_again(dataset):
    asked = canonical(
        ask(
            rows=["sex"],
            columns=["age"],
            layers=["job"],
            filters=["region=N"],
            groups=["age=child+old"],
            totals=False,
        ),
        dataset,
    )
    query = parse_qsl(asked.permalink)
    again = request_from_text(
        "town",
        rows=[v for k, v in query if k == "rows"],
        columns=[v for k, v in query if k == "columns"],
        layers=[v for k, v in query if k == "layers"],
        filters=[v for k, v in query if k == "filter"],
        groups=[v for k, v in query if k == "group"],
        totals=("totals", "no") not in query,
    )
    assert canonical(again, dataset) == asked


def test_a_thousand_rewrites_of_a_request_have_one_question(dataset):
    random_source = random.Random(11)
    base = TableRequest(
        "town", ("sex",), ("age",), (), (("job", ("1", "2")),), (("age", (("child", "adult"), ("old",))),)
    )
    expected = canonical(base, dataset).identity
    for _ in range(1000):
        assert canonical(_rewritten(base, random_source), dataset).identity == expected


def _rewritten(base: TableRequest, random_source: random.Random) -> TableRequest:
    """Another way to ask the same: shuffled, repeated and split codes, empty filters, another layout."""
    codes = list(base.filters[0][1]) * random_source.randint(1, 3)
    random_source.shuffle(codes)
    cut = random_source.randint(1, len(codes))
    filters = [("job", tuple(part)) for part in (codes[:cut], codes[cut:]) if part]
    if random_source.random() < 0.5:
        filters.append(("region", ("S", "N")))
    random_source.shuffle(filters)
    groups = [list(group) for group in base.groups[0][1]]
    for group in groups:
        random_source.shuffle(group)
    random_source.shuffle(groups)
    axes = [(("sex",), ("age",)), (("age",), ("sex",)), (("age", "sex"), ()), ((), ("sex", "age"))]
    rows, columns = random_source.choice(axes)
    grouped = (("age", tuple(map(tuple, groups))),)
    return replace(base, rows=rows, columns=columns, filters=tuple(filters), groups=grouped)


@pytest.mark.parametrize(
    ("parts", "error", "advice"),
    [
        ({"rows": ["sexx"]}, UnknownVariable, 'Did you mean "sex"?'),
        ({"rows": ["age"], "filters": ["age=adlut"]}, UnknownCategory, 'Did you mean "adult"?'),
        ({}, BadRequest, "Choose at least one"),
        ({"rows": ["age"], "columns": ["age"]}, BadRequest, "Use each variable once"),
        ({"rows": ["age"], "groups": ["age=child+old,old"]}, BadRequest, "one group only"),
        ({"rows": ["age"], "groups": ["sex=1+2"]}, BadRequest, "Use a filter"),
        ({"rows": ["age"], "groups": ["age=child"], "filters": ["age=old"]}, BadRequest, "widen the filter"),
        ({"rows": ["age"], "groups": ["age=child", "age=old"]}, BadRequest, "together"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_advice(dataset, parts, error, advice):
    with pytest.raises(error) as raised:
        canonical(ask(**parts), dataset)
    assert advice in str(raised.value)
