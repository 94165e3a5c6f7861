from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from singletable.documents import BlobStore, Documents, LocalBlobs, ObjectBlobs
from tests.documents.models import Project, app
from tests.documents.shells import STORES, World, make_store, opened
from tests.faults.fixtures import clock, engine_url, faults, kind, proxy, pytest_runtest_makereport
from tests.support.emulators import aws_emulator
from tests.support.engines import fresh
from tests.support.findings import but_garbage

__all__ = [
    "aws_emulator",
    "clock",
    "docs",
    "engine_url",
    "faults",
    "kind",
    "light",
    "proxy",
    "pytest_runtest_makereport",
    "store",
    "world",
]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """Each kind of blob store, with nothing in it."""
    bucket = re.sub("[^a-z0-9]", "-", f"b-{secrets.token_hex(8)}")
    return make_store(request.param, tmp_path, lambda: str(request.getfixturevalue("aws_emulator")), bucket)


@pytest.fixture
async def world(kind: str, store: BlobStore) -> AsyncIterator[World]:
    """Both shells over each store; every document in it is sound when the test ends."""
    async with opened(kind, store) as made:
        yield made
        for listing in (await made.docs.page("o1")).items:
            assert but_garbage(await made.docs.check(listing.document_id)) == []


@pytest.fixture
def light() -> Iterator[Documents[Project]]:
    """The blocking documents in memory, for many contents."""
    with fresh() as db:
        made = Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))
        yield made
        for listing in made.page("o1"):
            assert but_garbage(made.check(listing.document_id)) == []


@pytest.fixture
def docs(tmp_path: Path) -> Iterator[Documents[Project]]:
    """The blocking documents on a directory, for what shells and stores do not differ in."""
    with fresh() as db:
        made = Documents(db, Project, blobs=LocalBlobs(tmp_path / "blobs"))
        yield made
        for listing in made.page("o1"):
            assert but_garbage(made.check(listing.document_id)) == []
        assert db.check(app) == []
