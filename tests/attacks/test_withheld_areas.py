"""The attack on withheld areas: it finds what a difference tells, and says no more than the guess where none does."""

from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest

from discreet.attacks.knowledge import Answer
from discreet.attacks.withheld_areas import FITTED, SHARES, AreaQuestions, Target, attack, other_pairs
from discreet.errors import BadRequest, TableNotReleased
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import canonical
from discreet.model.shape import table_shape

AREAS, AGES, JOBS = 12, 6, 2
TEXT = f"""
id = "invented"
label = "Invented"
id_column = "i"
[[variable]]
name = "district"
categories = ["D0", "D1"]
[[variable]]
name = "area"
categories = [{", ".join(f'{{ code = "A{n}", parent = "D{n % 2}" }}' for n in range(AREAS))}]
[[variable]]
name = "age"
categories = {[f"a{n}" for n in range(AGES)]!r}
[[variable]]
name = "job"
categories = ["yes", "no"]
[[hierarchy]]
name = "g"
levels = ["district", "area"]
geography = true
""".replace("'", '"')


class Server:
    """True counts plus noise keyed by the question; some areas are withheld in tables of both variables."""

    def __init__(self, counts, withheld, *, lists, deviation, seed):
        self.dataset = parse_dataset(TEXT)
        self.counts, self.withheld, self.lists = counts, withheld, lists
        self.deviation, self.seed = deviation, seed

    def ask(self, request):
        shape = table_shape(canonical(request, self.dataset), self.dataset)
        names = [d.name for d in shape.dimensions]
        both = {"age", "job"} <= set(names)
        if "interior" in request.additivity or (shape.filters and self.lists):
            raise TableNotReleased("no", "no")
        cells = self.counts
        for hidden in shape.filters:
            cells = cells[list(hidden.members)]
        place = {"area": 0, "district": 0, "age": 1, "job": 2}
        sums = cells.sum(axis=tuple({0, 1, 2} - {place[name] for name in names}), keepdims=True)
        for dimension in shape.dimensions:
            members = dimension.members()
            if dimension.name == "district":
                members = [tuple(a for a in range(AREAS) if a % 2 in m) for m in members]
            axis = place[dimension.name]
            sums = np.stack([sums.take(list(m), axis).sum(axis) for m in members], axis)
        values = sums.transpose(
            [place[n] for n in names] + [a for a in range(3) if a not in map(place.get, names)]
        )
        values = values.reshape(shape.lengths)
        rng = np.random.default_rng([self.seed, crc32(str(request.identity).encode())])
        noisy = values + np.rint(rng.normal(0, self.deviation, values.shape)).astype(np.int64)
        missing = np.zeros(values.shape, dtype=bool)
        if both and "area" in names:
            missing[list(self.withheld)] = True
        return Answer(tuple(d.codes for d in shape.dimensions), np.where(missing, 0, noisy), missing)


def errors(withheld, **asked):
    """The squared errors of guess and attack, over forty invented countries where there is noise."""
    countries = range(40 if asked.get("deviation") else 1)
    return np.sum([errors_in(seed, withheld, **asked) for seed in countries], axis=0).tolist()


def errors_in(seed, withheld, *, lists=True, deviation=0.0, start=SHARES, ways=1):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(2.0, 10.0, (AREAS, AGES, JOBS)))
    server = Server(counts, withheld, lists=lists, deviation=deviation, seed=seed)
    target = Target(("district", "area"), ("age", "job"), deviation**2, ways, start)
    found = attack(server, server.dataset, target)
    assert found.withheld.nonzero()[0].tolist() == sorted(withheld)
    return [float(np.square(each - counts)[list(withheld)].sum()) for each in (found.guess, found.best)]


@pytest.mark.parametrize("start", [SHARES, FITTED])
def test_one_withheld_area_comes_back_exactly_where_there_is_no_noise(start):
    guess, best = errors([3], start=start)
    assert guess > 100
    assert best < 1e-6 * guess


def test_with_all_parts_withheld_there_is_nothing_to_take_off():
    guess, best = errors([0, 2, 4, 6, 8, 10])
    assert best == pytest.approx(guess)


def test_two_withheld_areas_come_back_in_part():
    guess, best = errors([3, 5])
    assert 0.2 * guess < best < 0.9 * guess


def test_a_count_of_the_union_says_more_than_the_areas_one_by_one():
    listed, counted = errors([3], deviation=6.0), errors([3], lists=False, deviation=6.0)
    assert counted[0] == listed[0]
    assert counted[1] < listed[1] < listed[0]


@pytest.mark.slow
def test_asking_in_more_ways_takes_noise_off():
    once, often = errors([3], deviation=10.0), errors([3], deviation=10.0, ways=5)
    assert often[1] < once[1]


def test_in_a_tournament_everybody_meets_everybody_once():
    for size in (4, 5, 8, 21):
        met = [pair for number in range(size + size % 2 - 1) for pair in other_pairs(size, number)]
        assert len(met) == len(set(met)) == size * (size - 1) // 2


class Silent:
    """A notebook that gets no answer: no count of records is released."""

    def ask(self, request):
        raise BadRequest(f"No {request.dataset}.")


@pytest.mark.parametrize(("represented", "wanted"), [(1.0, 40.0), (4.0, 160.0)])
def test_a_public_figure_of_records_is_scaled_to_people_represented(represented, wanted):
    """Wrong alternative: the figure as it is, four times too small, beside which any attack seems to gain."""
    area = SimpleNamespace(position={"N1": 0, "N2": 1, "N3": 2}.__getitem__)
    rules = ({"variable": "area", "figures": {"N1": 40}},)
    dataset = SimpleNamespace(id="county", rules=rules, variable=lambda _name: area)
    target = Target(("area",), ("age",), 3.0, represented=represented)
    people, gone = np.array([0.0, 300.0, 500.0]), np.array([True, False, False])
    found = AreaQuestions(Silent(), dataset, target)._stand_ins("area", people, gone)
    assert found.tolist() == [wanted]
