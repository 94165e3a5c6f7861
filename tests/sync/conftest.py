"""A board's `Sync` on the embedded engine, over blobs in a directory or in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from singletable.documents import BlobStore, LocalBlobs, ObjectBlobs
from tests.faults.fixtures import clock, engine_url, faults, proxy, pytest_runtest_makereport
from tests.support.engines import fresh_async
from tests.sync.world import World

__all__ = ["blobs", "clock", "engine_url", "faults", "proxy", "pytest_runtest_makereport", "world"]


@pytest.fixture(params=["directory", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "directory":
        return LocalBlobs(tmp_path / "blobs")
    store: Any = pytest.importorskip("obstore.store")
    return ObjectBlobs(store.MemoryStore())


@pytest.fixture
async def world(blobs: BlobStore) -> AsyncIterator[World]:
    async with fresh_async() as db:
        yield World(db, blobs)
