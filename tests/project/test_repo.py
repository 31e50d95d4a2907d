"""No file of the repository names a registry's host or a folder of the machine it was written on."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The names are put together here, so that this file does not hold them.
REGISTRIES = {
    "org": ("pypi", "pythonhosted", "npmjs", "debian"),
    "com": ("npmjs", "yarnpkg", "archive.ubuntu", "unpkg"),
    "net": ("jsdelivr",),
}
HOSTS = tuple(f"{name}.{end}" for end, names in REGISTRIES.items() for name in names)
FOLDERS = ("work", "root", "tmp", "home", "Users", "opt", "private/var")
MACHINE = re.compile(rf"(?<![\w.$/}}*~-])/(?:{'|'.join(FOLDERS)})/\w")
HOST = re.compile("|".join(map(re.escape, HOSTS)))


def tracked():
    """Every file that git tracks or would add; without git, nothing can be said."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    names = done.stdout.decode("utf-8").split("\0")
    return [path for path in (ROOT / name for name in names if name) if path.is_file()]


def faults(pattern):
    """Where it is found, as file:line, and what."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {found.group()}"
        for path in tracked()
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if (found := pattern.search(line))
    ]


def test_no_file_names_a_registry():
    assert faults(HOST) == []


def test_no_file_names_a_folder_of_somebodys_machine():
    assert faults(MACHINE) == []


@pytest.mark.parametrize("word", FOLDERS)
def test_such_a_folder_would_be_found(word):
    assert MACHINE.search(f'path = "/{word}/somebody/file.py"')
    assert not MACHINE.search(f"see src/{word}/file.py and https://example.org/{word}/x")


def test_such_a_host_would_be_found():
    assert all(HOST.search(f"https://files.{host}/packages/x.whl") for host in HOSTS)
