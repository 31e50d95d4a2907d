"""The nearest table that is allowed is found, or none is named."""

from discreet.errors import Refused
from discreet.model.shape import table_shape
from discreet.rules.advice import nearest_allowed
from discreet.rules.declared import first_refusal


def test_nothing_is_advised_where_nothing_is_allowed(ask, dataset):
    request, _ = ask(rows=["sex"])
    assert nearest_allowed(request, dataset, (), lambda _: Refused("No.")) is None


def test_an_allowed_request_is_its_own_advice_and_the_nearest_edit_wins(ask, dataset, rules):
    request, _ = ask(rows=["sex", "age", "job"])
    assert nearest_allowed(request, dataset, (), lambda _: None) is request
    declared = rules({"kind": "max-variables", "most": 2})
    found = nearest_allowed(
        request,
        dataset,
        declared,
        lambda asked: first_refusal(asked, table_shape(asked, dataset), dataset, declared),
    )
    assert found.used == {"sex", "age"}
