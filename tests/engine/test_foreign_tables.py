"""Foreign tables: items that another program wrote are read, and keep all that this one does not declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from singletable import (
    ANY,
    AlreadyExists,
    Entity,
    Index,
    InvalidRequest,
    Key,
    NotFound,
    OutcomeUnknown,
    Table,
    attr,
    field,
)
from singletable.errors import Corrupt, DeclarationError
from singletable.exchange.transfers import open_record
from singletable.foundation import ready
from singletable.holds import hold
from singletable.migrations.fill import FillParts
from singletable.migrations.items import FillPart
from singletable.operations import TableCall
from singletable.schema import model_of
from singletable.wire import RetryPolicy
from tests.faults.actions import ApplyThenCut
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh_url
from tests.support.raw import all_items, put_raw, stored
from tests.support.shells import Shell, opened

INDEXES = {"GSI1": Index("GSI1PK", "GSI1SK"), "GSI2": Index("GSI2PK", "GSI2SK", projection="keys")}
shop = Table("foreign", key=("PK", "SK"), indexes=INDEXES, foreign=True, ignores=["GSI2"])


class Profile(Entity, table=shop, type="profile"):
    user: str
    name: str = ""

    @shop.key
    @staticmethod
    def of(user: str) -> Key:
        return f"USER#{user}", "PROFILE"


class Order(Entity, table=shop, type="order"):
    user: str
    number: str
    status: str = "open"
    total: int = 0

    @shop.key
    @staticmethod
    def of(user: str, number: str = ANY) -> Key:
        return f"USER#{user}", f"ORDER#{number}"

    @shop.index("GSI1")
    @staticmethod
    def by_status(status: str, number: str = ANY) -> Key:
        return f"STATUS#{status}", f"{number}"


typed = Table("typed", key=("PK", "SK"), foreign=True, type_attribute="__edb_e__")


class Invoice(Entity, table=typed, type="invoice", stamp={"__edb_v__": "1"}):
    org: str
    number: str
    paid: bool = False

    @typed.key
    @staticmethod
    def of(org: str, number: str = ANY) -> Key:
        return f"org_{org}", f"invoice_{number}"


class Member(Entity, table=typed, type="member", stamp={"__edb_v__": "1"}):
    org: str
    name: str

    @typed.key
    @staticmethod
    def of(org: str, name: str = ANY) -> Key:
        return f"org_{org}", f"member_{name}"


def texts(**values: str) -> dict[str, Any]:
    return {name: {"S": value} for name, value in values.items()}


def order_item(number: str, **more: Any) -> dict[str, Any]:
    """An order as the other program writes it, with a key of an index that this one does not declare for it."""
    own = texts(PK="USER#ada", SK=f"ORDER#{number}", user="ada", number=number, status="open")
    others = texts(GSI1PK="STATUS#open", GSI1SK=number, GSI2PK="DAY#1", GSI2SK=number, note="keep")
    return {**own, **others, "total": {"N": "5"}, **more}


def invoice_item(number: str, **more: Any) -> dict[str, Any]:
    return {**texts(PK="org_a", SK=f"invoice_{number}", org="a", number=number), "paid": {"BOOL": False}, **more}


EDB = texts(__edb_e__="invoice", __edb_v__="1")
ITEM = order_item("1")
PROFILE = texts(PK="USER#ada", SK="PROFILE", user="ada", name="Ada")


async def test_every_read_finds_items_without_a_type(shell: Shell) -> None:
    for item in (ITEM, order_item("2"), PROFILE):
        await put_raw(shell.port, Order, item)
    first, second = (Order(user="ada", number=number, total=5) for number in "12")
    ada = Profile(user="ada", name="Ada")
    with shell.meter() as meter:
        assert await shell.get(Order.of("ada", "1")) == first
        assert await shell.all(Order.of("ada")) == [first, second]
        assert await shell.get_many([Order.of("ada", "2"), Profile.of("ada")]) == [second, ada]
        assert await shell.all(Order.by_status("open")) == [first, second]
        assert await shell.all(Profile.of("ada").also(Order)) == [first, second, ada]
    assert (meter.requests, meter.passed_over) == (5, 0)
    assert [order async for order in shell.scan(Order)] == [first, second]
    assert [order async for order in shell.iter(Order.of("ada"))] == [first, second]
    page = await shell.page(Order.of("ada"), limit=1)
    assert [*page, *await shell.page(Order.of("ada"), after=page.cursor)] == [first, second]
    assert [order.total for order in await shell.all(Order.of("ada").only(Order.total))] == [5, 5]


async def test_a_page_of_a_partition_of_several_classes_goes_on_after_its_last_item(shell: Shell) -> None:
    for item in (ITEM, order_item("2"), PROFILE):
        await put_raw(shell.port, Order, item)
    both = Profile.of("ada").also(Order)
    page = await shell.page(both, limit=2)
    rest = await shell.page(both, limit=2, after=page.cursor)
    assert [type(entity) for entity in (*page, *rest)] == [Order, Order, Profile]


async def test_what_another_program_declares_stays(shell: Shell) -> None:
    """Also the keys of an index that the class is not in. `replace` makes a new object, which carries nothing."""
    await put_raw(shell.port, Order, ITEM)
    order = await shell.get(Order.of("ada", "1"))
    assert order is not None
    await shell.put(order)
    assert await stored(shell.port, Order.of("ada", "1")) == ITEM
    await shell.upsert(order)
    assert await stored(shell.port, Order.of("ada", "1")) == ITEM
    await shell.write_many(puts=[order])
    assert await stored(shell.port, Order.of("ada", "1")) == ITEM
    await shell.upsert(Order(user="ada", number="1", total=5))
    assert await stored(shell.port, Order.of("ada", "1")) == ITEM
    await shell.update(Order.of("ada", "1"), attr(Order.status).set("paid"))
    assert await stored(shell.port, Order.of("ada", "1")) == ITEM | texts(status="paid", GSI1PK="STATUS#paid")
    await shell.put(replace(order, total=6))
    bare = {name: value for name, value in ITEM.items() if name not in ("note", "GSI2PK", "GSI2SK")}
    assert await stored(shell.port, Order.of("ada", "1")) == bare | {"total": {"N": "6"}}


async def test_nothing_of_the_librarys_own_is_written(shell: Shell) -> None:
    await shell.create(Profile(user="ada", name="Ada"))
    assert await stored(shell.port, Profile.of("ada")) == PROFILE
    with pytest.raises(AlreadyExists, match="an item with this key exists already"):
        await shell.create(Profile(user="ada"))
    with pytest.raises(NotFound):
        await shell.update(Profile.of("bob"), attr(Profile.name).set("Bob"))
    async with shell.transaction() as tx:
        tx.update(Profile.of("ada"), attr(Profile.name).set("Ada L."))
        tx.put(Profile(user="bob", name="Bob"))
        tx.create(Order(user="bob", number="1"))
    assert await shell.delete(Profile.of("bob")) == Profile(user="bob", name="Bob")
    assert await shell.delete(Profile.of("bob")) is None
    expected = [PROFILE | texts(name="Ada L."), texts(GSI1PK="STATUS#open", GSI1SK="1", user="bob", number="1")]
    expected[1] |= texts(PK="USER#bob", SK="ORDER#1", status="open") | {"total": {"N": "0"}}
    assert sorted(await all_items(shell.port, "foreign"), key=lambda item: item["SK"]["S"]) == expected[::-1]


async def test_an_item_of_no_class_is_told_and_left(shell: Shell) -> None:
    await put_raw(shell.port, Order, texts(PK="USER#ada", SK="CART", user="ada"))
    await put_raw(shell.port, Order, PROFILE)
    with shell.meter() as meter:
        assert await shell.all(Profile.of("ada").also(Order)) == [Profile(user="ada", name="Ada")]
    assert meter.passed_over == 1
    assert [(each.code, each.key) for each in await shell.check(shop)] == [("type.unknown", ("USER#ada", "CART"))]


async def test_a_key_that_its_attributes_do_not_make_is_corrupt(shell: Shell) -> None:
    await put_raw(shell.port, Order, ITEM | texts(user="bob"))
    with pytest.raises(Corrupt, match="another PK than user makes"):
        await shell.get(Order.of("ada", "1"))


async def test_check_names_indexes_that_writes_leave_stale(shell: Shell) -> None:
    less = Table("foreign", key=("PK", "SK"), foreign=True)

    class Client(Entity, table=less, type="client"):
        user: str
        name: str = ""

        @less.key
        @staticmethod
        def of(user: str) -> Key:
            return f"USER#{user}", "PROFILE"

    await put_raw(shell.port, Profile, PROFILE | texts(GSI2PK="NAME#Ada", GSI2SK="1"))
    assert [(each.code, each.what.split()[1]) for each in await shell.check(less)] == [
        ("index.undeclared", "GSI1"),
        ("index.undeclared", "GSI2"),
    ]
    assert await shell.check(shop) == []
    quiet = Table("foreign", key=("PK", "SK"), foreign=True, ignores=["GSI1", "GSI2"])
    declare(quiet, {})
    assert await shell.check(quiet) == []
    all_declared = Table("foreign", key=("PK", "SK"), indexes=INDEXES, foreign=True)
    declare(all_declared, {})
    assert [each.code for each in await shell.check(all_declared)] == ["index-key.undeclared"]


async def test_a_class_is_known_by_any_attribute_and_without_it_by_its_key(shell: Shell) -> None:
    await put_raw(shell.port, Invoice, invoice_item("1", **EDB))
    await put_raw(shell.port, Invoice, invoice_item("2"))  # without a type
    await put_raw(shell.port, Invoice, invoice_item("3", **EDB | texts(__edb_v__="2")))  # of another version there
    await put_raw(shell.port, Invoice, invoice_item("4", **EDB | texts(__edb_e__="alien")))
    first, second = (Invoice(org="a", number=number) for number in "12")
    assert await shell.all(Invoice.of("a")) == [first, second]
    assert await shell.all(Invoice.of("a").also(Member)) == [first, second]
    assert [invoice async for invoice in shell.scan(Invoice)] == [first, second]
    for number in "34":
        assert await shell.get(Invoice.of("a", number)) is None
        with pytest.raises(NotFound):
            await shell.update(Invoice.of("a", number), attr(Invoice.paid).set(True))
        with pytest.raises(AlreadyExists, match="of another type"):
            await shell.put(Invoice(org="a", number=number))
    await shell.update(Invoice.of("a", "2"), attr(Invoice.paid).set(True))
    assert await stored(shell.port, Invoice.of("a", "2")) == invoice_item("2", paid={"BOOL": True})
    await shell.create(Invoice(org="a", number="5"))
    assert await stored(shell.port, Invoice.of("a", "5")) == invoice_item("5", **EDB)
    unknown = [("type.unknown", ("org_a", f"invoice_{number}")) for number in "34"]
    assert sorted((each.code, each.key) for each in await shell.check(typed)) == unknown


async def test_classes_of_one_index_without_a_type_are_told_by_their_keys(shell: Shell) -> None:
    """Also where the attributes that are read would do for either class; and by a constant of the class."""
    pets = Table("pets", indexes=["gsi1"], foreign=True)

    class Cat(Entity, table=pets, type="cat", stamp={"v": 1}):
        name: str
        state: str = "well"

        @pets.key
        @staticmethod
        def of(name: str) -> Key:
            return f"CAT#{name}", f"PET#{name}"

        @pets.index("gsi1")
        @staticmethod
        def by_state(state: str) -> Key:
            return f"{state}", "PET"

    class Dog(Entity, table=pets, type="dog"):
        name: str
        state: str = "well"

        @pets.key
        @staticmethod
        def of(name: str) -> Key:
            return f"DOG#{name}", f"PET#{name}"

        @pets.index("gsi1")
        @staticmethod
        def by_state(state: str) -> Key:
            return f"{state}", "PET"

    for pet in (Cat(name="Tom"), Dog(name="Rex")):
        await shell.put(pet)
    assert await shell.all(Cat.by_state("well")) == [Cat(name="Tom")]
    assert [cat.state for cat in await shell.all(Cat.by_state("well").only(Cat.state))] == ["well"]
    tom = await stored(shell.port, Cat.of("Tom"))
    assert tom is not None
    await put_raw(shell.port, Cat, tom | {"v": {"N": "2"}})
    assert await shell.all(Cat.of("Tom")) == []
    assert await shell.all(Dog.by_state("well").also(Cat)) == [Dog(name="Rex")]
    assert [(each.code, each.key) for each in await shell.check(pets)] == [("type.unknown", ("CAT#Tom", "PET#Tom"))]


async def test_a_create_without_a_write_id_is_unknown_after_a_lost_answer(kind: str) -> None:
    faults = Faults(rules=[Rule(Match("PutItem", nth=1), ApplyThenCut())])
    quick = RetryPolicy(base_seconds=0.001, cap_seconds=0.002)
    with fresh_url() as url, FaultProxy(url, faults) as proxy:
        async with opened(kind, proxy.url, retry=quick) as shell:
            with pytest.raises(OutcomeUnknown):
                await shell.create(Profile(user="ada"))
            assert await shell.get(Profile.of("ada")) == Profile(user="ada")


async def test_what_tools_keep_is_refused_or_goes_to_own_items(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="own_items="):
        await shell.run(hold(shell.port, shop, "a restore"))
    beside = Table("foreign-own")
    kept = Table("foreign", key=("PK", "SK"), foreign=True, own_items=beside)
    await put_raw(shell.port, Profile, PROFILE)
    await shell.run(hold(shell.port, kept, "a restore"))
    assert await all_items(shell.port, "foreign") == [PROFILE]
    assert [item["_type"] for item in await all_items(shell.port, "foreign-own")] == [{"S": "_hold"}]


async def test_the_progress_of_tools_goes_to_own_items(shell: Shell) -> None:
    beside = Table("foreign-own")
    kept = Table("foreign", key=("pk", "sk"), foreign=True, own_items=beside)
    for table in (kept, beside):
        await shell.run(ready(shell.port, table))
    part: Any = FillPart.of(kept)(declaration="d", segments=1, segment=0)
    parts = FillParts(shell.port, kept)
    await shell.run(parts.write([part]))
    record = await shell.run(open_record(shell.port, kept, ["import"], Moved()))
    await shell.run(record.write(Moved(1)))
    assert await all_items(shell.port, "foreign") == []
    stored_types = [item["_type"]["S"] for item in await all_items(shell.port, "foreign-own")]
    assert sorted(stored_types) == ["_migration", "_transfer"]
    await shell.run(parts.close())
    await shell.run(record.close())
    assert await all_items(shell.port, "foreign-own") == []


class Moved(msgspec.Struct):
    """How far an import is."""

    rows: int = 0


def declare(table: Table, options: Mapping[str, Any], **attributes: Any) -> type[Any]:
    """A class with one more attribute."""

    class Declared(Entity, table=table, type="declared", **options):
        user: str
        email: str | None = attributes.get("email")
        count: int = attributes.get("count", 0)
        ends: datetime | None = attributes.get("ends")

        @table.key
        @staticmethod
        def of(user: str) -> Key:
            return f"USER#{user}", "PROFILE"

    return Declared


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "unique": (lambda: declare(foreign(), {}, email=field(unique=True, default=None)), "each with a guard item"),
    "version": (lambda: declare(foreign(), {}, count=field(version=True, default=0)), "write_id_attribute"),
    "expires": (lambda: declare(foreign(), {}, ends=field(expires=True, default=None)), "ttl_attribute"),
    "schema version": (lambda: declare(foreign(), {"version": 2}), "version_attribute"),
    "stamp": (lambda: declare(Table("own"), {"stamp": {"v": "1"}}), "foreign=True"),
    "flag in a stamp": (lambda: declare(foreign(), {"stamp": {"v": True}}), "a str or an int"),
    "stamp in a key": (lambda: declare(foreign(), {"stamp": {"user": "ada"}}), "a name in use"),
    "guard without a type": (lambda: foreign(overlap="guard"), "type_attribute="),
    "two classes of one key": (lambda: declare_again(foreign()), "could have the same key"),
}


def foreign(**options: Any) -> Table:
    return Table("foreign", key=("PK", "SK"), foreign=True, **options)


def declare_again(table: Table) -> None:
    """Two classes of one key."""
    declare(table, {})

    class Other(Entity, table=table, type="other"):
        name: str

        @table.key
        @staticmethod
        def of(name: str) -> Key:
            return f"USER#{name}", "PROFILE"


@pytest.mark.parametrize("case", REFUSED)
def test_what_needs_more_is_refused_when_it_is_declared(case: str) -> None:
    make, words = REFUSED[case]
    with pytest.raises(DeclarationError, match=r".") as refused:
        make()
    assert words in str(refused.value)


async def test_a_count_of_writes_has_a_write_id_where_one_is_named(shell: Shell) -> None:
    counted = Table("counted", key=("PK", "SK"), foreign=True, write_id_attribute="lastWrite")
    kind = declare(counted, {}, count=field(version=True, default=0))
    await shell.put(kind(user="ada"))
    item = (await all_items(shell.port, "counted"))[0]
    assert (item["count"], {*item}) == ({"N": "1"}, {"PK", "SK", "user", "count", "lastWrite"})


async def test_an_index_holds_what_the_other_program_projects(shell: Shell) -> None:
    await shell.create_table(shop)
    answer = await shell.port.send(TableCall("DescribeTable", {"TableName": "foreign"}))
    assert answer is not None
    held = {index["IndexName"]: index["Projection"] for index in answer["Table"]["GlobalSecondaryIndexes"]}
    assert held["GSI2"]["ProjectionType"] == "KEYS_ONLY"
    assert list(await shell.diff_table(shop)) == []


class Line(Entity, table=shop, type="line"):
    """An item whose ids are in its key only."""

    basket: str = field(in_key=True)
    number: int = field(in_key=True)
    amount: int = 1

    @shop.key
    @staticmethod
    def of(basket: str, number: int = ANY) -> Key:
        return f"BASKET#{basket}", f"LINE#{number:04}"


LINE = texts(PK="BASKET#b 1", SK="LINE#0007") | {"amount": {"N": "2"}}


async def test_ids_that_are_in_the_key_only(shell: Shell) -> None:
    await put_raw(shell.port, Line, LINE)
    line = Line(basket="b 1", number=7, amount=2)
    read = await shell.all(Line.of("b 1"))
    assert read == [line]
    await shell.put(read[0])
    assert await stored(shell.port, Line.of("b 1", 7)) == LINE
    await shell.upsert(line)
    assert await stored(shell.port, Line.of("b 1", 7)) == LINE
    assert await shell.update(Line.of("b 1", 7), attr(Line.amount).add(1)) == replace(line, amount=3)
    assert [(part.basket, part.amount) for part in await shell.all(Line.of("b 1").only(Line.basket, Line.amount))] == [
        ("b 1", 3)
    ]
    with pytest.raises(InvalidRequest, match="is part of the key"):
        await shell.all(Line.of("b 1").where(attr(Line.number) == 7))
    assert await shell.check(shop) == []


def test_ids_in_the_key_are_read_by_the_compiled_reader() -> None:
    model = model_of(Line)
    assert model.build(msgspec.json.decode(msgspec.json.encode(LINE), type=model.wire, strict=False)) == Line(
        basket="b 1", number=7, amount=2
    )
    with pytest.raises(ValueError, match="elsewhere"):
        model.build(
            msgspec.json.decode(msgspec.json.encode(LINE | texts(PK="BASKEX#b 1")), type=model.wire, strict=False)
        )


def test_an_id_with_the_name_of_a_key_attribute_is_refused() -> None:
    """The reader would take the whole key for it, and the next put make a second item of that."""
    people = Table("people", key="user", foreign=True)
    refused = pytest.raises(DeclarationError, match=r"user is stored as 'user'.*Name it otherwise")
    with refused:

        class Prefixed(Entity, table=people, type="prefixed"):
            user: str = field(in_key=True)

            @people.key
            @staticmethod
            def of(user: str) -> str:
                return f"USER#{user}"

    with refused:

        class Alone(Entity, table=people, type="alone"):
            user: str = field(in_key=True)

            @people.key
            @staticmethod
            def of(user: str) -> str:
                return f"{user}"


def test_an_id_that_no_key_has_is_refused() -> None:
    with pytest.raises(DeclarationError, match="the key does not have it"):
        declare(foreign(), {}, count=field(in_key=True))


async def test_a_batch_replaces_no_item_of_another_type_or_stamp(shell: Shell) -> None:
    """It has no conditions: refused where another program's item may have the key. Classes known by it alone pass."""
    await put_raw(shell.port, Invoice, invoice_item("1", **texts(__edb_e__="bill", __edb_v__="1")))
    await put_raw(shell.port, Invoice, invoice_item("2", **texts(__edb_e__="invoice", __edb_v__="7")))
    for number in ("1", "2"):
        before = await stored(shell.port, Invoice.of("a", number))
        with shell.meter() as meter, pytest.raises(InvalidRequest, match="a stamp in a foreign table") as refused:
            await shell.write_many(puts=[Invoice(org="a", number=number)])
        with pytest.raises(InvalidRequest, match="a stamp in a foreign table"):
            await shell.write_many(puts=[], deletes=[Invoice.of("a", number)])
        assert "at the same units" in str(refused.value)
        assert meter.requests == 0
        with pytest.raises(AlreadyExists):
            await shell.put(Invoice(org="a", number=number))
        assert await stored(shell.port, Invoice.of("a", number)) == before
    await shell.write_many(puts=[Profile(user="ada"), Order(user="ada", number="1")])
