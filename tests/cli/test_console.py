"""Documents stand alone on standard output; what is said to people goes to standard error."""

import pytest

from discreet.cli.console import emit, emit_json, report_error
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
