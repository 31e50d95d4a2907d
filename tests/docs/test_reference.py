"""If the docs do not mention it, the suite fails; docstrings, pages and the glossary name what exists."""

import doctest
import importlib
import pkgutil
import re
import tomllib
from dataclasses import fields

import pytest
from tests.architecture.source import read_source

import discreet
import discreet_studies
from discreet.errors import all_errors
from discreet.formats import formats
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import ADDITIVITY, KEY_MODES, METHODS, Protection
from discreet.model.release import STATUS_MEANING
from discreet.model.variable import RESERVED_NAMES
from discreet.pictures.charts import MOST_MARKS, charts
from discreet.pictures.charts.map import MOST_POINTS
from discreet.records.engine import engine_kinds
from discreet.records.readers import readers
from discreet.release.measures import measures
from discreet.rules.rule import CountRule, kinds
from discreet.rules.rule_set import parse_rules, protection_rules
from discreet.workspace.versions.load_version import noise_for
from discreet_studies import reference

from .pages import DOCS, ROOT, blocks, run_python, text_of

MODULES = sorted(
    module.name
    for package in (discreet, discreet_studies)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)


GENERATED = [path for path in reference.pages(DOCS, ROOT) if reference.is_generated(path.read_text("utf-8"))]


@pytest.mark.parametrize("path", GENERATED, ids=lambda p: str(p.relative_to(ROOT)))
def test_generated_parts_and_figures_are_those_of_today(path):
    """After a change of an option, an error or a file of the evidence: `make reference`."""
    text = path.read_text("utf-8")
    assert reference.rebuilt(text, DOCS / "evidence") == text
    assert text.count("<!-- generated: ") == len(reference.names(text))


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [("cli", "Leave out all totals", "Leave out all"), ("settings", "| 1 to 65,535 |", "| 1 to 65,536 |")],
)
def test_a_part_that_was_edited_by_hand_would_be_found(page, old, new):
    text = text_of(f"reference/{page}.md")
    assert old in text
    assert reference.rebuilt(text.replace(old, new), DOCS / "evidence") == text


def test_a_wrong_figure_would_be_found():
    text = text_of("evidence/benchmarks.md")
    (shown,) = re.findall(r"took (\d+)<!-- figure: how-it-scales.json/load", text)
    wrong = text.replace(f"took {shown}<!--", "took 170.7<!--")
    assert wrong != text
    assert reference.rebuilt(wrong, DOCS / "evidence") == text


def test_every_command_has_its_section():
    found = reference.names(text_of("reference/cli.md"))
    assert {name.removeprefix("command ") for name in found} == {*reference.commands(), "shared-options"}


#: Rows and words that a page must have.
NAMED = {
    "formats": [f"| `{name}` |" for name in (*(form.name for form in formats()), *STATUS_MEANING)],
    "engines": [f"| `{kind.name}` |" for kind in engine_kinds()],
    "measures": [f"| `{measure.name}` |" for measure in measures()],
}


@pytest.mark.parametrize(("page", "words"), NAMED.items(), ids=NAMED)
def test_a_page_names_all_that_there_is(page, words):
    assert words
    assert [word for word in words if word not in text_of(f"reference/{page}.md")] == []


def test_error_codes_are_different_and_explained():
    codes = [error.code for error in all_errors()]
    assert len(set(codes)) == len(codes)
    assert all(error.__doc__ for error in all_errors())


def test_every_rule_of_the_protection_is_documented(town):
    for rule in protection_rules(parse_dataset(town.description)):
        assert f"\n| `{rule.refusal_code()}` |" in text_of("reference/rules.md")


@pytest.mark.parametrize("kind", kinds().values(), ids=lambda k: k.kind)
def test_every_kind_of_rule_is_documented_with_its_code_and_its_keys(kind):
    text = text_of("reference/rules.md")
    lines = [line for line in text.splitlines() if line.startswith(f"| `{kind.kind}` |")]
    (line,) = [line for line in lines if not kind.refuses() or f"| `{kind.refusal_code()}` |" in line]
    shared = {each.name for each in fields(CountRule)} if issubclass(kind, CountRule) else set()
    for each in fields(kind):
        assert f"`{each.name}`" in line or f"`{each.name} = " in line or each.name in shared, each.name
    assert all(f"`{name}`" in text for name in shared)


def test_every_chart_is_documented_with_its_limits():
    text = text_of("reference/charts.md")
    for chart in charts():
        assert f"| `{chart.name}` |" in text
    order = [chart.name for chart in charts() if chart.chosen]
    assert ", ".join(f"`{name}`" for name in order) in text
    assert f"{MOST_MARKS:,} marks" in text
    assert f"{MOST_POINTS:,} points" in text


@pytest.mark.parametrize("reader", readers(), ids=lambda r: r.name)
def test_every_kind_of_file_is_documented(reader):
    rows = [line for line in text_of("reference/files.md").splitlines() if line.startswith("| ")]
    own = {reader.name, *reader.name.split(" or ")}
    text = "".join(row for row in rows if row.split(" | ")[0].removeprefix("| ") in own)
    for ending in reader.endings:
        assert all(f"`.{part}`" in text for part in ending.split(".")[1:]), ending


