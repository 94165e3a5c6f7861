"""A studio of the application that most tests of records are about."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from singletable import AsyncDatabase
from tests.studio.visitor import Visitor, visiting
from tests.support.engines import fresh_async
from tests.support.models import Membership, User, app


@pytest.fixture
async def db() -> AsyncIterator[AsyncDatabase]:
    async with fresh_async() as db:
        for name in ("ada", "bob", "eve"):
            await db.create(User(email=f"{name}@example.org", name=name.title(), phone="123"))
            await db.create(Membership(email=f"{name}@example.org", org_id="o1"))
        yield db


@pytest.fixture
async def visitor(db: AsyncDatabase) -> AsyncIterator[Visitor]:
    async with visiting(db, app) as visitor:
        yield visitor


@pytest.fixture
async def writer(db: AsyncDatabase) -> AsyncIterator[Visitor]:
    async with visiting(db, app, write=True) as visitor:
        yield visitor
