"""A board's `Sync` on the embedded engine, over blobs in a directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from singletable.documents import BlobStore, LocalBlobs
from tests.faults.fixtures import clock, engine_url, faults, proxy, pytest_runtest_makereport
from tests.support.engines import fresh_async
from tests.sync.world import World

__all__ = ["blobs", "clock", "engine_url", "faults", "proxy", "pytest_runtest_makereport", "world"]


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return LocalBlobs(tmp_path / "blobs")


@pytest.fixture
async def world(blobs: BlobStore) -> AsyncIterator[World]:
    async with fresh_async() as db:
        yield World(db, blobs)
