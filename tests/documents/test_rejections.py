"""A mutation that is rejected is told with the line of its function that raised: the stored reason is the client's."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable.documents import AsyncDocuments, Documents, ObjectBlobs
from singletable.events import MutationRejected
from tests.documents.models import Project, Shape, app, move_shape, put_shape
from tests.documents.shells import Disguised
from tests.support import shells


def documents(shell: Any) -> Any:
    store = ObjectBlobs(MemoryStore())
    if isinstance(shell, shells.Disguised):
        return Disguised(Documents(shell.db, Project, blobs=store))
    return AsyncDocuments(shell, Project, blobs=store)


@pytest.mark.parametrize("kind", shells.KINDS)
async def test_a_mutation_that_raises_is_told_once_it_is_committed(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    caplog.set_level(logging.INFO, "singletable.documents")
    async with shells.opened(kind, listeners=[heard.append]) as shell:
        await shell.create_table(app)
        docs = documents(shell)
        await docs.create("o1", "the-document")
        given = [
            put_shape(id="s", shape=Shape()).by("c", 1),
            move_shape(id="the-shape", x=1, y=2).by("c", 2),
        ]
        outcomes = await docs.apply("the-document", given)
        hashed = shell.port.events.hash_of("the-document")
    assert [outcome.status for outcome in outcomes] == ["applied", "rejected"]
    (rejected,) = [event for event in heard if isinstance(event, MutationRejected)]
    assert (rejected.document, rejected.key_hash, rejected.mutation) == ("Project", hashed, "move_shape")
    (record,) = [record for record in caplog.records if record.name == "singletable.documents"]
    assert record.levelname == "INFO"
    assert (
        record.getMessage() == f"Project ({hashed}): mutation move_shape was rejected: {type(rejected.error).__name__}"
    )
    assert record.exc_info is not None
    assert "in move_shape" in "".join(traceback.format_exception(record.exc_info[1]))


@pytest.mark.parametrize("kind", shells.KINDS)
async def test_a_lost_race_tells_no_rejection_twice(kind: str) -> None:
    heard: list[Any] = []
    async with shells.opened(kind, listeners=[heard.append]) as shell:
        await shell.create_table(app)
        docs, other = documents(shell), documents(shell)
        await docs.create("o1", "p1")
        await docs.submit("p1", [move_shape(id="none", x=1, y=2).by("c", 1)])
        send, raced = shell.port.send, list[bool]()

        async def send_late(operation: Any) -> Any:
            if type(operation).__name__ == "TransactWriteItems" and not raced:
                raced.append(True)
                await other.process("p1")
            return await send(operation)

        port: Any = shell.port
        port.send = send_late
        await docs.process("p1")
        port.send = send
    assert raced
    assert len([event for event in heard if isinstance(event, MutationRejected)]) == 1
