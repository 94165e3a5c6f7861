"""Indexes that hold less than their items: a query answers their keys, or reads the items by them. In both shells."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singletable import (
    ANY,
    Entity,
    Index,
    InvalidRequest,
    Key,
    KeyOf,
    Table,
    at_least,
    at_most,
    attr,
    field,
    key_of,
)
from singletable.records import flows, hydration
from singletable.records.query_request import prepare_query
from singletable.schema.catalogue import catalogue
from singletable.tables import N
from tests.support.raw import put_raw
from tests.support.shells import Shell

shop = Table(
    "keyed",
    indexes={
        "small": Index("gsi1pk", "gsi1sk", projection="keys"),
        "some": Index("gsi2pk", "gsi2sk", projection=("paid",)),
        "whole": Index("gsi3pk", "gsi3sk"),
    },
)


class Order(Entity, table=shop, type="order"):
    number: int
    state: str | None = "open"
    day: int = 0
    paid: bool = False
    text: str = "x" * 5000

    @shop.key
    @staticmethod
    def by_number(number: int) -> Key:
        return f"order#{number}", "order"

    @shop.index("small")
    @staticmethod
    def by_state(state: str, day: int = ANY) -> Key:
        return f"state#{state}", f"order#{day:03}"

    @shop.index("some")
    @staticmethod
    def by_day(day: int, number: int = ANY) -> Key:
        return f"day#{day:03}", f"{number}"

    @shop.index("whole")
    @staticmethod
    def by_paid(paid_day: int, number: int = ANY) -> Key:
        return f"paid#{paid_day:03}", f"{number}"

    paid_day: int = 0


class Claim(Entity, table=shop, type="claim"):
    id: str
    state: str = "open"

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"claim#{id}", "claim"

    @shop.index("small")
    @staticmethod
    def by_state(state: str) -> Key:
        return f"state#{state}", "claim"


devices = Table(
    "devices", key=("device", N("at")), indexes={"by_state": Index("state", N("at"), projection="keys")}, foreign=True
)


class Reading(Entity, table=devices, type="reading"):
    device: str
    at: int
    state: str = "ok"
    value: str = ""

    @devices.key
    @staticmethod
    def of(device: str, at: int = ANY) -> Key:
        return f"{device}", f"{at}"

    @devices.index("by_state")
    @staticmethod
    def by_state(state: str, at: int = ANY) -> Key:
        return f"{state}", f"{at}"


ORDERS = [Order(number=n, day=9 - n) for n in range(4)]
BY_DAY = ORDERS[::-1]


async def filled(shell: Shell) -> None:
    await shell.write_many(puts=ORDERS)


def between_reads(shell: Shell, change: Callable[[], Awaitable[object]]) -> None:
    """Another program's write after the answer of the next query, before the items are read."""
    port: Any = shell.port
    send = port.send

    async def sent(operation: Any) -> Any:
        answer = await send(operation)
        if operation.request().operation == "Query":
            port.__dict__["send"] = send
            await change()
        return answer

    port.__dict__["send"] = sent


async def test_the_keys_are_typed_and_in_the_order_of_the_index(shell: Shell) -> None:
    await filled(shell)
    with shell.meter() as meter:
        keys: list[KeyOf[Order]] = await shell.all(Order.by_state("open").keys())
    assert keys == [Order.by_number(n) for n in (3, 2, 1, 0)]
    assert meter.requests == 1
    assert await shell.get(keys[0]) == ORDERS[3]
    assert await shell.all(Order.by_state("open", at_least(8)).newest_first().keys()) == keys[:1:-1]
    assert [key async for key in shell.iter(Order.by_state("open").keys())] == keys
    await shell.write_many(deletes=keys)
    assert await shell.all(Order.by_state("open").keys()) == []


async def test_keys_of_what_holds_everything_are_no_dearer(shell: Shell) -> None:
    """Of the table, and of an index with all attributes: the same units, without the attributes."""
    await filled(shell)
    for query in (Order.by_paid(0), Order.by_day(9)):
        with shell.meter() as meter:
            await shell.all(query.only(Order.paid))
        units = meter.read_units
        with shell.meter() as meter:
            keys = await shell.all(query.keys())
        assert (meter.read_units, {type(key) for key in keys}) == (units, {KeyOf})
    readings = [Reading(device="d", at=n) for n in (2, 30, -1)]
    await shell.write_many(puts=readings)
    assert await shell.all(Reading.of("d").keys()) == [Reading.of("d", at) for at in (-1, 2, 30)]
    assert await shell.all(Reading.by_state("ok", at_least(0)).keys()) == [Reading.of("d", at) for at in (2, 30)]


