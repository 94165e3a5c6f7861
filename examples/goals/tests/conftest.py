"""A database of its own for each test, ended by the check of the graph; and the file, imported once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path

import pytest

from examples.goals.tests.file import FILE, NEEDS_FILE
from examples.goals.tests.support import Generated
from examples_shared.testing.databases import fresh
from goals import Service, records
from goals.enhancements import read
from goals.generated import generate
from goals.import_enhancements import import_enhancements
from goals.model import Team, User
from singletable import Database, connect
from singletable.graph import Graph


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(records)
        yield db
        assert db.check(records) == []


@pytest.fixture
def app(db: Database) -> Service:
    """Users ada, grace and linus, teams engine and docs. Time goes by a second a call, ids are g1, g2, ..."""
    seconds, ids = count(), count(1)
    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    app = Service(db, now=lambda: start + timedelta(seconds=next(seconds)), new_id=lambda: f"g{next(ids)}")
    for name in ("ada", "grace", "linus"):
        app.create(User(id=name, name=name.title()))
    for name in ("engine", "docs"):
        app.create(Team(id=name, name=name.title()))
    return app


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The whole file; for tests that change nothing."""
    if NEEDS_FILE.args[0]:
        pytest.skip("the file of enhancement proposals is not there")
    with connect(f"local:{tmp_path_factory.mktemp('imported')}/goals.db") as db:
        db.create_table(records)
        import_enhancements(db, read(Path(FILE).read_text("utf-8")), lambda done, total: None)
        yield Service(db)


@pytest.fixture(scope="session")
def generated() -> Iterator[Generated]:
    """1,000 goals with 10 edges each; for tests that change nothing."""
    with fresh() as db:
        db.create_table(records)
        leads: dict[str, list[str]] = {}
        for part in generate(1000):
            Graph(db).load(part.nodes, part.edges)
            leads |= part.leads
        yield Generated(Service(db), leads)
