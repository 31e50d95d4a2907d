"""`discreet serve` gives the server the doors and the options that were asked for."""

from discreet.web import run as web_run

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what it means is tested


def test_options_of_the_command_win_and_the_workspace_is_the_one_named(run_here, folder, monkeypatch):
    served = []
    monkeypatch.setattr(web_run, "serve", lambda *given: served.append(given))
    assert run_here("serve", "-w", folder, "--port", "8123", "--threads", "2").returncode == 0
    ((doors, options),) = served
    assert doors.folder == folder
    assert (options.port, options.host, options.threads) == (8123, "127.0.0.1", 2)


def test_a_server_that_everybody_reaches_says_what_that_means(run_here, folder, monkeypatch):
    """Nothing was said: an office that listens on all addresses believed that somebody asks for keys."""
    monkeypatch.setattr(web_run, "serve", lambda *_given: None)
    said = run_here("serve", "-w", folder, "--host", EVERYWHERE, "--port", "8123")
    assert "Everybody who reaches port 8123 of this machine may ask" in said.stderr
    assert "no TLS" in said.stderr
    assert "Everybody" not in run_here("serve", "-w", folder).stderr
    behind = run_here("serve", "-w", folder, "--host", EVERYWHERE, DISCREET_TRUSTED_PROXIES="10.0.0.1")
    assert "Everybody" not in behind.stderr


def test_a_port_that_is_none_is_refused_before_anything_is_served(run_here, folder):
    assert run_here("serve", "-w", folder, "--port", "99999").returncode == 2
