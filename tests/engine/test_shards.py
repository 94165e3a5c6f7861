"""Keys with shards, `{id:shard(8)}`: a query over all of them is one round trip, merged, with one cursor."""

from __future__ import annotations

import types
from random import Random
from typing import Any

import pytest

from singletable import (
    ANY,
    Collection,
    Entity,
    Index,
    InvalidCursor,
    InvalidRequest,
    Key,
    Query,
    Table,
    at_least,
    attr,
    before,
    between,
    collect,
    key_of,
)
from singletable.errors import Corrupt
from singletable.tables import N
from tests.support.raw import all_items, put_raw
from tests.support.shells import Shell

app = Table("shards", indexes={"gsi1": Index("gsi1pk", "gsi1sk"), "gsi2": Index("gsi2pk", N("number"))})


class Order(Entity, table=app, type="order"):
    id: str
    state: str
    day: int
    number: int = 0
    text: str = ""

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"order#{id}", "order"

    @app.index("gsi1")
    @staticmethod
    def by_state(state: str, day: int = ANY, id: str = ANY) -> Key:
        """The orders of a state by day."""
        return f"state#{state}#{id:shard(8)}", f"{day:04}"

    @app.index("gsi2")
    @staticmethod
    def by_number(number: int = ANY, id: str = ANY) -> Key:
        """All orders by number."""
        return f"orders#{id:shard(3)}", f"{number}"


class Line(Entity, table=app, type="line"):
    at: int
    id: str
    text: str = ""

    @app.key
    @staticmethod
    def of(at: int = ANY, id: str = ANY) -> Key:
        """The log by time."""
        return f"log#{id:shard(8)}", f"{at:06}#{id}"


class Holding(Entity, table=app, type="holding"):
    id: str
    owner: str | None = None

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"holding#{id}", "holding"

    @app.index("gsi1")
    @staticmethod
    def by_owner(owner: str = ANY) -> Key:
        return f"holdings#{owner:shard(4)}", f"{owner}"


class Log(Collection):
    lines: list[Line]

    whole = collect(Line.of)


