"""The command line as a person uses it: its output, its errors, its exit codes; the streams in a real process."""

import csv
import io
import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from discreet.cli.main import app


def run_process(*arguments, **environment):
    import os

    command = [sys.executable, "-c", "from discreet.cli.main import run; run()", *map(str, arguments)]
    env = {k: v for k, v in os.environ.items() if not k.startswith("DISCREET_")} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


@pytest.fixture
def run(run_here):
    return run_here


@pytest.fixture(scope="module")
def folder(town_workspace):
    return town_workspace.folder


def test_csv_alone_is_on_standard_output(folder):
    done = run_process("table", "town", "--rows", "sex", "--columns", "age", "--format", "csv", "-w", folder)
    assert done.returncode == 0
    assert done.stderr == ""
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 12
    assert {row["sex"] for row in rows} == {"1", "2", "_T"}


def test_json_alone_is_on_standard_output(run, folder):
    done = run("table", "town", "--rows", "sex,age", "--layers", "region", "--json", "-w", folder)
    assert json.loads(done.stdout)["id"] == ["sex", "age", "region"]


def test_filters_groups_and_totals_arrive(run, folder):
    done = run(
        "table", "town", "--rows", "age", "--filter", "job=0,1", "--filter", "sex=1",
        "--group", "age=child+old,adult", "--no-totals", "--json", "-w", folder,
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert list(document["dimension"]["age"]["category"]["index"]) == ["child+old", "adult"]
    assert (
        document["extension"]["query"]
        == "rows=age&filter=job=0,1&filter=sex=1&group=age=child%2Bold,adult&totals=no"
    )


def test_a_file_is_written_in_the_format_of_its_ending(run, folder, tmp_path):
    done = run("table", "town", "--rows", "sex", "--out", tmp_path / "t.csv", "-w", folder)
    assert done.returncode == 0
    assert done.stdout == ""
    assert (tmp_path / "t.csv").read_text().startswith("sex,sex_label,value,status\n")


def test_people_see_the_table_with_its_note(run, folder):
    done = run("table", "town", "--rows", "age", "--columns", "job", "-w", folder)
    assert "Persons by age and job" in done.stdout
    assert "randomly adjusted" in done.stdout
    assert "[z]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("table", "town", "--rows", "sexx"), 2, 'Did you mean "sex"?'),
        (("table", "twon", "--rows", "sex"), 4, 'Did you mean "town"?'),
        (("table", "town", "--rows", "region", "--group", "region=N+S"), 3, "coarser level"),
        (("table", "town", "--rows", "sex", "--format", "xls"), 2, "format"),
        (("table", "town", "--rows", "sex", "--filter", "age"), 2, "birthplace=2,3"),
        (("table", "town"), 2, "at least one"),
        (("table", "town", "--rows", "sex", "--nope"), 2, "No such option"),
        (("nope",), 2, "No such command"),
        (("describe", "nothing.csv"), 4, "no file"),
        (("load", "nothing.toml", "nothing.csv"), 4, "discreet describe"),
        (("bench", "--rows", "ten"), 2, "whole numbers"),
        (("table", "town", "--rows", "sex", "--json", "--format", "csv"), 2, "contradict each other"),
        (("table", "town", "--rows", "sex", "--dry-run", "--format", "csv"), 2, "told as JSON"),
        (("table", "town", "--rows", "sex", "--out", "ages"), 2, "End it in .csv or .json"),
        (("design", "maxent", "--D", "5", "--V", "3", "--picture", "curve"), 2, "Add --plot"),
        (("design", "maxent", "--D", "5", "--V", "3", "--match", "smallest"), 2, "design compare"),
        (("design", "compare", "--epsilon", "1.5", "--m", "7", "--V", "3"), 2, "does not take --V"),
        (("design", "compare", "--epsilon", "1.5", "--m", "7", "--plot", "x.svg"), 2, "does not take --plot"),
        (("margins", "edwards", "--picture", "runs"), 2, "Add --plot"),
        (("audit", "noise.json", "--picture", "pmf"), 2, "Add --plot"),
        (("test", "independence", "--dataset", "town", "--noise", "x.json"), 2, "belongs to --csv"),
    ],
)
def test_errors_say_what_to_do_and_have_their_exit_codes(run, folder, arguments, code, said):
    done = run(*arguments, *(["-w", folder] if arguments[0] == "table" else []))
    assert done.returncode == code
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_no_workspace(run, tmp_path):
    done = run("table", "town", "--rows", "sex", "-w", tmp_path)
    assert done.returncode == 4


