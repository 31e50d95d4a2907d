"""The nearest table that is allowed is found, or none is named."""

from tests.rules.refusals import first_refusal

from discreet.errors import Refused
from discreet.model.shape import table_shape
from discreet.rules.alternatives import find_alternatives


def test_nothing_is_advised_where_nothing_is_allowed(ask, dataset):
    request, _ = ask(rows=["sex"])
    assert not list(find_alternatives(request, dataset, (), lambda _: Refused("No.")))


def test_an_allowed_request_is_its_own_advice_and_the_nearest_edit_wins(ask, dataset, rules):
    request, _ = ask(rows=["sex", "age", "job"])
    assert list(find_alternatives(request, dataset, (), lambda _: None)) == [request]
    declared = rules({"kind": "max-variables", "most": 2})
    found = find_alternatives(
        request,
        dataset,
        declared,
        lambda asked: first_refusal(asked, table_shape(asked, dataset), dataset, declared),
    )
    used = [each.used for each in found]
    assert used[0] == {"sex", "age"}
    assert set(used) == {frozenset({"sex", "age"}), frozenset({"sex", "job"}), frozenset({"age", "job"})}
    # A search that went on from what is allowed would offer tables of one variable, too.
