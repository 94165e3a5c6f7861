"""The law of values at the doors that are files: exported and imported, a value is the same; asked by SQL, it is the
same cell, or the answer counts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import time
from enum import Enum
from tempfile import TemporaryDirectory
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given

from singletable import Database
from singletable.exchange import Exports, Imports
from singletable.exchange.formats import FORMATS
from singletable.exchange.masks import Mask, masked
from singletable.reports import open_export
from singletable.values import plan_for
from tests.doors.file_doors import FILE_DOORS, as_column, is_told_by_json, written_by_people
from tests.doors.law import is_same
from tests.doors.things import (
    NAMES,
    Drawn,
    MaskedThing,
    Thing,
    assert_same,
    emptied,
    few,
    fifty,
    masked_things,
    stored,
    things,
    type_of,
)
from tests.support.engines import fresh

MASK_KEY = b"a key of 16 bytes"
SELDOM = {"jsonl, with keys", "csv-escaped, with keys", "arrow, with keys"}
"""The keys are columns as others are."""


def sampled_by(names: Iterable[str], seldom: Collection[str]) -> list[Any]:
    """The names, some of them among the long runs."""
    return [pytest.param(name, marks=pytest.mark.soak if name in seldom else ()) for name in names]


@pytest.fixture(scope="module")
def dbs() -> Iterator[tuple[Database, Database]]:
    with fresh() as source, fresh() as target:
        yield source, target


def written(db: Database, drawn: Drawn, kind: Any = Thing) -> dict[str, Any]:
    """What the table gives back: a number in `Any` has its digits in the form of DynamoDB."""
    db.write_many(puts=list(stored(drawn, kind).values()))
    return {thing.id: thing for thing in db.all(kind.of())}


def value_of(thing: Any, drawn: Drawn) -> Any:
    return getattr(thing, drawn[int(thing.id)][0])


def kind_of(thing: Any, drawn: Drawn) -> Any:
    return type_of(drawn[int(thing.id)][0])


def is_told(thing: Any, drawn: Drawn) -> bool:
    return is_told_by_json(value_of(thing, drawn), kind_of(thing, drawn))


@pytest.mark.parametrize("door", sampled_by(FILE_DOORS, SELDOM))
@few
@given(drawn=fifty)
def test_what_is_stored_is_the_same_through_a_file(dbs: Any, door: str, drawn: Drawn) -> None:
    for db in dbs:
        emptied(db)
    kept = stored(drawn)
    assert_same(FILE_DOORS[door](*dbs)(list(kept.values())), kept, drawn)


@pytest.mark.parametrize("format", sampled_by(FORMATS, {"jsonl", "csv-escaped", "arrow"}))
@few
@given(drawn=fifty)
def test_a_masked_file_holds_the_masks(dbs: Any, format: Any, drawn: Drawn) -> None:
    source, target = dbs
    for db in dbs:
        emptied(db, MaskedThing)
    kept = written(source, drawn, MaskedThing)
    with TemporaryDirectory() as folder:
        done = Exports(source, masked_things).export(folder, format=format, personal=False, mask_key=MASK_KEY)
        assert done.unknown == 0
        assert Imports(target, masked_things).run(folder).bad_rows == ()
    found = {thing.id: thing for thing in target.all(MaskedThing.of())}
    assert found.keys() == kept.keys()
    for id, thing in kept.items():
        name, declared = drawn[int(id)][0], kind_of(thing, drawn)
        mask = masked(Mask(MASK_KEY), plan_for(declared), value_of(thing, drawn))
        assert is_same(getattr(found[id], name), mask, declared), (name, mask)


@pytest.mark.parametrize("as_csv", [False, True])
@few
@given(drawn=fifty)
def test_what_people_write_is_stored_as_it_is(dbs: Any, as_csv: bool, drawn: Drawn) -> None:
    _, target = dbs
    emptied(target)
    kept = {
        id: thing
        for id, thing in stored(drawn).items()
        if is_told_by_json(value_of(thing, drawn), kind_of(thing, drawn))
    }
    rows = [(id, drawn[int(id)][0], value_of(thing, drawn)) for id, thing in kept.items()]
    with TemporaryDirectory() as folder:
        path = written_by_people(rows, folder, as_csv=as_csv)
        done = Imports(target, things).run(path, into=Thing)
    assert (done.bad_rows, done.written) == ((), len(kept))
    assert_same(target.all(Thing.of()), kept, drawn)


@pytest.mark.parametrize("format", sampled_by(FORMATS, {"jsonl", "csv-escaped"}))
@few
@given(drawn=fifty)
def test_sql_answers_what_is_stored_or_counts_it(dbs: Any, format: Any, drawn: Drawn) -> None:
    source, _ = dbs
    emptied(source)
    kept = written(source, drawn)
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
        else:
            expected = _cell(as_column(value, type_of(name)))
            assert cells[name] == expected, (NAMES[name], cells[name], value)
    assert dict(missing) == answer.left_out


def _cell(value: Any) -> Any:
    """A value of a column as the how-to of exports says that SQL gives it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, time):
        return value.isoformat("microseconds")
    if isinstance(value, dict):
        return {name: _cell(each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_cell, cast("set[Any]", value)))
    return [_cell(each) for each in cast("list[Any]", value)] if isinstance(value, (list, tuple)) else value
