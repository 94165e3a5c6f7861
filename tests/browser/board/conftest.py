"""The board with a real server, in profiles of a real browser. Needs Node and `npm ci`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from examples.projects.tests.board.conftest import SECRET
from examples.projects.tests.board.serving import Server, served
from projects.board.npm import missing
from tests.browser.board_page import BoardPage

Open = Callable[..., BoardPage]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    unmet = bool(missing()) or shutil.which("node") is None
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.skipif(unmet, reason="Node or its packages: npm ci"))


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that leave it running."""
    with served(tmp_path_factory.mktemp("board")) as server:
        yield server


@pytest.fixture(scope="package")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server where people sign in."""
    with served(tmp_path_factory.mktemp("signed"), "--auth", "--secret", SECRET) as server:
        yield server


@pytest.fixture
def open_board(browser: Any) -> Iterator[Open]:
    """Opens a project in a browser profile of its own. No page may have failed, been stopped, or asked elsewhere."""
    opened: list[BoardPage] = []
    with ExitStack() as contexts:

        def open_one(server: Server, project: str, **options: Any) -> BoardPage:
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
            contexts.callback(context.close)
            if server.is_demo:
                server.make(project)
            board = BoardPage(context.new_page(), server.url)
            board.open(f"{server.url}/projects/{project}")
            opened.append(board)
            return board

        yield open_one
        for board in opened:
            assert board.errors == []
            assert board.violations == []
            assert board.elsewhere == []