@pytest.mark.parametrize("kind", [Dataset, Protection], ids=lambda k: k.__name__)
def test_every_key_of_dataset_toml_is_documented(kind):
    text = text_of("reference/dataset-toml.md")
    sections = {
        "variables": "variable",
        "hierarchies": "hierarchy",
        "structural_zeros": "structural_zero",
        "code_lists": "code_list",
        "measures": "measure",
        "rules": "rule",
        "kept_by": "engine",
    }
    for each in fields(kind):
        if each.name == "wording":
            continue  # no key: what `discreet relabel` leaves
        name = sections.get(each.name, each.name)
        assert f"`{name}`" in text or f"[[{name}]]" in text or f"[{name}]" in text, name
    for value in (*KEY_MODES, *METHODS, *ADDITIVITY, *RESERVED_NAMES):
        assert f"`{value}`" in text, value


def test_the_example_of_dataset_toml_is_a_dataset():
    example = next(each for each in blocks("reference/dataset-toml.md", "toml") if each.startswith("id = "))
    dataset = parse_dataset(example)
    noise_for(dataset)
    assert parse_rules(dataset.rules, dataset)


def test_the_examples_of_rules_are_rules():
    from discreet.workspace.demo import census_description

    dataset = parse_dataset(census_description(1000))
    examples = blocks("reference/rules.md", "toml")
    assert len(examples) == 2
    for example in examples:
        assert parse_rules(tomllib.loads(example)["rule"], dataset)


def test_the_example_of_a_kind_of_your_own_is_a_kind():
    from discreet.rules.rule import unregister

    (code,) = blocks("reference/rules.md", "python")
    example = run_python("rules.md", code)
    try:
        assert kinds()["few-people"] is example["FewPeople"]
    finally:
        unregister("few-people")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_every_module_run_and_every_module_says_what_it_is(name):
    module = importlib.import_module(name)
    assert module.__doc__, name
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("kind", [discreet.Catalogue, discreet.Table], ids=lambda k: k.__name__)
def test_every_method_of_python_is_documented(kind):
    text = text_of("reference/python.md")
    for name in vars(kind):
        if not name.startswith("_"):
            assert re.search(rf"`(catalogue|table)\.{name}\b", text), name
    assert "__arrow_c_stream__" in text


def documents():
    return sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


@pytest.mark.parametrize("path", documents(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere_and_its_paths_exist(path):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text("utf-8")):
        assert target.startswith(("http://", "https://")) or (path.parent / target).exists(), target
    for target in re.findall(r"`((?:src|tests|docs|studies|scripts)/[\w./-]+)`", path.read_text("utf-8")):
        assert (ROOT / target.rstrip("/")).exists(), target


#: Figures that several pages give, by page and what is around them there.
SHARED = {
    "the most memory of a server": {
        "docs/reference/server-limits.md": r"takes up to (\d+) MB under attack",
        "docs/how-to/deploy.md": r"and at most (\d+) MB \|",
        "docs/evidence/serving-benchmarks.md": r"stays below (\d+) MB under every attack",
    },
}


@pytest.mark.parametrize("figure", SHARED)
def test_a_figure_of_several_pages_is_the_same_on_each(figure):
    found = [re.findall(around, (ROOT / page).read_text("utf-8")) for page, around in SHARED[figure].items()]
    assert all(found)
    assert len({each for on_page in found for each in on_page}) == 1


def test_architecture_names_every_folder():
    text = text_of("ARCHITECTURE.md")
    for folder in (ROOT / "src" / "discreet").iterdir():
        if folder.is_dir() and not folder.name.startswith("__"):
            assert folder.name in text, folder.name


SOURCE = ROOT / "src/discreet"
GLOSSARY = text_of("concepts/glossary.md")
WORDS = [
    word for bold in re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE) for word in bold.split(", ")
]
SOURCES = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
PAGES = [path.read_text("utf-8") for path in DOCS.rglob("*.md") if path.name != "glossary.md"]
EVERYTHING = "\n".join((*SOURCES.values(), *PAGES)).lower()


def strange_paths(module, text):
    said = set(re.findall(r"`([\w./]+)`", read_source(text).docstring))
    places = (SOURCE, (SOURCE / module).parent, SOURCE / "cli", ROOT)
    files = {path for path in said if path.endswith(".py")}
    return {path for path in files if not any((place / path).is_file() for place in places)}


def test_a_docstring_names_folders_and_files_that_exist():
    assert [found for module, text in SOURCES.items() if (found := strange_paths(module, text))] == []


def test_a_file_that_is_not_there_would_be_found():
    text = '"""A module: `protect/plan.py`, `keys/nowhere.py`."""'
    assert strange_paths("release/pipeline.py", text) == {"keys/nowhere.py"}


def test_the_glossary_has_every_word_once_in_the_order_of_the_alphabet():
    bold = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE)
    assert len(bold) == GLOSSARY.count("\n| **")
    assert bold == sorted(bold, key=str.lower)
    assert len(WORDS) == len(set(WORDS))


def test_every_word_of_the_glossary_is_used():
    stems = {word: re.escape(word.lower()).replace(r"\ ", r"[\s_-]+") for word in WORDS}
    assert [word for word, stem in stems.items() if not re.search(rf"\b{stem}", EVERYTHING)] == []
