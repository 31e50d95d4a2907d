"""`discreet serve` gives the server the doors and the options that were asked for."""

from discreet.server import app


def test_options_of_the_command_win_and_the_workspace_is_the_one_named(run_here, folder, monkeypatch):
    served = []
    monkeypatch.setattr(app, "serve", lambda *given: served.append(given))
    assert run_here("serve", "-w", folder, "--port", "8123", "--threads", "2").returncode == 0
    ((doors, options),) = served
    assert doors.folder == folder
    assert (options.port, options.host, options.threads) == (8123, "127.0.0.1", 2)


def test_a_port_that_is_none_is_refused_before_anything_is_served(run_here, folder):
    assert run_here("serve", "-w", folder, "--port", "99999").returncode == 2
