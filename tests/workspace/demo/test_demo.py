from __future__ import annotations

import tomllib

import pytest

from discreet.workspace.demo import DEMOS


@pytest.mark.parametrize("name", list(DEMOS))
def test_a_demo_has_the_id_it_is_listed_under_and_the_rows_it_says(name):
    description, batches, rows, _ = DEMOS[name]
    assert tomllib.loads(description())["id"] == name
    assert sum(batch.num_rows for batch in batches()) == rows


def test_there_are_three_demos_and_the_list_cannot_be_changed():
    assert list(DEMOS) == ["census", "census-dp", "spudlandia"]
    with pytest.raises(TypeError):
        DEMOS["other"] = DEMOS["census"]
