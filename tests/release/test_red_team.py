"""Leaks that were tried once and must never work again."""

from dataclasses import replace

import numpy as np
import pytest
from tests.release.surveys import weighted_town

import discreet
from discreet import errors
from discreet.model.request import request_from_text
from discreet.noise.files import read_noise_table, write_noise_table
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

SMALL = """
[[rule]]
kind = "minimum-area-size"
variable = "area"
least = 1000
figures = { S3 = 100, N1 = 5000, N2 = 5000, S1 = 5000, S2 = 5000 }
"""


def with_rules(town, rules):
    return town.description.replace("[protection]\n", f"{rules}\n[protection]\n", 1)


def test_fitted_totals_do_not_give_a_withheld_area_away(town, tmp_path):
    stored = town.load(tmp_path, with_rules(town, SMALL)).stored("town")
    shown = release_table(stored, request_from_text("town", rows=["area"], columns=["sex"]))
    assert (shown.status == 1).any()
    with pytest.raises(errors.TableNotReleased, match="fitted"):
        release_table(stored, request_from_text("town", rows=["area"], columns=["sex"], additivity="fitted"))
    interior = release_table(
        stored, request_from_text("town", rows=["area"], columns=["sex"], additivity="interior")
    )
    assert (interior.status[-1] == 1).all()


@pytest.mark.slow
def test_an_edited_version_is_not_served_and_a_load_mends_it(town, tmp_path):
    workspace = town.load(tmp_path)
    digest = workspace.stored("town").digest
    version = tmp_path / "datasets" / "town" / digest
    noise = read_noise_table(version / "noise.json")
    write_noise_table(replace(noise, rows=noise.rows[:1]), version / "noise.json")
    with pytest.raises(errors.WorkspaceUnusable, match="changed after"):
        Workspace(tmp_path).stored("town")
    load_dataset(tmp_path, town.description, town.records)
    assert Workspace(tmp_path).stored("town").protector.noise.rows == noise.rows
    (version / "dataset.toml").write_text(town.description.replace("hashed", "additive"))
    with pytest.raises(errors.WorkspaceUnusable, match="changed after"):
        Workspace(tmp_path).stored("town")
    (version / "data.duckdb").unlink()
    load_dataset(tmp_path, town.description, town.records)
    assert Workspace(tmp_path).stored("town").digest == digest


def test_a_lost_or_foreign_secret_is_never_replaced_in_passing(town, tmp_path):
    town.load(tmp_path)
    (tmp_path / "secret").unlink()
    with pytest.raises(errors.SecretUnusable, match="missing"):
        load_dataset(tmp_path, town.description, town.records)
    (tmp_path / "secret").write_bytes(bytes(range(90, 122)))
    (tmp_path / "secret").chmod(0o600)
    with pytest.raises(errors.SecretUnusable, match="loaded with another secret"):
        load_dataset(tmp_path, town.description, town.records)


def test_a_level_that_a_filter_cuts_is_a_union_like_any_other(town, tmp_path):
    rule = '[[rule]]\nkind = "nested-groups"\nfewer_than = 2\nfilters = true\n'
    stored = town.load(tmp_path, with_rules(town, rule)).stored("town")
    cut = {"rows": ["area"], "columns": ["sex"], "levels": ["area=region"], "totals": False}
    for parts in ({"rows": ["sex"]}, cut):
        with pytest.raises(errors.NestedGroups):
            release_table(stored, request_from_text("town", filters=["area=S1,S2"], **parts))


def test_noise_that_changes_nothing_and_keys_that_hardly_differ_are_refused(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"id": range(2000), "sex": rng.choice(["1", "2"], 2000), "key": 0})
    variable = '[[variable]]\nname = "sex"\ncategories = ["1", "2"]\n'
    text = 'id = "d"\nlabel = "D"\nid_column = "id"\n{}' + variable + '[protection]\nkeys = "additive"\n'
    with pytest.raises(errors.BadData, match="hardly differ"):
        load_dataset(tmp_path / "keys", text.format('key_column = "key"\n'), frame)
    one = discreet.noise.maxent(D=1, V=0.5)
    write_noise_table(replace(one, rows=one.rows[:1]), tmp_path / "noise.json")
    (tmp_path / "dataset.toml").write_text(text.format("") + '[protection.noise]\nfile = "noise.json"\n')
    with pytest.raises(errors.BadDescription, match="changes no count"):
        discreet.load(tmp_path / "w", tmp_path / "dataset.toml", frame)


def test_strata_that_are_areas_do_not_go_with_withheld_areas(town, tmp_path):
    strata = 'stratum = "area"\nstratum_weights = { N1 = 2, N2 = 2, S1 = 2, S2 = 2, S3 = 2 }\n'
    with pytest.raises(errors.BadDescription, match="level of the geography"):
        load_dataset(tmp_path / "a", *weighted_town(town, "public-strata", np.full(3000, 2.0), strata))


def test_the_strata_of_a_weighted_table_count_as_a_variable(town, tmp_path):
    strata = 'stratum = "sex"\nstratum_weights = { 1 = 2, 2 = 2 }\n'
    text, records = weighted_town(town, "public-strata", np.full(3000, 2.0), strata)
    text = text.replace("max_variables = 3", "max_variables = 2")
    stored = town.load(tmp_path, text, records).stored("town")
    release_table(stored, request_from_text("town", rows=["age"], measure="weighted"))
    with pytest.raises(errors.TooManyVariables):
        release_table(stored, request_from_text("town", rows=["age"], columns=["job"], measure="weighted"))
