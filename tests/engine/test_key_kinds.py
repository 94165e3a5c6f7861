"""Keys of every kind: numbers, bytes, one attribute alone, attributes that are keys as they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from singletable import (
    ANY,
    AlreadyExists,
    Entity,
    Index,
    InvalidRequest,
    InvalidValue,
    Key,
    NotFound,
    Table,
    after,
    at_least,
    at_most,
    attr,
    before,
    between,
    key_of,
    starting_with,
)
from singletable.errors import DeclarationError
from singletable.migrations.items import FillPart
from singletable.records.segments import ScanSegment, advanced, all_segments, scan_pages
from singletable.reports.tally import Tally
from singletable.tables import B, N
from singletable.values import EpochSeconds
from tests.support.raw import all_items, put_raw, stored
from tests.support.shells import Shell

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
readings = Table("readings", key=("device", N("at")), foreign=True)


class Reading(Entity, table=readings, type="reading"):
    device: str
    at: EpochSeconds
    value: int = 0

    @readings.key
    @staticmethod
    def of(device: str, at: datetime = ANY) -> Key:
        return f"{device}", f"{at}"


users = Table("users", key="user_id", indexes={"by_email": "email", "by_age": ("town", N("age"))}, foreign=True)


class User(Entity, table=users, type="user"):
    user_id: str
    email: str | None = None
    town: str = "Bern"
    age: int = 0

    @users.key
    @staticmethod
    def of(user_id: str) -> str:
        return f"{user_id}"

    @users.index("by_email")
    @staticmethod
    def by_email(email: str) -> str:
        return f"{email}"

    @users.index("by_age")
    @staticmethod
    def by_age(town: str, age: int = ANY) -> Key:
        return f"{town}", f"{age}"


orders = Table(
    "natural",
    key=("user_id", "order_id"),
    indexes={"by_status": ("status", "created"), "by_owner": ("owner", "created")},
    foreign=True,
)


class Order(Entity, table=orders, type="order"):
    user_id: str
    order_id: str
    status: str = "open"
    owner: str = "ann"
    created: str = "2026-01-01"

    @orders.key
    @staticmethod
    def of(user_id: str, order_id: str = ANY) -> Key:
        return f"{user_id}", f"{order_id}"

    @orders.index("by_status")
    @staticmethod
    def by_status(status: str, created: str = ANY) -> Key:
        return f"{status}", f"{created}"

    @orders.index("by_owner")
    @staticmethod
    def by_owner(owner: str, created: str = ANY) -> Key:
        return f"{owner}", f"{created}"


files = Table("files", key=(B("digest"), N("part")), foreign=True)


class File(Entity, table=files, type="file"):
    digest: bytes
    part: Decimal
    size: int = 0

    @files.key
    @staticmethod
    def of(digest: bytes, part: Decimal = ANY) -> Key:
        return f"{digest!r}", f"{part}"


async def test_a_sort_key_of_numbers(shell: Shell) -> None:
    times = [NOON + timedelta(seconds=seconds) for seconds in (-NOON.timestamp(), 0, 1, 10, 100)]
    made = [Reading(device="d#1", at=at, value=n) for n, at in enumerate(times)]
    await shell.write_many(puts=made)
    seconds = str(int(NOON.timestamp()))
    raw = {"device": {"S": "d#1"}, "at": {"N": seconds}, "value": {"N": "1"}}
    assert await stored(shell.port, Reading.of("d#1", NOON)) == raw
    assert await shell.get(Reading.of("d#1", NOON)) == made[1]
    assert await shell.all(Reading.of("d#1")) == made
    assert await shell.all(Reading.of("d#1").newest_first()) == made[::-1]
    assert await shell.get_many([key_of(one) for one in reversed(made)]) == made[::-1]
    ranges = {
        at_least(NOON): made[1:],
        at_most(NOON): made[:2],
        after(NOON): made[2:],
        before(NOON): made[:1],
        between(times[0], times[3]): made[:4],
    }
    for wanted, expected in ranges.items():
        assert await shell.all(Reading.of("d#1", wanted)) == expected
    with pytest.raises(InvalidRequest, match="takes the lower value"):
        await shell.all(Reading.of("d#1", between(times[3], times[0])))
    page = await shell.page(Reading.of("d#1"), limit=2)
    assert [*page, *await shell.page(Reading.of("d#1"), after=page.cursor)] == made
    beyond = await shell.page(Reading.of("d#1", at_least(times[3])), after=page.cursor)
    assert list(beyond) == made[3:]
    with shell.meter() as meter:
        assert list(await shell.page(Reading.of("d#1", at_most(times[0])), after=page.cursor)) == []
    assert meter.requests == 0
    assert await shell.check(readings) == []
    with pytest.raises(AlreadyExists):
        await shell.create(made[1])
    updated = await shell.update(Reading.of("d#1", NOON), attr(Reading.value).add(1))
    assert updated.value == 2
    assert await shell.delete(Reading.of("d#1", NOON)) == updated


async def test_a_key_of_one_attribute(shell: Shell) -> None:
    ada = User(user_id="ada#1", email="ada@example.org", age=9)
    bob = User(user_id="bob", age=10)
    await shell.create(ada)
    async with shell.transaction() as tx:
        tx.create(bob)
    assert await stored(shell.port, User.of("bob")) == {
        "user_id": {"S": "bob"},
        "town": {"S": "Bern"},
        "age": {"N": "10"},
    }
    assert [await shell.get(User.of("ada#1")), await shell.get(User.of("carol"))] == [ada, None]
    assert await shell.all(User.of("ada#1")) == [ada]
    assert await shell.get_many([User.of("bob"), User.of("ada#1")]) == [bob, ada]
    assert await shell.all(User.by_email("ada@example.org")) == [ada]
    assert await shell.all(User.by_age("Bern")) == [ada, bob]
    assert await shell.all(User.by_age("Bern", at_least(10))) == [bob]
    page = await shell.page(User.by_age("Bern"), limit=1)
    assert [*page, *await shell.page(User.by_age("Bern"), after=page.cursor)] == [ada, bob]
    await shell.update(User.of("bob"), attr(User.email).set("bob@example.org"))
    assert [user.user_id for user in await shell.all(User.by_email("bob@example.org"))] == ["bob"]
    await shell.update(User.of("bob"), attr(User.email).remove())
    assert await shell.all(User.by_email("bob@example.org")) == []
    with pytest.raises(NotFound):
        await shell.update(User.of("carol"), attr(User.age).set(1))
    assert sorted([user.user_id async for user in shell.scan(User)]) == ["ada#1", "bob"]
    assert await shell.check(users) == []
    assert list(await shell.diff_table(users)) == []


async def test_attributes_that_are_keys_and_two_indexes_that_share_one(shell: Shell) -> None:
    item = {"user_id": {"S": "u%1"}, "order_id": {"S": "o#1 x"}, "status": {"S": "open"}, "owner": {"S": "ann"}}
    item |= {"created": {"S": "2026-01-01"}, "note": {"S": "of another program"}}
    await put_raw(shell.port, Order, item)
    order = Order(user_id="u%1", order_id="o#1 x")
    assert await shell.all(Order.of("u%1", starting_with("o#"))) == [order]
    (read,) = await shell.all(Order.by_owner("ann"))
    await shell.put(read)
    assert await all_items(shell.port, "natural") == [item]
    with shell.meter() as meter:
        await shell.update(Order.of("u%1", "o#1 x"), attr(Order.status).set("paid"))
    assert meter.requests == 1
    assert await shell.all(Order.by_status("open")) == []
    assert len(await shell.all(Order.by_status("paid", at_least("2026-01-01")))) == 1
    assert await all_items(shell.port, "natural") == [item | {"status": {"S": "paid"}}]
    assert await shell.check(orders) == []


async def test_one_text_for_an_attribute_that_two_indexes_share(shell: Shell) -> None:
    shared = Table("shared", indexes={"g12": ("g", "s"), "g34": ("h", "s")})

    class Shared(Entity, table=shared, type="shared"):
        id: str
        n: int = 0

        @shared.key
        @staticmethod
        def of(id: str) -> Key:
            return f"shared#{id}", "shared"

        @shared.index("g12")
        @staticmethod
        def by_id(id: str, n: int = ANY) -> Key:
            return f"{id}", f"{n}"

        @shared.index("g34")
        @staticmethod
        def by_n(n: int, id: str = ANY) -> Key:
            return f"{n}", f"{id}"

    with pytest.raises(DeclarationError, match="makes another s than"):
        await shell.put(Shared(id="a"))


async def test_bytes_and_decimals(shell: Shell) -> None:
    made = [File(digest=b"\x00\xff", part=Decimal(part)) for part in ("-1.5", "1.10", "10")]
    for file in made:
        await shell.put(file)
    assert await shell.all(File.of(b"\x00\xff")) == made
    assert await shell.get_many([File.of(b"\x00\xff", Decimal("1.10"))]) == [made[1]]
    assert await shell.all(File.of(b"\x00\xff", at_least(Decimal("1.100")))) == made[1:]
    with pytest.raises(InvalidRequest, match="whole numbers"):
        await shell.all(File.of(b"\x00\xff", after(Decimal(1))))
    assert await shell.check(files) == []


async def test_a_batch_knows_a_key_in_each_form_of_its_value(shell: Shell) -> None:
    one, other = (File(digest=b"\x00\xff", part=Decimal(part)) for part in ("1.1", "1.10"))
    with pytest.raises(InvalidRequest, match="two writes of the same File"):
        await shell.write_many(puts=[one, other])
    with pytest.raises(InvalidRequest, match="two writes of the same File"):
        await shell.write_many(puts=[other], deletes=[File.of(b"\x00\xff", Decimal("1.1"))])


def declare(table: Table, key: Callable[..., Any]) -> type[Any]:
    class Declared(Entity, table=table, type="declared"):
        id: str
        n: int = 0

        of = table.key(key)

    return Declared


def two(id: str, n: int) -> Key:
    return f"{id}", f"{n}"


def text(id: str, n: int) -> Key:
    return f"{id}", f"n#{n}"


def wrong_type(id: str, n: int) -> Key:
    return f"{n}", f"{id}"


def one(id: str) -> str:
    return f"{id}"


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "two texts, one attribute": (lambda: declare(Table("t12", key="id"), two), "returns one text"),
    "one text, two attributes": (lambda: declare(Table("t12"), one), "returns two texts"),
    "text in a key of numbers": (lambda: declare(Table("t12", key=("id", N("n"))), text), "holds numbers"),
    "text for a number": (lambda: declare(Table("t12", key=("pk", N("sk"))), wrong_type), "id is stored as texts"),
    "number in a key of texts": (lambda: declare(Table("t12", key=("id", "n")), two), "n is stored as numbers"),
    "three attributes": (lambda: Table("t12", key=("a", "b", "c")), "a key of 3 attributes"),  # type: ignore[arg-type]
    "the same twice": (lambda: Table("t12", key=("a", "a")), "has two uses"),
    "an index of the same twice": (lambda: Table("t12", indexes={"g12": Index("a", "a")}), "has two uses"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_key_that_does_not_fit_is_refused_when_it_is_declared(case: str) -> None:
    make, words = REFUSED[case]
    with pytest.raises(DeclarationError, match=r".") as refused:
        make()
    assert words in str(refused.value)


async def test_a_number_in_a_key_has_all_its_digits(shell: Shell) -> None:
    table = Table("weights", key=N("weight"), foreign=True)

    class Weight(Entity, table=table, type="weight"):
        weight: Decimal
        name: str = ""

        @table.key
        @staticmethod
        def of(weight: Decimal) -> str:
            return f"{weight}"

    most, beside = (Decimal(f"123456789012345678901234567890.1234567{digit}") for digit in (8, 9))
    await shell.put(Weight(weight=most, name="most"))
    assert await shell.get(Weight.of(most)) == Weight(weight=most, name="most")
    assert await shell.delete(Weight.of(beside)) is None
    texts = {"1.10": "1.1", "1E+3": "1000", "-0.0": "0", "-1E-5": "-0.00001", "100": "100", "0.50": "0.5"}
    assert {text: key_of(Weight(weight=Decimal(text))).partition for text in texts} == texts


async def test_tools_read_past_a_page_of_such_keys(shell: Shell) -> None:
    table = Table("hashes", key=(B("digest"), N("at")), foreign=True)

    class Hash(Entity, table=table, type="hash"):
        digest: bytes
        at: int

        @table.key
        @staticmethod
        def of(digest: bytes, at: int) -> Key:
            return f"{digest!r}", f"{at}"

    for at in range(-1, 2):
        await shell.put(Hash(digest=b"\xff", at=at))
    segments, read = all_segments(1), []
    while segments:
        pages = await shell.run(scan_pages(shell.port, table, segments, page=1))
        read += [item["at"]["N"] for page in pages for item in page.items]
        segments = advanced(segments, pages)
    assert read == ["-1", "0", "1"]
    part: Any = FillPart.of(Table("plain"))(declaration="d", segment=0, segments=1)
    moved = part.moved({"digest": {"B": "/w=="}, "at": {"N": "0"}}, 1, 0, {})
    (left,) = [ScanSegment(moved.segment, moved.segments, moved.position)]
    assert left.after(table) == {"digest": {"B": "/w=="}, "at": {"N": "0"}}


async def test_a_report_counts_the_partitions_of_numbers(shell: Shell) -> None:
    table = Table("ages", key="id", indexes={"by_age": (N("age"), "id")}, foreign=True)

    class Aged(Entity, table=table, type="aged"):
        id: str
        age: int

        @table.key
        @staticmethod
        def of(id: str) -> str:
            return f"{id}"

        @table.index("by_age")
        @staticmethod
        def by_age(age: int, id: str = ANY) -> Key:
            return f"{age}", f"{id}"

    for number in range(3):
        await shell.put(Aged(id=str(number), age=number % 2))
    tally = Tally(table)
    tally.add(await all_items(shell.port, table.name))
    (index,) = tally.shape(None, 1.0).indexes
    assert (index.items, index.partitions) == (3, 2)


async def test_an_empty_text_is_not_the_key_of_an_index(shell: Shell) -> None:
    """Refused by the attribute's name, before the service does; None keeps the item out of the index."""
    await shell.put(User(user_id="u1", email="ada@example.org", age=36))
    with shell.meter() as meter:
        for write in (
            lambda: shell.put(User(user_id="u2", email="")),
            lambda: shell.create(User(user_id="u2", town="")),
            lambda: shell.write_many(puts=[User(user_id="u2", email="")]),
            lambda: shell.update(User.of("u1"), attr(User.email).set("")),
        ):
            with pytest.raises(InvalidValue, match="an empty text can't be a key") as refused:
                await write()
            assert refused.value.attribute in ("User.email", "User.town")
    assert meter.requests == 0
    await shell.put(User(user_id="u2", email=None))
    assert await shell.get(User.of("u2")) == User(user_id="u2", email=None)
