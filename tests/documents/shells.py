"""The documents of both shells behind one interface, over each kind of blob store."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from obstore.store import MemoryStore, S3Store

from singletable.documents import AsyncDocuments, BlobStore, Documents, LocalBlobs, ObjectBlobs
from tests.documents.models import Project
from tests.support.engines import fresh, fresh_async

STORES = ("local", "s3")
"""A store in memory is what `s3` has, without requests; much else of these tests runs on it."""


class Disguised:
    """Blocking documents with the awaiting ones' interface."""

    def __init__(self, documents: Documents[Any]) -> None:
        self.documents, self.db, self.home = documents, documents.db, documents.context

    def __getattr__(self, name: str) -> Any:
        return _awaited(getattr(self.documents, name))


def _awaited(verb: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        return verb(*args, **kwargs)

    return call


@dataclass
class World:
    """Documents, the database below them, and their store."""

    docs: AsyncDocuments[Project]
    db: Any
    store: Any

    async def run(self, flow: Any) -> Any:
        found = self.db.run(flow)
        return await found if inspect.isawaitable(found) else found


@asynccontextmanager
async def opened(kind: str, store: BlobStore, **options: Any) -> AsyncIterator[World]:
    """Documents of a kind over an engine of their own."""
    if kind == "awaiting":
        async with fresh_async() as adb:
            yield World(AsyncDocuments(adb, Project, blobs=store, **options), adb, store)
    else:
        with fresh() as db:
            documents: Any = Disguised(Documents(db, Project, blobs=store, **options))
            yield World(documents, db, store)


def make_store(name: str, directory: Path, endpoint: Callable[[], str], bucket: str) -> BlobStore:
    """A store with nothing in it; `endpoint` is asked for only where it takes one."""
    if name == "local":
        return LocalBlobs(directory / "blobs")
    return ObjectBlobs(MemoryStore()) if name == "memory" else s3_blobs(endpoint(), bucket)


def s3_blobs(endpoint: str, bucket: str) -> ObjectBlobs:
    """A bucket of its own on an S3 endpoint over HTTP."""
    urlopen(Request(f"{endpoint}/{bucket}", method="PUT"), timeout=30).close()
    store = S3Store(
        bucket,
        endpoint=endpoint,
        access_key_id="test",
        secret_access_key="test",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    return ObjectBlobs(store)
