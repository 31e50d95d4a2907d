"""Every parameter of every family is an option of the command.

Families side by side at one epsilon and delta.
"""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.commands.design import make_design, read_modulus
from discreet.cli.main import app
from discreet.errors import BadRequest, DiscreetError, InfeasibleDesign, NotFound, UnknownFormat
from discreet.noise.families import families
from discreet.noise.files import write_noise_table
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit, delta


def test_an_epsilon_that_maxent_does_not_have_says_where_to_audit():
    found = make_design("maxent", {"D": 5, "V": 3, "symmetric": True, "epsilon": 0.25}, 2**32, None).document
    assert found["privacy"]["epsilon"] == 0.25
    assert "epsilon" not in found["parameters"]


def test_every_parameter_has_one_option_with_its_meaning_and_its_families(run_here):
    shown = " ".join(run_here("design", "--help", COLUMNS="200").stdout.split())
    for family in families():
        for parameter in family.parameters:
            assert f"--{parameter.name.replace('_', '-')}" in shown
    assert run_here("design", "laplace", "--no-such", "1").returncode == 2


def run(*words):
    return CliRunner().invoke(app, ["design", *words], catch_exceptions=True)


def document(*words):
    result = run(*words, "--json")
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


def test_compare_sets_the_families_side_by_side():
    found = document("compare", "--epsilon", "1.5", "--m", "7")
    by_name = {side["family"]: side for side in found["families"]}
    assert by_name["normal"]["parameters"]["m"] == 12
    assert by_name["laplace"]["within"][5][0] == pytest.approx(0.635, abs=5e-4)
    shown = run("compare", "--epsilon", "1.5", "--m", "7").stdout
    assert "laplace" in shown
    assert "0.64" in shown


KEYS = {"family", "parameters", "modulus", "rows", "repeats", "moments", "privacy", "notes"}


def document_design(*words):
    result = run(*words, "--json")
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("laplace", "--epsilon", "1.5", "--m", "7"),
        ("laplace", "--epsilon", "1", "--modulus", "2^64"),
        ("normal", "--epsilon", "1", "--delta", "0.001"),
        ("hellinger", "--epsilon", "3", "--largest", "4", "--top", "40"),
        ("maxent", "--D", "5", "--V", "3", "--js", "2"),
        ("maxent", "--D", "5", "--V", "3", "--symmetric", "--epsilon", "0.5"),
        ("maxent", "--D", "4", "--V", "2", "--js", "1", "--equality", "--no-monotone"),
        ("abs", "--epsilon", "0.5", "--delta", "1e-4"),
        ("pram", "--epsilon", "2", "--m", "7", "--sign", "invariant"),
        ("dropadd", "--m", "2", "--percent", "10"),
        ("gaussian", "--epsilon", "1", "--delta", "1e-5", "--modulus", "10^8"),
    ],
)
def test_every_family_gives_the_whole_document(words):
    found = document_design(*words)
    assert set(found) >= KEYS
    assert found["family"] == words[0]
    assert set(found["privacy"]) == {
        "neighbours",
        "epsilon",
        "delta",
        "delta_forward",
        "delta_backward",
        "worst_pair",
    }
    assert all(row["thresholds"][-1] == found["modulus"] for row in found["rows"])
    assert ("alternative" in found) == (words[0] == "abs")


def test_the_abs_design_is_the_papers_example():
    found = document_design("abs", "--epsilon", "0.5", "--delta", "1e-4")
    assert found["parameters"]["D"] == 25
    assert found["rows"][0]["thresholds"][:3] == [425760, 1126343, 2255949]
    assert found["moments"]["bias"] == pytest.approx(-5.820766091346741e-09, rel=1e-12)
    assert found["moments"]["variance"] == pytest.approx(49.002167175291106, rel=1e-14)
    assert found["quantisation"]["paper"]["epsilon"] == pytest.approx(0.498037038323823, rel=1e-13)
    assert found["privacy"]["delta"] == pytest.approx(9.913e-5, rel=1e-3)
    assert found["quantisation"]["exact"]["delta"] >= found["quantisation"]["paper"]["delta"]
    assert found["alternative"]["delta"] < found["privacy"]["delta"]


