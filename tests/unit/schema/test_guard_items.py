"""The guards of unique values: their stored keys, which data of older programs holds, and how they are listed."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from singletable import Entity, Key, Table, field, key_of
from singletable.errors import DeclarationError, InvalidValue
from singletable.records.unique_guards import GuardChange, guard_actions
from singletable.schema import model_of
from singletable.schema.catalogue import catalogue
from singletable.schema.guard_items import guard_key, guards_of


class Colour(Enum):
    RED = "red"


VALUES: dict[str, Any] = {
    "text": "a#b/c-d%e ü",
    "number": -42,
    "price": Decimal("12.50"),
    "at": datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc),
    "day": date(2026, 3, 1),
    "uid": UUID(int=5),
    "colour": Colour.RED,
}
STORED = {
    "#": {
        "text": "_unique#a%23/-%25b#text#a%23b/c-d%25e ü",
        "number": "_unique#a%23/-%25b#number#-y57",
        "price": "_unique#a%23/-%25b#price#b12.5",
        "at": "_unique#a%23/-%25b#at#2026-03-01T09:30:00.000000Z",
        "day": "_unique#a%23/-%25b#day#2026-03-01",
        "uid": "_unique#a%23/-%25b#uid#00000000-0000-0000-0000-000000000005",
        "colour": "_unique#a%23/-%25b#colour#red",
    },
    "/": {
        "text": "_unique/a#%2F-%25b/text/a#b/c-d%25e ü",
        "number": "_unique/a#%2F-%25b/number/-y57",
        "price": "_unique/a#%2F-%25b/price/b12.5",
        "at": "_unique/a#%2F-%25b/at/2026-03-01T09:30:00.000000Z",
        "day": "_unique/a#%2F-%25b/day/2026-03-01",
        "uid": "_unique/a#%2F-%25b/uid/00000000-0000-0000-0000-000000000005",
        "colour": "_unique/a#%2F-%25b/colour/red",
    },
    "-": {
        "text": "_unique-a#/%2D%25b-text-a#b/c-d%25e ü",
        "number": "_unique-a#/%2D%25b-number--y57",
        "price": "_unique-a#/%2D%25b-price-b12.5",
        "at": "_unique-a#/%2D%25b-at-2026-03-01T09:30:00.000000Z",
        "day": "_unique-a#/%2D%25b-day-2026-03-01",
        "uid": "_unique-a#/%2D%25b-uid-00000000-0000-0000-0000-000000000005",
        "colour": "_unique-a#/%2D%25b-colour-red",
    },
}


def declared(separator: str) -> type[Any]:
    table = Table("things", separator=separator)

    class Thing(Entity, table=table, type="a#/-%b"):
        id: str
        text: str = field(unique=True)
        number: int = field(unique=True)
        price: Decimal = field(unique=True)
        at: datetime = field(unique=True)
        day: date = field(unique=True)
        uid: UUID = field(unique=True)
        colour: Colour = field(unique=True)

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"{id}", "thing"

    return Thing


@pytest.mark.parametrize("separator", STORED)
def test_a_guard_is_stored_as_it_always_was(separator: str) -> None:
    thing = declared(separator)
    model = model_of(thing)
    owner = key_of(thing(id="1", **VALUES))
    claims = [GuardChange(model, unique, owner, None, VALUES[unique.name]) for unique in model.uniques]
    actions = guard_actions(claims, 0.0)
    puts: dict[str, Any] = {claim.field.name: action for claim, action, _ in actions if isinstance(claim, GuardChange)}
    assert {name: put.item for name, put in puts.items()} == {
        name: {
            "pk": {"S": text},
            "sk": {"S": "_unique"},
            "_type": {"S": "_unique"},
            "_v": {"N": "1"},
            "owner": {"S": owner.partition},
            "owner_sort": {"S": "thing"},
        }
        for name, text in STORED[separator].items()
    }


@pytest.mark.parametrize("separator", STORED)
def test_a_guard_is_read_back(separator: str) -> None:
    thing = declared(separator)
    guards = model_of(guards_of(model_of(thing).table))
    for name, text in STORED[separator].items():
        made = guards.kind(type="a#/-%b", attribute=name, value=text.rpartition(name)[2][1:], owner="o", owner_sort="s")
        assert guards.load(guards.item(made)) == made
        assert guards.place_of(made) == (text, "_unique")


def test_they_are_listed_with_the_library_s_own_only_where_there_are_any() -> None:
    table = model_of(declared("#")).table
    assert [pattern.entity for pattern in catalogue(table)] == ["Thing"]
    own = catalogue(table, system=True)[-1]
    assert own.shown == "UniqueGuard.by_value(type: str, attribute: str, value: ValueText)"
    assert (own.partition, own.sort) == ("_unique#{type}#{attribute}#{value}", "_unique")
    plain = Table("plain")
    assert catalogue(plain, system=True) == ()


def test_a_table_whose_own_names_a_guard_stores_is_refused() -> None:
    table = Table("owned", key=("owner", "sk"))
    with pytest.raises(DeclarationError, match="'owner'"):

        class Thing(Entity, table=table, type="thing"):
            id: str
            name: str = field(unique=True)

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"{id}", "thing"


def test_a_key_of_a_guard_has_a_length() -> None:
    with pytest.raises(InvalidValue, match="2048"):
        guard_key(model_of(declared("#")), "text", "x" * 2048)
