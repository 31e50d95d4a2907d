"""The questions of the census: what cannot occur is declared, with codes that exist."""

from discreet.model.dataset_toml import parse_dataset
from discreet.workspace.demo import census_description
from discreet.workspace.demo.questions import AGE, AGES, census_zeros


def test_ages_are_five_year_bands_without_a_gap():
    assert len(AGE.categories) == len(AGES)
    starts = [int(band.split("-")[0].rstrip("+")) for band in AGES]
    assert starts == list(range(0, 5 * len(AGES), 5))


def test_every_structural_zero_names_codes_that_its_variables_have():
    dataset = parse_dataset(census_description(5000))
    assert len(dataset.structural_zeros) == len(census_zeros())
    for zero in dataset.structural_zeros:
        for name, codes in zero.where:
            assert codes <= set(dataset.variable(name).codes), zero.label
            assert codes != set(dataset.variable(name).codes), zero.label
