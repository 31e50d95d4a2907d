"""Every parameter of every family is an option of the command.

Families side by side at one epsilon and delta.
"""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.commands.design import parse_modulus
from discreet.cli.main import app
from discreet.errors import BadRequest, DiscreetError, InfeasibleDesign, NotFound, UnknownFormat
from discreet.noise.files import write_noise_table
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit, delta


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
    shown = run("compare", "--epsilon", "1.5", "--m", "7", "--full").stdout
    assert "laplace" in shown
    assert "0.64" in shown


KEYS = {"family", "parameters", "modulus", "rows", "repeats", "moments", "privacy", "notes"}


@pytest.mark.parametrize(
    "words",
    [
        "laplace --epsilon 1 --modulus 2^64",
        "normal --epsilon 1 --delta 0.001",
        "hellinger --epsilon 3 --largest 4 --top 40",
        "maxent --D 5 --V 3 --symmetric --epsilon 0.5",
        "maxent --D 4 --V 2 --js 1 --equality --no-monotone",
        "abs --epsilon 0.5 --delta 1e-4",
        "pram --epsilon 2 --m 7 --sign invariant",
        "dropadd --m 2 --percent 10",
        "gaussian --epsilon 1 --delta 1e-5 --modulus 10^8",
    ],
)
def test_every_family_gives_the_whole_document(words):
    found = document(*words.split())
    assert set(found) >= KEYS
    assert found["family"] == words.split()[0]
    deltas = {"delta", "delta_forward", "delta_backward"}
    assert set(found["privacy"]) == deltas | {"neighbours", "epsilon", "worst_pair"}
    assert all(row["thresholds"][-1] == found["modulus"] for row in found["rows"])
    assert ("alternative" in found) == (found["family"] == "abs")


@pytest.mark.parametrize(
    ("words", "error", "reason"),
    [
        (("maxnt",), BadRequest, 'Did you mean "maxent"'),
        (("maxent", "--D", "5", "--V", "1", "--js", "2"), InfeasibleDesign, "= 2"),
        (("laplace", "--epsilon", "1", "--quantise", "floor"), BadRequest, "not known"),
        (("laplace", "--epsilon", "1", "--modulus", "many"), BadRequest, "not a valid modulus"),
        (("compare", "--m", "7"), BadRequest, "--epsilon"),
        (("compare", "--epsilon", "1", "--m", "7", "--match", "far"), BadRequest, "closest or smallest"),
    ],
)
def test_a_wish_without_a_table_is_refused_with_its_reason(words, error, reason):
    result = run(*words)
    assert isinstance(result.exception, error)
    assert isinstance(result.exception, DiscreetError)
    assert reason in str(result.exception)


@pytest.mark.parametrize("text", ["", "-4", "2^65", "2^x", "2^-3", "2^999999999"])
def test_a_modulus_that_is_none_is_refused(text):
    with pytest.raises(BadRequest, match="not a valid modulus"):
        parse_modulus(text)


def test_out_writes_what_json_prints_with_its_program(tmp_path):
    words, file = ("maxent", "--D", "5", "--V", "3", "--js", "2"), tmp_path / "maxent.json"
    result = run(*words, "--out", str(file))
    assert (result.exception, result.stdout) == (None, "")
    written = json.loads(file.read_text())
    assert written == document(*words)
    assert written["provenance"]["program"].startswith("discreet ")


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["pmf", "transition", "curve", "quantised"])
def test_a_design_and_an_audit_can_be_seen(picture, file, tmp_path):
    for number, words in enumerate(
        (["design", "maxent", "--D", "3", "--V", "2", "--js", "1"], ["audit", str(file)])
    ):
        target = tmp_path / f"noise.{('svg', 'png')[number]}"
        done = CliRunner().invoke(app, [*words, "--plot", str(target), "--picture", picture, "--json"])
        json.loads(done.stdout)
        assert target.read_bytes()[:4] in (b"<svg", b"\x89PNG")


