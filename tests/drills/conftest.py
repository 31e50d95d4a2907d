"""Servers that are real processes, for drills."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest

from discreet.workspace.versions.load_version import load_dataset

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Running:
    """A server in a process of its own."""

    address: str
    process: subprocess.Popen

    def get(self, query: str, dataset: str = "town", **more: object) -> httpx.Response:
        return httpx.get(f"{self.address}/api/datasets/{dataset}/table?{query}", timeout=60, **more)


@contextmanager
def start_server(folder: Path, first: str = "", **environment: str):
    """`discreet serve` over a workspace, after a line of Python, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = f"{first}\nfrom discreet.cli.main import run\nrun()"
    command = [sys.executable, "-c", program, "serve", "--workspace", str(folder), "--port", str(port)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        assert process.poll() is None, process.stderr.read()
        yield Running(f"http://127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait(30)


@pytest.fixture(scope="session")
def running():
    """Start `discreet serve` over a workspace, after a line of Python: `with running(folder) as server`."""
    return start_server


@pytest.fixture
def loaded(town, tmp_path):
    """The town in a workspace of its own."""
    load_dataset(tmp_path / "w", town.description, town.records)
    return tmp_path / "w"
