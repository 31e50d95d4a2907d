"""`discreet table`: documents alone on standard output, and a table for people."""

import csv
import io
import json

import pytest


@pytest.mark.slow
def test_csv_alone_is_on_standard_output(run_process, folder):
    done = run_process("table", "town", "--rows", "sex", "--columns", "age", "--format", "csv", "-w", folder)
    assert done.returncode == 0
    assert done.stderr == ""
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 12
    assert {row["sex"] for row in rows} == {"1", "2", "_T"}


def test_json_alone_is_on_standard_output(run_here, folder):
    done = run_here("table", "town", "--rows", "sex,age", "--layers", "region", "--json", "-w", folder)
    assert json.loads(done.stdout)["id"] == ["sex", "age", "region"]


def test_filters_groups_and_totals_arrive(run_here, folder):
    done = run_here(
        "table", "town", "--rows", "age", "--filter", "job=0,1", "--filter", "sex=1",
        "--group", "age=child+old,adult", "--no-totals", "--json", "-w", folder,
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert list(document["dimension"]["age"]["category"]["index"]) == ["child+old", "adult"]
    assert (
        document["extension"]["query"]
        == "rows=age&filter=job=0,1&filter=sex=1&group=age=child%2Bold,adult&totals=no"
    )


def test_a_file_is_written_in_the_format_of_its_ending(run_here, folder, tmp_path):
    done = run_here("table", "town", "--rows", "sex", "--out", tmp_path / "t.csv", "-w", folder)
    assert done.returncode == 0
    assert done.stdout == ""
    assert (tmp_path / "t.csv").read_text().startswith("sex,sex_label,value,status\n")


def test_people_see_the_table_with_its_note(run_here, folder):
    done = run_here("table", "town", "--rows", "age", "--columns", "job", "-w", folder)
    assert "Persons by age and job" in done.stdout
    assert "randomly adjusted" in done.stdout
    assert "[z]" in done.stdout


def test_levels_arrive(run_here, folder):
    done = run_here("table", "town", "--rows", "age", "--levels", "age=grown,age", "--json", "-w", folder)
    document = json.loads(done.stdout)
    assert list(document["dimension"]["age"]["category"]["index"]) == ["grown", "adult", "old", "child", "_T"]
    assert document["extension"]["query"] == "rows=age&levels=age=grown,age"


def test_json_and_format_json_agree(run_here, folder):
    done = run_here("table", "town", "--rows", "sex", "--json", "--format", "json", "-w", folder)
    assert json.loads(done.stdout)["id"] == ["sex"]


def test_percentages_ranks_and_chosen_rows_arrive(run_here, folder):
    given = ("table", "town", "--rows", "area", "--columns", "sex", "-w", folder)
    view = ("--percent", "column", "--rank", "--top", "2", "--hide-empty")
    document = json.loads(run_here(*given, *view, "--json").stdout)
    assert (
        document["extension"]["query"] == "rows=area&columns=sex&percent=column&rank=yes&top=2&hide_empty=yes"
    )
    assert document["size"] == [3, 3]
    shown = run_here(*given, *view).stdout
    assert "Percent of the column total" in " ".join(shown.split())
    assert f"{document['extension']['percent'][0]}" in shown
    assert run_here(*given, "--percent", "rows").returncode == 2


def test_a_version_is_asked_for(run_here, town_versions):
    given = ("table", "town", "--rows", "sex", "--json", "-w", town_versions)
    one, newest = (json.loads(run_here(*given, *more).stdout) for more in (("--version", "1"), ()))
    assert one["extension"]["dataset_version"] == "1"
    assert newest["extension"]["dataset_version"] == "2"
    assert run_here(*given, "--version", "0").returncode == 3


def test_a_chart_is_written_and_a_misfit_says_why(run_here, folder, tmp_path):
    given = ("table", "town", "--rows", "age", "--columns", "sex", "-w", folder)
    run_here(*given, "--chart", "stacked", "--theme", "dark", "--out", tmp_path / "x.svg")
    assert 'data-chart="stacked"' in (tmp_path / "x.svg").read_text("utf-8")
    refused = run_here(*given, "--format", "svg", "--chart", "pyramid")
    assert refused.returncode == 2
    assert "a pyramid needs a variable of numbers" in " ".join(refused.stderr.split())
    assert "is for pictures" in run_here(*given, "--chart", "bars", "--format", "csv").stderr


def test_nonzero_lists_cells_of_a_document_and_nothing_beside(run_here, town_workspace, tmp_path):
    asked = ("table", "town", "--rows", "age,job", "--columns", "sex", "-w", town_workspace.folder)
    out = tmp_path / "cells.csv"
    assert run_here(*asked, "--nonzero", "-o", out).returncode == 0
    whole = run_here(*asked, "--format", "csv").stdout.splitlines()
    value = whole[0].split(",").index("value")
    kept = [line for line in whole[1:] if line.split(",")[value] not in {"0", ""}]
    assert sorted(out.read_text().splitlines()[1:]) == sorted(kept)
    assert "--format csv" in run_here(*asked, "--nonzero").stderr
    assert "needs all cells" in run_here(*asked, "--nonzero", "--json").stderr
    assert "numbers alone" in run_here(*asked, "--nonzero", "--format", "csv", "--rank").stderr
