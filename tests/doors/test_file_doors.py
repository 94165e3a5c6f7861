"""The law of values at the doors that are files: exported and imported, a value is the same; asked by SQL, it is the
same cell, or the answer counts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import time, timedelta
from decimal import Decimal
from enum import Enum
from tempfile import TemporaryDirectory
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given

from singletable import Database
from singletable.errors import InvalidValue, TooLarge
from singletable.exchange import Exports, Imports
from singletable.exchange.formats import FORMATS
from singletable.exchange.masks import Mask, masked
from singletable.foundation import model_of
from singletable.operations import encode, read_item
from singletable.reports import open_export
from singletable.values import plan_for
from tests.doors.drawn import DECLARED
from tests.doors.file_doors import FILE_DOORS, written_by_people
from tests.doors.law import is_same
from tests.doors.things import (
    NAMES,
    MaskedThing,
    Thing,
    assert_same,
    emptied,
    few,
    fifty,
    masked_things,
    things,
    things_of,
)
from tests.support.engines import fresh

Drawn = list[tuple[str, Any]]
MASK_KEY = b"a key of 16 bytes"


@pytest.fixture(scope="module")
def dbs() -> Iterator[tuple[Database, Database]]:
    with fresh() as source, fresh() as target:
        yield source, target


def stored(drawn: Drawn, kind: Any = Thing) -> dict[str, Any]:
    """The things that an item holds, as it gives them back: what refuses the others is the law of the pure doors."""
    model: Any = model_of(kind)
    kept: dict[str, Any] = {}
    for thing in things_of(drawn, kind):
        try:
            kept[thing.id] = model.load(read_item(encode(model.item(thing))))
        except (InvalidValue, TooLarge):
            continue
    return kept


@pytest.mark.parametrize("door", FILE_DOORS)
@few
@given(drawn=fifty)
def test_what_is_stored_is_the_same_through_a_file(dbs: Any, door: str, drawn: Drawn) -> None:
    for db in dbs:
        emptied(db)
    kept = stored(drawn)
    assert_same(FILE_DOORS[door](*dbs)(list(kept.values())), kept, drawn)


@pytest.mark.parametrize("format", FORMATS)
@few
@given(drawn=fifty)
def test_a_masked_file_holds_the_masks(dbs: Any, format: Any, drawn: Drawn) -> None:
    source, target = dbs
    for db in dbs:
        emptied(db, MaskedThing)
    kept = stored(drawn, MaskedThing)
    source.write_many(puts=list(kept.values()))
    with TemporaryDirectory() as folder:
        done = Exports(source, masked_things).export(folder, format=format, personal=False, mask_key=MASK_KEY)
        assert done.unknown == 0
        assert Imports(target, masked_things).run(folder).bad_rows == ()
    found = {thing.id: thing for thing in target.all(MaskedThing.of())}
    assert found.keys() == kept.keys()
    for id, thing in kept.items():
        name = drawn[int(id)][0]
        declared = DECLARED[NAMES[name]][0]
        mask = masked(Mask(MASK_KEY), plan_for(declared), getattr(thing, name))
        assert is_same(getattr(found[id], name), mask, declared), (name, mask)


@pytest.mark.parametrize("as_csv", [False, True])
@few
@given(drawn=fifty)
def test_what_people_write_is_stored_as_it_is_or_refused_by_name(dbs: Any, as_csv: bool, drawn: Drawn) -> None:
    _, target = dbs
    emptied(target)
    kept = {id: thing for id, thing in stored(drawn).items() if NAMES[drawn[int(id)][0]] != "Any"}
    values = {id: (drawn[int(id)][0], getattr(thing, drawn[int(id)][0])) for id, thing in kept.items()}
    with TemporaryDirectory() as folder:
        path = written_by_people(list(kept.values()), values, folder, as_csv=as_csv)
        done = Imports(target, things).run(path, into=Thing)
    bad = {list(kept)[row.number - 1]: row.reason for row in done.bad_rows}
    assert all(values[id][0] in reason for id, reason in bad.items())
    assert_same(target.all(Thing.of()), {id: thing for id, thing in kept.items() if id not in bad}, drawn)


@pytest.mark.parametrize("format", FORMATS)
@few
@given(drawn=fifty)
def test_sql_answers_what_is_stored_or_counts_it(dbs: Any, format: Any, drawn: Drawn) -> None:
    source, _ = dbs
    emptied(source)
    kept = stored(drawn)
    source.write_many(puts=list(kept.values()))
    with TemporaryDirectory() as folder:
        Exports(source, things).export(folder, format=format)
        with open_export(folder, things) as session:
            answer = session.query("FROM thing")
    missing: Counter[str] = Counter()
    for row in answer.rows():
        cells = dict(zip(answer.columns, row, strict=True))
        name = drawn[int(cells["id"])][0]
        value = getattr(kept[cells["id"]], name)
        if cells[name] is None and value is not None:
            missing[f"thing.{name}"] += 1
        elif NAMES[name] != "Any":  # a text of JSON, as people write it
            assert cells[name] == _cell(value)
    assert dict(missing) == answer.left_out


def _cell(value: Any) -> Any:
    """A value as the how-to of exports says that a column has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, time):
        return value.isoformat("microseconds")
    if isinstance(value, timedelta):
        return Decimal(value // timedelta(microseconds=1)).scaleb(-6)
    if is_dataclass(value):
        return {each.name: _cell(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {name: _cell(each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_cell, cast("set[Any]", value)))
    return [_cell(each) for each in cast("list[Any]", value)] if isinstance(value, (list, tuple)) else value
