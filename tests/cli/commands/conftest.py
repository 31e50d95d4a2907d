"""A hamlet under dp, and commands on its description."""

import pytest

RECORDS = "person,sex\n" + "".join(f"p{n},{1 + n % 2}\n" for n in range(60))

TOWN = """
id = "hamlet"
label = "A hamlet"
version = "{version}"
id_column = "person"
[[variable]]
name = "sex"
categories = ["1", "2"]
[protection]
method = "dp"
[protection.noise]
family = "laplace"
[protection.universe]
margins = "own"
variables = ["sex"]
[protection.budget]
calibrate = false
family = "valley"
epsilon = 1.0
{more}
"""


@pytest.fixture
def say(tmp_path, run_here):
    """Write a description and run a command on it, in a workspace of this test."""
    (tmp_path / "people.csv").write_text(RECORDS)

    def run(command, version="1", more="cap_epsilon = 1.0"):
        path = tmp_path / "dataset.toml"
        path.write_text(TOWN.format(version=version, more=more))
        records = [tmp_path / "people.csv"] if command == "load" else []
        return run_here(command, path, *records, "-w", tmp_path / "w")

    return run
