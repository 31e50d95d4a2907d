"""The list of what a server is made of names every package of the lock with its version and hashes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "serve.txt"


@pytest.mark.slow
def test_the_bill_of_materials_holds_the_lock(tmp_path):
    command = re.search(
        r"cyclonedx-py (requirements .*?) --output-file", (ROOT / "Makefile").read_text("utf-8")
    )
    out = tmp_path / "sbom.json"
    subprocess.run(
        [sys.executable, "-m", "cyclonedx_py", *command[1].split(), "--output-file", out],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    found = json.loads(out.read_text("utf-8"))
    assert (found["bomFormat"], found["metadata"]["component"]["name"]) == ("CycloneDX", "discreet")
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", LOCK.read_text("utf-8"), re.MULTILINE))
    assert {each["name"]: each["version"] for each in found["components"]} == locked
    hashes = {
        h["content"]
        for each in found["components"]
        for ref in each["externalReferences"]
        for h in ref["hashes"]
    }
    assert hashes == set(re.findall(r"sha256:([0-9a-f]{64})", LOCK.read_text("utf-8")))
