"""`pytest --engine replay`: the answers of the cassettes in the place of an engine; tests that they don't hold are
skipped.

    pytest --engine replay tests/engine
    pytest --engine replay=FOLDER ...       # cassettes of another folder than tests/cassettes
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.emulators import GATEWAY_VARIABLE
from tools.aws import plugin
from tools.aws.cassettes import FOLDER, Replay
from tools.aws.gateway import Server

NAME = "replay"


def is_replay(engine: str) -> bool:
    return engine == NAME or (engine.startswith(f"{NAME}=") and "://" not in engine)


def begin(config: pytest.Config, engine: str) -> str:
    """Give the cassettes' answers at an address until the session ends; the engine's name, with the address."""
    replay = Replay(Path(engine.partition("=")[2] or FOLDER))
    server = Server(replay)
    server.__enter__()
    config.add_cleanup(lambda: server.__exit__(None, None, None))
    replay.url = os.environ[GATEWAY_VARIABLE] = server.url
    config.add_cleanup(_forget)
    config.pluginmanager.register(plugin, "tools.aws.plugin")
    config.pluginmanager.register(Held(frozenset(replay.tests())), "cassettes")
    return f"{NAME}={server.url}"


def _forget() -> None:
    del os.environ[GATEWAY_VARIABLE]


class Held:
    """Skips what the cassettes don't hold."""

    def __init__(self, tests: frozenset[str]) -> None:
        self._tests = tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if item.nodeid not in self._tests:
                item.add_marker(pytest.mark.skip(reason="no cassette holds it"))
