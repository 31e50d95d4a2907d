"""Pages on methods: every part is there, their examples run, and they name every family, method, key and measure."""

import doctest
import json
import math
import re
import tomllib

import pytest
from tests.drills.test_leaks import LEAKS

from discreet import inference, privacy
from discreet.assess.assessment import FIGURES
from discreet.assess.subject import case_names
from discreet.margins.residual_space import MOST_PATHS
from discreet.margins.study import METHODS
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import COMPOSITIONS, MEASURES, NEIGHBOURS, NUMBER, SPREADS, parse_terms
from discreet.model.privacy_budget import KEYS as BUDGET_KEYS
from discreet.model.universe import KEYS, STYLES, parse_universe
from discreet.noise import families, laplace
from discreet.noise.files import FORMATS
from discreet.noise.files.document import to_document
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.protect.plan import make_plan
from discreet.records.keys import MOST_RECORDS
from discreet.workspace.workspace import Workspace
from discreet_studies.bench.timing import LIMIT, PAIRS, POINTS

from .pages import DOCS, blocks, command_lines, run_command, run_python, text_of

FAMILIES = [f"methods/{name}.md" for name in families.names()]
MARGINS = [f"methods/{path.name}" for path in sorted((DOCS / "methods").glob("margins-*.md"))]
READERS = ["methods/noise-aware-tests.md", "methods/intervals.md"]
ATTACKS = [f"methods/{path.name}" for path in sorted((DOCS / "methods").glob("attack-*.md"))]
LONGEST_ATTACK = 800
ASSESSMENT, CHOICE, SAFES = "methods/assessment.md", "how-to/choose-epsilon.md", "how-to/five-safes.md"
DP, UNIVERSE, NOISE_FILES = "methods/dp.md", "reference/dp-universe.md", "reference/noise-table-files.md"
FIVE = (
    "What it does",
    "Formula and source",
    "What it promises and what not",
    "An example that runs",
    "How it is tested",
)
PAPERS = [f"methods/{name}.md" for name in ("same-people", "sampling-amplification", "other-definitions")]
SLOW = {*READERS, *ATTACKS, ASSESSMENT}
WITH_PYTHON = [
    pytest.param(page, marks=[pytest.mark.slow] if page in SLOW else [])
    for page in (f"methods/{path.name}" for path in sorted((DOCS / "methods").glob("*.md")))
    if blocks(page, "python")
]
COMMANDS = [
    pytest.param(page, line, marks=[] if page in READERS else pytest.mark.slow)
    for page in (
        *FAMILIES,
        *MARGINS,
        *READERS,
        *(f"methods/{name}.md" for name in ("cell-key", "design", "quantisation")),
    )
    for line in command_lines(page)
]


