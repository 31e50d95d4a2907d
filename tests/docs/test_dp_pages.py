"""The pages about differential privacy: their examples run, and every key is documented."""

import re
import tomllib
from pathlib import Path

import pytest

from discreet.margins.residual_space import MOST_PATHS
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import COMPOSITIONS, MEASURES, NEIGHBOURS, NUMBER, SPREADS, parse_terms
from discreet.model.privacy_budget import KEYS as BUDGET_KEYS
from discreet.model.universe import KEYS, STYLES, parse_universe
from discreet.noise.families import families
from discreet.protect.plan import make_plan
from discreet.records.keys import MOST_RECORDS

DOCS = Path(__file__).parents[2] / "docs"
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
    for word in (*words, *(each.name for each in families() if each.currency)):
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
