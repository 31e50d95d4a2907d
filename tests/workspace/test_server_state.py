"""Where a server writes, and the key of its log."""

from discreet.records.keys import create_secret
from discreet.workspace.server_state import log_key, state_folder


def test_the_folder_is_in_the_workspace_or_where_the_option_says(tmp_path, monkeypatch):
    assert state_folder(tmp_path) == tmp_path / "server"
    monkeypatch.setenv("DISCREET_STATE", "/var/lib/discreet")
    assert str(state_folder(tmp_path)) == "/var/lib/discreet"


def test_another_secret_is_another_key(tmp_path):
    keys = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        create_secret(tmp_path / name / "secret")
        keys.append(log_key(tmp_path / name))
    assert keys[0] == log_key(tmp_path / "a") != keys[1]
