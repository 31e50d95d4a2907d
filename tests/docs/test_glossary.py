"""One word for one thing: the glossary is true, and the code uses its words."""

import re
from pathlib import Path

import pytest
from tests.architecture.source import read_source

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/discreet"
GLOSSARY = (ROOT / "docs/concepts/glossary.md").read_text("utf-8")
WORDS = [
    word for bold in re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE) for word in bold.split(", ")
]
MODULES = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
PAGES = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "glossary.md"]
EVERYTHING = "\n".join((*MODULES.values(), *(page.read_text("utf-8") for page in PAGES))).lower()
#: What the project no longer says, and what it says instead.
OLD = {
    "perturb": "protect, noise",
    "perturbed": "noisy",
    "private": "dp",
    "judge": "verdict",
    "judged": "verdict",
    "blocked": "withheld",
    "setting": "option, case",
    "settings": "options, cases",
    "publication": "version, or what `publish` writes",
    "published": "released, or what `publish` writes",
}
#: Names that keep an old word, and why.
KEPT = {
    "blocked": "a key of the verdict in JSON, which readers use",
    "as_published": "the option --as-published of `discreet margins`: the noise as a paper prints it",
    "published_sensitivity": "the same",
    "epsilon_of_published": "the same",
    "perturbed": "the measure `perturbed` in the JSON of `discreet assess`: the share of cells that noise changes",
    "perturbed_occupied": "the same",
    "context_settings": "an argument of Typer",
    "PrivateFormat": "a name of the library cryptography",
    "load_pem_private_key": "the same",
    "private_bytes": "the same",
    "_settings": "safe settings, one of the Five Safes",
}
#: Where a family would be a budget. The ledger's tables keep the name of their column; a socket has a family.
NO_FAMILIES = ("answer/", "api/", "ledger/", "rules/", "server/", "workspace/")
#: Folders of earlier layouts.
OLD_FOLDERS = {
    "accounting",
    "adjust",
    "budget_report",
    "mechanism",
    "microdata",
    "perturb",
    "private_protector",
}


def names(text):
    """Every name that a module gives or uses: of functions, classes, arguments, attributes and variables."""
    return read_source(text).given


def parts(name):
    return {part.lower() for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)}


#: What the words of publishing are free for: the folder that publishes, what serves it, and its errors.
OF_PUBLISHING = (
    "publish/",
    "web/pages/static_site.py",
    "cli/commands/serve.py",
    "cli/commands/publish.py",
    "errors.py",
)


def old_names(text, module=""):
    old = OLD.keys() - ({"publication", "published"} if module.startswith(OF_PUBLISHING) else set())
    return {name for name in names(text) if name not in KEPT and parts(name) & old}


def used_as_budget(module, text):
    columns = read_source(text).attributes if "ledger/" in module else set()
    return {name for name in names(text) if parts(name) & {"family", "families"}} - columns


@pytest.mark.slow
def test_no_name_in_the_code_uses_an_old_word():
    assert {module: found for module, text in MODULES.items() if (found := old_names(text, module))} == {}


def test_an_old_word_in_a_name_would_be_found():
    assert old_names("def perturb_cells(private): self.is_judged = PUBLISHED") == {
        "perturb_cells",
        "private",
        "is_judged",
        "PUBLISHED",
    }


def test_only_publishing_may_speak_of_what_is_published():
    """A version that is called published would still be found."""
    text = "def published_version(publication): ..."
    assert old_names(text, "publish/published_registry.py") == set()
    assert old_names(text, "workspace/versions/version.py") == {"published_version", "publication"}


def test_every_name_that_keeps_an_old_word_is_still_there():
    every = {name for text in MODULES.values() for name in names(text)}
    assert every >= KEPT.keys()


def test_a_family_is_a_family_of_noise():
    found = {
        module: used
        for module, text in MODULES.items()
        if module.startswith(NO_FAMILIES) and (used := used_as_budget(module, text))
    }
    assert found == {
        "web/app.py": {"family"},  # of a socket
        "web/api/schemas.py": {"family"},  # a key of the budget's JSON, which is kept
        "release/methodology_document.py": {"family"},  # of noise
    }


def strange_paths(module, text):
    said = set(re.findall(r"`([\w./]+)`", read_source(text).docstring))
    places = (SOURCE, (SOURCE / module).parent, SOURCE / "cli", ROOT)
    files = {path for path in said if path.endswith(".py")}
    return said & OLD_FOLDERS | {
        path for path in files if not any((place / path).is_file() for place in places)
    }


def test_a_docstring_names_folders_and_files_that_exist():
    assert {module: found for module, text in MODULES.items() if (found := strange_paths(module, text))} == {}


def test_a_folder_of_an_earlier_layout_would_be_found():
    text = '"""A module.\n\nComes from: `microdata`, `protect/plan.py`. Goes to: `keys/nowhere.py`.\n"""'
    assert strange_paths("release/dataset_service.py", text) == {"microdata", "keys/nowhere.py"}


def test_the_glossary_has_every_word_once_in_the_order_of_the_alphabet():
    bold = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE)
    assert len(bold) == GLOSSARY.count("\n| **")
    assert bold == sorted(bold, key=str.lower)
    assert len(WORDS) == len(set(WORDS))


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_glossary_is_used(word):
    stem = re.escape(word.lower()).replace(r"\ ", r"[\s_-]+")
    assert re.search(rf"\b{stem}", EVERYTHING)