def test_the_exact_delta_of_truncated_laplace_is_its_end_probability():
    found = document_design("laplace", "--epsilon", "1.5", "--m", "7", "--modulus", "2^64")
    assert found["privacy"]["delta"] == pytest.approx(1.7489922673005475e-05, rel=1e-9)
    assert found["privacy"]["epsilon"] == 1.5


def test_a_variance_not_reached_is_said_in_the_notes():
    found = document_design("maxent", "--D", "5", "--V", "3", "--js", "0")
    assert len(found["rows"]) == 6
    assert any("below its bound 3" in note for note in found["notes"])


def test_out_writes_what_json_prints(tmp_path):
    words = ("maxent", "--D", "5", "--V", "3", "--js", "2")
    result = run(*words, "--out", str(tmp_path / "table.json"))
    assert result.exception is None
    assert result.stdout == ""
    assert json.loads((tmp_path / "table.json").read_text()) == document_design(*words)


def test_people_see_the_row_the_moments_and_the_promise():
    shown = run("laplace", "--epsilon", "1.5", "--m", "3").stdout
    assert "threshold" in shown
    assert "variance" in shown
    assert "-DP for one cell" in shown


@pytest.mark.parametrize(
    ("words", "error", "reason"),
    [
        (("maxnt",), BadRequest, 'Did you mean "maxent"'),
        (("maxent", "--D", "5"), BadRequest, "needs V"),
        (("maxent", "--D", "5", "--V", "1", "--js", "2"), InfeasibleDesign, "= 2"),
        (("laplace", "--epsilon", "1", "--V", "2"), BadRequest, 'no parameter "V"'),
        (("laplace", "--epsilon", "1", "--quantise", "floor"), BadRequest, "not known"),
        (("laplace", "--epsilon", "1", "--modulus", "many"), BadRequest, "not usable"),
        (("compare", "--m", "7"), BadRequest, "--epsilon"),
        (("compare", "--epsilon", "1", "--m", "7", "--match", "far"), BadRequest, "closest or smallest"),
    ],
)
def test_a_wish_without_a_table_is_refused_with_its_reason(words, error, reason):
    result = run(*words)
    assert isinstance(result.exception, error)
    assert isinstance(result.exception, DiscreetError)
    assert reason in str(result.exception)


@pytest.mark.parametrize(
    ("text", "number"), [("256", 256), ("2^12", 4096), ("2**32", 2**32), ("10^8", 10**8), ("2^64", 2**64)]
)
def test_a_modulus_is_read_as_people_write_it(text, number):
    assert read_modulus(text) == number


@pytest.mark.parametrize("text", ["", "0", "-4", "2^65", "2^x", "10^20", "2^-3", "2^999999999"])
def test_a_modulus_that_is_none_is_refused(text):
    with pytest.raises(BadRequest, match="not usable"):
        read_modulus(text)


def test_the_file_carries_its_program_and_the_hash_of_its_integers(tmp_path):
    from discreet.noise.files import read_noise_table

    file = tmp_path / "maxent.json"
    assert run("maxent", "--D", "5", "--V", "3", "--js", "2", "--out", str(file)).exception is None
    written = json.loads(file.read_text())
    assert written["provenance"]["program"].startswith("discreet ")
    assert (
        read_noise_table(file).rows
        == make_design("maxent", {"D": 5, "V": 3.0, "js": 2}, 2**32, None).table.rows
    )
    written["rows"][1]["thresholds"][0] += 1
    file.write_text(json.dumps(written))
    with pytest.raises(DiscreetError, match="hash"):
        read_noise_table(file)


def test_a_file_with_lost_values_is_read_as_it_ships(tmp_path):
    from discreet.noise.files import read_noise_table

    file = tmp_path / "abs.json"
    wish = {"epsilon": 0.5, "delta": 1e-4}
    result = run("abs", "--epsilon", "0.5", "--delta", "1e-4", "--modulus", "2^8", "--out", str(file))
    assert result.exception is None
    assert read_noise_table(file).rows == make_design("abs", wish, 2**8, None).table.rows


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["pmf", "transition", "curve", "quantised"])
def test_a_design_can_be_seen(picture, tmp_path):
    file = tmp_path / "noise.svg"
    words = ("maxent", "--D", "3", "--V", "2", "--js", "1")
    result = run(*words, "--plot", str(file), "--picture", picture)
    assert result.exception is None
    assert file.read_text().startswith("<svg")


