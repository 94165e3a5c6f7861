"""A database of its own for each test, ended by the check of everything that must always hold."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import count

import pytest

from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER
from examples_shared.testing.databases import fresh
from organisations import Service, organisations
from organisations.check import check
from singletable import Database


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(organisations)
        yield db


@pytest.fixture
def app(db: Database) -> Iterator[Service]:
    """Users ada, grace, linus and barbara at example.org have registered. Time goes by a second a call."""
    seconds = count()
    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    app = Service(db, now=lambda: start + timedelta(seconds=next(seconds)))
    for email in (OWNER, MEMBER, INVITED, STRANGER):
        app.put_user(email, first_name=email.partition("@")[0].title())
    yield app
    assert check(db) == []


@pytest.fixture
def org(app: Service) -> str:
    """ada owns it, grace is a member, linus is invited, barbara has nothing to do with it; it has a service `api`."""
    id = app.create_organisation("Acme", owner=OWNER).organisation_id
    app.put_service(id, "api", "The API")
    app.invite(id, MEMBER)
    app.accept(id, MEMBER)
    app.invite(id, INVITED)
    return id
