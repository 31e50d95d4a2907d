"""The audit as JSON: exact where it can be, and a curve that ends where the table can do no better."""

import json
from fractions import Fraction

from discreet.noise import laplace, maxent
from discreet.privacy.audit import audit
from discreet.privacy.audit_document import CURVE_STEPS, audit_document, curve_document


def test_a_delta_is_told_as_the_fraction_that_it_is():
    found = audit(maxent(D=3, V=1, js=1), epsilon=1.0)
    document = json.loads(json.dumps(audit_document(found), allow_nan=False))
    assert Fraction(document["delta_exact"]) == found.delta
    assert document["delta"] == float(found.delta)


def test_an_epsilon_that_does_not_exist_is_null():
    table = maxent(D=3, V=1, js=1)
    assert audit_document(audit(table, delta=0.0))["epsilon"] is None


def test_the_curve_falls_to_the_delta_that_remains():
    table = laplace(epsilon=1.0)
    found = audit(table)
    points = curve_document(table, found)
    deltas = [point["delta"] for point in points]
    assert len(points) == CURVE_STEPS + 1
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] > deltas[-1] == float(found.delta_infinite)