def test_an_unknown_picture_is_refused():
    result = run("dropadd", "--m", "1", "--plot", "x.svg", "--picture", "pfm")
    assert 'Did you mean "pmf"' in str(result.exception)


def test_a_law_of_many_values_is_shown_by_its_middle_and_all_of_it_when_asked():
    words = ("laplace", "--epsilon", "0.05", "--m", "60")
    shown, everything = run(*words).stdout, run(*words, "--all").stdout
    assert len(shown.splitlines()) < 60
    assert "80 more values from -60 to +60" in shown
    law = document_design(*words)["rows"][-1]
    assert everything.count("\n") > len(law["values"]) == 121
    middle = [p for v, p in zip(law["values"], law["probabilities"], strict=True) if abs(v) <= 20]
    assert f"{1 - sum(middle):.4g} together; --all shows them" in shown
    assert "more values" not in everything + run("laplace", "--epsilon", "1", "--m", "20").stdout


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


def audit_file(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)], catch_exceptions=False)


def test_json_has_the_promised_keys_and_the_numbers_of_the_audit(file):
    found = json.loads(audit_file(file, "--epsilon", "1.0", "--json").stdout)
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
    assert json.loads(audit_file(file, "--json").stdout)["epsilon"] == 0.75
    asked = json.loads(audit_file(file, "--delta", "0.9", "--json").stdout)
    assert (asked["epsilon"], asked["delta"]) == (0.0, 0.75)


def test_an_epsilon_that_does_not_exist_is_null_with_its_reason(file):
    found = json.loads(audit_file(file, "--delta", "0.1", "--json").stdout)
    assert found["epsilon"] is None
    assert "No epsilon reaches delta 0.1" in found["problems"][0]


def test_a_delta_that_no_epsilon_reaches_can_still_be_drawn(file, tmp_path):
    audit_file(file, "--delta", "0.1", "--plot", tmp_path / "curve.svg", "--json")
    assert (tmp_path / "curve.svg").read_bytes().startswith(b"<svg")


def test_the_curve_falls_from_epsilon_zero_to_where_the_table_can_do_no_better(file):
    points = json.loads(audit_file(file, "--curve", "--json").stdout)["curve"]
    deltas = [point["delta"] for point in points]
    assert points[0]["epsilon"] == 0
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == float(delta(TABLE, epsilon=float("inf")))


def test_people_get_both_promises_side_by_side(file):
    shown = audit_file(file, "--epsilon", "1", "--population", "100").stdout
    assert "all counts" in shown
    assert "counts above D = 1" in shown
    assert "0 | 1" in shown
    assert "1/N for N = 100" in shown
    assert "Zero stays zero" in shown


def test_neighbours_cells_and_groups_are_passed_on(file):
    found = json.loads(
        audit_file(file, "--epsilon", "1", "--neighbours", "replace-one", "--cells", "2", "--json").stdout
    )
    assert found["delta"] == float(delta(TABLE, epsilon=1.0, neighbours="replace-one", cells=2))
    together = json.loads(audit_file(file, "--epsilon", "1", "--group", "2", "--json").stdout)
    assert together["delta"] == float(delta(TABLE, epsilon=1.0, group=2))


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["curve", "pmf", "transition", "quantised"])
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_every_picture_is_written_in_both_formats(file, tmp_path, picture, ending):
    target = tmp_path / f"picture.{ending}"
    result = audit_file(file, "--plot", target, "--picture", picture, "--json")
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
        audit_file(file, *words)


def test_a_missing_file_is_not_found_and_an_import_has_no_design_to_compare_with(tmp_path):
    with pytest.raises(NotFound):
        audit_file(tmp_path / "none.json")
    write_noise_table(TABLE, tmp_path / "table.txt", "tau-argus")
    with pytest.raises(BadRequest, match="no design"):
        audit_file(tmp_path / "table.txt", "--plot", tmp_path / "x.svg", "--picture", "quantised")


def test_a_table_that_is_biased_on_purpose_is_audited_when_that_is_said(tmp_path):
    (tmp_path / "biased.txt").write_text("i;j;p;v;p_int_ub\n1;0;0.4;-1;0.4\n1;2;0.6;1;1\n")
    found = json.loads(audit_file(tmp_path / "biased.txt", "--biased", "--json").stdout)
    assert found["bias"] == pytest.approx(0.2)
    assert "mean is not zero" in found["problems"][0]
