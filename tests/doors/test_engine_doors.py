"""The law of values on an engine: 50 values of all types through every write and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given

from singletable import Database, InvalidValue, attr
from tests.doors.things import NAMES, Thing, assert_same, emptied, few, fifty, things_of
from tests.support.engines import fresh


@pytest.fixture(scope="module")
def dbs() -> Iterator[tuple[Database, Database]]:
    with fresh() as source, fresh() as target:
        yield source, target


def in_transaction(db: Database, thing: Any) -> None:
    with db.transaction() as tx:
        tx.put(thing)


def by_update(db: Database, thing: Any) -> None:
    changes = [attr(getattr(Thing, name)).set(getattr(thing, name)) for name in NAMES if getattr(thing, name)]
    db.upsert(thing if not changes else Thing(id=thing.id), *changes)
    if changes:
        db.update(Thing.of(thing.id), *changes)


WRITES: Mapping[str, Callable[[Database, Any], Any]] = {
    "put": lambda db, thing: db.put(thing),
    "create": lambda db, thing: db.create(thing),
    "batch": lambda db, thing: db.write_many(puts=[thing]),
    "transaction": in_transaction,
    "upsert": lambda db, thing: db.upsert(thing),
    "update": by_update,
}


def written(db: Database, write: Callable[[Database, Any], Any], drawn: list[tuple[str, Any]]) -> dict[str, Any]:
    """What was written; what was refused was so by its attribute, with what to do, before anything was sent."""
    emptied(db)
    kept: dict[str, Any] = {}
    for thing, (attribute, _) in zip(things_of(drawn), drawn, strict=True):
        with db.meter() as meter:
            refused = refusal(write, db, thing)
        if refused is None:
            kept[thing.id] = thing
            continue
        assert attribute in (refused.attribute or ""), refused
        assert refused.hint, refused
        assert meter.write_units == 0
    return kept


def refusal(write: Callable[[Database, Any], Any], db: Database, thing: Any) -> InvalidValue | None:
    try:
        write(db, thing)
    except InvalidValue as error:
        return error
    return None


@pytest.mark.parametrize("write", WRITES)
@few
@given(drawn=fifty)
def test_every_write_and_read(dbs: Any, write: str, drawn: list[tuple[str, Any]]) -> None:
    db, _ = dbs
    kept = written(db, WRITES[write], drawn)
    assert_same(db.all(Thing.of()), kept, drawn)
    assert_same(list(db.scan(Thing)), kept, drawn)
    assert_same([one for one in db.get_many([Thing.of(id) for id in kept]) if one], kept, drawn)
    assert_same([db.get(Thing.of(id)) for id in kept], kept, drawn)
