"""What documents stand on and what they are given: anything else is refused by name, before anything is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import InvalidRequest
from singletable.documents import AsyncDocuments, Document, Documents, LocalBlobs
from singletable.errors import DeclarationError
from tests.documents.models import Project, note, rename
from tests.documents.shells import World
from tests.support.engines import fresh, fresh_async

ONE = rename(name="x")


@pytest.mark.parametrize("blobs", ["/tmp/x", Path("/tmp/x"), MemoryStore(), LocalBlobs, 7])
async def test_what_is_no_blob_store_is_refused_at_once(blobs: Any) -> None:
    with fresh() as db, pytest.raises(InvalidRequest, match="is not a blob store") as refused:
        Documents(db, Project, blobs=blobs)
    assert "LocalBlobs(directory)" in refused.value.hint
    async with fresh_async() as adb:
        with pytest.raises(InvalidRequest, match="is not a blob store"):
            AsyncDocuments(adb, Project, blobs=blobs)


@pytest.mark.parametrize("kind", [dict, Document])
async def test_what_is_no_document_class_is_refused_at_once(kind: Any, tmp_path: Path) -> None:
    store = LocalBlobs(tmp_path)
    with fresh() as db, pytest.raises(DeclarationError, match=f"{kind.__name__} is not a document class"):
        Documents(db, kind, blobs=store)
    async with fresh_async() as adb:
        with pytest.raises(DeclarationError, match=f"{kind.__name__} is not a document class"):
            AsyncDocuments(adb, kind, blobs=store)


async def test_a_database_of_the_other_shell_is_refused_by_name(tmp_path: Path) -> None:
    store = LocalBlobs(tmp_path)
    blocking: Any = fresh()
    awaiting: Any = fresh_async()
    with blocking as db, pytest.raises(InvalidRequest, match=r"that connect_async\(\) returns, not a Database"):
        AsyncDocuments(db, Project, blobs=store)
    async with awaiting as adb:
        with pytest.raises(InvalidRequest, match=r"that connect\(\) returns, not an AsyncDatabase") as refused:
            Documents(adb, Project, blobs=store)
    assert "AsyncDocuments" in refused.value.hint
    target: Any = "local"
    with pytest.raises(InvalidRequest, match="not a str"):
        Documents(target, Project, blobs=store)


async def test_what_is_not_numbered_is_no_submission(world: World) -> None:
    await world.docs.create("o1", "p1")
    given: Any
    for verb in (world.docs.submit, world.docs.apply):
        for given in ([ONE], [ONE.by("c", 1), ONE], [rename]):
            with pytest.raises(InvalidRequest, match="the mutation rename says no client and number") as refused:
                await verb("p1", given)
            assert '.by("client", 1)' in refused.value.hint
        for given in (ONE.by("c", 1), ONE, "rename"):
            with pytest.raises(InvalidRequest, match="as a list") as refused:
                await verb("p1", given)
            assert '[rename(name="x").by("client", 1)]' in refused.value.hint
        given = [{}]
        with pytest.raises(InvalidRequest, match="dict says no client"):
            await verb("p1", given)
    for given in (ONE.by("c", 1), note, {}):
        with pytest.raises(InvalidRequest, match=r"takes a mutation, not [A-Zd]"):
            await world.docs.submit_next("p1", "c", given)
    assert (await world.docs.head("p1")).version == 0
    assert await world.docs.last_ids("p1", ["c"]) == {"c": 0}
