"""`discreet demo`: built on first use, then found."""

import pytest


@pytest.mark.slow
def test_the_demo_is_built_where_it_is_asked_for_and_found_again(run_process, tmp_path):
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
