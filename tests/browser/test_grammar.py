"""The script of the pages reads and writes addresses as Python does: the same vectors, run by Node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from discreet.web.templating import STATIC

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
