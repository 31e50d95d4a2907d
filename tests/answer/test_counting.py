"""A survey that tells weights only is counted in steps of its largest weight, wherever a count would stand."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.counting import count_cells
from discreet.errors import BadDescription, BadRequest, DiscreetError
from discreet.model import survey_section
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape

SURVEY = """[survey]
form = "{form}"
sample_size = 3000
population_size = {size}
largest_weight = 2
relative_variance = {spread}
"""


def weighted(town, form):
    weights = np.where(np.arange(len(town.records)) % 3 == 0, 2.0, 0.5)
    spread = len(weights) * (weights**2).sum() / weights.sum() ** 2 - 1
    survey = SURVEY.format(form=form, size=weights.sum(), spread=round(float(spread), 4))
    text = town.description.replace('id_column = "person"', 'id_column = "person"\nweight_column = "w"', 1)
    text = text.replace("[protection]\n", survey + "[protection]\n", 1)
    return text, town.records.append_column("w", pa.array(weights))


def test_steps_are_counted_in_place_of_records(town, tmp_path):
    text, records = weighted(town, "largest-weight")
    stored = town.load(tmp_path, text, records).stored("town")
    shape = table_shape(canonical(TableRequest("town", ("sex",)), stored.dataset), stored.dataset)
    steps = count_cells(stored, shape).counts
    frame = records.to_pandas()
    for code, found in zip(shape.dimensions[0].codes, steps, strict=True):
        inside = frame if code == "_T" else frame[frame["sex"] == code]
        assert found == int(inside["w"].sum() / 2 + 0.5)
        assert found < len(inside)  # the wrong alternative: records


@pytest.mark.slow
def test_counts_of_such_a_survey_are_refused_and_other_surveys_have_both(town, tmp_path):
    text, records = weighted(town, "largest-weight")
    stored = town.load(tmp_path / "steps", text, records).stored("town")
    from discreet.answer.pipeline import release_table

    with pytest.raises(BadRequest, match="Ask for the measure weighted"):
        release_table(stored, TableRequest("town", ("sex",)))
    release = release_table(stored, TableRequest("town", ("sex",), measure="weighted"))
    assert (release.values % 2 == 0).all()
    text, records = weighted(town, "average-weight")
    stored = town.load(tmp_path / "both", text, records).stored("town")
    assert release_table(stored, TableRequest("town", ("sex",))).values.sum() > 0


@pytest.mark.parametrize("form", ["cell-average", "overall-average"])
def test_open_forms_are_refused_at_load_and_in_a_version_that_was_loaded_before(
    town, tmp_path, monkeypatch, form
):
    text, records = weighted(town, form)
    with pytest.raises(BadDescription, match="is not served"):
        town.load(tmp_path / "new", text, records)
    with monkeypatch.context() as before:
        before.setattr(survey_section, "OPEN_FORMS", ())
        before.setattr(survey_section, "FORMS", (form,))
        town.load(tmp_path / "old", text, records).close()
    from discreet.workspace.workspace import Workspace

    with pytest.raises(DiscreetError, match=r"not served|Load the dataset again"):
        Workspace(tmp_path / "old").stored("town")


def test_steps_need_noise_of_their_own(town, tmp_path):
    text, records = weighted(town, "largest-weight")
    with pytest.raises(BadDescription, match="noise of its own"):
        town.load(tmp_path, text.replace('keys = "hashed"', 'keys = "additive"'), records)
