"""Documents stand alone on standard output; words, problems and bars for people go to standard error."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from discreet.cli.console import (
    emit,
    emit_json,
    load_bars,
    print_grid,
    report_error,
)
from discreet.errors import BadRequest, DiscreetError


def test_a_document_goes_to_its_file_and_only_a_message_is_shown(tmp_path, capfd):
    emit("ü\n", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == b"\xc3\xbc\n"
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "Written:" in shown.err


def test_json_is_plain_text_and_never_nan(capfd):
    emit_json({"label": "Größe", "n": 1})
    assert '"Größe"' in capfd.readouterr().out
    with pytest.raises(ValueError, match="JSON"):
        emit_json({"n": float("nan")})


def test_an_error_is_shown_with_its_advice_as_it_is_written(capfd):
    assert report_error(BadRequest("No [bold]such[/bold] word.", "Try another.")) == BadRequest.exit_code
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "No [bold]such[/bold] word." in shown.err
    assert "Try another." in shown.err
    assert report_error(DiscreetError("Oh.")) == 70


LONG = "education x occupation x region of census-dp, version 2026"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_label_wraps_before_a_number_is_cut(width):
    said = Console(file=io.StringIO(), width=width)
    line = ["2026-11-16 00:59:05", "(custodian)", LONG, "1.976"]
    print_grid(said, "Charges", ["When (UTC)", "Account", "For", "Loss"], [line], 3)
    text = said.file.getvalue()
    assert "1.976" in text
    assert "Loss" in text
    assert max(map(len, text.splitlines())) <= width


def test_a_custodian_sees_lines_counts_and_json(run_here, town, tmp_path):
    frame = town.records.to_pandas()
    frame.loc[range(0, 24, 2), "sex"] = "x\x1b[31m"
    frame.to_csv(tmp_path / "town.csv", index=False)
    (tmp_path / "town.toml").write_text(town.description)
    done = run_here("load", tmp_path / "town.toml", tmp_path / "town.csv", "-w", tmp_path / "w", "--json")
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert told["error"] == "bad-records"
    assert [problem["line"] for problem in told["problems"]] == list(range(2, 22, 2))
    assert told["counts"] == {"sex": 12}
    assert "12 problems (confidential)" in done.stderr
    assert "and 2 more" in done.stderr
    assert "\x1b[31m" not in done.stderr
    assert not list((tmp_path / "w" / "datasets" / "town").glob("[!.]*"))


def test_each_step_of_a_load_has_its_bar_and_none_shows_nothing(capfd):
    with load_bars() as progress_for:
        progress_for("town", None)
    assert capfd.readouterr() == ("", "")
    with load_bars() as progress_for:
        report = progress_for("town", 50)
        report("Reading", 50, None)
        report("Storing", 7, 7)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "town: reading" in shown.err
    assert shown.err.count("100%") == 2
