"""The names that `import discreet` gives, and the older ones that still work."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet

PUBLIC = ["Catalogue", "Table", "__version__", "errors", "inference", "load", "noise", "open", "privacy"]


def test_dir_shows_the_public_names_and_no_others():
    assert dir(discreet) == sorted(discreet.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name):
    assert getattr(discreet, name) is not None


def test_a_name_is_found_in_a_fresh_process():
    program = "import discreet; print(discreet.errors.BadRequest.__name__, discreet.noise.laplace.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["BadRequest", "laplace"]


def test_older_names_still_work():
    assert discreet.mechanism is discreet.noise
    assert discreet.accounting is discreet.privacy
    assert not {"mechanism", "accounting"} & set(dir(discreet))


def test_another_name_is_refused():
    with pytest.raises(AttributeError, match="nothing"):
        _ = discreet.nothing


def test_the_version_stands_in_one_place():
    root = Path(__file__).parents[2]
    for name in ("pyproject.toml", "studies/pyproject.toml"):
        document = tomllib.loads((root / name).read_text("utf-8"))
        assert document["project"]["dynamic"] == ["version"]
        place = (root / name).parent / document["tool"]["hatch"]["version"]["path"]
        assert place.resolve() == Path(discreet.__file__).resolve()
