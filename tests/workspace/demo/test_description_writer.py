from __future__ import annotations

import tomllib

from discreet.records.draft.toml_text import PROTECTION
from discreet.workspace.demo.description_writer import (
    Category,
    Variable,
    Zero,
    header,
    hierarchy_block,
    variable_block,
    zero_block,
)


def test_hostile_labels_stay_labels():
    hostile = 'a"b\\c\n\x00\x1f\x7f\u202e<script>=cmd()#\'"""'
    block = variable_block(Variable("v", hostile, (Category(hostile, hostile, hostile),)))
    assert tomllib.loads(block)["variable"] == [
        {
            "name": "v",
            "label": hostile,
            "categories": [{"code": hostile, "label": hostile, "parent": hostile}],
        }
    ]


def test_the_other_blocks_parse_to_what_was_given():
    text = header({"id": "x", "weight_decimals": 4})
    text += hierarchy_block("geography", "Geography", ["region", "area"], geography=True)
    text += zero_block(Zero("No such thing", {"age": ["0-4"], "occupation": ["1", "2"]})) + PROTECTION
    parsed = tomllib.loads(text)
    assert (parsed["id"], parsed["weight_decimals"]) == ("x", 4)
    levels = ["region", "area"]
    assert parsed["hierarchy"] == [
        {"name": "geography", "label": "Geography", "levels": levels, "geography": True}
    ]
    where = {"age": ["0-4"], "occupation": ["1", "2"]}
    assert parsed["structural_zero"] == [{"label": "No such thing", "where": where}]
    assert parsed["protection"]["noise"] == {"family": "maxent", "D": 5, "V": 3, "js": 2}
