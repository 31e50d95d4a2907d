"""Frames: the same numbers in each, categories in their declared order, and what must be told beside them."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.api.frames import (
    error_columns,
    layout_of,
    long_frame,
    polars_frame,
    table_metadata,
    wide_frame,
    xarray_dataset,
)
from discreet.errors import MissingExtra
from discreet.formats.arrow import arrow_table
from discreet.model import plugins as registry


def test_layers_stand_outside_rows_and_columns_along_the_top(town_release):
    layout = layout_of(town_release)
    assert [d.name for d in layout.side] == ["sex", "age"]
    assert [d.name for d in layout.top] == ["job"]
    lines = layout.spread(town_release.values)
    assert lines.shape == (layout.height, 5)
    for line, (sex, age) in enumerate(np.ndindex(3, 4)):
        assert lines[line].tolist() == town_release.values[age, :, sex].tolist()


def test_a_table_of_counts_has_no_errors(town_release):
    assert error_columns(town_release) == {}


def value_of(release, *codes):
    found = release.value(*codes)
    return None if found is None else int(found)


def test_labels_and_codes_keep_their_declared_order(town_release):
    """Wrong: the order of the alphabet, which puts adults before children."""
    frame = long_frame(town_release)
    assert frame["age_label"].cat.categories.tolist() == ["Child", "Adult", "Old", "Total"]
    assert frame["age"].cat.ordered
    assert frame["age_label"].cat.ordered
    shuffled = frame.sample(frac=1, random_state=1).sort_values(["age_label", "job_label", "sex_label"])
    assert shuffled["value"].tolist() == frame["value"].tolist()
    assert sorted(frame["age_label"].unique().tolist()) != ["Child", "Adult", "Old", "Total"]


def test_the_wide_frame_reads_as_the_table(town_release):
    wide = wide_frame(town_release)
    assert wide.index.names == ["Sex", "Age"]
    assert wide.columns.name == "Job"
    assert wide.columns.tolist() == ["None", "Farm", "Shop", "Not stated", "Total"]
    for sex, s in (("Male", "1"), ("Total", "_T")):
        for age, a in (("Adult", "adult"), ("Total", "_T")):
            assert wide.loc[(sex, age), "Farm"] == value_of(town_release, a, "1", s)
    assert wide.loc[("Male", "Child"), "Farm"] is not None
    assert wide.isna().sum().sum() == town_release.missing.sum() > 0


def test_a_table_without_columns_or_rows_is_a_frame_too(town_workspace):
    import discreet

    with discreet.open(town_workspace.folder) as catalogue:
        down = catalogue.table("town", rows=["sex"]).to_pandas(wide=True)
        across = catalogue.table("town", columns=["sex", "age"]).to_pandas(wide=True)
    assert down.columns.tolist() == ["persons"]
    assert across.index.tolist() == ["persons"]
    assert across.columns.names == ["Sex", "Age"]
    assert across.loc["persons", ("Total", "Total")] == down.loc["Total", "persons"]


def test_polars_arrow_and_xarray_have_the_numbers_of_pandas(town_release):
    frame = long_frame(town_release)
    numbers = [
        None if missing else int(v) for v, missing in zip(frame["value"], frame["value"].isna(), strict=True)
    ]
    assert arrow_table(town_release)["value"].to_pylist() == numbers
    polars = polars_frame(town_release)
    assert polars["value"].to_list() == numbers
    assert polars["age_label"].dtype.categories.to_list() == ["Child", "Adult", "Old", "Total"]
    assert polars.sort("age_label")["age_label"][0] == "Child"
    array = xarray_dataset(town_release)
    assert array["value"].dims == ("age", "job", "sex")
    assert array["value"].sel(age="adult", job="1", sex="2").item() == value_of(
        town_release, "adult", "1", "2"
    )
    assert (np.isnan(array["value"].values) == town_release.missing).all()
    assert array["status"].sel(age="child", job="1", sex="1").item() == "z"
    assert array["age_label"].values.tolist() == ["Child", "Adult", "Old", "Total"]


def test_what_must_be_told_travels_with_every_frame(town_release):
    words = table_metadata(town_release)
    assert words["note"].startswith(town_release.notes[0])
    assert {"citation", "version", "promise", "digest"} <= set(words)
    assert long_frame(town_release).attrs == wide_frame(town_release).attrs == words
    assert xarray_dataset(town_release).attrs["note"] == words["note"]
    assert b"discreet" in arrow_table(town_release).schema.metadata


def test_two_categories_of_one_label_are_no_error(town_release):
    age = town_release.dimensions[0]
    outputs = tuple(replace(output, label="Same") for output in age.outputs)
    twins = replace(town_release, dimensions=(replace(age, outputs=outputs), *town_release.dimensions[1:]))
    frame = long_frame(twins)
    assert frame["age_label"].cat.categories.tolist() == ["Same", "Total"]
    assert frame["age"].cat.categories.tolist() == ["child", "adult", "old", "_T"]
    assert wide_frame(twins).shape == wide_frame(town_release).shape
    assert polars_frame(twins)["value"].to_list() == polars_frame(town_release)["value"].to_list()


def test_withheld_numbers_are_in_no_frame(town_release):
    """Wrong: to mask the number and leave it in memory; `0` stands below every mask."""
    hidden = replace(
        town_release,
        values=np.where(town_release.missing, 987654, town_release.values),
        status=town_release.status.copy(),
    )
    assert "987654" not in str(long_frame(hidden)["value"].array._data.tolist())
    assert 987654 not in xarray_dataset(hidden)["value"].values


@pytest.mark.parametrize("make", [polars_frame, xarray_dataset])
def test_what_is_not_installed_says_what_to_install(make, town_release, monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install"):
        make(town_release)
