"""The page "Publish": every command runs as it stands, in order, and its section is one."""

import re
from pathlib import Path

import pytest

from discreet.web import app

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "publish.md"


@pytest.mark.slow
def test_the_page_runs(town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "serve", lambda *_given: None)
    text = PAGE.read_text("utf-8")
    section = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0]
    for ours, theirs in (("district", "area"), ("employment", "job"), ("up_to = 2", "up_to = 1")):
        section = section.replace(ours, theirs)
    description = town.description.replace('id = "town"', 'id = "census"')
    town.load(Path("office"), description).close()
    Path("census.toml").write_text(description + section, "utf-8")
    commands = re.findall(r"^discreet (.*)$", text, re.MULTILINE)
    assert len(commands) == 6
    for words in commands:
        done = run_here(*words.split())
        assert done.returncode == 0, (words, done.stderr)
    assert Path("public/publication.json").is_file()
    assert Path("site/census/index.html").is_file()