async def test_hydrated_reads_the_items_in_one_more_round_trip(shell: Shell) -> None:
    await filled(shell)
    with shell.meter() as meter:
        orders: list[Order] = await shell.all(Order.by_state("open").hydrated())
    assert orders == BY_DAY
    assert (meter.requests, meter.round_trips) == (2, 2)
    with shell.meter() as meter:
        assert await shell.all(Order.by_state("none").hydrated()) == []
    assert meter.requests == 1
    assert await shell.all(Order.by_day(9).where(attr(Order.paid) == False).hydrated()) == ORDERS[:1]  # noqa: E712
    assert await shell.all(Order.by_paid(0).hydrated()) == ORDERS
    await shell.write_many(puts=[Reading(device="d", at=n, value="v") for n in (2, -1)])
    hydrated = Reading.by_state("ok").newest_first().hydrated()
    assert [reading.value async for reading in shell.iter(hydrated)] == ["v", "v"]


async def test_what_was_read_may_be_put_back(shell: Shell) -> None:
    """It is whole, unlike what an index holds a part of."""
    await filled(shell)
    (order,) = await shell.all(Order.by_day(9).hydrated())
    await shell.put(order)
    assert await shell.get(Order.by_number(0)) == ORDERS[0]


@pytest.mark.parametrize("what", ["deleted", "left", "moved on", "changed"])
async def test_what_changed_between_the_two_reads(shell: Shell, what: str) -> None:
    """An item that is gone, or belongs no more, is left out. One that belongs is given as it is, at its place."""
    await filled(shell)
    first = Order.by_number(3)
    changes: dict[str, Callable[[], Awaitable[object]]] = {
        "deleted": lambda: shell.delete(first),
        "left": lambda: shell.update(first, attr(Order.state).remove()),
        "moved on": lambda: shell.update(first, attr(Order.day).set(100)),
        "changed": lambda: shell.update(first, attr(Order.text).set("new")),
    }
    between_reads(shell, changes[what])
    orders = await shell.all(Order.by_state("open", at_least(0)).hydrated())
    rest = BY_DAY[1:]
    if what in ("deleted", "left"):
        assert orders == rest
    else:
        assert (orders[1:], orders[0].number) == (rest, 3)
        assert (orders[0].day, orders[0].text) == ((100, BY_DAY[0].text) if what == "moved on" else (6, "new"))
    await shell.update(Order.by_number(2), attr(Order.day).set(1))
    between_reads(shell, lambda: shell.update(Order.by_number(2), attr(Order.day).set(50)))
    assert 2 not in [order.number for order in await shell.all(Order.by_state("open", at_most(40)).hydrated())]