def test_an_unusable_secret_is_ours_to_mend(run, town, tmp_path):
    town.load(tmp_path / "w")
    (tmp_path / "w" / "secret").chmod(0o644)
    done = run("table", "town", "--rows", "sex", "-w", tmp_path / "w")
    assert done.returncode == 70
    assert "chmod 600" in done.stderr


def test_an_unexpected_error_shows_its_kind_and_never_its_text(folder):
    program = (
        "import discreet.answer.pipeline, sys\n"
        "def broken(*a): raise RuntimeError('count 738251')\n"
        "discreet.answer.pipeline.answer = broken\n"
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


@pytest.mark.slow
def test_describe_then_load_then_table(town, tmp_path):
    pq.write_table(town.records, tmp_path / "people.parquet")
    assert (
        run_process("describe", tmp_path / "people.parquet", "--out", tmp_path / "dataset.toml").returncode
        == 0
    )
    done = run_process(
        "load", tmp_path / "dataset.toml", tmp_path / "people.parquet", "-w", tmp_path / "w", "--json"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["dataset"] == "people"
    done = run_process(
        "table", "people", "--rows", "sex", "--format", "csv", DISCREET_WORKSPACE=str(tmp_path / "w")
    )
    assert done.returncode == 0


@pytest.mark.slow
def test_the_demo_is_built_where_it_is_asked_for_and_found_again(tmp_path):
    first = run_process("demo", "--no-serve", "-w", tmp_path / "demo")
    assert first.returncode == 0
    assert "Built the demo workspace" in first.stderr
    assert "Found the demo workspace" in run_process("demo", "--no-serve", "-w", tmp_path / "demo").stderr
    done = run_process(
        "table", "census", "--rows", "sex", "--columns", "age", "--format", "csv", "-w", tmp_path / "demo"
    )
    assert len(done.stdout.splitlines()) == 1 + 3 * 22
    done = run_process(
        "table", "spudlandia", "--rows", "state", "--columns", "likes", "-w", tmp_path / "demo"
    )
    assert done.returncode == 0


@pytest.mark.parametrize("command", sorted(c.callback.__name__ for c in app.registered_commands))
def test_every_command_has_help(run, command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_the_version_is_said(run):
    assert run("--version").stdout.startswith("discreet ")


def test_levels_arrive(run, folder):
    done = run("table", "town", "--rows", "age", "--levels", "age=grown,age", "--json", "-w", folder)
    document = json.loads(done.stdout)
    assert list(document["dimension"]["age"]["category"]["index"]) == ["grown", "adult", "old", "child", "_T"]
    assert document["extension"]["query"] == "rows=age&levels=age=grown,age"


def test_a_draft_overwrites_nothing(run, town, tmp_path):
    pq.write_table(town.records, tmp_path / "people.parquet")
    (tmp_path / "dataset.toml").write_text("hours of work")
    done = run("describe", tmp_path / "people.parquet", "--out", tmp_path / "dataset.toml")
    assert done.returncode == 2
    assert (tmp_path / "dataset.toml").read_text() == "hours of work"


def test_what_is_wrong_with_a_description_names_its_own_file(run, town, tmp_path):
    pq.write_table(town.records, tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text("id = ")
    done = run("load", tmp_path / "people.toml", tmp_path / "people.parquet", "-w", tmp_path / "w")
    assert done.returncode == 2
    assert "people.toml is not valid TOML" in done.stderr
    assert "dataset.toml" not in done.stderr


def test_json_and_format_json_agree(run, folder):
    done = run("table", "town", "--rows", "sex", "--json", "--format", "json", "-w", folder)
    assert json.loads(done.stdout)["id"] == ["sex"]
