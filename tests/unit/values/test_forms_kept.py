"""What an object of a foreign class carries, where its class, another thread or an older version has a hand in it."""

from __future__ import annotations

import itertools
from copy import copy, deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import pytest

from singletable import Entity, Key, Table, field
from singletable.exchange.masked_items import ItemMask
from singletable.exchange.masks import Mask
from singletable.operations.answers import read_one
from singletable.schema import model_of
from singletable.values import UNDECLARED, undeclared_in

KEYS: dict[str, Any] = {"pk": {"S": "held#i"}, "sk": {"S": "held"}, "id": {"S": "i"}}
UNUSUAL = {"at": {"S": "2026-01-31T09:30:00+00:00"}}
"""An attribute in a form that takes the slow path."""
shop = Table("held", foreign=True, version_attribute="v")


class Held(Entity, table=shop, type="held"):
    id: str
    at: datetime | None = None
    name: str = "Ada"

    def __post_init__(self) -> None:
        self.name = self.name.lower()

    @shop.key
    @staticmethod
    def of(id: str) -> Key:
        return f"held#{id:raw}", "held"


def read(kind: Any, item: dict[str, Any]) -> Any:
    return read_one(msgspec.json.encode(item), model_of(kind))


def written(entity: Any) -> dict[str, Any]:
    return dict(msgspec.json.decode(msgspec.json.encode(model_of(type(entity)).item(entity))))


@pytest.mark.parametrize("more", [{}, UNUSUAL, {"undeclared": {"S": "x"}}])
@pytest.mark.parametrize("name", [{}, {"name": {"S": "ADA"}}])
def test_what_the_class_changes_is_written_on_either_path(more: Any, name: Any) -> None:
    assert written(read(Held, KEYS | more | name)) == KEYS | more | {"name": {"S": "ada"}} | {"v": {"N": "1"}}


@dataclass(slots=True)
class Slotted:
    at: datetime
    note: str | None = None


@pytest.mark.parametrize("copied", [lambda entity: entity, copy, deepcopy])
def test_an_object_with_slots_keeps_the_form_of_what_it_declares_beside_what_it_does_not(copied: Any) -> None:
    table = Table("held", foreign=True)

    class Parts(Entity, table=table, type="parts"):
        id: str
        parts: list[Slotted]

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            return f"held#{id:raw}", "held"

    part = {"M": UNUSUAL | {"note": {"NULL": True}, "undeclared": {"S": "x"}}}
    item = KEYS | {"parts": {"L": [part, {"M": UNUSUAL}]}}
    entity = copied(read(Parts, item))
    assert written(entity) == item
    entity.parts[0].note = "new"
    first, second = written(entity)["parts"]["L"]
    assert (first["M"]["note"], first["M"]["undeclared"]) == ({"S": "new"}, {"S": "x"})
    assert second["M"] == {"at": {"S": "2026-01-31T09:30:00.000000Z"}}


def test_an_attribute_that_is_taken_away_does_not_come_back() -> None:
    """It can be read, and not written: as a moment its value lies before the first year of UTC."""
    entity = read(Held, KEYS | {"at": {"S": "0001-01-01T00:00:00+02:00"}})
    assert entity.at is not None
    entity.at = None
    assert "at" not in written(entity)


def test_a_class_that_takes_no_other_attribute_carries_what_was_learned() -> None:
    table = Table("held", foreign=True)

    class Strict(Entity, table=table, type="strict"):
        id: str

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "id":
                super().__setattr__(name, value)

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            return f"held#{id:raw}", "held"

    for _ in range(2):
        entity = read(Strict, KEYS | {"undeclared": {"S": "x"}})
        assert undeclared_in(entity) == {"undeclared": {"S": "x"}}


@pytest.mark.parametrize("more", [{}, {"undeclared": {"S": "x"}}])
def test_an_item_without_a_version_is_upcast_from_the_first(more: Any) -> None:
    table = Table("held", foreign=True, version_attribute="v")

    class Second(Entity, table=table, type="second", version=2):
        id: str
        name: str

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            return f"held#{id:raw}", "held"

    @Second.upcast(1)
    def named(item: dict[str, Any]) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        return item | {"name": f"{item['name']} of the first"}

    assert read(Second, KEYS | more | {"name": {"S": "ada"}}).name == "ada of the first"
    assert read(Second, KEYS | more | {"name": {"S": "ada"}, "v": {"N": "2"}}).name == "ada"


def test_a_reader_that_learns_while_an_item_is_read_loses_nothing() -> None:
    """As where another thread learns a name between the two looks at a reader."""
    model, item = model_of(Held), KEYS | {"learned": {"S": "x"}}
    before = model.wire, model.build
    model.load(item)
    assert model.wire is not before[0]
    after = model.wire, model.build

    class Learning:
        """The reader before, for the first look at it; the one after from then on."""

        pairs = [before, after, after]

        @property
        def wire(self) -> Any:
            return self.pairs.pop(0)[0]

        @property
        def build(self) -> Any:
            return self.pairs.pop(0)[1]

        def load(self, item: Any) -> Any:
            return model.load(item)

    for given in (item, KEYS):
        Learning.pairs = [before, after, after]
        assert undeclared_in(read_one(msgspec.json.encode(given), Learning())) == undeclared_in(model.load(given))


def test_a_masked_item_has_what_is_not_personal_as_it_is_stored() -> None:
    table = Table("held", foreign=True)

    class Person(Entity, table=table, type="person"):
        id: str
        mail: str = field(personal=True)
        at: datetime
        seen: datetime | None = None
        count: int = 0

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            return f"held#{id:raw}", "held"

    item = KEYS | UNUSUAL | {"seen": {"NULL": True}, "mail": {"S": "ada@example.com"}}
    masked = ItemMask(table, Mask(b"a key of 16 bytes")).item(item)
    assert masked is not None
    assert masked["mail"] != item["mail"]
    assert {**masked, "mail": item["mail"]} == item


def test_objects_share_what_their_items_lack_unless_a_function_makes_it() -> None:
    table, numbers = Table("held", foreign=True), itertools.count()

    class Numbered(Entity, table=table, type="numbered"):
        id: str
        name: str = "Ada"
        place: str = "Bern"
        number: int = field(default_factory=lambda: next(numbers))

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            return f"held#{id:raw}", "held"

    number = {"number": {"N": "7"}}
    for stored in (KEYS, KEYS | number, KEYS | number | {"place": {"S": "Rom"}}, KEYS | {"name": {"S": "Eva"}}):
        one, other = read(Numbered, stored), read(Numbered, stored)
        assert [written(one), written(other)] == [stored, stored]
        assert (vars(one)[UNDECLARED] is vars(other)[UNDECLARED]) == ("number" in stored)
        other.name, one.number = "Ida", 99
        assert written(other) == stored | {"name": {"S": "Ida"}}
        assert written(one) == stored | {"number": {"N": "99"}}


@pytest.mark.parametrize("more", [{}, {"undeclared": {"S": "x"}}, UNUSUAL])
def test_an_item_without_a_type_is_of_no_class_where_keys_may_be_shared(more: Any) -> None:
    table = Table("held", foreign=True, type_attribute="kind", overlap="guard")

    class One(Entity, table=table, type="one"):
        id: str
        at: datetime | None = None

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            return f"held#{id:raw}", "held"

    class Other(One, type="other"):
        """The same key and attributes."""

    assert [read(kind, KEYS | more) for kind in (One, Other)] == [None, None]
    assert [read(kind, KEYS | more | {"kind": {"S": "one"}}) is None for kind in (One, Other)] == [False, True]