@pytest.mark.parametrize(
    "words",
    [
        ("laplace", "--epsilon", "0.05", "--m", "60"),
        ("exponential", "--epsilon", "1"),
        ("abs", "--epsilon", "0.5", "--D", "10"),
        ("compare", "--epsilon", "1", "--delta", "1e-4"),
    ],
)
def test_a_design_is_printed_on_one_screen_and_in_full_when_asked(words):
    shown, full = run(*words), run(*words, "--full")
    assert len((shown.stdout + shown.stderr).splitlines()) <= 24
    assert all(len(line) <= 200 for line in (shown.stdout + shown.stderr).splitlines())
    assert "--full" in shown.stdout
    assert len(full.stdout) > 1.5 * len(shown.stdout)
    assert run(*words, "--all").stdout == full.stdout


def test_a_comparison_has_the_frontier_and_a_table_of_ones_own(file, tmp_path):
    target = tmp_path / "frontier.svg"
    words = ("compare", "--epsilon", "1", "--m", "7", "--D", "3", "--js", "1", "--V", "2")
    found = document(*words, "--noise", str(file), "--plot", str(target))["frontier"]
    assert target.read_bytes().startswith(b"<svg")
    assert [each["name"] for each in found["tables"]] == ["abs", "maxent, js = 1", "laplace", "table.json"]
    assert set(found["lines"]) == {"not negative", "may be negative"}
    assert "least variance" in run(*words).stdout
    for wrong in (("--picture", "pmf"), ("--percent", "3"), ("--sampling-rate", "0.1")):
        assert isinstance(run(*words, *wrong).exception, BadRequest)
    assert isinstance(run("laplace", "--epsilon", "1", "--noise", str(file)).exception, BadRequest)


def test_staircase_and_laplace_noise_are_compared_for_several_records():
    found = document("compare", "--epsilon", "1", "--delta", "1e-4", "--width", "3")
    assert [side["family"] for side in found["families"]] == ["laplace", "staircase"]


def test_every_value_of_a_distribution_is_printed_in_full():
    words = ("laplace", "--epsilon", "0.05", "--m", "60")
    assert "threshold" not in run(*words).stdout
    full = run(*words, "--full").stdout
    assert full.count("\n") > 121
    assert all(word in full for word in ("threshold", "variance", "-60", "+60", "differentially private"))


def test_a_design_for_a_sample_keeps_the_wish_for_the_population():
    found = document("laplace", "--epsilon", "0.1", "--delta", "1e-6", "--sampling-rate", "1/20")
    assert found["population"]["epsilon"] == 0.1
    assert 1e-7 < found["population"]["delta"] <= 1e-6
    assert found["parameters"]["epsilon"] > 1
    assert len(found["population"]["conditions"]) == 4
    assert (
        "Sampled at 1/20" in run("laplace", "--epsilon", "0.1", "--m", "9", "--sampling-rate", "1/20").stdout
    )
    assert isinstance(run("maxent", "--D", "3", "--V", "2", "--sampling-rate", "1/20").exception, BadRequest)


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
    assert {"delta_forward", "bias", "variance", "p_exact", "neighbours"} <= set(found)
    assert found["delta"] == float(expected.delta)
    assert (found["delta_backward"], found["worst_pair"], found["delta_exact"]) == (0.75, [0, 1], "3/4")
    assert (found["above_D"]["D"], found["above_D"]["delta"]) == (1, float(expected.above_D.delta))
    assert (found["epsilon"], found["problems"]) == (1.0, [])
    given = ("--epsilon", "1", "--neighbours", "replace-one", "--cells", "2", "--json")
    found = json.loads(audit_file(file, *given).stdout)
    assert found["delta"] == float(delta(TABLE, epsilon=1.0, neighbours="replace-one", cells=2))
    together = json.loads(audit_file(file, "--epsilon", "1", "--group", "2", "--json").stdout)
    assert together["delta"] == float(delta(TABLE, epsilon=1.0, group=2))


