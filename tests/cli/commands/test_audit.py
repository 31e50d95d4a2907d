from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest, NotFound, UnknownFormat
from discreet.noise.files import write_noise_table
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit, delta

TABLE = NoiseTable(
    256,
    (NoiseRow((0,), (256,)), NoiseRow((-1, 0, 1), (64, 192, 256))),
    family="maxent",
    parameters={"epsilon": 0.75},
)


@pytest.fixture
def file(tmp_path):
    write_noise_table(TABLE, tmp_path / "table.json")
    return tmp_path / "table.json"


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)], catch_exceptions=False)


def test_json_has_the_promised_keys_and_the_numbers_of_the_audit(file):
    found = json.loads(run(file, "--epsilon", "1.0", "--json").stdout)
    expected = audit(TABLE, epsilon=1.0)
    promised = {
        "delta",
        "delta_forward",
        "delta_backward",
        "worst_pair",
        "epsilon",
        "above_D",
        "bias",
        "variance",
        "p_exact",
    }
    assert promised | {"problems", "neighbours"} <= set(found)
    assert found["delta"] == float(expected.delta)
    assert found["delta_backward"] == 0.75
    assert found["worst_pair"] == [0, 1]
    assert found["above_D"]["D"] == 1
    assert found["above_D"]["delta"] == float(expected.above_D.delta)
    assert found["delta_exact"] == "3/4"
    assert found["problems"] == []


def test_the_epsilon_of_the_design_is_the_default_and_a_delta_may_be_asked_instead(file):
    assert json.loads(run(file, "--json").stdout)["epsilon"] == 0.75
    asked = json.loads(run(file, "--delta", "0.9", "--json").stdout)
    assert (asked["epsilon"], asked["delta"]) == (0.0, 0.75)


def test_an_epsilon_that_does_not_exist_is_null_with_its_reason(file):
    found = json.loads(run(file, "--delta", "0.1", "--json").stdout)
    assert found["epsilon"] is None
    assert "No epsilon reaches delta 0.1" in found["problems"][0]


def test_a_delta_that_no_epsilon_reaches_can_still_be_drawn(file, tmp_path):
    run(file, "--delta", "0.1", "--plot", tmp_path / "curve.svg", "--json")
    assert (tmp_path / "curve.svg").read_bytes().startswith(b"<svg")


def test_the_curve_falls_from_epsilon_zero_to_where_the_table_can_do_no_better(file):
    points = json.loads(run(file, "--curve", "--json").stdout)["curve"]
    deltas = [point["delta"] for point in points]
    assert points[0]["epsilon"] == 0
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == float(delta(TABLE, epsilon=float("inf")))


def test_people_get_both_promises_side_by_side(file):
    shown = run(file, "--epsilon", "1", "--population", "100").stdout
    assert "all counts" in shown
    assert "counts above D = 1" in shown
    assert "0 | 1" in shown
    assert "1/N for N = 100" in shown
    assert "Zero stays zero" in shown


def test_neighbours_cells_and_groups_are_passed_on(file):
    found = json.loads(
        run(file, "--epsilon", "1", "--neighbours", "replace-one", "--cells", "2", "--json").stdout
    )
    assert found["delta"] == float(delta(TABLE, epsilon=1.0, neighbours="replace-one", cells=2))
    together = json.loads(run(file, "--epsilon", "1", "--group", "2", "--json").stdout)
    assert together["delta"] == float(delta(TABLE, epsilon=1.0, group=2))


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["curve", "pmf", "transition", "quantised"])
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_every_picture_is_written_in_both_formats(file, tmp_path, picture, ending):
    target = tmp_path / f"picture.{ending}"
    result = run(file, "--plot", target, "--picture", picture, "--json")
    json.loads(result.stdout)
    assert target.read_bytes()[:4] in (b"<svg", b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--epsilon", "1", "--delta", "0.1"], BadRequest),
        (["--epsilon", "-1"], BadRequest),
        (["--neighbours", "swap"], BadRequest),
        (["--plot", "x.pdf"], UnknownFormat),
        (["--plot", "x.svg", "--picture", "pie"], BadRequest),
    ],
)
def test_a_question_without_meaning_is_refused(file, words, kind):
    with pytest.raises(kind):
        run(file, *words)


def test_a_missing_file_is_not_found_and_an_import_has_no_design_to_compare_with(tmp_path):
    with pytest.raises(NotFound):
        run(tmp_path / "none.json")
    write_noise_table(TABLE, tmp_path / "table.txt", "tau-argus")
    with pytest.raises(BadRequest, match="no design"):
        run(tmp_path / "table.txt", "--plot", tmp_path / "x.svg", "--picture", "quantised")


def test_a_table_that_is_biased_on_purpose_is_audited_when_that_is_said(tmp_path):
    (tmp_path / "biased.txt").write_text("i;j;p;v;p_int_ub\n1;0;0.4;-1;0.4\n1;2;0.6;1;1\n")
    found = json.loads(run(tmp_path / "biased.txt", "--biased", "--json").stdout)
    assert found["bias"] == pytest.approx(0.2)
    assert "mean is not zero" in found["problems"][0]
