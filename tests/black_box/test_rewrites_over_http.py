"""However a question is written in a URL, it is answered by the same bytes and charged once.

Equal are: orders of parameters, codes and groups; repeated and split filters; filters that keep everybody, groups of
one, levels that are the variable's own, defaults written out. The layout is presentation: it is one of the bytes'
reasons and none of the charge's.
"""

import random
from fractions import Fraction

import pytest

from discreet.model.description.dataset_toml import parse_dataset

pytestmark = pytest.mark.slow

REWRITES = 200
QUESTIONS = {
    "inside the universe": {
        "variables": ["job", "sex"],
        "filters": {"job": ["1", "2", "9"]},
        "groups": {"job": [["1", "2"], ["9"]]},
        "keeps all": ["area", "age", "region", "sex"],
    },
    "outside and paid once": {
        "variables": ["sex", "age", "job"],
        "filters": {"age": ["adult", "old"], "region": ["S"]},
        "groups": {"job": [["0", "9"], ["1", "2"]]},
        "keeps all": ["area", "job", "sex"],
    },
}


def shuffled(rng, items):
    return rng.sample(items, len(items))


def written_filters(rng, base, dataset):
    """Codes in any order, repeated, split over several parameters; and filters that keep everybody."""
    found = []
    for name, codes in base["filters"].items():
        pieces = shuffled(rng, codes) + rng.choices(codes, k=rng.randrange(3))
        at = rng.randrange(len(pieces) + 1)
        found += [f"{name}={','.join(part)}" for part in (pieces[:at], pieces[at:]) if part]
    for name in rng.sample(base["keeps all"], rng.randrange(3)):
        found.append(f"{name}={', '.join(shuffled(rng, list(dataset.variable(name).codes)))}")
    return [("filter", text) for text in found]


def written_groups(rng, base):
    """Groups in any order, their codes in any order; a group of every single code of another variable."""
    groups = {name: list(gs) for name, gs in base["groups"].items()}
    singles = rng.random() < 0.5
    if singles:
        groups["sex"] = [["1"], ["2"]]
    texts = [
        f"{name}={','.join('+'.join(shuffled(rng, group)) for group in shuffled(rng, gs))}"
        for name, gs in groups.items()
    ]
    own = [] if singles or rng.random() < 0.5 else [("levels", "sex=sex")]
    return [("group", text) for text in texts] + own


def written_layout(rng, layout):
    """The names of an axis together or one by one."""
    return [
        pair
        for axis, names in layout
        for pair in ([(axis, ",".join(names))] if rng.random() < 0.5 else [(axis, name) for name in names])
    ]


def rewritten(rng, base, layout, dataset):
    """One of many URLs of one question; parameters of one axis keep their order, all others are shuffled."""
    defaults = [("totals", "yes"), ("measure", "count"), ("additivity", "independent")]
    rest = [
        *written_filters(rng, base, dataset),
        *written_groups(rng, base),
        *rng.sample(defaults, rng.randrange(4)),
    ]
    axes = written_layout(rng, layout)
    places = sorted(rng.sample(range(len(rest) + len(axes)), len(axes)))
    found = shuffled(rng, rest)
    for place, pair in zip(places, axes, strict=True):
        found.insert(place, pair)
    return found


def layouts_of(rng, variables, number):
    """Different layouts of the same variables."""
    found = {}
    while len(found) < number:
        names, cut = shuffled(rng, variables), sorted(rng.choices(range(len(variables) + 1), k=2))
        parts = (names[: cut[0]], names[cut[0] : cut[1]], names[cut[1] :])
        axes = zip(("rows", "columns", "layers"), parts, strict=True)
        found[str(parts)] = [(axis, part) for axis, part in axes if part]
    return list(found.values())


@pytest.mark.parametrize("which", QUESTIONS)
def test_two_hundred_rewrites_have_the_same_bytes_and_cost_nothing(site, private_town, which):
    dataset, base = parse_dataset(private_town.description), QUESTIONS[which]
    rng, key = random.Random(f"rewrites {which}"), site.share("ann", "0.6")
    published = site.state().spent
    layouts, seen, asked = layouts_of(rng, base["variables"], 4), {}, set()
    for number in range(REWRITES):
        place, form = number % 4, ("csv", "json")[number // 4 % 2]
        query = rewritten(rng, base, layouts[place], dataset)
        asked.add(str(query))
        # Only the first may have to pay; all others are nobody in particular.
        answer = site.get([*query, ("format", form)], key if number == 0 else None)
        assert answer.status_code == 200, (query, answer.text)
        seen.setdefault((place, form), set()).add((answer.content, answer.headers["etag"]))
        if number == 0:
            paid = site.state().spent
    assert len(asked) > REWRITES * 0.9
    assert len(seen) == 8
    assert all(len(answers) == 1 for answers in seen.values())
    assert site.state().spent == paid
    cost = paid[0] - published[0]
    assert cost == (0 if which == "inside the universe" else pytest.approx(Fraction(1, 2), abs=1e-9))


def test_layouts_have_the_same_numbers(site):
    """Turned about, a table has the same cells: nothing can be averaged over layouts."""
    first = site.get("rows=sex&columns=job&format=csv&totals=no").text.splitlines()[1:]
    second = site.get("rows=job&columns=sex&format=csv&totals=no").text.splitlines()[1:]
    turned = sorted(",".join([*(f := line.split(","))[2:4], *f[:2], *f[4:]]) for line in second)
    assert sorted(first) == turned


def test_a_question_that_differs_in_one_code_is_another_and_must_be_paid_for_itself(site):
    key = site.share("ann", "5")
    inside = {"rows": "sex", "columns": "job", "filter": "job=1,2", "format": "csv"}
    assert site.get(inside).content != site.get({**inside, "filter": "job=1"}).content
    spent = site.state().spent
    site.get({"rows": "sex,age", "columns": "job", "filter": "region=S", "format": "csv"}, key)
    once = site.state().spent
    site.get({"rows": "sex,age", "columns": "job", "filter": "area=S1", "format": "csv"}, key)
    assert spent < once < site.state().spent
