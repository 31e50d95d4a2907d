"""The page "Operate a workspace": every command runs as it stands, in order."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "operate.md"


@pytest.mark.slow
def test_the_page_runs(town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    description = town.description.replace('id = "town"', 'id = "census"')
    for version, records in (("2025", town.records.slice(200)), ("2026", town.records)):
        text = description.replace('version = "1"', f'version = "{version}"')
        town.load(Path("office"), text, records).close()
    Path("office").chmod(0o700)
    served = description.replace('version = "1"', 'version = "2025"')
    Path("census.toml").write_text(served.replace('label = "Male"', 'label = "Men"'), "utf-8")
    commands = re.findall(r"^discreet (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(commands) > 10
    place = "office"
    for words in commands:
        if words == "remove census --version 2025 --yes -w office":
            assert run_here("use", "census", "2026", "-w", "office").returncode == 0
        done = run_here(*words.replace("-w office", f"-w {place}").split())
        assert done.returncode == 0, (words, done.stderr)
        place = "elsewhere" if words.startswith("move") else place
