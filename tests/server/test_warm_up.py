"""Before it listens a server has counted a table of every dataset: the first reader waits for nothing new."""

from __future__ import annotations

import asyncio

from discreet.answer.doors import Doors
from discreet.server.app import create_app
from discreet.server.warm_up import warm_up


def test_every_dataset_is_opened_and_counted(watched, small_settings):
    doors = Doors(watched)
    asyncio.run(warm_up(create_app(doors, small_settings), doors))
    assert all(engine.calls for engine in watched.engines.values())


def test_a_dataset_that_cannot_be_opened_does_not_stop_the_server(small_settings):
    from tests.server.conftest import BrokenWorkspace

    from discreet.errors import WorkspaceUnusable

    doors = Doors(BrokenWorkspace(WorkspaceUnusable("It is damaged.", "Load it again.")))
    asyncio.run(warm_up(create_app(doors, small_settings), doors))
