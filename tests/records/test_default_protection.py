"""The protection that a draft writes down is the one that a description without any gets."""

from discreet.model.dataset_toml import parse_dataset
from discreet.model.protection import DEFAULT_NOISE, Protection
from discreet.records.default_protection import PROTECTION


def test_the_text_states_the_defaults():
    variable = '[[variable]]\nname = "v"\ncategories = ["a", "b"]\n'
    dataset = parse_dataset(f'id = "d"\nlabel = "D"\nid_column = "id"\n{variable}{PROTECTION}')
    assert dataset.protection == Protection()
    assert dict(dataset.protection.noise) == dict(DEFAULT_NOISE)
