"""The command line in a real process, and a workspace to ask."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def run_process():
    """Run `discreet` as a program of its own."""

    def run(*arguments, **environment):
        program = "import sys; sys.argv[0] = 'discreet'; from discreet.cli.main import run; run()"
        env = {k: v for k, v in os.environ.items() if not k.startswith("DISCREET_")} | environment
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

    return run


@pytest.fixture(scope="module")
def folder(town_workspace):
    return town_workspace.folder