@pytest.mark.parametrize("path", sorted((DOCS / "methods").glob("*.md")), ids=lambda path: path.stem)
def test_a_method_has_the_five_headings(path):
    assert tuple(re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE)) == FIVE


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_of_a_page_runs(page, monkeypatch):
    monkeypatch.setattr(families, "_registered", {})
    for code in blocks(page, "python"):
        run_python(page, code)


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_of_a_page_runs(page, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_command(line)


@pytest.mark.parametrize("page", ATTACKS)
def test_the_page_of_an_attack_is_short(page):
    assert len(text_of(page).split()) <= LONGEST_ATTACK


@pytest.mark.slow
@pytest.mark.parametrize("page", [*ATTACKS, *PAPERS])
def test_the_commands_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in command_lines(page):
        run_command(line)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for page in (ASSESSMENT, CHOICE, SAFES) for line in command_lines(page)]
)
def test_a_command_on_assessment_runs(line, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    monkeypatch.chdir(tmp_path)
    run_command(line)


@pytest.mark.parametrize("page", ["concepts/exact-audit.md", NOISE_FILES])
def test_the_examples_of_the_page_run(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_margins_method_is_on_the_page_of_advice():
    text = text_of("methods/margins-advice.md")
    assert [method for method in METHODS if f"| `{method}` |" not in text] == []


def test_every_format_and_every_key_of_our_document_is_on_the_page():
    document = to_document(NoiseTable(4, (NoiseRow((0,), (4,)),)))
    for word in (*FORMATS, *document, "privacy", "alternative"):
        assert f"`{word}`" in text_of(NOISE_FILES), word


def test_every_function_for_readers_is_on_a_page():
    text = "".join(map(text_of, [*READERS, "reference/cli.md"]))
    assert [name for name in inference.__all__ if name not in text and name.islower()] == []


def test_the_example_of_the_reference_is_a_plan():
    (text,) = blocks(UNIVERSE, "toml")
    protection = tomllib.loads(text)["protection"]
    dataset = parse_dataset(text.split("[protection]")[0])
    terms = parse_terms(protection["budget"])
    universe = parse_universe(protection["universe"], dataset, known_total=terms.known_total)
    plan = make_plan(dataset, universe, terms, protection["noise"])
    assert set(protection["universe"]) == set(KEYS)
    assert set(protection["budget"]) == set(BUDGET_KEYS)
    assert sum(table.share for table in plan.tables) == terms.epsilon
    assert not any({"area", "job"} <= set(table.margin) for table in plan.tables)


def test_every_key_and_every_word_is_documented():
    text = text_of(UNIVERSE)
    words = [*KEYS, *BUDGET_KEYS, *SPREADS, *MEASURES, *COMPOSITIONS, *NEIGHBOURS, *STYLES]
    for word in (*words, *(each.name for each in families.families() if each.currency)):
        assert f"`{word}`" in text, word
    assert f'`["{NUMBER}"]`' in text


@pytest.mark.parametrize(
    ("page", "proofs", "constant"),
    [("dp", 12, "`MOST_RECORDS` = 2^31"), ("dp-joint", 4, "`MOST_PATHS` = 512")],
)
def test_pages_of_proofs_say_what_is_claimed_and_which_constants_the_code_has(page, proofs, constant):
    text = text_of(f"methods/{page}.md")
    assert len(re.findall(r"\*Proof\.\*.*?∎", text, re.DOTALL)) == text.count("∎") == proofs
    assert constant in text
    assert (MOST_RECORDS, MOST_PATHS) == (2**31, 512)


def test_the_decision_names_every_part_of_the_key():
    text = text_of("decisions/0006-description-keys.md")
    for part in ("description-noise", "version", "fingerprint", "mechanism", "domain", "AES-256-CTR"):
        assert part in text


# Attacks: the figures of a page are those of the command.


def table_after(page, heading):
    """The rows of the first table after a heading, as lists of words."""
    lines = text_of(page).split(heading)[1].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("|---"))
    rows = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def study_of(attack, size, heading):
    """What the command says, its curves by protection and size, and the rows of the page."""
    study = json.loads(run_command(f"discreet attack {attack} --json"))
    curves = {
        each["protection"]: {point[size]: point for point in each["curve"]}
        for each in (study["baseline"], *study["results"])
    }
    return study, curves, table_after("evidence/attacks.md", heading)


def percents(shares):
    return [f"{100 * share:.1f} %" for share in shares]


@pytest.mark.slow
def test_the_figures_on_bobs_page_are_those_of_the_command():
    _, curves, rows = study_of("bob", "pairs", "## Bob's differencing")
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 16, 32]
    for row in rows:
        names = ("unprotected", "cellkey", "participants-and-description", "dp")
        plain, cellkey, described, dp = (curves[name][int(row[0])] for name in names)
        assert cellkey["certain"] == cellkey["certain_true"] == int(row[3].replace(",", ""))
        shares = [each["success"] for each in (plain, cellkey, described, dp)]
        assert [row[1], row[2], *row[4:]] == percents([*shares, dp["optimum"], dp["bound"]])
        assert dp["within_bound"]


@pytest.mark.slow
def test_the_figures_on_the_averaging_page_are_those_of_the_command():
    study = json.loads(run_command("discreet attack averaging --json"))
    rows = table_after("evidence/attacks.md", "## Averaging")
    assert [int(row[0]) for row in rows] == [1, 4, 16, 64]
    for row in rows:
        curves = [curve for each in study["results"] for curve in each["curves"].values()]
        points = [point for curve in curves for point in curve if point["ways"] == int(row[0])]
        assert row[1:] == [f"{p['error']:.2f} ({100 * p['exact']['share']:.0f} %)" for p in points]
    bound = study["results"][-1]["bound"]
    assert (round(bound["error"], 2), round(bound["exact"], 2)) == (1.36, 0.46)


