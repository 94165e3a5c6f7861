"""The law of foreign tables: what is read and put is stored as it was, whatever form another program gave it."""

from __future__ import annotations

import types
from copy import copy
from dataclasses import dataclass, field as made
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from random import Random
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from singletable import Entity, Key, Table
from singletable.operations.answers import read_one
from singletable.schema import model_of
from singletable.values import (
    EpochMilliseconds,
    EpochSeconds,
    IsoMilliseconds,
    PynamoIso,
    PythonIso,
    ReadsAlso,
    Tagged,
    TrueText,
    ZeroOne,
    as_read_of,
    json_text,
    plan_for,
)

Item = dict[str, Any]


class Colour(Enum):
    RED = "red"


@dataclass
class Part:
    sku: str
    note: str | None = None
    count: int = 1
    at: datetime | None = None


@dataclass
class Size:
    width: int = 1


@dataclass
class Card:
    number: str


@dataclass
class Bill:
    address: str


def texts(*values: str) -> list[Item]:
    return [{"S": value} for value in values]


def numbers(*values: str) -> list[Item]:
    return [{"N": value} for value in values]


UUIDS = texts(
    "123e4567-e89b-12d3-a456-42661417400a", "123E4567-E89B-12D3-A456-42661417400A", "123e4567e89b12d3a45642661417400a"
)
TIMES = texts(
    "2026-01-31T09:30:00.000000Z",
    "2026-01-31T09:30:00Z",
    "2026-01-31T09:30:00+00:00",
    "2026-01-31 09:30:00.000000Z",
    "2026-01-31T11:30:00.5+02:00",
    "2026-W05-6T09:30:00.000000Z",
    "2026-01-31T09:30:00,000000Z",
)
PAYMENT = Annotated[Card | Bill, Tagged("kind", card=Card, bill=Bill, untagged=Card)]
STORED: dict[Any, list[Item]] = {
    str: texts("", "a b"),
    int: numbers("5", "-12345678901234567890"),
    Decimal: numbers("1.10", "1E+3", "0.00001"),
    float: numbers("0.5", "0.12345678901234567890123", "100"),
    bool: [{"BOOL": True}, {"BOOL": False}],
    bytes: [{"B": "YWI="}],
    datetime: TIMES,
    date: texts("2026-01-31", "20260131", "2026-W05-6"),
    time: texts("09:30:00.000000", "09:30"),
    UUID: UUIDS,
    timedelta: numbers("1.5", "90"),
    Colour: texts("red"),
    Literal["a", "b"]: texts("b"),
    EpochSeconds: numbers("1700000000"),
    EpochMilliseconds: numbers("1700000000123"),
    IsoMilliseconds: texts("2026-01-31T09:30:00.123Z"),
    PythonIso: texts("2026-01-31T09:30:00+00:00", "2026-01-31T09:30:00.100000+00:00"),
    PynamoIso: texts("2026-01-31T09:30:00.000000+0000"),
    ZeroOne: numbers("0", "1"),
    TrueText: texts("true"),
    Annotated[dict[str, Any], json_text]: texts('{"a":1}', '{ "a": 1.50, "b": "\\u00e9" }', '{"b":1e2,"a":[ ]}'),
    Annotated[list[int], json_text]: texts("[1,2]", "[1, 2]"),
    Annotated[IsoMilliseconds, ReadsAlso(EpochSeconds)]: [*texts("2026-01-31T09:30:00.000Z"), *numbers("1700000000")],
    set[str]: [{"SS": ["b", "a"]}],
    set[Decimal]: [{"NS": ["2", "1.50"]}],
    set[float]: [{"NS": ["0.5", "0.12345678901234567890123"]}],
    set[datetime]: [{"SS": [TIMES[1]["S"]]}],
    frozenset[bytes]: [{"BS": ["YWI="]}],
    list[datetime]: [{"L": TIMES[:3]}],
    list[date | None]: [{"L": [{"NULL": True}, {"S": "20260131"}]}],
    tuple[UUID, ...]: [{"L": UUIDS}],
    dict[str, float]: [{"M": {"a": {"N": "0.12345678901234567890123"}}}],
    Part: [
        {"M": {"sku": {"S": "a"}, "count": {"N": "2"}}},
        {"M": {"sku": {"S": "a"}}},
        {"M": {"sku": {"S": "a"}, "count": {"N": "2"}, "note": {"NULL": True}, "more": {"S": "x"}}},
        {"M": {"sku": {"S": "a"}, "count": {"N": "2"}, "at": TIMES[2]}},
    ],
    Size: [{"M": {}}, {"M": {"width": {"N": "1"}}}],
    list[Part]: [{"L": [{"M": {"sku": {"S": "a"}}}]}],
    PAYMENT: [{"M": {"number": {"S": "1"}}}, {"M": {"address": {"S": "Bern"}, "kind": {"S": "bill"}}}],
    Any: [{"NULL": True}, {"L": [{"N": "1.50"}]}, {"M": {"a": {"SS": ["b", "a"]}}}],
}