async def test_pages_are_full_and_their_cursors_go_on(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(shell)
    query = Order.by_state("open").hydrated()
    between_reads(shell, lambda: shell.delete(Order.by_number(2)))
    with shell.meter() as meter:
        page = await shell.page(query, limit=2)
    assert ([order.number for order in page], meter.requests) == ([3, 1], 1 + 4), "the delete, and two rounds of two"
    rest = await shell.page(query, limit=2, after=page.cursor)
    assert [order.number for order in rest] == [0]
    keys = await shell.page(Order.by_state("open").keys(), limit=1, after=page.cursor)
    assert list(keys) == [Order.by_number(0)], "a cursor is of the query, whatever it answers"
    monkeypatch.setattr(hydration, "MOST_HYDRATED", 2)
    with shell.meter() as meter:
        assert [order.number for order in await shell.all(query)] == [3, 1, 0]
    assert meter.requests == 4, "two items a round, as 1,600 are"


async def test_both_reads_cost_what_is_said(shell: Shell) -> None:
    """Half a unit for 4 KB of entries, and of each item, which has 5 KB here; a page reads no item that it cuts off."""
    await filled(shell)
    spent: list[float] = []
    for query in (Order.by_state("open").keys(), Order.by_state("open").hydrated()):
        with shell.meter() as meter:
            await shell.all(query)
        spent.append(meter.read_units)
    await shell.write_many(puts=[Order(number=n, day=1) for n in range(20, 24)])
    with shell.meter() as meter:
        await shell.page(Order.by_day(1).where(attr(Order.paid) == False).hydrated(), limit=1)  # noqa: E712
    assert [*spent, meter.read_units] == [0.5, 0.5 + 4 * 1.0, 0.5 + 1.0]


async def test_a_filtered_page_goes_on_after_its_last_item(shell: Shell) -> None:
    await shell.write_many(puts=[Order(number=n, day=1, paid=n % 2 == 0) for n in range(8)])
    query = Order.by_day(1).where(attr(Order.paid) == True).hydrated()  # noqa: E712
    page = await shell.page(query, limit=2)
    assert [order.number for order in page] == [0, 2]
    assert [order.number for order in await shell.page(query, limit=2, after=page.cursor)] == [4, 6]


async def test_together(shell: Shell) -> None:
    await filled(shell)
    open_ = Order.by_state("open")
    with shell.meter() as meter:
        keys, orders, one = await shell.together(open_.keys(), open_.hydrated(), Order.by_number(1))
    assert (keys, orders, one) == ([key_of(order) for order in BY_DAY], BY_DAY, ORDERS[1])
    assert (meter.requests, meter.round_trips) == (4, 2)


async def test_classes_that_share_a_partition(shell: Shell) -> None:
    await filled(shell)
    await shell.create(Claim(id="c"))
    both = Claim.by_state("open").also(Order)
    assert await shell.all(both.keys()) == [Claim.by_id("c"), *map(key_of, BY_DAY)]
    assert await shell.all(both.hydrated()) == [Claim(id="c"), *BY_DAY]
    assert await shell.all(Claim.by_state("open").keys()) == [Claim.by_id("c")]


async def test_an_item_that_can_not_be_read_is_told(shell: Shell) -> None:
    await filled(shell)
    item = {"pk": {"S": "order#b13"}, "sk": {"S": "order"}, "_type": {"S": "order"}, "day": {"S": "x"}}
    await put_raw(shell.port, Order, {**item, "gsi1pk": {"S": "state#open"}, "gsi1sk": {"S": "order#000"}})
    told: list[Any] = []
    assert await shell.all(Order.by_state("open").hydrated(), unreadable=told.append) == BY_DAY
    assert [each.item["pk"] for each in told] == ["order#b13"]


holders = Table("holders", indexes={"small": Index("gsi1pk", "gsi1sk", projection="keys")}, ttl_attribute="ends")


class Session(Entity, table=holders, type="session"):
    id: str
    user: str
    ends: datetime | None = field(expires=True, default=None)

    @holders.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"session#{id}", "session"

    @holders.index("small")
    @staticmethod
    def of_user(user: str, id: str = ANY) -> Key:
        return f"user#{user}", f"{id}"


async def test_an_index_without_the_time_of_expiry(shell: Shell) -> None:
    """It can't tell what has expired: the table can. No filter names what is not in it."""
    assert prepare_query(Session.of_user("u").keys(), 0.0).filter is None
    past = datetime.now(timezone.utc) - timedelta(hours=1)
    await shell.write_many(puts=[Session(id="a", user="u"), Session(id="b", user="u", ends=past)])
    assert await shell.all(Session.of_user("u").keys()) == [Session.by_id("a"), Session.by_id("b")]
    assert await shell.all(Session.of_user("u").hydrated()) == [Session(id="a", user="u")]


async def test_an_attribute_of_another_index_is_not_in_this_one(shell: Shell) -> None:
    """A key attribute of one index is held by that one alone; one that is in the table's key, by each."""
    wide = Table(
        "wide",
        key=("PK", "SK"),
        indexes={"by_town": Index("town", "SK"), "small": Index("mail", projection="keys")},
        foreign=True,
    )

    class Person(Entity, table=wide, type="person"):
        user: str = field(in_key=True)
        town: str = "Bern"
        mail: str = ""

        @wide.key
        @staticmethod
        def of(user: str) -> Key:
            return f"USER#{user}", "PERSON"

        @wide.index("small")
        @staticmethod
        def by_mail(mail: str) -> str:
            return f"{mail}"

    await shell.create(Person(user="u", mail="m"))
    with pytest.raises(InvalidRequest, match=r"without Person\.town.*hydrated\(\)"):
        await shell.all(Person.by_mail("m"))
    (part,) = await shell.all(Person.by_mail("m").only(Person.user, Person.mail))
    assert (part.user, part.mail) == ("u", "m")
    assert await shell.all(Person.by_mail("m").hydrated()) == [Person(user="u", mail="m")]


async def test_what_is_refused_is_sent_nowhere(shell: Shell) -> None:
    open_ = Order.by_state("open")
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: open_.keys().only(Order.paid), r"only\(\.\.\.\) loads some attributes"),
        (lambda: open_.hydrated().only(Order.paid), r"only\(\.\.\.\) loads some attributes"),
        (lambda: open_.only(Order.paid).keys(), r"only\(\.\.\.\) loads some attributes"),
        (lambda: open_.keys().also(Claim), r"Put also\(\.\.\.\) before keys\(\)"),
        (lambda: open_.hydrated().consistent(), "never consistent"),
    ]
    for call, what in refused:
        with pytest.raises(InvalidRequest, match=what):
            call()
    with shell.meter() as meter:
        key: Any = Order.by_number(1).keys()
        for verb in (shell.get, shell.delete):
            with pytest.raises(InvalidRequest, match=r"does not name one item|expected"):
                await verb(key)
        with pytest.raises(InvalidRequest, match=r"without Order\.text"):
            await shell.all(open_.where(attr(Order.text) == "").keys())
        for query in (open_, Order.by_day(1)):
            with pytest.raises(InvalidRequest, match=r"keys\(\); or the items, by hydrated\(\)"):
                await shell.all(query)
    assert meter.requests == 0


