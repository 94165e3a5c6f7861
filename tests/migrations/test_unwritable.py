"""Items that a class reads, and makes no key of: a plan counts them, a fill leaves them, a check names them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from singletable import ANY, Database, Key, field
from singletable.migrations import Migrations
from tests.migrations.changing import Keys, by_number, order, refused
from tests.support.engines import fresh


def in_note(note: str, number: int = ANY) -> Key:
    return f"{note}", f"{number}"


def by_note(number: int, note: str) -> Key:
    return f"orders#{number}", f"{note}"


NOTE = {"number": int, "note": str}
UNIQUE = {"number": int, "note": (str, field(unique=True))}
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Keys], Keys | None]] = {
    "a pattern": (NOTE, {"gsi1": in_note}, None),
    "a guard": (UNIQUE, {}, None),
    "a key": (NOTE, {}, by_note),
}
"""The attributes, patterns and key of the new program, of texts with an end."""


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        old, kind = order(NOTE)
        Migrations(made, old).apply()
        made.write_many(puts=[kind(number=n, note=note) for n, note in enumerate(["a", "b", "x" * 3000, "y" * 3000])])
        yield made


@pytest.mark.parametrize("change", CHANGES)
def test_items_without_a_key_are_counted_and_left(db: Database, change: str) -> None:
    attributes, patterns, key = CHANGES[change]
    keys: dict[str, Any] = {} if key is None else {"key": key, "was": by_number}
    table, _ = order(attributes, patterns=patterns, **keys)
    assert refused(db, table) == ("items unreadable", [("unwritable", "Order.note", 2)])
    Migrations(db, table).apply(accept=[("unwritable", "Order.note")])
    assert {finding.code for finding in db.check(table)} == {"key.wrong"}
    assert Migrations(db, table).plan().is_empty


def test_guards_of_items_in_two_forms(db: Database) -> None:
    """A unique attribute of a class with `stored_as=`: its items are stored in the older version."""
    table, kind = order({**UNIQUE, "count": (int, 0)}, version=2, stored_as=1)
    kind.upcast(1)(lambda item: item)
    kind.downcast(2)(lambda item: item)
    for number in (2, 3):
        db.delete(kind.by_key(number))
    Migrations(db, table).apply()
    assert db.check(table) == []


def test_items_under_another_key_that_lack_guards_are_counted(db: Database) -> None:
    """A plan looks for their guards, and can't read them."""
    table, _ = order(UNIQUE, key=by_note)
    assert refused(db, table) == ("changed key", [("key.changed", "Order", 4)])
