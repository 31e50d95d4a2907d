"""The pages on margins: every part is there, the code runs, and every method is named.

The pages on what a reader may conclude: their code runs, and they name what there is.

The pages about differential privacy: their examples run, and every key is documented.
"""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet import inference
from discreet.cli.main import app
from discreet.margins.residual_space import MOST_PATHS
from discreet.margins.study import METHODS
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import COMPOSITIONS, MEASURES, NEIGHBOURS, NUMBER, SPREADS, parse_terms
from discreet.model.privacy_budget import KEYS as BUDGET_KEYS
from discreet.model.universe import KEYS, STYLES, parse_universe
from discreet.noise import families
from discreet.noise.families import families as families_dp_pages
from discreet.noise.files import FORMATS
from discreet.noise.files.document import to_document
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.protect.plan import make_plan
from discreet.records.keys import MOST_RECORDS

PAGES = Path(__file__).parent.parent.parent / "docs" / "methods"
NAMES = [*families.names(), "quantisation", "design"]


def blocks(name, language):
    return re.findall(
        rf"```{language}\n(.*?)```", (PAGES / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL
    )


@pytest.mark.parametrize("name", families.names())
def test_a_family_has_a_page_with_claim_formula_use_account_and_source(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for part in ("**Claim.**", "## Formula", "## When to use it", "## Its exact (ε, δ)", "## Source"):
        assert part in text, part


@pytest.mark.parametrize("name", NAMES)
def test_the_python_of_a_page_runs(name, monkeypatch):
    monkeypatch.setattr(families, "_registered", {})
    found = blocks(name, "python")
    assert found
    for code in found:
        exec(compile(code, f"{name}.md", "exec"), {"__name__": name})  # noqa: S102 - our own pages


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [line for name in NAMES for block in blocks(name, "sh") for line in block.strip().splitlines()],
)
def test_the_commands_of_a_page_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)
    assert words[0] == "discreet"
    result = CliRunner().invoke(app, words[1:])
    assert result.exception is None, result.exception


def test_every_parameter_of_every_family_is_on_the_design_page():
    text = (PAGES / "design.md").read_text(encoding="utf-8")
    for family in families.families():
        for name in family.names():
            words = {f"--{name.replace('_', '-')}", f"--no-{name}"}
            assert any(word in text for word in words), name


METHOD_PAGES = Path(__file__).parents[2] / "docs" / "methods"
PAGES_MARGIN_PAGES = sorted(METHOD_PAGES.glob("margins-*.md"))


