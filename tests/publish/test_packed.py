"""Public values keep their kind and their making as JSON; what is of another kind does not leave."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.model.told import Count, Label, Text, told, told_number
from discreet.publish.packed import pack, unpack


def test_values_and_sentences_come_back_as_they_were():
    sentence = told("{names:lower} have {cells:,} cells", names=("Sex", told("Age")), cells=Count(3600))
    value = {
        "a": [1, 2.5, float("inf"), True, None, "text", Fraction(1, 3), Decimal("0.10")],
        "b": (sentence, Label("Sex", {"de": "Geschlecht"}), told_number("{count} cell", "{count} cells", 3)),
    }
    again = unpack(pack(value))
    assert again == value
    assert [type(each) for each in again["a"]] == [type(each) for each in value["a"]]
    first, label, number = again["b"]
    assert (first.template, first.values) == (sentence.template, sentence.values)
    assert isinstance(first.values["names"][1], Text)
    assert label.others == {"de": "Geschlecht"}
    assert (number.plural, number.amount) == ("{count} cells", 3)


def test_what_is_of_another_kind_does_not_leave():
    for value in ({"counts": np.zeros(3)}, {1: "a"}, object(), {"$": "text"}, b"bytes"):
        with pytest.raises(TypeError):
            pack(value)
