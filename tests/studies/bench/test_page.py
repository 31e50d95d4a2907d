"""The measurement of the pages, on a small census: every line is measured, and a document has them all."""

import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_every_line_is_measured_and_written(tmp_path):
    """No time is asserted: a busy machine is no fault of the pages."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    from typer.testing import CliRunner

    from discreet.cli.main import app

    out = tmp_path / "page.md"
    run = CliRunner().invoke(app, ["bench", "page", "--rows", "60000", "--repeats", "1", "--out", str(out)])
    assert run.exit_code == 0, run.output
    lines = json.loads(out.with_suffix(".json").read_text())
    assert [line["unit"] for line in lines] == ["kB", "", "kB", "", "ms", "ms", ""]
    bounded = [line for line in lines if line["unit"] != "ms" and line["most"] is not None]
    assert all(0 < line["value"] <= line["most"] for line in bounded)
    assert lines[4]["value"] > 0
    assert all(line["what"] in out.read_text() for line in lines)