def declared(random: Random) -> tuple[Any, dict[str, Any]]:
    """A class with a few attributes: required, optional or with a default."""
    kinds = {f"a{number}": random.choice([*STORED]) for number in range(random.randint(1, 4))}
    hints, defaults = dict[str, Any](), dict[str, Any]()
    for name, kind in kinds.items():
        how = random.choice(("required", "optional", "default"))
        hints[name] = kind | None if how == "optional" and not is_set(kind) and kind is not Any else kind
        if how == "default" and not is_set(kind):
            defaults[name] = plan_for(kind).load(random.choice(STORED[kind]))
    return class_of(hints, defaults), kinds


def is_set(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) in (set, frozenset)


def class_of(hints: dict[str, Any], defaults: dict[str, Any]) -> Any:
    """A class of a foreign table."""
    table = Table("foreign", foreign=True)

    def of(id: str) -> Key:
        return f"held#{id:raw}", "held"

    body: dict[str, Any] = {"__module__": __name__, "__annotations__": {"id": str, **hints}}
    body |= {name: made(default_factory=partial(copy, value)) for name, value in defaults.items()}
    body["of"] = table.key(staticmethod(of))
    return types.new_class("Held", (Entity,), {"table": table, "type": "held"}, lambda space: space.update(body))


KEYS = {"pk": {"S": "held#i"}, "sk": {"S": "held"}}


def stored_item(random: Random, held: Any, kinds: dict[str, Any]) -> Item:
    """An item as another program may have it: any form, and what may lack is left out or a NULL."""
    item: Item = {**KEYS, "id": {"S": "i"}}
    if random.random() < 0.3:
        item["undeclared"] = {"S": "x"}
    for name, kind in kinds.items():
        may_lack = model_of(held).by_name[name].may_be_absent
        what = random.choice(("stored", "stored", "null", "absent")) if may_lack else "stored"
        if what != "absent":
            item[name] = {"NULL": True} if what == "null" else random.choice(STORED[kind])
    return item


def in_order(value: Any) -> Any:
    """A stored value; numbers by what they are, sets without an order."""
    ((tag, inner),) = value.items()
    if tag in ("L", "M"):
        return tag, [*map(in_order, inner)] if tag == "L" else {name: in_order(each) for name, each in inner.items()}
    if tag in ("N", "NS"):
        return tag, Decimal(inner) if tag == "N" else {Decimal(each) for each in inner}
    return tag, {*inner} if tag in ("SS", "BS") else inner


def same(one: Item, other: Item) -> bool:
    return [{name: in_order(value) for name, value in item.items()} for item in (one,)] == [
        {name: in_order(value) for name, value in other.items()}
    ]


def written(model: Any, entity: Any) -> Item:
    """What a put writes."""
    return dict(msgspec.json.decode(msgspec.json.encode(model.item(entity))))


def tried(random: Random, held: Any, kinds: dict[str, Any]) -> bool:
    """One item, read both ways; put as it is, and with one attribute changed. Returns whether it was carried."""
    model, item = model_of(held), stored_item(random, held, kinds)
    for entity in (read_one(msgspec.json.encode(item), model), model.codec.load(item)):
        assert same(written(model, entity), item), (held.__annotations__, item, written(model, entity))
        name, others = random.choice([*kinds]), read_one(msgspec.json.encode(stored_item(random, held, kinds)), model)
        setattr(entity, name, getattr(others, name))
        changed = written(model, entity)
        assert same({**changed, name: {"S": ""}}, {**item, name: {"S": ""}})
        assert same(written(model, read_one(msgspec.json.encode(changed), model)), changed)
        assert getattr(read_one(msgspec.json.encode(changed), model), name) == getattr(others, name)
    return bool(as_read_of(entity))


@pytest.mark.parametrize("draws", [60, pytest.param(1_000, marks=pytest.mark.soak)])
def test_what_is_read_and_put_is_stored_as_it_was(draws: int) -> None:
    carried = 0
    for seed in range(draws):
        random = Random(seed)
        held, kinds = declared(random)
        carried += sum(tried(random, held, kinds) for _ in range(10))
    assert draws < carried < 9 * draws


def test_what_lacks_or_is_a_null_stays_so_whatever_its_default() -> None:
    pairs = [(kind, stored) for kind, forms in STORED.items() if not is_set(kind) for stored in forms]
    for kind, stored in pairs:
        model = model_of(class_of({"value": kind}, {"value": plan_for(kind).load(stored)}))
        for item in ({**KEYS, "id": {"S": "i"}}, {**KEYS, "id": {"S": "i"}, "value": {"NULL": True}}):
            assert written(model, read_one(msgspec.json.encode(item), model)) == item
