"""The scripts of the pages: typed, checked by the TypeScript compiler, and small."""

import subprocess
from pathlib import Path

import pytest

from discreet.web.templating import STATIC

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((STATIC / "js").glob("*.js"))


@pytest.fixture(scope="module")
def compiler():
    """`tsc` of scripts/node."""
    tools = subprocess.run(
        ["sh", "scripts/node-tools"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tools.returncode:
        pytest.skip("no npm here: the types of the scripts are not checked")
    return Path(tools.stdout.strip()) / ".bin" / "tsc"


def checked(compiler, project):
    """The exit code and words of the compiler."""
    done = subprocess.run([compiler, "-p", project], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_types_are_right_and_a_wrong_one_is_found(compiler, tmp_path):
    assert checked(compiler, ROOT / "tests/browser/tsconfig.json") == (0, "")
    (tmp_path / "wrong.js").write_text(
        "// @ts-check\n/** @type {number} */\nexport const count = 'many';\n", "utf-8"
    )
    settings = (ROOT / "tests/browser/tsconfig.json").read_text("utf-8")
    (tmp_path / "tsconfig.json").write_text(
        settings.replace("../../src/discreet/web/static/js/**/*.js", "*.js"), "utf-8"
    )
    code, words = checked(compiler, tmp_path / "tsconfig.json")
    assert code
    assert "TS2322" in words


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_checked_and_short(path):
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "// @ts-check"
    assert len(lines) <= 300
