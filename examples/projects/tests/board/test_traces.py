"""A mutation is one trace, from the push to the commit of the version that it is in."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import httpx

from examples.projects.tests.board.conftest import HERE
from examples.projects.tests.board.pushing import Client
from examples_shared.testing.databases import fresh_async
from examples_shared.testing.tracing import Traces, way_to
from projects.board.app import create_app
from projects.board.callers import DEMO, Callers
from projects.board.opening import open_boards
from projects.model import projects
from singletable.documents import LocalBlobs

TEXT = "a text of the board"
SHAPE = {"kind": "rect", "x": 1, "y": 2.5, "text": TEXT}


async def test_a_mutation_from_push_to_commit_is_one_trace(tmp_path: Path) -> None:
    traces = Traces()
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(fresh_async(listeners=[traces.listener()]))
        await db.create_table(projects)
        boards = open_boards(db, LocalBlobs(tmp_path), Callers.demo(), is_demo=True)
        await boards.documents.create(DEMO, "p")
        transport = httpx.ASGITransport(traces.served(create_app(boards, Callers.demo())))
        http = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url=HERE))
        client = Client(http, "p")
        (await client.push(("put_shape", {"id": "s1", "shape": SHAPE}))).raise_for_status()
        assert "shapes/s1" in await client.view()
    spans = traces.of("POST /replicache/push")
    push = ["POST /replicache/push", "create put_shape", "process Project"]
    commits = [way for span in spans if (way := way_to(span, spans))[-1].startswith("TransactWriteItems")]
    assert commits[-1] == [*push, "TransactWriteItems projects"]
    assert traces.of_messages() == {spans[0].get_span_context().trace_id}  # type: ignore[union-attr]  # all have one
    assert TEXT not in "".join(str(span.to_json()) for span in spans)