def test_keys_that_would_not_tell_their_item_are_refused() -> None:
    """The key of a class whose values may share it, of one that moves, and of classes that only a type tells apart."""
    table = Table("loose", key=("PK", "SK"), indexes={"small": Index("town", projection="keys")}, foreign=True)

    class Guest(Entity, table=table, type="guest", ambiguous=True):
        mail: str
        town: str = ""

        @table.key
        @staticmethod
        def of(mail: str) -> Key:
            return f"{mail:lower}", "GUEST"

        @table.index("small")
        @staticmethod
        def by_town(town: str) -> str:
            return f"{town}"

    def under_parcel(id: str) -> Key:
        return f"parcel#{id}", "parcel"

    moving = Table("moving", indexes={"small": Index("gsi1pk", "gsi1sk", projection="keys")})

    class Parcel(Entity, table=moving, type="parcel"):
        id: str
        town: str = ""

        @moving.key(was=under_parcel)
        @staticmethod
        def of(id: str) -> Key:
            return f"box#{id}", "box"

        @moving.index("small")
        @staticmethod
        def by_town(town: str) -> Key:
            return f"town#{town}", "parcel"

    guarded = Table(
        "guarded",
        key=("PK", "SK"),
        type_attribute="kind",
        overlap="guard",
        indexes={"small": Index("town", projection="keys")},
        foreign=True,
    )

    class Thing(Entity, table=guarded, type="thing"):
        id: str
        town: str = ""

        @guarded.key
        @staticmethod
        def of(id: str) -> Key:
            return f"{id}", "THING"

        @guarded.index("small")
        @staticmethod
        def by_town(town: str) -> str:
            return f"{town}"

    for query, what in (
        (Guest.by_town("t").keys(), "Guest has ambiguous=True"),
        (Parcel.by_town("t").keys(), "while items lie elsewhere: was="),
        (Parcel.by_town("t").hydrated(), "while items lie elsewhere: was="),
        (Thing.by_town("t").keys(), "does not hold kind"),
    ):
        with pytest.raises(InvalidRequest, match=what):
            prepare_query(query, 0.0)
    assert prepare_query(Guest.by_town("t").hydrated(), 0.0).reader is not None


def test_they_are_explained_with_the_units_of_both() -> None:
    keys, items = flows.explain(Order.by_state("open").newest_first().hydrated(), now=0.0)
    assert str(keys) == ("Query keyed/small: 0.5 read unit for each 4 KB of the entries of each page of 1 MB, together")
    assert keys.body["ScanIndexForward"] is False
    assert str(items) == (
        "BatchGetItem keyed: 0.5 read unit for each 4 KB of each item; 100 items a request, and 1,600 a page and a "
        "round trip"
    )
    keys_alone = Order.by_state("open").keys()
    assert list(flows.explain(keys_alone, now=0.0)) == list(flows.explain(keys_alone, now=0.0))[:1]
    assert "keys alone" in repr(Order.by_state("open").keys())
    assert "hydrated" in repr(Order.by_state("open").hydrated())
    told = {pattern.name: pattern for pattern in catalogue(shop) if pattern.entity == "Order"}
    assert (told["by_state"].requests, told["by_paid"].requests) == (
        "1 request a page; hydrated, 2",
        "1 request a page",
    )
