from pathlib import Path

import pytest

from discreet.errors import BadOption
from discreet.workspace.options import OPTIONS, default_folder, read_options, workspace_folder


def test_an_option_wins_over_the_environment_over_the_file_over_the_default(tmp_path, monkeypatch):
    assert read_options(tmp_path).port == 8000
    (tmp_path / "workspace.toml").write_text("port = 8001\n")
    assert read_options(tmp_path).port == 8001
    monkeypatch.setenv("DISCREET_PORT", "8002")
    assert read_options(tmp_path).port == 8002
    assert read_options(tmp_path, port=8003).port == 8003


def test_the_workspace_is_the_option_then_the_environment_then_the_demo(monkeypatch):
    assert workspace_folder(None) == default_folder()
    monkeypatch.setenv("DISCREET_WORKSPACE", "/from/environment")
    assert workspace_folder(None) == Path("/from/environment")
    assert workspace_folder(Path("/from/option")) == Path("/from/option")


@pytest.mark.parametrize("setting", [s for s in OPTIONS if s.smallest is not None], ids=lambda s: s.name)
@pytest.mark.parametrize("value", ["many", "-1", "", "1.5"])
def test_a_value_that_cannot_be_is_refused_with_its_origin(setting, value, tmp_path, monkeypatch):
    (tmp_path / "workspace.toml").write_text(f"{setting.name} = {value!r}\n")
    with pytest.raises(BadOption, match=r"workspace\.toml"):
        read_options(tmp_path)


@pytest.mark.parametrize("text", ["prot = 8001", "port = [", "port = 70000"])
def test_a_wrong_workspace_file_is_refused(text, tmp_path):
    (tmp_path / "workspace.toml").write_text(text)
    with pytest.raises(BadOption):
        read_options(tmp_path)
