"""The gate compares weights with those of the form, and what a load publishes of clusters does not count small ones."""

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.errors import BadData
from discreet.survey.generalised import FEWEST_CLUSTERS
from discreet.workspace.versions.label_corrections import relabel_dataset


def survey(folder, records, heavy, *, related=False, more=""):
    """A loaded survey of two regions and two sexes in homes of two; `heavy` people have five mean weights."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"id": range(records), "home": np.arange(records) // 2})
    frame["region"] = np.where(frame["home"] < FEWEST_CLUSTERS // 2, "a", "b")
    frame["sex"] = rng.choice(["1", "2"], records)
    weight = np.full(records, 100.0)
    order = np.argsort(frame["sex"], kind="stable") if related else rng.permutation(records)
    weight[order[:heavy]] = 490.0
    frame["w"] = weight
    spread = records * (weight**2).sum() / weight.sum() ** 2 - 1
    (folder / "dataset.toml").write_text(
        'id = "s"\nlabel = "S"\nid_column = "id"\nweight_column = "w"\nweight_decimals = 2\n'
        '[[variable]]\nname = "region"\ncategories = ["a", "b"]\n'
        '[[variable]]\nname = "sex"\ncategories = ["1", "2"]\n'
        f"[survey]\nsample_size = {records}\npopulation_size = {weight.sum():.2f}\n"
        f"largest_weight = 490\nrelative_variance = {spread:.5f}\n{more}"
    )
    discreet.load(folder / "workspace", folder / "dataset.toml", frame)
    return discreet.open(folder / "workspace")


def test_weights_above_the_cap_are_no_bias_of_their_own(tmp_path):
    """40,000 people, 100 of them of five means in either sex; wrong alternative: their capped part counts as bias."""
    survey(tmp_path, 40_000, 100).table("s", rows=["sex"], measure="weighted")


def test_the_same_weights_in_one_category_are_refused(tmp_path):
    with pytest.raises(BadData, match="sex"):
        survey(tmp_path, 40_000, 400, related=True)


def test_a_load_does_not_count_the_clusters_of_a_stratum_beyond_those_that_errors_need(tmp_path):
    """With homes as clusters their number would be that of the people of a region."""
    loaded = survey(tmp_path, 600, 0, more='strata = "region"\nclusters = "home"\n')
    survey_facts = loaded.table("s", rows=["sex"], measure="weighted").release.dataset.survey
    assert survey_facts.constants.stratum_clusters == (FEWEST_CLUSTERS // 2, FEWEST_CLUSTERS)


def test_corrected_labels_keep_the_constants_and_the_errors_of_a_survey(tmp_path):
    """The wrong alternative parses the corrected text alone: every cluster then counts as one person."""
    loaded = survey(tmp_path, 600, 0, more='clusters = "home"\n')
    before = loaded.table("s", rows=["sex"], measure="weighted").release
    loaded.close()
    text = (tmp_path / "dataset.toml").read_text("utf-8").replace('label = "S"', 'label = "T"')
    relabel_dataset(tmp_path / "workspace", text)
    with discreet.open(tmp_path / "workspace") as opened:
        after = opened.table("s", rows=["sex"], measure="weighted").release
    assert after.dataset.label == "T"
    assert after.dataset.survey.constants == before.dataset.survey.constants
    assert after.dataset.survey.constants.freedom
    assert after.errors.tolist() == before.errors.tolist()