@pytest.mark.slow
def test_the_figures_on_the_page_of_versions_are_those_of_the_command():
    study, curves, rows = study_of("versions", "tables", "## Two versions")
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 16, 21]
    for row in rows:
        points = [curves[name][int(row[0])] for name in ("unprotected", "keep-keys", "new-lineage", "dp")]
        assert [row[1], row[2], *row[4:]] == percents(point["success"] for point in points)
        assert points[1]["certain"] == points[1]["certain_true"] == int(row[3].replace(",", ""))
    collected = table_after("evidence/attacks.md", "Corrections collected")
    for row, each in zip(collected, study["collected"], strict=True):
        assert row == [str(each["removed"]), *percents([each["success"]]), f"{each['certain']:,}"]
    error = study["results"][1]["error"]
    assert (round(error["one_version"], 2), round(error["both_versions"], 2)) == (1.73, 1.22)


# Assessment, and the choice of an epsilon.


def test_the_page_on_assessment_has_every_measure():
    for measure in (
        "ε and δ", "percent perturbed", "RM", "probability of an exact value", "small-count confirmation",
        "averaging factor", "l1, l2, l3", "Hellinger", "Cramér's V", "chi-square, p-value",
        "total variation of MLEs", "likelihood-ratio shift", "false zeros",
    ):  # fmt: skip
        assert f"| {measure} |" in text_of(ASSESSMENT), measure


def test_every_family_and_every_picture_is_documented():
    section = text_of("reference/cli.md").split("## discreet assess")[1].split("\n## ")[0]
    for word in (*case_names(), *FIGURES):
        assert f"`{word}`" in section, word
        assert word in FIGURES or f"`{word}`" in text_of(ASSESSMENT), word


def test_what_an_epsilon_means_is_computed_right():
    lines = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| (\d+) % sure \|$", text_of(CHOICE), re.MULTILINE)
    assert len(lines) == 5
    for epsilon, ratio, sure in lines:
        odds = math.exp(float(epsilon))
        assert float(ratio) == pytest.approx(odds, rel=0.05)
        assert float(sure) == pytest.approx(100 * odds / (1 + odds), abs=0.51)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "mean", "largest"), [(1.0, 0.85, 9), (0.5, 1.9, 16), (0.1, 9.9, 63)])
def test_the_errors_that_the_page_names_are_those_of_the_noise(epsilon, mean, largest):
    noise = laplace(epsilon=epsilon, delta=1e-4)
    distribution = noise.rows[0].probabilities()
    assert noise.largest == largest
    assert float(sum(abs(v) * p for v, p in distribution.items())) == pytest.approx(mean, abs=0.05)
    assert all(f"{number}" in text_of(CHOICE) for number in (mean, largest))


@pytest.mark.slow
def test_the_worked_line_of_the_checklist_is_that_of_the_demo(demo):
    found = privacy.audit(Workspace(demo).stored("census").protector.noise, epsilon=1.0)
    assert f"delta {float(found.delta):.3g} for the worst count" in text_of(SAFES)
    assert f"{float(found.above_D.delta):.3g} for\ncounts above 5" in text_of(SAFES)


def test_every_point_was_timed_below_the_limit_and_every_fault_is_named():
    """The page of what was scanned, compared and timed."""
    page = text_of("evidence/confidentiality.md")
    figures = json.loads(text_of("evidence/confidentiality.json"))
    assert [each["point"] for each in figures["timing"]] == list(POINTS)
    for each in figures["timing"]:
        assert each["pairs"] == PAIRS
        assert each["t"] < LIMIT
        row = next(line for line in page.splitlines() if line.startswith(f"| {each['point']} |"))
        assert f" {each['t']:.1f} |" in row
        assert f"`{each['point']}`" in page
    faults = ("count without noise", "cell key in a log line", "secret in a header")
    faults += ("log of requests", "metric", "trace")
    assert len(faults) == len(LEAKS)
    assert all(fault in page for fault in faults)
