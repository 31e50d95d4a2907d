"""The machine behind the methods book: markers read, commands run, parts written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import BadRequest
from discreet_studies.book import Part, build, by_process, make, parts, read_part, rebuilt
from discreet_studies.book_tables import TABLES

PAGE = """# A chapter

Before.

<!-- made by:
discreet design laplace --epsilon 0.5
table: epsilons
-->
old
<!-- end -->

After.
"""
DESIGN = {
    "parameters": {"epsilon": 0.5},
    "modulus": 4,
    "repeats": 1,
    "rows": [{"values": [-1, 0, 1], "thresholds": [1, 3, 4]}],
}


def fake(words, folder):
    assert words[-1] == "--json"
    if "--plot" in words:
        (folder / words[words.index("--plot") + 1]).write_text("<svg/>")
    return json.dumps(DESIGN)


def test_a_page_keeps_its_prose_and_its_markers_and_gets_new_parts():
    text, pictures = rebuilt(PAGE, Path(), fake)
    assert text.startswith(PAGE.split("old", maxsplit=1)[0])
    assert text.endswith("<!-- end -->\n\nAfter.\n")
    assert "old" not in text
    assert "| 0.5 | 1.65 |" in text
    assert "```sh\ndiscreet design laplace --epsilon 0.5\n```" in text
    assert pictures == {}
    assert rebuilt(text, Path(), fake)[0] == text


def test_a_picture_is_shown_with_its_words():
    made = make(Part(("discreet design laplace --plot law.svg",), picture="The law"), Path(), fake)
    assert made.text.startswith("\n![The law](law.svg)\n")
    assert made.pictures == {"law.svg": b"<svg/>"}


@pytest.mark.parametrize(
    "part",
    [
        Part(("discreet design laplace --plot law.svg",)),
        Part(("discreet design laplace",), picture="Nothing was drawn"),
        Part(("discreet design laplace",), table="epsilon"),
    ],
)
def test_words_without_a_picture_a_picture_without_words_and_an_unknown_table_are_refused(part):
    with pytest.raises(BadRequest):
        make(part, Path(), fake)


def test_only_documents_of_the_last_command_make_the_table():
    def run(words, folder):
        return json.dumps({"rows": "not a design"} if words[0] == "audit" else DESIGN)

    part = Part(("discreet audit N.json", "discreet design laplace"), table="epsilons")
    assert make(part, Path(), run).text.count("| 0.5 |") == 1


def test_commands_find_the_descriptions_of_the_book(tmp_path):
    (tmp_path / "town.toml").write_text("x")

    def run(words, folder):
        assert folder != tmp_path
        assert (folder / "town.toml").read_text() == "x"
        return json.dumps(DESIGN)

    make(Part(("discreet design laplace",)), tmp_path, run)


def test_a_marker_names_commands_table_picture_and_whether_it_is_slow():
    found = read_part("discreet a\ndiscreet b\ntable: bob\npicture: two words: three\nslow\n")
    assert found == Part(("discreet a", "discreet b"), "bob", "two words: three", slow=True)
    assert [part.slow for part, _ in parts(PAGE)] == [False]


@pytest.mark.parametrize("recipe", ["rm -rf x\n", "table: bob\n", "discreet a\ntabel: bob\n"])
def test_a_marker_with_anything_else_is_refused(recipe):
    with pytest.raises(BadRequest):
        read_part(recipe)


def test_a_command_that_fails_says_so(tmp_path):
    with pytest.raises(BadRequest, match="failed"):
        by_process(["design", "laplase"], tmp_path)


def test_the_script_writes_the_chapters_that_are_named(tmp_path):
    for name in ("1.md", "2.md"):
        (tmp_path / name).write_text(PAGE, "utf-8")
    said = []
    build(tmp_path, ["2.md"], said.append)
    assert said == ["Written: 2.md"]
    assert (tmp_path / "1.md").read_text("utf-8") == PAGE
    assert "| 0.5 | 1.65 |" in (tmp_path / "2.md").read_text("utf-8")


def test_the_script_runs_and_writes_nothing_for_a_name_that_is_not_there():
    script = Path(__file__).parents[2] / "scripts" / "build-book"
    done = subprocess.run(
        [sys.executable, str(script), "no-such-chapter.md"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def rows(text):
    """The cells of a Markdown table below its header."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_bob_shows_powers_of_two_the_bound_and_the_proofs():
    def curve(success, **more):
        return [{"pairs": n, "success": success, "certain": 7 * n, **more} for n in (1, 2, 3)]

    study = {
        "targets": 1000,
        "baseline": {"protection": "unprotected", "curve": curve(1.0)},
        "results": [
            {"protection": "cellkey", "curve": curve(0.94)},
            {"protection": "dp", "curve": curve(0.53, bound=0.73)},
        ],
    }
    assert rows(TABLES["bob"]([study])) == [
        ["1", "100 %", "94 %", "53 %", "73 %", "7 of 1,000"],
        ["2", "100 %", "94 %", "53 %", "73 %", "14 of 1,000"],
    ]


def test_averaging_has_a_column_for_each_protection_and_way():
    curves = {
        kind: [{"ways": n, "error": error / n} for n in (1, 2, 4)] for kind, error in (("a", 2.0), ("b", 4.0))
    }
    found = rows(TABLES["averaging"]([{"results": [{"protection": "dp", "curves": curves}]}]))
    assert found == [["1", "2.00", "4.00"], ["2", "1.00", "2.00"], ["4", "0.50", "1.00"]]