def blocks_margin_pages(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("path", PAGES_MARGIN_PAGES, ids=lambda p: p.stem)
def test_a_page_has_its_claim_formula_and_tests(path):
    text = path.read_text(encoding="utf-8")
    for part in ("**Claim.**", "## Formula", "## Use", "Tests: `tests/"):
        assert part in text, part
    assert "## Source" in text or path.stem == "margins-advice"


@pytest.mark.parametrize("path", PAGES_MARGIN_PAGES, ids=lambda p: p.stem)
def test_the_python_of_a_page_runs_margin_pages(path):
    found = blocks_margin_pages(path, "python")
    assert found
    for code in found:
        exec(compile(code, path.name, "exec"), {"__name__": path.stem})  # noqa: S102 - our own pages


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        line
        for path in PAGES_MARGIN_PAGES
        for block in blocks_margin_pages(path, "sh")
        for line in block.strip().splitlines()
    ],
)
def test_the_commands_of_a_page_run_margin_pages(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    assert result.exception is None, result.exception


def test_every_method_is_on_the_page_of_advice():
    text = (METHOD_PAGES / "margins-advice.md").read_text(encoding="utf-8")
    for method in METHODS:
        assert f"| `{method}` |" in text


DOCS = Path(__file__).parents[2] / "docs"
PAGES_NOISE_PAGES = ["concepts/exact-audit.md", "reference/noise-table-files.md"]


@pytest.mark.parametrize("page", PAGES_NOISE_PAGES)
def test_the_examples_of_the_page_run(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_format_and_every_key_of_our_document_is_on_the_page():
    page = (DOCS / PAGES_NOISE_PAGES[1]).read_text(encoding="utf-8")
    document = to_document(NoiseTable(4, (NoiseRow((0,), (4,)),)))
    for word in (*FORMATS, *document, "privacy", "alternative"):
        assert f"`{word}`" in page, word


PAGES_INFERENCE_PAGES = ("noise-aware-tests", "intervals")


def text_of(page):
    return (DOCS / "methods" / f"{page}.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_INFERENCE_PAGES)
def test_the_python_of_a_page_runs_inference_pages(page):
    found = re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)
    assert found
    for code in found:
        exec(compile(code, f"{page}.md", "exec"), {"__name__": page})  # noqa: S102 - our own pages


@pytest.mark.parametrize("page", PAGES_INFERENCE_PAGES)
def test_a_page_has_claim_formula_use_and_source(page):
    for part in ("**Claim.**", "## Formula", "## Use", "## Source"):
        assert part in text_of(page)


def test_the_commands_of_a_page_run_inference_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```sh\n(.*?)```", text_of("noise-aware-tests"), re.DOTALL):
        for line in block.strip().splitlines():
            assert CliRunner().invoke(app, shlex.split(line)[1:]).exit_code == 0


def test_every_function_is_on_a_page():
    text = "".join(map(text_of, PAGES_INFERENCE_PAGES)) + (DOCS / "reference" / "cli.md").read_text("utf-8")
    assert [name for name in inference.__all__ if name not in text and name.islower()] == []


REFERENCE = (DOCS / "reference" / "dp-universe.md").read_text("utf-8")
METHOD = (DOCS / "methods" / "dp.md").read_text("utf-8")


def test_the_example_of_the_reference_is_a_plan():
    (text,) = re.findall(r"```toml\n(.*?)```", REFERENCE, re.DOTALL)
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
    words = [
        *KEYS,
        *BUDGET_KEYS,
        *SPREADS,
        *MEASURES,
        *COMPOSITIONS,
        *NEIGHBOURS,
        *STYLES,
    ]
    for word in (*words, *(each.name for each in families_dp_pages() if each.currency)):
        assert f"`{word}`" in REFERENCE, word
    assert f'`["{NUMBER}"]`' in REFERENCE


@pytest.mark.parametrize("name", ["dp", "dp-invariants"])
def test_the_python_of_the_method_s_pages_runs(name):
    found = re.findall(
        r"```python\n(.*?)```", (DOCS / "methods" / f"{name}.md").read_text("utf-8"), re.DOTALL
    )
    assert found
    for code in found:
        exec(compile(code, f"{name}.md", "exec"), {"__name__": name})  # noqa: S102 - our own pages


@pytest.mark.parametrize(("name", "proofs"), [("dp-loads", 2), ("dp-invariants", 3)])
def test_pages_of_proofs_say_what_is_claimed_and_which_constants_the_code_has(name, proofs):
    text = (DOCS / "methods" / f"{name}.md").read_text("utf-8")
    assert "**Claim.**" in text
    assert text.count("*Proof.*") == text.count("∎") == proofs
    for constant, value in {"dp-loads": {"MOST_RECORDS": "2^31"}, "dp-invariants": {"MOST_PATHS": "512"}}[
        name
    ].items():
        assert f"`{constant}` = {value}" in text
    assert (MOST_RECORDS, MOST_PATHS) == (2**31, 512)


def test_the_method_s_page_has_claim_proofs_use_account_and_source():
    for part in ("**Claim.**", "## Formula", "## When to use it", "## Its exact (ε, δ)", "## Source"):
        assert part in METHOD
    assert METHOD.count("*Proof.*") == METHOD.count("∎") == 8


def test_the_decision_names_every_part_of_the_key():
    text = (DOCS / "decisions" / "0006-description-keys.md").read_text("utf-8")
    for part in ("description-noise", "version", "fingerprint", "mechanism", "domain", "AES-256-CTR"):
        assert part in text
