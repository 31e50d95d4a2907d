"""The scripts of the pages: typed, checked by the TypeScript compiler, and small."""

import json
import shutil
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


VECTORS = Path(__file__).parents[1] / "vectors" / "url_grammar.json"
RUN = """
import { readFileSync } from "node:fs";
const grammar = await import(process.argv[1]);
const { read, refused } = JSON.parse(readFileSync(process.argv[2], "utf-8"));
const found = read.map(({ query }) => {
  const choice = grammar.readChoice(new URLSearchParams(query));
  return { ...choice, written: grammar.writeChoice(choice) };
});
const errors = refused.map((query) => {
  try { grammar.readChoice(new URLSearchParams(query)); return false; } catch { return true; }
});
console.log(JSON.stringify({ found, errors }));
"""


def ran(script):
    """What a grammar script makes of the vectors."""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", RUN, "--", script.as_uri(), VECTORS],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def differences(told):
    """The vectors that a script reads or writes otherwise."""
    vectors = json.loads(VECTORS.read_text("utf-8"))
    names = ("rows", "columns", "layers", "filters", "groups", "levels")
    wrong = [
        vector["query"]
        for vector, found in zip(vectors["read"], told["found"], strict=True)
        if any(found[name] != vector.get(name, []) for name in names)
        or found["written"] != vector.get("written", vector["query"])
    ]
    return wrong + [
        query for query, refused in zip(vectors["refused"], told["errors"], strict=True) if not refused
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here: the script's grammar is not run")
def test_the_script_reads_and_writes_addresses_as_python_does(tmp_path):
    source = STATIC / "js" / "grammar.js"
    module = tmp_path / "grammar.mjs"
    module.write_text(source.read_text("utf-8"), "utf-8")
    assert differences(ran(module)) == []
    # An escape that forgets the plus would cut a code in two.
    module.write_text(
        source.read_text("utf-8").replace(r"code.replace(/[\\,+=]/gu", r"code.replace(/[\\,=]/gu"), "utf-8"
    )
    assert differences(ran(module))