def test_noise_shows_released_numbers_and_uses_repeating_rows_for_larger_counts():
    design = {
        "modulus": 4,
        "repeats": 1,
        "rows": [
            {"values": [0], "thresholds": [4]},
            {"values": [-1, 1], "thresholds": [1, 4]},
        ],
    }
    text = TABLES["noise"]([design])
    assert (
        text.splitlines()[0] == "| true count | shown 0 | shown 1 | shown 2 | shown 3 | shown 4 | shown 5 |"
    )
    assert rows(text)[1] == ["1", "25 %", "", "75 %", "", "", ""]
    assert rows(text)[4] == ["4", "", "", "", "25 %", "", "75 %"]


def test_audit_shows_both_promises():
    found = {
        "epsilon": 1.0,
        "delta": 0.266,
        "worst_pair": [0, 1],
        "above_D": {"D": 5, "delta": 0.0219},
    }
    assert rows(TABLES["audit"]([found, found | {"worst_pair": None}])) == [
        ["1", "0.266", "0 and 1", "0.0219"],
        ["1", "0.266", "any", "0.0219"],
    ]


def test_epsilons_show_what_may_be_learnt_and_what_it_costs():
    design = {
        "parameters": {"epsilon": 1.0},
        "modulus": 100,
        "repeats": 1,
        "rows": [{"values": [-2, -1, 0, 1, 2], "thresholds": [1, 20, 80, 99, 100]}],
    }
    assert rows(TABLES["epsilons"]([design])) == [["1", "2.72", "73.1 %", "2.7 %", "±0.42", "±1", "60 %"]]


BUDGET = {
    "command": "discreet budget town.toml",
    "cap": {"epsilon": 1.0},
    "spread": "equal",
    "d": 2,
    "promise": "All answers together.",
    "total": {"basic": {"epsilon": 1.0, "delta": 0.0}, "pld": {"epsilon": 0.4, "delta": 1e-9}},
    "tables": [
        {"variables": [], "epsilon": 0.25, "expected_abs_error": 3.98, "p_exact": 0.1244},
        {"variables": ["age", "sex"], "epsilon": 0.75, "expected_abs_error": 1.22, "p_exact": 0.36},
    ],
}


def test_a_budget_is_shown_by_table_by_plan_by_argument_and_as_its_sentence():
    assert rows(TABLES["budget"]([BUDGET])) == [
        ["(grand total)", "0.25", "±4.0", "12.4 %"],
        ["age × sex", "0.75", "±1.2", "36.0 %"],
    ]
    assert rows(TABLES["plans"]([BUDGET])) == [["`town.toml`", "equal", "1", "2", "±1.2", "±4.0"]]
    assert rows(TABLES["composition"]([BUDGET])) == [
        ["`town.toml`", "2", "0.25", "±4.0", "adding up", "1", "0"],
        ["`town.toml`", "2", "0.25", "±4.0", "privacy-loss distribution", "0.4", "1e-09"],
    ]
    assert TABLES["promise"]([BUDGET]) == "> All answers together."


def test_families_and_margins_have_a_line_each_and_a_gap_where_a_method_does_not_apply():
    law = {"family": "laplace", "delta": 5.7e-5, "variance": 1.834, "absolute": 0.85, "p_exact": 0.462}
    assert rows(TABLES["families"]([{"families": [law]}])) == [
        ["laplace", "5.7e-05", "1.83", "±0.85", "46 %"]
    ]
    first = {
        "command": "discreet margins edwards --seed 1",
        "cells": 64,
        "expected_error": {"fourier": 6.56, "optimum": 4.17},
        "recommended": "optimum",
    }
    second = first | {"command": "discreet margins journey --seed 1", "expected_error": {"optimum": 2.6}}
    assert rows(TABLES["margins"]([first, second])) == [
        ["`edwards`", "64", "6.6", "4.2", "optimum"],
        ["`journey`", "64", "", "2.6", "optimum"],
    ]


def finding(what, printed, ours, agrees, relation="="):
    return {"what": what, "printed": printed, "ours": ours, "agrees": agrees, "relation": relation}


def test_findings_show_bounds_misses_and_what_is_not_printed():
    found = [
        finding("a|b", 0.005, 0.003, True, "<="),
        finding("c", 12.0, 13.0, False),
        finding("d", None, 2.0, None),
    ]
    text = TABLES["findings"]([{"exhibits": [{"findings": found}]}])
    assert text.splitlines()[2:] == [
        "| a\\|b | ≤ 0.005 | 0.003 | yes |",
        "| c | 12 | 13 | **no** |",
        "| d |  | 2 |  |",
    ]


def test_tests_take_the_independent_half_of_table_3():
    named = [
        finding(f"ε = 0.1, m = 10, {half}, {test}: % p ≤ 0.05", printed, printed + 0.5, True)
        for half, start in (("independent", 5.0), ("dependent", 50.0))
        for printed, test in ((start, "Original"), (start + 1, "Naive"), (start + 2, "LR test"))
    ]
    text = TABLES["tests"]([{"exhibits": [{"findings": named}]}])
    assert rows(text) == [["0.1", "10", "5.5 % (5.0 %)", "6.5 % (6.0 %)", "7.5 % (7.0 %)"]]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_name_that_markers_use(name):
    assert TABLES[name].__name__ == name
    assert TABLES[name].__doc__
