"""The law of values on an engine and in files: 50 values of all types through every write, read, export and import."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional, cast

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from singletable import ANY, Database, Entity, InvalidValue, Table, attr, field
from singletable.exchange import Exports, Imports
from singletable.exchange.formats import FORMATS
from singletable.values import plan_for
from tests.doors.drawn import DECLARED
from tests.doors.law import is_same
from tests.support.engines import fresh

NAMES = {f"v{number}": name for number, name in enumerate(DECLARED)}
"""The attributes of the class, each of one declared type."""
things = Table("things")


def _class() -> Any:
    def of(id: str = cast(str, ANY)) -> Any:
        """All of them."""
        return "things", f"{id}"

    of.__annotations__ = {"id": str}
    annotations: dict[str, Any] = {"id": str}
    body: dict[str, Any] = {"__annotations__": annotations, "of": things.key(staticmethod(of))}
    for attribute, name in NAMES.items():
        declared = DECLARED[name][0]
        is_set = plan_for(declared).is_set
        annotations[attribute] = declared if is_set or declared is Any else Optional[declared]  # noqa: UP045
        body[attribute] = field(default_factory=set[Any] if is_set else cast("Any", type(None)))
    return types.new_class("Thing", (Entity,), {"table": things, "type": "thing"}, lambda made: made.update(body))


Thing: Any = _class()
draw = st.sampled_from(list(NAMES)).flatmap(lambda at: st.tuples(st.just(at), DECLARED[NAMES[at]][1]))
fifty = st.lists(draw, min_size=50, max_size=50)
few = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
"""The first is the simplest of all, the others are drawn."""


@pytest.fixture(scope="module")
def dbs() -> Iterator[tuple[Database, Database]]:
    with fresh() as source, fresh() as target:
        yield source, target


def emptied(db: Database) -> None:
    db.create_table(things)
    db.write_many(deletes=[Thing.of(each.id) for each in db.scan(Thing)])


def things_of(drawn: list[tuple[str, Any]]) -> list[Any]:
    return [Thing(id=f"{number:02}", **{attribute: value}) for number, (attribute, value) in enumerate(drawn)]


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


def assert_same(found: list[Any], kept: Mapping[str, Any], drawn: list[tuple[str, Any]]) -> None:
    assert {thing.id for thing in found} == set(kept)
    for thing in found:
        attribute, value = drawn[int(thing.id)]
        assert is_same(getattr(thing, attribute), value, DECLARED[NAMES[attribute]][0]), (attribute, value)


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


@pytest.mark.parametrize("format", FORMATS)
@few
@given(drawn=fifty)
def test_every_format_of_files(dbs: Any, format: Any, drawn: list[tuple[str, Any]]) -> None:
    source, target = dbs
    kept = written(source, WRITES["put"], drawn)
    emptied(target)
    with TemporaryDirectory() as directory:
        Exports(source, things).export(directory, format=format, anew=True)
        done = Imports(target, things).run(Path(directory))
    assert done.bad_rows == ()
    assert_same(target.all(Thing.of()), kept, drawn)
