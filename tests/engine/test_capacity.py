"""Predicted capacity equals what the engine reports, for every verb, on the table and its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from singletable import Database
from singletable.operations import (
    BatchGetItem,
    CheckItem,
    DeleteItem,
    GetItem,
    PutItem,
    Query,
    RawCondition,
    Selection,
    TransactGetItems,
    TransactWriteItems,
    UpdateItem,
)
from singletable.operations.answers import RAW
from singletable.tables import Index, TableDefinition, create
from singletable.values import to_attribute_value
from tests.property.examples import times
from tests.support.capacity import Cost, batch_get_cost, check_cost, get_cost, page_cost, write_cost
from tests.support.engines import fresh

TABLE = TableDefinition(
    "capacity",
    indexes={
        "all": Index("ap", "as"),
        "keys": Index("kp", "ks", "keys"),
        "some": Index("sp", "ss", ("text",)),
    },
)
KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}


@pytest.fixture(scope="module")
def db(engine_under_test: None) -> Iterator[Database]:
    with fresh() as database:
        database.run(create(database.port, TABLE))
        yield database


free = st.recursive(
    st.one_of(
        st.text(max_size=30),
        st.booleans(),
        st.none(),
        st.integers(-(10**37), 10**37),
        st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=7),
        st.binary(max_size=40),
        st.sets(st.text(min_size=1, max_size=9), min_size=1, max_size=4),
        st.sets(st.integers(-1000, 1000), min_size=1, max_size=4),
        st.sets(st.binary(min_size=1, max_size=5), min_size=1, max_size=3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
padding = st.sampled_from([0, 0, 900, 1000, 1015, 1024, 2500, 4090, 5000])


@st.composite
def items(draw: st.DrawFn) -> dict[str, Any]:
    """An item with free content, in any of the indexes, near the sizes where a unit more is due."""
    item: dict[str, Any] = {**KEY, "_type": {"S": "t"}, "_v": {"N": "1"}}
    for partition, sort in (("ap", "as"), ("kp", "ks"), ("sp", "ss")):
        if draw(st.booleans()):
            item[partition] = {"S": draw(st.sampled_from("xy"))}
            item[sort] = {"S": draw(st.sampled_from("12"))}
    item["text"] = {"S": "t" * draw(padding)}
    item["free"] = to_attribute_value(draw(free))
    item["pad"] = {"S": "p" * draw(padding)}
    return item


def spent(db: Database, operation: Any) -> Cost:
    with db.meter() as meter:
        db.run(db.port.send(operation))
    return Cost(read_units=meter.read_units, table_write_units=meter.write_units)


def stored(db: Database) -> Any:
    return db.run(db.port.send(GetItem(TABLE.name, KEY, RAW, consistent=True)))


def reset(db: Database, item: dict[str, Any] | None) -> Any:
    """Bring the one item of these tests to a state; give it as the engine has it."""
    if item is None:
        db.run(db.port.send(DeleteItem(TABLE.name, KEY, RawCondition(), RAW)))
    else:
        db.run(db.port.send(PutItem(TABLE.name, item)))
    return stored(db)


several = settings(times(0.6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
maybe = st.one_of(st.none(), items())


@several
@given(before=maybe, after=items())
def test_put(db: Database, before: dict[str, Any] | None, after: dict[str, Any]) -> None:
    old = reset(db, before)
    reported = spent(db, PutItem(TABLE.name, after))
    assert reported.write_units == write_cost(TABLE, old, stored(db)).write_units


@several
@given(before=maybe)
def test_delete(db: Database, before: dict[str, Any] | None) -> None:
    old = reset(db, before)
    reported = spent(db, DeleteItem(TABLE.name, KEY, RawCondition(), RAW))
    assert reported.write_units == write_cost(TABLE, old, None).write_units


@several
@given(before=maybe, size=padding, move=st.sampled_from(["", "a", "k", "s"]))
def test_update(db: Database, before: dict[str, Any] | None, size: int, move: str) -> None:
    old = reset(db, before)
    names, values = {"#0": "pad"}, {":0": {"S": "q" * size}}
    text = "SET #0 = :0"
    if move:
        names |= {"#1": f"{move}p", "#2": f"{move}s"}
        values |= {":1": {"S": "z"}, ":2": {"S": "9"}}
        text += ", #1 = :1, #2 = :2"
    reported = spent(db, UpdateItem(TABLE.name, KEY, text, RawCondition(None, names, values), RAW))
    assert reported.write_units == write_cost(TABLE, old, stored(db)).write_units


@several
@given(item=maybe, consistent=st.booleans())
def test_get(db: Database, item: dict[str, Any] | None, consistent: bool) -> None:
    there = reset(db, item)
    reported = spent(db, GetItem(TABLE.name, KEY, RAW, consistent))
    assert reported.read_units == get_cost(there, consistent=consistent).read_units
    in_transaction = spent(db, TransactGetItems([GetItem(TABLE.name, KEY, RAW)]))
    assert in_transaction.read_units == get_cost(there, transaction=True).read_units


@several
@given(before=maybe, after=items())
def test_transaction_verbs(db: Database, before: dict[str, Any] | None, after: dict[str, Any]) -> None:
    old = reset(db, before)
    reported = spent(db, TransactWriteItems([PutItem(TABLE.name, after)], db.port.token()))
    new = stored(db)
    assert reported.write_units == write_cost(TABLE, old, new, transaction=True).write_units
    exists = RawCondition("attribute_exists(#0)", {"#0": "pk"})
    reported = spent(db, TransactWriteItems([CheckItem(TABLE.name, KEY, exists)], db.port.token()))
    assert reported.write_units == check_cost(new).write_units
    update = UpdateItem(TABLE.name, KEY, "SET #0 = :0", RawCondition(None, {"#0": "pad"}, {":0": {"S": "r"}}), RAW)
    reported = spent(db, TransactWriteItems([update], db.port.token()))
    updated = stored(db)
    assert reported.write_units == write_cost(TABLE, new, updated, transaction=True).write_units
    reported = spent(db, TransactWriteItems([DeleteItem(TABLE.name, KEY, RawCondition(), RAW)], db.port.token()))
    assert reported.write_units == write_cost(TABLE, updated, None, transaction=True).write_units


@settings(several, max_examples=times(0.2).max_examples)
@given(found=st.lists(items(), min_size=0, max_size=6), consistent=st.booleans())
def test_query_and_batch_get(db: Database, found: list[dict[str, Any]], consistent: bool) -> None:
    keys = [{"pk": {"S": "many"}, "sk": {"S": str(i)}} for i in range(7)]
    for key in keys:
        db.run(db.port.send(DeleteItem(TABLE.name, key, RawCondition(), RAW)))
    for key, item in zip(keys, found, strict=False):
        db.run(db.port.send(PutItem(TABLE.name, {**item, **key})))
    in_partition = Selection(names={"#0": "pk"}, values={":0": {"S": "many"}}, consistent=consistent)
    query = Query(TABLE.name, "#0 = :0", in_partition, RAW)
    there = db.run(db.port.send(query)).items
    assert spent(db, query).read_units == page_cost(there, consistent=consistent).read_units
    wanted: list[Any] = [next((i for i in there if i["sk"] == key["sk"]), None) for key in keys]
    batch = BatchGetItem(TABLE.name, keys, RAW, consistent)
    assert spent(db, batch).read_units == batch_get_cost(wanted, consistent=consistent).read_units
    for index, (partition, value) in {"all": ("ap", "x"), "keys": ("kp", "x"), "some": ("sp", "y")}.items():
        on_index = Selection(index, names={"#0": partition}, values={":0": {"S": value}})
        entries = db.run(db.port.send(Query(TABLE.name, "#0 = :0", on_index, RAW))).items
        assert spent(db, Query(TABLE.name, "#0 = :0", on_index, RAW)).read_units == page_cost(entries).read_units


@pytest.mark.malformed
@pytest.mark.parametrize(
    "number",
    ["0", "1", "-1", "12", "100", "1000", "100000", "0.1", "0.01", "0.001", "-0.5", "123.45", "1E+30", "1E-30",
     "99999999999999999999999999999999999999", "-1234567.000001", "10.01", "1200", "120", "0.10203"],
)  # fmt: skip
def test_a_number_has_the_size_that_the_limit_of_an_item_shows(db: Database, number: str) -> None:
    """The largest text that still fits beside a number tells the number's bytes."""
    from singletable.values import MAX_ITEM_BYTES, item_size

    item: dict[str, Any] = {**KEY, "n": to_attribute_value(Decimal(number)), "t": {"S": ""}}
    room = MAX_ITEM_BYTES - item_size(item)
    assert fits(db, {**item, "t": {"S": "x" * room}})
    assert not fits(db, {**item, "t": {"S": "x" * (room + 1)}})


def fits(db: Database, item: dict[str, Any]) -> bool:
    from singletable.operations import TableCall

    call = TableCall("PutItem", {"TableName": TABLE.name, "Item": item}, or_none="ValidationException")
    return db.run(db.port.send(call)) is not None
