"""A custodian is told in plain words what may be wrong, and what readers lose."""

from dataclasses import replace

from discreet.answer.load_cautions import description_cautions, disappearing
from discreet.model.dataset_toml import parse_dataset


def test_what_looks_wrong_is_asked(town):
    dataset = parse_dataset(town.description)
    told = " ".join(description_cautions(replace(dataset, id_column="row number"), 2))
    assert "no [[rule]]" in told
    assert "places in the file" in told
    assert "The file has 2 records" in told
    ruled = replace(dataset, rules=({"kind": "nested-groups"},))
    assert list(description_cautions(ruled, 3000)) == []
    forty = tuple(replace(dataset.variables[2], name=f"v{n}") for n in range(40))
    many = replace(ruled, variables=forty, hierarchies=(), structural_zeros=(), code_lists=())
    assert "40 variables make 10,700 tables" in " ".join(description_cautions(many, 3000))


def test_what_disappears_is_named(town):
    before = replace(parse_dataset(town.description), rules=({"kind": "nested-groups"}, {"kind": "x"}))
    fewer = town.description.replace('{ code = "old", label = "Old" }', "").replace(
        '"adult", "old"', '"adult"'
    )
    fewer = fewer.replace('name = "sex"', 'name = "gender"')
    after = replace(parse_dataset(fewer), rules=({"kind": "x"},))
    told = list(disappearing(before, after))
    assert told[0].startswith("Readers lose 1 variable: sex.")
    assert "age loses 1 category: old." in told
    assert told[-1] == "Rules that protected the version before are gone: nested-groups."
    assert list(disappearing(before, before)) == []