LINES = [Line(at=number, id=f"l{number}") for number in range(200)]
ORDERS = [Order(id=f"o{number}", state="open", day=number // 7, number=number % 20) for number in range(60)]


async def pages_of(shell: Shell, query: Query[Any], limits: list[int]) -> list[Any]:
    """All items of a query, by pages of these limits in turn."""
    items: list[Any] = []
    cursor, turn = None, 0
    while True:
        page = await shell.page(query, limit=limits[turn % len(limits)], after=cursor)
        items += page
        cursor, turn = page.cursor, turn + 1
        if cursor is None:
            return items


async def test_all_shards_are_one_round_trip_in_the_order_of_the_sort_key(shell: Shell) -> None:
    await shell.write_many(puts=LINES)
    assert len({item["pk"]["S"] for item in await all_items(shell.port, app.name)}) == 8
    with shell.meter() as meter:
        assert await shell.all(Line.of()) == LINES
    assert (meter.requests, meter.round_trips, meter.read_units) == (8, 1, 4.0)
    with shell.meter() as meter:
        assert await shell.all(Line.of(between(20, 29)).newest_first().consistent()) == LINES[29:19:-1]
    assert (meter.requests, meter.round_trips, meter.read_units) == (8, 1, 8.0)
    assert [line async for line in shell.iter(Line.of(before(3)))] == LINES[:3]
    assert await shell.all(Line.of(7)) == LINES[7:8]


async def test_one_value_is_in_one_shard(shell: Shell) -> None:
    await shell.write_many(puts=[*LINES, *ORDERS])
    with shell.meter() as meter:
        assert await shell.get(Line.of(7, "l7")) == LINES[7]
        found = await shell.all(Order.by_state("open", id="o3"))
    assert (meter.requests, meter.read_units) == (2, 1.0)
    assert ORDERS[3] in found
    assert 4 <= len(found) <= 12, "an eighth of the orders: the other ones of its shard"
    assert await shell.all(Order.by_state("open", 0, "o3")) == [order for order in found if order.day == 0]


async def test_a_range_of_one_value_reads_all_shards_and_names_no_item(shell: Shell) -> None:
    """Its bounds are one sort key, and its partition is none: taken as a key, it would find nothing."""
    await shell.write_many(puts=LINES[:9])
    one = Line.of(7, between("l7", "l7"))
    assert await shell.all(one) == [LINES[7]]
    assert await shell.together(one.every()) == ([LINES[7]],)
    for verb in (shell.get, shell.delete, shell.together):
        with pytest.raises(InvalidRequest, match=r"Line\.of"):
            await verb(one)
    with pytest.raises(InvalidRequest, match="does not name one item"):
        await shell.write_many(deletes=[one])
    assert {request.operation for request in shell.explain(one)} == {"Query"}


@pytest.mark.parametrize("limits", [[2], [3, 25, 1, 8], [1000]], ids=str)
async def test_pages_hold_each_item_once_where_sort_keys_are_equal(shell: Shell, limits: list[int]) -> None:
    await shell.write_many(puts=ORDERS)
    queries: list[tuple[Any, Any]] = [
        (Order.by_state("open"), "day"),
        (Order.by_state("open", between(2, 6)), "day"),
        (Order.by_state("open", 5), "day"),
        (Order.by_number(), "number"),
        (Order.by_number(at_least(15)), "number"),
    ]
    for query, name in queries:
        for asked in (query, query.newest_first()):
            every = await shell.all(asked)
            sorts = [getattr(order, name) for order in every]
            assert sorts == sorted(sorts, reverse=asked.descending)
            assert await pages_of(shell, asked, limits) == every
            assert len({order.id for order in every}) == len(every)
    assert len(await shell.all(Order.by_state("open"))) == len(await shell.all(Order.by_number())) == len(ORDERS)


def numbered(count: int) -> Any:
    """A class in a table of its own, whose key has so many shards."""
    table = Table(f"numbered{count}")

    def of(at: int = ANY, id: str = ANY) -> Any:
        return eval(f"f'all#{{id:shard({count})}}'", {"id": id}), f"{at:03}#{id}"

    of.__annotations__ = {"at": int, "id": str}
    names = {"__annotations__": {"at": int, "id": str, "text": str}, "text": "", "of": table.key(staticmethod(of))}
    return types.new_class("Numbered", (Entity,), {"table": table, "type": "n"}, lambda body: body.update(names))


@pytest.mark.parametrize("count", [2, 5, 17, 64])
async def test_the_merge_is_the_sort_of_all_items(shell: Shell, count: int) -> None:
    """Over drawn items, ranges, directions and limits; a cursor goes on anywhere."""
    kind, random = numbered(count), Random(count)
    items = {f"{random.randint(0, 40)}": random.randint(0, 30) for _ in range(50)}
    entities = sorted((kind(at=at, id=id) for id, at in items.items()), key=lambda each: key_of(each).low)
    await shell.write_many(puts=entities)
    with shell.meter() as meter:
        assert await shell.all(kind.of()) == entities
    assert (meter.requests, meter.round_trips) == (count, -(-count // 16))
    for _ in range(4):
        low, high = sorted(random.sample(range(31), 2))
        query, wanted = random.choice(
            [
                (kind.of(), entities),
                (kind.of(between(low, high)), [each for each in entities if low <= each.at <= high]),
                (kind.of(low), [each for each in entities if each.at == low]),
            ]
        )
        if random.random() < 0.5:
            query, wanted = query.newest_first(), wanted[::-1]
        assert await pages_of(shell, query, [random.randint(2, 9) for _ in range(5)]) == wanted


async def test_a_page_reads_each_shard_a_little_beyond_its_share(shell: Shell) -> None:
    """400 items of 4 KB: half a unit each. A page of 100 asks each of 8 shards for 25, and one of 10 for 6."""
    await shell.write_many(puts=[Line(at=number, id=f"l{number}", text="x" * 3900) for number in range(400)])
    for limit, most in ((100, 200), (10, 48), (1, 8)):
        with shell.meter() as meter:
            page = await shell.page(Line.of(), limit=limit)
        assert [line.at for line in page] == list(range(limit))
        assert (meter.requests, meter.round_trips) == (8, 1)
        assert meter.read_units == most / 2


async def test_a_shard_that_has_most_of_the_first_items_is_asked_again(shell: Shell) -> None:
    ids = [f"l{number}" for number in range(600)]
    first = [id for id in ids if Line.of(0, id).partition == "log#0"][:60]
    lines = [Line(at=number, id=id) for number, id in enumerate([*first, *(set(ids) - {*first})])]
    await shell.write_many(puts=lines)
    with shell.meter() as meter:
        assert list(await shell.page(Line.of(), limit=50)) == lines[:50]
    assert (meter.round_trips, meter.requests) == (2, 9)


async def test_a_read_of_all_reads_nothing_twice(shell: Shell) -> None:
    """One shard has three pages of 1 MB, the others have one."""
    lines = [Line(at=number, id=f"l{number}") for number in range(100)]
    large = [line for line in lines if Line.of(line.at, line.id).partition == "log#0"]
    assert len(large) == 12
    for line in large:
        line.text = "x" * 220_000
        await shell.put(line)
    await shell.write_many(puts=[line for line in lines if line not in large])
    with shell.meter() as meter:
        assert await shell.all(Line.of()) == lines
    assert (meter.requests, meter.round_trips) == (10, 3)
    with shell.meter() as meter:
        assert [line async for line in shell.iter(Line.of().newest_first())] == lines[::-1]
    assert (meter.requests, meter.round_trips) == (10, 3)


async def test_shards_of_which_little_is_left_are_asked_with_those_that_ended(shell: Shell) -> None:
    """Two shards of three pages of 1 MB each, in turn: each round trip has a page of both."""
    kind = numbered(2)
    ids = sorted((f"{number}" for number in range(100)), key=lambda id: str(kind.of(0, id).partition))
    turns = [id for pair in zip(ids[:12], ids[-12:], strict=True) for id in pair]
    entities = [kind(at=number, id=id, text="x" * 250_000) for number, id in enumerate(turns)]
    for entity in entities:
        await shell.put(entity)
    with shell.meter() as meter:
        assert await shell.all(kind.of()) == entities
    assert meter.requests == 2 * meter.round_trips >= 6


async def test_a_cursor_is_as_short_as_that_of_one_partition_and_bound_to_all_shards(shell: Shell) -> None:
    await shell.write_many(puts=LINES)
    page = await shell.page(Line.of(), limit=25, principal="u1")
    assert page.cursor is not None
    assert len(page.cursor) < 160
    assert list(await shell.page(Line.of(), limit=5, after=page.cursor, principal="u1")) == LINES[25:30]
    assert list(await shell.page(Line.of(before(28)), limit=5, after=page.cursor, principal="u1")) == LINES[25:28]
    assert list(await shell.page(Line.of(before(20)), limit=5, after=page.cursor, principal="u1")) == []
    assert list(await shell.page(Line.of(at_least(90)), limit=5, after=page.cursor, principal="u1")) == LINES[90:95]
    foreign: list[tuple[Query[Any], str | None]] = [
        (Line.of(), None),
        (Line.of().newest_first(), "u1"),
        (Order.by_number(), "u1"),
        *((part, "u1") for part in Line.of().parts),
    ]
    for query, principal in foreign:
        with pytest.raises(InvalidCursor, match="first page"):
            await shell.page(query, after=page.cursor, principal=principal)


async def test_what_is_there_throughout_is_given_once(shell: Shell) -> None:
    """Between two pages orders come, go, and move to other days."""
    for seed in range(6):
        random = Random(seed)
        now = {f"{seed}-{number}": random.randint(0, 30) for number in range(120)}
        await shell.write_many(puts=[Order(id=id, state=f"s{seed}", day=day) for id, day in now.items()])
        changed, given = set[str](), list[Order]()
        query, cursor = Order.by_state(f"s{seed}"), None
        query = query.newest_first() if seed % 2 else query
        while True:
            page = await shell.page(query, limit=random.randint(1, 20), after=cursor)
            given += page
            cursor = page.cursor
            if cursor is None:
                break
            for id in random.sample(sorted(now), 5):
                changed.add(id)
                await shell.put(Order(id=id, state=f"s{seed}", day=random.randint(0, 30)))
            for id in [*random.sample(sorted(now), 5), page[-1].id]:
                changed.add(id)
                await shell.delete(Order.by_id(id))
        days = [order.day for order in given]
        assert days == sorted(days, reverse=query.descending)
        times = [(order.id, order.day) for order in given]
        stayed = [(id, day) for id, day in now.items() if id not in changed]
        assert len(stayed) > 20
        assert all(times.count(each) == 1 for each in stayed)


@pytest.mark.parametrize("descending", [False, True])
async def test_items_of_one_sort_key_that_were_given_are_not_read_again(shell: Shell, descending: bool) -> None:
    """80 items of 4 KB of one day, in 8 shards: behind 70 of them the last shards have 10, half a unit each."""
    await shell.write_many(puts=[Order(id=f"o{n}", state="tied", day=1, text="x" * 3900) for n in range(80)])
    query = Order.by_state("tied")
    query = query.newest_first() if descending else query
    first = await shell.page(query, limit=70)
    with shell.meter() as meter:
        rest = await shell.page(query, limit=70, after=first.cursor)
    assert (len(first), len(rest)) == (70, 10)
    assert meter.read_units <= 10 / 2 + 7 / 2


async def test_an_explanation_has_a_request_for_each_shard(shell: Shell) -> None:
    explained = shell.explain(Line.of(7))
    assert len(explained) == 8
    assert str(explained[0]) == (
        "Query shards: 0.5 read unit for each 4 KB of the items of each page of 1 MB, together; 1 of 8 shards, side by "
        "side"
    )
    assert [request.body["ExpressionAttributeValues"][":0"]["S"] for request in explained] == [
        f"log#{number}" for number in range(8)
    ]
    assert len(shell.explain(Log.whole())) == 8
    assert len(shell.explain(Line.of(7, "l7"))) == 1


async def test_it_is_one_round_trip_with_other_reads(shell: Shell) -> None:
    await shell.write_many(puts=[*LINES, *ORDERS[:7]])
    with shell.meter() as meter:
        lines, orders, order, log = await shell.together(
            Line.of(before(3)).every(), Order.by_state("open", 0).newest_first(), Order.by_id("o1"), Log.whole()
        )
    assert (lines, order, log) == (LINES[:3], ORDERS[1], Log(lines=LINES))
    assert sorted(order.id for order in orders) == [f"o{number}" for number in range(7)]
    assert (meter.requests, meter.round_trips) == (25, 2), "16 requests at a time"
    with shell.meter() as meter:
        lines, order = await shell.together(Line.of().every(), Order.by_id("o1"))
    assert (meter.requests, meter.round_trips) == (9, 1)
    with pytest.raises(InvalidRequest, match=r"Line.of\(...\).every\(\)"):
        await shell.together(Line.of(), Order.by_id("o1"))


async def test_filters_projections_and_other_classes(shell: Shell) -> None:
    await shell.write_many(puts=LINES)
    even = Line.of().where(attr(Line.text) == "even")
    assert await pages_of(shell, even, [5]) == []
    for line in LINES[::20]:
        await shell.update(line, attr(Line.text).set("even"))
    assert [line.at for line in await pages_of(shell, even, [3])] == list(range(0, 200, 20))
    with shell.meter() as meter:
        page = await shell.page(even, limit=9, max_pages=1)
    assert (meter.round_trips, len(page)) == (1, 9)
    assert [line.at for line in await pages_of(shell, Line.of(before(5)).only(Line.at), [2])] == [0, 1, 2, 3, 4]
    assert await shell.all(Line.of().also(Order)) == await shell.all(Line.of())


async def test_what_cannot_be_read_is_told(shell: Shell) -> None:
    await shell.write_many(puts=LINES[:10])
    (wrong,) = [item for item in await all_items(shell.port, app.name) if item["sk"]["S"] == "000004#l4"]
    await put_raw(shell.port, Line, {**wrong, "at": {"S": "four"}})
    with pytest.raises(Corrupt, match=r"Query of Line.of"):
        await shell.all(Line.of())
    told: list[Any] = []
    assert await shell.all(Line.of(), unreadable=told.append) == [*LINES[:4], *LINES[5:10]]
    assert [each.key.shown for each in told] == ["Line.of log#{id} / {at}#{id}"]
    other = "log#1" if wrong["pk"] == {"S": "log#0"} else "log#0"
    for pk in (wrong["pk"], {"S": other}):
        await put_raw(shell.port, Line, {**wrong, "pk": pk})
    with pytest.raises(Corrupt, match="another pk than id makes"):
        await shell.all(Line.of())


async def test_an_update_moves_an_item_to_another_shard(shell: Shell) -> None:
    await shell.create(Holding(id="h1", owner="ada"))
    for owner in ("bob", "cem", "dan"):
        await shell.update(Holding.by_id("h1"), attr(Holding.owner).set(owner))
        assert [held.owner for held in await shell.all(Holding.by_owner())] == [owner]
        assert await shell.all(Holding.by_owner(owner)) == [Holding(id="h1", owner=owner)]
    assert await shell.check(app) == []
    await shell.update(Holding.by_id("h1"), attr(Holding.owner).set(None))
    assert await shell.all(Holding.by_owner()) == []


async def test_keys_and_whole_items_of_all_shards(shell: Shell) -> None:
    await shell.write_many(puts=ORDERS)
    query = Order.by_number(before(4))
    with shell.meter() as meter:
        assert await shell.all(query.keys()) == [key_of(order) for order in await shell.all(query)]
        assert await shell.all(query.hydrated()) == await shell.all(query)
    assert meter.by_operation["BatchGetItem"].requests == 1
    assert await pages_of(shell, query.hydrated(), [2]) == await shell.all(query)
    assert await pages_of(shell, query.keys(), [3]) == [key_of(order) for order in await shell.all(query)]
    explained = shell.explain(query.hydrated())
    assert [request.operation for request in explained] == ["Query", "Query", "Query", "BatchGetItem"]
