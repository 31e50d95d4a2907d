"""The program as a whole: its help, its errors with their exit codes, its version."""

import errno
import shutil
import subprocess
import sys

import pytest

from discreet.cli import main
from discreet.cli.registry import command_names
from discreet.errors import NotFound, WorkspaceUnusable


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("table", "town", "--rows", "sexx"), 2, 'Did you mean "sex"?'),
        (("table", "twon", "--rows", "sex"), 4, 'Did you mean "town"?'),
        (
            ("table", "town", "--rows", "region", "--group", "region=N+S"),
            3,
            "Try this: discreet table town --rows region",
        ),
        (("table", "town", "--rows", "sex", "--format", "xls"), 2, "format"),
        (("table", "town", "--rows", "sex", "--filter", "age"), 2, "birthplace=2,3"),
        (("table", "town"), 2, "at least one"),
        (("table", "town", "--rows", "sex", "--nope"), 2, "No such option"),
        (("nope",), 2, "No such command"),
        (("describe", "nothing.csv"), 4, "no file"),
        (("load", "nothing.toml", "nothing.csv"), 4, "discreet describe"),
        (("table", "town", "--rows", "sex", "--json", "--format", "csv"), 2, "cannot be combined"),
        (("table", "town", "--rows", "sex", "--dry-run", "--format", "csv"), 2, "--dry-run prints JSON"),
        (("table", "town", "--rows", "sex", "--out", "ages"), 2, "no ending that names a format"),
        (("design", "maxent", "--D", "5", "--V", "3", "--picture", "curve"), 2, "Add --plot"),
        (("design", "maxent", "--D", "5", "--V", "3", "--match", "smallest"), 2, "design compare"),
        (
            ("design", "compare", "--epsilon", "1.5", "--m", "7", "--percent", "3"),
            2,
            "does not take --percent",
        ),
        (("design", "compare", "--epsilon", "1.5", "--m", "7", "--picture", "pmf"), 2, "--picture frontier"),
        (("margins", "edwards", "--picture", "runs"), 2, "Add --plot"),
        (("audit", "noise.json", "--picture", "pmf"), 2, "Add --plot"),
        (("test", "independence", "--dataset", "town", "--noise", "x.json"), 2, "belongs to --csv"),
    ],
)
def test_errors_say_what_to_do_and_have_their_exit_codes(run_here, folder, arguments, code, said):
    done = run_here(*arguments, *(["-w", folder] if arguments[0] == "table" else []))
    assert done.returncode == code
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_an_unusable_secret_is_ours_to_mend(run_here, town, tmp_path):
    town.load(tmp_path / "w")
    (tmp_path / "w" / "secret").chmod(0o644)
    done = run_here("table", "town", "--rows", "sex", "-w", tmp_path / "w")
    assert done.returncode == 70
    assert "chmod 600" in done.stderr


@pytest.mark.slow
def test_an_unexpected_error_shows_its_kind_and_never_its_text(folder):
    program = (
        "import discreet.release.pipeline, sys\n"
        "def broken(*a): raise RuntimeError('count 738251')\n"
        "discreet.release.pipeline.make_release = broken\n"
        "from discreet.cli.main import run\n"
        "sys.argv = ['discreet', 'table', 'town', '--rows', 'sex', '-w', sys.argv[1]]\n"
        "run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 70
    assert "RuntimeError" in done.stderr
    assert "738251" not in done.stderr + done.stdout


@pytest.mark.parametrize("command", command_names())
def test_every_command_has_help(run_here, command):
    done = run_here(command, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout
    assert "``" not in done.stdout, "a name in brackets is taken for a style, and vanishes"


def test_the_version_is_said(run_here):
    assert run_here("--version").stdout.startswith("discreet ")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "x"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
    ],
    ids=["space", "quota", "copy"],
)
def test_every_command_says_that_the_disk_is_full(monkeypatch, capsys, error):
    """Wrong alternatives: "The system refused: Error", and the exit code of a file that is not found."""

    def fail():
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == WorkspaceUnusable.exit_code
    assert "The disk is full" in capsys.readouterr().err


def test_a_path_that_the_system_refuses_is_not_found(monkeypatch, capsys):
    monkeypatch.setattr(main, "app", lambda: open("/nowhere/at/all"))  # noqa: PTH123, SIM115
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == NotFound.exit_code
    assert "'/nowhere/at/all'" in capsys.readouterr().err
