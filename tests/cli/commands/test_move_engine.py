"""`discreet move-engine`: what it refuses is said; moves themselves are in tests/workspace/operate."""


def test_an_unknown_engine_and_the_same_engine_are_refused(run_here, town_versions):
    done = run_here("move-engine", "town", "--to", "cobol", "-w", town_versions)
    assert done.returncode != 0
    assert "duckdb" in done.stderr
    same = run_here("move-engine", "town", "--to", "duckdb", "-w", town_versions)
    assert "already" in same.stderr