def test_the_epsilon_of_the_design_is_the_default_and_a_delta_may_be_asked_instead(file):
    assert json.loads(audit_file(file, "--json").stdout)["epsilon"] == 0.75
    asked = json.loads(audit_file(file, "--delta", "0.9", "--json").stdout)
    assert (asked["epsilon"], asked["delta"]) == (0.0, 0.75)


def test_an_epsilon_that_does_not_exist_is_null_with_its_reason_and_can_be_drawn(file, tmp_path):
    found = json.loads(audit_file(file, "--delta", "0.1", "--plot", tmp_path / "curve.svg", "--json").stdout)
    assert found["epsilon"] is None
    assert "No epsilon reaches delta 0.1" in found["problems"][0]
    assert (tmp_path / "curve.svg").read_bytes().startswith(b"<svg")


def test_an_audit_is_printed_on_one_screen_and_in_full_when_asked(file):
    shown, full = audit_file(file).stdout, audit_file(file, "--full").stdout
    assert len(shown.splitlines()) <= 24
    assert "differentially private for one person added or removed" in shown
    assert "Renyi" not in shown
    assert all(word in full for word in ("Renyi", "mu infinite", "prior 0.5", "entropy"))


def test_an_audit_states_sample_tables_policy_and_priors_as_asked(file):
    words = "--sampling-rate 1/4 --sampling-rate 1/8 --sampling stratified --tables 2 --prior 0.2 --classes 3 --cumulative"
    found = json.loads(audit_file(file, "--epsilon", "1", *words.split(), "--json").stdout)
    assert found["population"]["rate"] == "1/4"
    assert found["population"]["delta"] == pytest.approx(0.75 / 4)
    assert [each["rate"] for each in found["population"]["rates"]] == ["1/4", "1/8"]
    assert (found["tables"]["unbounded_from"], found["tables"]["cells"]) == (2, 2)
    assert found["definitions"]["posteriors"][0]["prior"] == 0.2
    assert found["definitions"]["mu"] is None
    assert found["policy"]["policy"]["cells"] == 1
    shown = audit_file(file, "--epsilon", "1", *words.split()).stdout
    for word in ("Sampled at 1/4", "only if", "No finite epsilon", "cumulative classes", "prior 0.2"):
        assert word in shown


@pytest.mark.parametrize(
    "words",
    [
        "--sampling simple",
        "--sampling-rate 2",
        "--sampling-rate x",
        "--sampling-rate 0.1 --group 2",
        "--tables 0",
        "--step 2",
        "--prior 1",
    ],
)
def test_an_audit_refuses_what_it_cannot_state(file, words):
    with pytest.raises(DiscreetError):
        audit_file(file, *words.split())


def test_people_get_both_promises_side_by_side(file):
    shown = audit_file(file, "--epsilon", "1", "--population", "100").stdout
    assert "all counts" in shown
    assert "counts above D = 1" in shown
    assert "0 | 1" in shown
    assert "1/N for N = 100" in shown
    assert "Zero stays zero" in shown


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--epsilon", "1", "--delta", "0.1"], BadRequest),
        (["--plot", "x.pdf"], UnknownFormat),
        (["--plot", "x.svg", "--picture", "pie"], BadRequest),
        (["none.json"], NotFound),
        (["table.txt", "--plot", "x.svg", "--picture", "quantised"], BadRequest),
    ],
)
def test_an_audit_that_cannot_be_made_is_refused(file, tmp_path, monkeypatch, words, kind):
    monkeypatch.chdir(tmp_path)
    write_noise_table(TABLE, tmp_path / "table.txt", "tau-argus")  # has no design to compare with
    with pytest.raises(kind):
        audit_file(*([] if not words[0].startswith("--") else [file]), *words)
