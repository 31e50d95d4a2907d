"""Eight seconds of the demo's mix by 200 readers, and small attacks: no wrong byte, no failure, bounded memory."""

import asyncio
import sys
from pathlib import Path

import pytest

from discreet_studies.bench.serve import (
    MALLOC,
    attacked,
    garbage_keys,
    heavy,
    mixed,
    non_readers,
    serving,
    silent,
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")]

DEPLOY = Path(__file__).parents[3] / "deploy"
#: What a process that serves the demo may take, whatever is asked; the compiled count takes 100 of it (MB).
MOST_MEMORY = 550


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from discreet_studies.bench.serve import _discreet

    folder = tmp_path_factory.mktemp("demo") / "demo"
    assert _discreet("demo", "--no-serve", "-w", str(folder)).wait() == 0
    with serving(folder, workers=1, DISCREET_WRITE_SECONDS="2", DISCREET_HEADER_SECONDS="2") as found:
        yield found


@pytest.mark.drill
def test_a_soak_has_no_wrong_byte_and_no_failure(server, drill):
    """Among the tests twenty seconds, in which what is kept still fills up to its bound."""
    (port, memory), seconds = server, drill.times(20, 120)
    tally, before = asyncio.run(mixed(port, memory, clients=200, seconds=seconds, pause=1.0))
    now = memory.now()
    assert sum(tally.statuses.values()) > 200
    assert set(tally.statuses) <= {200, 503}
    assert tally.wrong == 0
    assert now < before * 1.05 + drill.times(20, 0)
    assert memory.most < MOST_MEMORY
    drill.note(
        seconds=seconds,
        clients=200,
        answers=tally.statuses[200],
        answers_503=tally.statuses[503],
        other_statuses=0,
        wrong_bytes=tally.wrong,
        memory_drift_percent=round(100 * (now - before) / before, 1),
    )


@pytest.mark.parametrize("attack", [silent, non_readers, heavy, garbage_keys])
def test_an_ordinary_reader_is_answered_during_an_attack(server, attack):
    port, memory = server
    tally = asyncio.run(attacked(port, attack, 3))
    assert set(tally.statuses) == {200}
    assert tally.statuses[200] >= 2
    assert tally.wrong == 0
    assert memory.most < MOST_MEMORY


@pytest.mark.parametrize(("name", "setting"), [("discreet.service", "Environment"), ("Containerfile", "ENV")])
def test_servers_are_measured_with_the_settings_that_deployments_have(name, setting):
    lines = [line.strip() for line in (DEPLOY / name).read_text("utf-8").splitlines()]
    words = " ".join(f"{key}={value}" for key, value in MALLOC.items())
    assert f"{setting}={words}" in lines or f"{setting} {words}" in lines
