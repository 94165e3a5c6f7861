"""The application in this process, on an engine in memory and a directory: for everybody as demo, or with tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples_shared.testing.databases import fresh_async
from projects.board.app import create_app
from projects.board.callers import DEMO, Callers, ProjectTokens
from projects.board.opening import open_boards
from projects.board.service import Boards
from projects.model import projects
from singletable.documents import LocalBlobs
from singletable.records import Finding

SECRET = "a secret of at least thirty-two characters"
HERE = "http://127.0.0.1"


@dataclass
class Application:
    """An application, and clients of it."""

    boards: Boards
    anybody: httpx.AsyncClient

    def user(self, name: str) -> httpx.AsyncClient:
        """A client that sends a user's token."""
        token = ProjectTokens([SECRET]).issue(name)
        return httpx.AsyncClient(
            transport=self.anybody._transport, base_url=HERE, headers={"authorization": f"Bearer {token}"}
        )


async def opened(stack: AsyncExitStack, folder: Path, *, is_demo: bool, **options: Any) -> Application:
    db = await stack.enter_async_context(fresh_async())
    await db.create_table(projects)
    callers = Callers.demo() if is_demo else Callers.with_tokens([SECRET])
    boards = open_boards(db, LocalBlobs(folder / "blobs"), callers, is_demo=is_demo)
    app = create_app(boards, callers, **options)
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url=HERE)
    return Application(boards, await stack.enter_async_context(client))


async def findings_of(app: Application, organisation: str) -> list[Finding]:
    """What the library's own checks find."""
    documents = app.boards.documents
    listed = await documents.page(organisation)
    found = [finding for each in listed.items for finding in await documents.check(each.document_id)]
    return [*found, *await app.boards.db.check(projects)]


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Application]:
    """With the board `p`."""
    async with AsyncExitStack() as stack:
        app = await opened(stack, tmp_path, is_demo=True)
        await app.boards.documents.create(DEMO, "p")
        yield app
        assert await findings_of(app, DEMO) == []


@pytest.fixture
async def signed(tmp_path: Path) -> AsyncIterator[Application]:
    """With tokens."""
    async with AsyncExitStack() as stack:
        app = await opened(stack, tmp_path, is_demo=False)
        yield app
        assert await findings_of(app, "example.com") == []
