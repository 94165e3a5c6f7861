"""A range asks the engine for exactly the keys it means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import assume, given, strategies as st

from singletable import (
    ANY,
    Database,
    Entity,
    InvalidRequest,
    Key,
    Table,
    after,
    at_least,
    at_most,
    before,
    between,
    starting_with,
)
from tests.property.examples import times
from tests.property.keys import PRINTABLE, VALUES, near
from tests.property.ranges import HOWS, wanted

hashes = Table("hashes")
dashes = Table("dashes", indexes=["gsi1"], separator="-")
slashes = Table("slashes", indexes=["gsi1"], separator="/")


class Named(Entity, table=hashes, type="named"):
    owner: str
    name: str
    number: int

    @hashes.key
    @staticmethod
    def of(owner: str, name: str = ANY, number: int = ANY) -> Key:
        return f"named#{owner}", f"{name}#{number}"


class Priced(Entity, table=dashes, type="priced"):
    owner: str
    price: Decimal
    at: datetime

    @dashes.key
    @staticmethod
    def of(owner: str, price: Decimal = ANY, at: datetime = ANY) -> Key:
        return f"priced-{owner}", f"{price}-{at}"


class Dashed(Entity, table=dashes, type="dashed"):
    id: int
    owner: str
    kind: str
    name: str

    @dashes.key
    @staticmethod
    def by_id(owner: str, id: int) -> Key:
        return f"dashed-{owner}", f"{id}"

    @dashes.index("gsi1")
    @staticmethod
    def of(owner: str, kind: str = ANY, name: str = ANY) -> Key:
        return f"dashed-{owner}", f"{kind}-{name}"


class Slashed(Entity, table=slashes, type="slashed"):
    id: int
    owner: str
    kind: str
    name: str

    @slashes.key
    @staticmethod
    def by_id(owner: str, id: int) -> Key:
        return f"slashed/{owner}", f"{id}"

    @slashes.index("gsi1")
    @staticmethod
    def of(owner: str, kind: str = ANY, name: str = ANY) -> Key:
        return f"slashed/{owner}", f"{kind}/{name}"


SAY: dict[str, Callable[[Any, Any], Any]] = {
    "before": lambda low, high: before(high),
    "after": lambda low, high: after(low),
    "at_least": lambda low, high: at_least(low),
    "at_most": lambda low, high: at_most(high),
    "between": between,
}
names = st.text("aAbB#$% !é-", min_size=0, max_size=3)
last_names = st.text("aA%-/+,.& #", max_size=3) | st.text([*PRINTABLE, "é", "\uffff", "😀"], max_size=3)
kinds = st.sampled_from(["", "a", "a-b", "a/b", "a+"])


@times(0.4)
@given(st.data(), st.lists(st.tuples(names, st.integers(-20, 200)), unique=True, min_size=1, max_size=12))
def test_texts_and_numbers_on_the_engine(db: Database, data: st.DataObject, pairs: list[tuple[str, int]]) -> None:
    owner = uuid4().hex
    entities = sorted(
        (Named(owner=owner, name=name, number=number) for name, number in pairs),
        key=lambda e: (e.name.encode(), e.number),
    )
    db.write_many(puts=entities)
    assert db.all(Named.of(owner)) == entities
    for how in HOWS:
        low, high = data.draw(names), data.draw(names)
        assume(how != "between" or low.encode() <= high.encode())
        found = db.all(Named.of(owner, SAY[how](low, high)))
        assert found == [e for e in entities if wanted(how, e.name, low, high)]
        one, other = data.draw(st.integers(-20, 200)), data.draw(st.integers(-20, 200))
        assume(how != "between" or one <= other)
        name = data.draw(st.sampled_from([e.name for e in entities]))
        found = db.all(Named.of(owner, name, SAY[how](one, other)))
        assert found == [e for e in entities if e.name == name and wanted(how, e.number, one, other)]
    start = data.draw(names)
    assert db.all(Named.of(owner, starting_with(start))) == [e for e in entities if e.name.startswith(start)]


@times(0.4)
@given(st.data(), st.lists(st.tuples(VALUES[Decimal], VALUES[datetime]), unique=True, min_size=1, max_size=8))
def test_decimals_and_times_on_the_engine(
    db: Database, data: st.DataObject, pairs: list[tuple[Decimal, datetime]]
) -> None:
    owner = uuid4().hex
    entities = sorted((Priced(owner=owner, price=p, at=at) for p, at in pairs), key=lambda e: (e.price, e.at))
    db.write_many(puts=entities)
    assert db.all(Priced.of(owner)) == entities
    for how in HOWS:
        low, high = sorted([data.draw(VALUES[Decimal]), data.draw(VALUES[Decimal])])
        found = db.all(Priced.of(owner, SAY[how](low, high)))
        assert found == [e for e in entities if wanted(how, e.price, low, high)]
        price = data.draw(st.sampled_from([e.price for e in entities]))
        one, other = sorted([data.draw(VALUES[datetime]), data.draw(VALUES[datetime])])
        found = db.all(Priced.of(owner, price, SAY[how](one, other)).newest_first())
        assert found == [e for e in entities if e.price == price and wanted(how, e.at, one, other)][::-1]


@pytest.mark.parametrize("made", [Dashed, Slashed])
@times(0.4)
@given(st.data(), st.lists(st.tuples(kinds, last_names), unique=True, min_size=1, max_size=12))
def test_last_texts_behind_other_separators_on_the_engine(
    db: Database, made: Any, data: st.DataObject, pairs: list[tuple[str, str]]
) -> None:
    owner = uuid4().hex
    entities = [made(id=i, owner=owner, kind=kind, name=name) for i, (kind, name) in enumerate(pairs)]
    db.write_many(puts=entities)
    for kind in sorted({kind for kind, _ in pairs}):
        own = sorted((e for e in entities if e.kind == kind), key=lambda e: e.name.encode())
        assert db.all(made.of(owner, kind)) == own
        for how in HOWS:
            close = st.sampled_from(own).flatmap(lambda e: near(e.name))
            low, high = sorted([data.draw(last_names | close), data.draw(last_names | close)], key=str.encode)
            found = db.all(made.of(owner, kind, SAY[how](low, high)))
            assert found == [e for e in own if wanted(how, e.name, low, high)]
        start = data.draw(last_names)
        assert db.all(made.of(owner, kind, starting_with(start))) == [e for e in own if e.name.startswith(start)]
        with pytest.raises(InvalidRequest, match="has no order"):
            made.of(owner, at_least(kind))


def test_the_other_case_is_another_text(db: Database) -> None:
    owner = uuid4().hex
    for name in ("order", "ORDER", "Order"):
        db.put(Named(owner=owner, name=name, number=1))
    assert [e.name for e in db.all(Named.of(owner, "ORDER"))] == ["ORDER"]
    assert [e.name for e in db.all(Named.of(owner, starting_with("ORD")))] == ["ORDER"]
