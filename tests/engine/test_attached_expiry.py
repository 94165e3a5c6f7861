"""The guards and words of an item end when it does, whoever changes its expiry while it is written."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Key, Table, attr, field
from singletable.migrations import Migrations
from singletable.operations import TransactWriteItems
from tests.migrations.watching import before_each
from tests.support.engines import fresh
from tests.support.raw import all_items

passing = Table("passing", ttl_attribute="ends")
SOON = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(hours=1)


class Doc(Entity, table=passing, type="doc"):
    id: str
    name: str = ""
    slug: str | None = field(unique=True, default=None)
    ends: datetime | None = field(expires=True, default=None)

    @passing.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"doc#{id}", "doc"

    @passing.search
    @staticmethod
    def by_word(name: str = ANY) -> Key:
        return "all", f"{name:words(4)}"


def in_transaction(db: Database) -> None:
    with db.transaction() as tx:
        tx.update(Doc.by_id("1"), attr(Doc.name).set("Bob"))


WRITES: dict[str, Any] = {
    "update of a word": lambda db: db.update(Doc.by_id("1"), attr(Doc.name).set("Bob")),
    "update of a unique value": lambda db: db.update(Doc.by_id("1"), attr(Doc.slug).set("z")),
    "put": lambda db: db.put(Doc(id="1", name="Ada Bob", slug="s", ends=SOON)),
    "upsert": lambda db: db.upsert(Doc(id="1", name="Ada Bob", slug="s", ends=SOON)),
    "transaction": in_transaction,
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("ends", [SOON + timedelta(days=1), None])
def test_an_expiry_that_another_writer_changes_meanwhile(
    write: str, ends: datetime | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guard that ended before its owner would give its value to another item; a word would hide it."""
    with fresh() as db:
        db.create_table(passing)
        db.create(Doc(id="1", name="Ada", slug="s", ends=SOON))
        left = 1

        def happens(operation: Any) -> None:
            nonlocal left
            if isinstance(operation, TransactWriteItems) and left:
                left = 0
                db.update(Doc.by_id("1"), attr(Doc.ends).set(ends))

        with monkeypatch.context() as patched:
            before_each(db, patched, happens)
            WRITES[write](db)
        items = db.run(all_items(db.port, passing.name))
        assert left == 0
        assert len(items) >= 3
        assert len({str(item.get("ends")) for item in items}) == 1
        assert db.check(passing) == []


def test_an_item_that_ends_no_more_once_it_is_converted() -> None:
    """Its guard and its words would end without it."""
    table = Table("passing", ttl_attribute="ends")

    class Note(Entity, table=table, type="note"):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"note#{id}", "note"

    class Kept(Doc, table=table, type="doc"):
        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"doc#{id}", "doc"

        @table.search
        @staticmethod
        def by_word(name: str = ANY) -> Key:
            return "all", f"{name:words(4)}"

    @Kept.becomes(Note)
    def kept(doc: Kept) -> Kept | tuple[Kept, Note]:
        return doc if doc.ends is None else (Kept(id=doc.id, name=doc.name, slug=doc.slug), Note(id=doc.id))

    with fresh() as db:
        db.create_table(passing)
        db.create(Doc(id="1", name="Ada", slug="s", ends=SOON))
        Migrations(db, table).fill()
        items = db.run(all_items(db.port, table.name))
        assert sorted(item["_type"]["S"] for item in items if "ends" in item) == []
        assert db.get(Note.by_id("1")) == Note(id="1")
