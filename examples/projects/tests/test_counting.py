"""What is counted as written, against what lies in the store and in the table afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples_shared.testing.databases import fresh
from projects.counting import CountingBlobs, counted
from singletable import Database, Entity, Key, Table, attr
from singletable.documents import LocalBlobs
from singletable.values import item_size

things = Table("things")


class Thing(Entity, table=things, type="thing"):
    id: str
    text: str = ""

    @things.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One thing."""
        return f"thing#{id}", "thing"


THING = {
    "pk": {"S": "thing#a"},
    "sk": {"S": "thing"},
    "type": {"S": "thing"},
    "id": {"S": "a"},
    "text": {"S": "x" * 100},
}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(things)
        yield db


def test_items_count_as_dynamodb_counts_them(db: Database) -> None:
    counting, port = counted(db)
    counting.put(Thing(id="a", text="x" * 100))
    assert port.taken() == pytest.approx(item_size(THING), abs=40)
    assert port.taken() == 0
    with counting.transaction() as tx:
        tx.create(Thing(id="b"))
        tx.create(Thing(id="c"))
    both = port.taken()
    counting.write_many(puts=[Thing(id="d"), Thing(id="e")])
    assert port.taken() == pytest.approx(both, abs=100)
    assert both > 0


def test_reads_and_deletes_write_nothing(db: Database) -> None:
    counting, port = counted(db)
    counting.put(Thing(id="a"))
    port.taken()
    assert counting.get(Thing.by_id("a")) is not None
    assert counting.get_many([Thing.by_id("a")]) != []
    counting.delete(Thing.by_id("a"))
    assert port.taken() == 0


def test_an_update_counts_what_it_sends(db: Database) -> None:
    counting, port = counted(db)
    counting.put(Thing(id="a"))
    port.taken()
    counting.update(Thing.by_id("a"), attr(Thing.text).set("y" * 1000))
    assert 1000 < port.taken() < 1200


def test_blobs_count_once(tmp_path: Path) -> None:
    blobs = CountingBlobs(LocalBlobs(tmp_path))
    assert blobs.put("o/p/files/aa.json.gz", b"12345")
    assert not blobs.put("o/p/files/aa.json.gz", b"12345")
    blobs.put("o/p/mutations/bb.json.gz", b"123")
    assert blobs.taken() == {"files": 5, "mutations": 3}
    assert blobs.taken() == {}
    again = CountingBlobs(LocalBlobs(tmp_path))
    assert again.get("o/p/files/aa.json.gz", 10) == b"12345"
    assert again.size("aa") == 5
    assert again.has("o/p/files/aa.json.gz")
    assert list(again.list("o/p/files/")) == ["o/p/files/aa.json.gz"]
    again.delete("o/p/files/aa.json.gz")
    assert not blobs.has("o/p/files/aa.json.gz")
    assert again.taken() == {}
