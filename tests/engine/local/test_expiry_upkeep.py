"""What has expired on the embedded engine: removed late, by the engine's supervisor, and by nobody who reads."""

from __future__ import annotations

import socket
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, connect, field
from singletable_local import Engine
from singletable_local.expiry_upkeep import ExpiryUpkeep
from singletable_local.timeouts import EngineTimeouts
from tests.support.raw import all_items

pytestmark = pytest.mark.embedded("its data file")
shop = Table("shop", indexes=["gsi1"])
other = Table("other")
DAY = 86_400.0
PATIENCE_SECONDS = 20.0


class Session(Entity, table=shop, type="session"):
    id: str
    ends: datetime | None = field(expires=True, default=None)

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"session#{id}", "session"


class Note(Entity, table=other, type="note"):
    id: str

    @other.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"note#{id}", "note"


def fill(db: Database, days: dict[str, float]) -> None:
    db.put(Note(id="n"))
    for id, ago in days.items():
        db.put(Session(id=id, ends=datetime.now(timezone.utc) - timedelta(days=ago)))
    db.put(Session(id="never"))


def stored(db: Database) -> set[str]:
    items: list[dict[str, Any]] = db.run(all_items(db.port, shop.name))
    return {item["pk"]["S"].partition("#")[2] for item in items}


def test_the_supervisor_removes_what_expired_two_days_ago(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    many = {f"old{number}": 3 + number / 100 for number in range(450)}
    with Engine.start(path, timeouts=EngineTimeouts(sweep_seconds=0.3)), connect(f"local:{path}") as db:
        for number in range(100):  # a page of tables' names
            db.create_table(Table(f"earlier{number}"))
        fill(db, {"day": 1.9, "hour": 1 / 24, "living": -1, **many})
        until = time.monotonic() + PATIENCE_SECONDS
        while any(id.startswith("old") for id in stored(db)) and time.monotonic() < until:
            db.get(Note.by_id("n"))  # users are served meanwhile
        assert stored(db) == {"day", "hour", "living", "never"}


def test_an_answer_without_a_length_ends_the_sweep_only() -> None:
    engine, supervisor = socket.socketpair()
    with engine, supervisor:
        engine.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        upkeep = ExpiryUpkeep(lambda: supervisor, 1e-9)
        upkeep.step()
        assert upkeep.pause_milliseconds() == pytest.approx(1.0, abs=0.1)
        assert supervisor.fileno() == -1


@pytest.mark.parametrize("ahead", [3600.0, 10 * DAY])
def test_no_reader_deletes_whatever_its_clock_says(tmp_path: Path, ahead: float) -> None:
    path = tmp_path / "app.db"
    with connect(f"local:{path}") as db:
        fill(db, {"old": 30, "hour": 1 / 24, "living": -0.02})
        everything = stored(db)
    with connect(f"local:{path}", clock=lambda: time.time() + ahead) as reader:
        assert reader.get(Session.by_id("living")) is None  # a clock that is given decides alone
        assert list(reader.scan(Session)) == [Session(id="never")]
        assert stored(reader) == everything
    with connect(f"local:{path}") as db:
        assert db.get(Session.by_id("living")) is not None


def test_a_private_engine_keeps_all() -> None:
    with Engine.start(timeouts=EngineTimeouts(sweep_seconds=0.01)) as engine, connect(engine.url) as db:
        db.create_table(shop)
        db.create_table(other)
        fill(db, {"old": 30})
        for _ in range(50):
            db.get(Note.by_id("n"))
        assert "old" in stored(db)
