"""What sync stands on: documents of the other shell and processors that nobody knows are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import InvalidRequest, Table
from singletable.documents import AsyncDocuments, BlobStore, Document, Documents, Items
from singletable.sync import Sync, Worker, declare_items
from tests.support.engines import fresh, fresh_async
from tests.sync.board import Project
from tests.sync.simulated import Client
from tests.sync.world import World


def ada(*_: Any) -> str:
    return "ada"


def anybody(*_: Any) -> bool:
    return True


async def test_blocking_documents_are_refused(blobs: BlobStore) -> None:
    with fresh() as db:
        documents: Any = Documents(db, Project, blobs=blobs)
        with pytest.raises(InvalidRequest, match="takes AsyncDocuments, not Documents"):
            Sync(documents, authenticate=ada, authorise=anybody)
        given: Any = Project
        with pytest.raises(InvalidRequest, match="takes AsyncDocuments, not type"):
            Sync(given, authenticate=ada, authorise=anybody)


async def test_a_worker_takes_blocking_documents_alone(blobs: BlobStore) -> None:
    async with fresh_async() as db:
        documents: Any = AsyncDocuments(db, Project, blobs=blobs)
        with pytest.raises(InvalidRequest, match="takes Documents, not AsyncDocuments"):
            Worker(documents, authorise=anybody)


@pytest.mark.parametrize("processor", ["else", "", None, 3])
async def test_an_unknown_processor_is_refused(blobs: BlobStore, processor: Any) -> None:
    async with fresh_async() as db:
        documents = AsyncDocuments(db, Project, blobs=blobs)
        with pytest.raises(InvalidRequest, match="processor is unknown") as refused:
            Sync(documents, authenticate=ada, authorise=anybody, processor=processor)
    assert 'processor="elsewhere"' in refused.value.hint


async def test_a_program_without_sync_declares_what_sync_keeps(blobs: BlobStore) -> None:
    """Two programs are two `Table`s of one name here: the second never makes a `Sync`."""
    served, other = Table("boards", indexes=["gsi1"]), Table("boards", indexes=["gsi1"])

    class Board(Document, table=served, index="gsi1"):
        name: str = ""
        shapes: Items[str]

    @Board.mutation
    def rename(draft: Any, *, name: str) -> None:
        draft.name = name

    class SameBoard(Document, table=other, index="gsi1", word="Board", prefix="bv_", plural="boards"):
        name: str = ""
        shapes: Items[str]

    async with fresh_async() as db:
        world = World(db, blobs, kind=Board)
        client = Client("ga", "ca")
        client.mutate("rename", name="Plan")
        await world.push(client)
        assert await db.check(served) == []
        found = {(finding.code, finding.type) for finding in await db.check(other)}
        assert ("type.unknown", "_sync_client") in found
        declare_items(other)
        declare_items(other)
        assert await db.check(other) == []
