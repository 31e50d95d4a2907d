"""What a dataset under `dp` declares must hold together: records, keys, weights and terms."""

import pytest

from discreet.errors import BadDescription
from discreet.model.dataset_toml import parse_dataset
from discreet.model.declared_dp import declared_dp

SURVEY = """
[survey]
form = "{}"
sample_size = 3000
population_size = 9000
largest_weight = 5
relative_variance = 0.1
"""


def declared(private_town, old="", new="", form=None):
    text = private_town.description.replace(old, new, 1) if old else private_town.description
    if form is not None:
        text = text.replace('id_column = "person"\n', 'id_column = "person"\nweight_column = "w"\n', 1)
        text += SURVEY.format(form)
    return declared_dp(parse_dataset(text))


def test_terms_and_universe_are_read_together(private_town):
    terms, universe = declared(private_town)
    assert (terms.name, terms.known_total) == ("town", False)
    assert ("age", "sex") in universe.margins


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("answer_cost = 0.5", "records_per_unit = 2", "no column tells whose a record is"),
        (
            'id_column = "person"',
            'id_column = "person"\nkey_column = "key"',
            "Record keys mean nothing under dp",
        ),
    ],
)
def test_what_dp_cannot_keep_is_refused(private_town, old, new, words):
    with pytest.raises(BadDescription, match=words):
        declared(private_town, old, new)


@pytest.mark.parametrize(
    ("form", "words"),
    [("largest-weight", "reads exact weights"), ("invariant", "holds the sample size fixed")],
)
def test_a_weight_form_must_be_made_of_noisy_counts_and_public_facts(private_town, form, words):
    assert declared(private_town, form="average-weight")
    with pytest.raises(BadDescription, match=words):
        declared(private_town, form=form)
