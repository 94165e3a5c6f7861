"""Local secondary indexes: the partitions of the table in another order, read consistently. In both shells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from singletable import ANY, Entity, Index, InvalidRequest, Key, Table, at_least, attr, connect, key_of
from singletable.errors import DeclarationError, NotConfigured, TooLarge, TransactionCancelled
from singletable.exchange import TableCopy
from singletable.flow import Response
from singletable.migrations import Migrations, PlanRefused
from singletable.records import flows
from singletable.schema import model_of
from singletable.schema.catalogue import catalogue
from singletable.tables import Local, N, Provisioned, TableSettings
from tests.support.raw import put_raw
from tests.support.shells import Shell

shop = Table(
    "local-shop",
    indexes={"by_day": Local("lsi1sk"), "small": Local("lsi2sk", projection="keys"), "gsi1": Index("gsi1pk", "gsi1sk")},
)


class Order(Entity, table=shop, type="order"):
    customer: str
    number: int
    day: int | None = None
    total: int = 0
    state: str = "open"
    text: str = "x" * 1500

    @shop.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"order#{number}"

    @shop.index("by_day")
    @staticmethod
    def by_day(customer: str, day: int = ANY) -> Key:
        return f"customer#{customer}", f"{day:03}"

    @shop.index("small")
    @staticmethod
    def by_total(customer: str, total: int = ANY) -> Key:
        return f"customer#{customer}", f"{total:06}"

    @shop.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"state#{state}", f"{number}"


readings = Table("local-readings", key=("device", "id"), indexes={"by_time": Local(N("at"))}, foreign=True)


class Reading(Entity, table=readings, type="reading"):
    device: str
    id: str
    at: int = 0

    @readings.key
    @staticmethod
    def of(device: str, id: str = ANY) -> Key:
        return f"{device}", f"{id}"

    @readings.index("by_time")
    @staticmethod
    def by_time(device: str, at: int = ANY) -> Key:
        return f"{device}", f"{at}"


ORDERS = [Order(customer="c", number=n, day=9 - n, total=n % 2) for n in range(4)]


async def test_a_partition_in_another_order(shell: Shell) -> None:
    await shell.write_many(puts=[*ORDERS, Order(customer="c", number=4), Order(customer="d", number=5, day=1)])
    with shell.meter() as meter:
        assert await shell.all(Order.by_day("c")) == ORDERS[::-1], "an item without a day is not in it"
    assert meter.requests == 1
    assert await shell.all(Order.by_day("c", at_least(8)).newest_first()) == ORDERS[:2]
    page = await shell.page(Order.by_day("c"), limit=3)
    assert [order.number for order in await shell.page(Order.by_day("c"), limit=3, after=page.cursor)] == [0]
    await shell.update(Order.of_customer("c", 0), attr(Order.day).set(1))
    assert [order.number for order in await shell.all(Order.by_day("c").consistent())] == [0, 3, 2, 1]
    await shell.write_many(puts=[Reading(device="d", id=str(n), at=-n) for n in range(3)])
    assert [reading.id for reading in await shell.all(Reading.by_time("d"))] == ["2", "1", "0"]
    assert await shell.check(shop) == []


async def test_it_may_be_consistent_and_a_global_one_may_not(shell: Shell) -> None:
    await shell.write_many(puts=ORDERS)
    with shell.meter() as meter:
        assert await shell.all(Order.by_day("c").consistent()) == ORDERS[::-1]
    assert meter.requests == 1
    with pytest.raises(InvalidRequest, match="index gsi1, which is never consistent"):
        Order.by_state("open").consistent()
    told = {pattern.name: (pattern.may_be_consistent, pattern.capacity) for pattern in catalogue(shop)}
    assert told["by_day"] == (True, "0.5 read units for each 4 KB of a page; consistent, 1")
    assert told["by_state"] == (False, "0.5 read units for each 4 KB of a page")


async def test_items_are_hydrated_consistently_too(shell: Shell) -> None:
    """Both reads are consistent, so what was written before is there."""
    await shell.write_many(puts=ORDERS)
    with pytest.raises(InvalidRequest, match=r"index small projects only some .*hydrated\(\)"):
        await shell.all(Order.by_total("c"))
    sent: list[tuple[str, Any]] = []
    port: Any = shell.port
    send, send_all = port.send, port.send_all

    async def one(operation: Any) -> Any:
        sent.append((operation.request().operation, operation.selection.consistent))
        return await send(operation)

    async def many(operations: Any) -> Any:
        sent.extend((operation.request().operation, operation.consistent) for operation in operations)
        return await send_all(operations)

    port.__dict__.update(send=one, send_all=many)
    orders = await shell.all(Order.by_total("c", 1).hydrated().consistent())
    assert (sorted(order.number for order in orders), sent) == ([1, 3], [("Query", True), ("BatchGetItem", True)])
    keys = await shell.all(Order.by_total("c", 1).keys().consistent())
    assert {key.low for key in keys} == {"order#a1", "order#a3"}


async def test_units_are_those_of_a_global_one(shell: Shell) -> None:
    """A unit for each KB of the item and of each entry; two where the key of an entry changes. Half a unit for 4 KB of
    entries is read, and a whole one consistently."""
    costs: list[float] = []
    await shell.create(ORDERS[0])
    for query in (Order.by_day("c"), Order.by_day("c").consistent()):
        with shell.meter() as meter:
            await shell.all(query)
        costs.append(meter.read_units)
    for update in (attr(Order.day).set(5), attr(Order.total).set(7), attr(Order.text).set("y" * 1500)):
        with shell.meter() as meter:
            await shell.update(Order.of_customer("c", 0), update)
        costs.append(meter.write_units)
    assert costs == [0.5, 1, 2 + (2 + 2) + 2, 2 + 2 + 2 + 2, 2 + 2 + 2]


def test_writes_and_reads_are_explained() -> None:
    (update,) = flows.explain(Order.of_customer("c", 1), attr(Order.day).set(2), now=0.0)
    assert update.cost.endswith("; its partition, with the entries in local indexes, has 10 GB at most")
    (query,) = flows.explain(Order.by_day("c").consistent(), now=0.0)
    assert (query.index, query.body["ConsistentRead"]) == ("by_day", True)
    assert query.cost == "1 read unit for each 4 KB of the items of each page of 1 MB, together"


@pytest.mark.parametrize(
    ("declare", "what"),
    [
        (lambda: Table("users", key="id", indexes={"by_day": Local("day")}), "the table has no sort key"),
        (lambda: Table("users", indexes={"by_day": Local("sk")}), "a local index of pk and sk"),
        (lambda: Table("users", indexes={"by_day": Local("pk")}), "a local index of pk and pk"),
        (lambda: Table("users", indexes={"by_day": Index("other", "day", "all", True)}), "of other and day"),
        (lambda: Table("users", indexes={f"lsi{n}": Local(f"s{n}") for n in range(6)}), "6 local indexes"),
        (lambda: Table("users", indexes={"by_day": Local("day", projection=("x",) * 3)}), ""),
    ],
)
def test_what_is_refused_when_it_is_declared(declare: Callable[[], Table], what: str) -> None:
    if what:
        with pytest.raises(DeclarationError, match=what):
            declare()
    else:
        declare()


def test_its_partition_is_that_of_the_table() -> None:
    """Any other text would be of no item."""
    table = Table("other-partition", indexes={"by_day": Local("day_sk")})
    with pytest.raises(DeclarationError, match=r"Visit\.by_day makes another pk than Visit\.by_id"):

        class Visit(Entity, table=table, type="visit"):
            id: str
            day: int

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"visit#{id}", "visit"

            @table.index("by_day")
            @staticmethod
            def by_day(day: int) -> Key:
                return f"day#{day}", "visit"


def test_it_is_made_with_its_table_without_a_throughput_of_its_own() -> None:
    settings = TableSettings(billing=Provisioned(read_units=1, write_units=1))
    table = Table("provisioned", indexes={"lsi": Local("day", projection="keys"), "gsi": "town"}, settings=settings)
    body = table.definition.creation()
    assert body["LocalSecondaryIndexes"] == [
        {
            "IndexName": "lsi",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "day", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type", "_v"]},
        }
    ]
    assert [index["IndexName"] for index in body["GlobalSecondaryIndexes"]] == ["gsi"]
    assert "ProvisionedThroughput" in body["GlobalSecondaryIndexes"][0]


def variants(**indexes: Any) -> Table:
    table = Table("variants", indexes=indexes)

    class Note(Entity, table=table, type="note"):
        id: str
        day: int = 0

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"note#{id}", "note"

    return table


@pytest.mark.embedded("its own engine, and a data file")
@pytest.mark.parametrize(
    ("live", "declared", "what"),
    [
        ({}, {"by_day": Local("day_sk")}, "local index by_day: declared present, found missing"),
        ({"by_day": Index("pk", "day_sk")}, {"by_day": Local("day_sk")}, "kind: declared local, found global"),
        ({"by_day": Local("day_sk")}, {"by_day": Index("pk", "day_sk")}, "kind: declared global, found local"),
        ({"by_day": Local("day_sk")}, {"by_day": Local("when")}, "key: declared pk . when, found pk . day_sk"),
        ({"by_day": Local("day_sk", "keys")}, {"by_day": Local("day_sk")}, "projection: declared ALL, found INCLUDE"),
    ],
    ids=["added", "from a global one", "to a global one", "another key", "holds more"],
)
def test_no_plan_adds_or_changes_one(tmp_path: Any, live: Any, declared: Any, what: str) -> None:
    """Nothing but a new table could be as declared; the file of a local engine is refused at its first use."""
    wanted = variants(**declared)
    with connect("local") as engine, connect(engine.target.endpoint.url) as db:
        db.create_table(variants(**live))
        with pytest.raises(PlanRefused, match=what) as refused:
            Migrations(db, wanted).plan()
        assert (refused.value.reason, "singletable copy" in str(refused.value)) == ("local index", True)
        with pytest.raises(NotConfigured, match=what):
            db.create_table(wanted)
        if "ALL" in what:
            with pytest.raises(NotConfigured, match=r"A local one can't be rebuilt: declare .* Local\("):
                db.require("whole indexes", table=wanted)
        assert [re.search(what, str(each)) is not None for each in db.diff_table(wanted)] == [True]
    with connect(f"local:{tmp_path}/app.db") as db:
        db.create_table(variants(**live))
    with connect(f"local:{tmp_path}/app.db") as db:
        with pytest.raises(NotConfigured, match=what):
            db.all(db_query(wanted))
        described = db.describe_table(wanted)
        assert described is not None
        assert described.indexes.keys() == live.keys(), "none was added"


def db_query(table: Table) -> Any:
    (model,) = table.models
    return model.kind.by_id("1").also(model.kind)


@pytest.mark.embedded("its own engine")
def test_one_that_is_declared_no_more_stays_with_its_table() -> None:
    with connect("local") as engine, connect(engine.target.endpoint.url) as db:
        Migrations(db, variants(by_day=Local("day_sk"))).apply(by="a test")
        assert Migrations(db, variants(by_day=Local("day_sk"))).plan().is_empty
        plan = Migrations(db, variants()).plan()
        assert [step.kind for step in plan.steps] == ["record"]
        assert plan.left == ("index by_day: a local index goes with its table",)
        Migrations(db, variants()).apply(by="a test")
        assert Migrations(db, variants()).plan().left == ("index by_day: it was never declared",)


async def test_a_partition_of_ten_gigabytes_is_full(shell: Shell) -> None:
    """The answers are those of AWS: no engine counts that far here."""
    await shell.create(ORDERS[0])
    code = "ItemCollectionSizeLimitExceeded"
    reasons = [{"Code": "None"}, {"Code": code, "Message": "the limit of 10 GB"}]
    answers: dict[str, dict[str, Any]] = {
        "TransactWriteItems": {"__type": "x#TransactionCanceledException", "CancellationReasons": reasons},
        "PutItem": {"__type": f"x#{code}Exception", "message": "of 10 GB"},
    }
    port: Any = shell.port
    send = port.send

    async def full(operation: Any) -> Any:
        name = operation.request().operation
        return (
            operation.answer(Response(400, msgspec.json.encode(answers[name]), False, "id"))
            if name in answers
            else await send(operation)
        )

    port.__dict__["send"] = full
    what = "its partition, with their entries in local indexes, would be over 10 GB"
    with pytest.raises(TooLarge, match=what) as refused:
        await shell.put(ORDERS[1])
    assert "the year, into the partition key" in str(refused.value)

    async def move() -> None:
        async with shell.transaction() as tx:
            tx.put(ORDERS[1])
            tx.put(ORDERS[2])

    with pytest.raises(TransactionCancelled) as cancelled:
        await move()
    assert [type(failure.error) for failure in cancelled.value.failures] == [TooLarge]


@pytest.mark.embedded("its own engine, at its address")
def test_a_table_in_use_gets_one_by_a_copy() -> None:
    """As the refusal of a plan says: the new table is made by the declaration."""
    with connect("local") as engine, connect(engine.target.endpoint.url) as db:
        db.create_table(variants())
        wanted = variants(by_day=Local("day_sk"))
        (model,) = wanted.models
        db.put(model.kind(id="1", day=3))
        assert TableCopy(db, db, wanted, to_table="variants-2").run(keep_personal=True).written == 1
        with connect(engine.target.endpoint.url, tables={"variants": "variants-2"}) as renamed:
            assert renamed.diff_table(wanted) == []
            assert renamed.get(model.kind.by_id("1")) == model.kind(id="1", day=3)
            assert [step.kind for step in Migrations(renamed, wanted).plan().steps] == ["record"]


def order_by_number(number: int) -> Key:
    return f"order#{number}", "order"


moving = Table(
    "local-moving", indexes={"by_day": Local("lsi1sk"), "by_sort": Index("sk", "pk"), "gsi1": ("gsi1pk", "gsi1sk")}
)


class Moved(Entity, table=moving, type="moved"):
    customer: str
    number: int
    day: int = 0

    @moving.key(was=order_by_number)
    @staticmethod
    def of(customer: str, number: int) -> Key:
        return f"customer#{customer}", f"moved#{number}"

    @moving.index("by_day")
    @staticmethod
    def by_day(customer: str, day: int = ANY) -> Key:
        return f"customer#{customer}", f"{day:03}"

    @moving.index("by_sort")
    @staticmethod
    def by_number(number: int, customer: str = ANY) -> Key:
        return f"moved#{number}", f"customer#{customer}"

    @moving.index("gsi1")
    @staticmethod
    def by_total(day: int) -> Key:
        return f"day#{day}", "moved"


async def test_an_index_of_the_tables_own_key_is_not_listed_while_items_lie_under_another(shell: Shell) -> None:
    """It would not show the ones that have not moved: their entries are in other partitions."""
    model, one = model_of(Moved), Moved(customer="c", number=1, day=3)
    await put_raw(shell.port, Moved, {**model.item(one), **model.key_item(model.old_key(key_of(one)))})
    for query in (Moved.by_day("c"), Moved.by_day("c", 3).consistent(), Moved.by_number(1), Moved.by_number(1).keys()):
        with pytest.raises(InvalidRequest, match=r"index by_\w+ is keyed by [ps]k, which items of Moved .*: was=order"):
            await shell.all(query)
    assert await shell.get(key_of(one)) == one
    assert await shell.all(Moved.by_total(3)) == [one]
