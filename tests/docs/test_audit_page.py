"""The page "Audit a ledger": every command runs as it stands, in order."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "audit-a-ledger.md"


def test_the_page_runs(private_town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    private_town.folder.rename("office")
    commands = re.findall(r"^discreet (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(commands) == 6
    for words in commands:
        done = run_here(*words.split())
        assert done.returncode == 0, (words, done.stderr)
    assert "add up to epsilon" in done.stdout
    assert "are there, and no cap was raised" in done.stdout
