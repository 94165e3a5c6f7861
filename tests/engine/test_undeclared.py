"""What a class doesn't declare: an old program reads and writes items that a newer one wrote, and erases nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, Key, Table, attr
from singletable.tables import Index
from singletable.values import Undeclared, undeclared_in
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell

old = Table("shop", indexes={"gsi1": Index("gsi1pk", "gsi1sk"), "gsi2": Index("gsi2pk", "gsi2sk", ("n", "state"))})


@dataclass
class Address:
    city: str


@dataclass(frozen=True)
class Frozen:
    city: str


@dataclass(frozen=True, slots=True)
class Slotted:
    city: str


class Order(Entity, table=old, type="order"):
    """As the program of yesterday has it."""

    n: int
    state: str = "open"
    home: Address | None = None
    homes: list[Address] = field(default_factory=list[Address])
    frozen: Frozen | None = None
    slotted: list[Slotted] = field(default_factory=list[Slotted])

    @old.key
    @staticmethod
    def by_n(n: int) -> Key:
        return f"o#{n}", "o"

    @old.index("gsi1")
    @staticmethod
    def by_state(state: str, n: int = ANY) -> Key:
        return f"s#{state}", f"{n}"


class Brief(Entity, table=old, type="brief"):
    """All of it is in an index that holds a part of each item."""

    n: int
    state: str

    @old.key
    @staticmethod
    def by_n(n: int) -> Key:
        return f"b#{n}", "b"

    @old.index("gsi2")
    @staticmethod
    def by_state(state: str, n: int = ANY) -> Key:
        return f"s#{state}", f"{n}"


def place(city: str) -> dict[str, Any]:
    return {"M": {"city": {"S": city}, "zip": {"S": f"zip of {city}"}}}


NEWER: dict[str, Any] = {
    "priority": {"N": "5"},
    "tags": {"SS": ["a", "b"]},
    "more": {"M": {"x": {"L": [{"NULL": True}, {"B": "AAE="}]}}},
    "nothing": {"NULL": True},
}
INSIDE: dict[str, Any] = {
    "home": place("a"),
    "homes": {"L": [place("b"), place("c")]},
    "frozen": place("d"),
    "slotted": {"L": [place("e"), place("f")]},
}
ITEM: dict[str, Any] = {
    "pk": {"S": "o#a1"},
    "sk": {"S": "o"},
    "gsi1pk": {"S": "s#open"},
    "gsi1sk": {"S": "a1"},
    "_type": {"S": "order"},
    "_v": {"N": "1"},
    "_w": {"S": "an earlier write"},
    "_ttl": {"N": "99"},
    "n": {"N": "1"},
    "state": {"S": "open"},
}
KEY: Any = Order.by_n(1)
HOME: Any = Order.home


async def put_newer(shell: Shell) -> None:
    await put_raw(shell.port, Order, {**ITEM, **NEWER, **INSIDE})


async def newer_in(shell: Shell) -> dict[str, Any]:
    """What the newer program finds of its own attributes."""
    item = dict(await stored(shell.port, KEY) or {})
    return {name: item[name] for name in (*NEWER, *INSIDE) if name in item}


async def by_put(shell: Shell, order: Order) -> None:
    await shell.put(order)


async def by_put_if(shell: Shell, order: Order) -> None:
    await shell.put(order, where=attr(Order.n) == 1)


async def by_transaction(shell: Shell, order: Order) -> None:
    async with shell.transaction() as tx:
        tx.put(order)


async def by_merged_writes(shell: Shell, order: Order) -> None:
    async with shell.transaction() as tx:
        tx.put(order)
        tx.update(order, attr(Order.state).set("paid"))


async def by_batch(shell: Shell, order: Order) -> None:
    await shell.write_many(puts=[order])


async def by_delete_and_create(shell: Shell, order: Order) -> None:
    gone: Any = await shell.delete(order)
    await shell.create(gone)
    await shell.update(order, attr(Order.state).set("paid"))


async def by_upsert(shell: Shell, order: Order) -> None:
    await shell.upsert(order)


async def by_update(shell: Shell, order: Order) -> None:
    await shell.update(order, attr(Order.state).set("paid"), attr(Order.home).set(order.home))


async def by_path(shell: Shell, order: Order) -> None:
    await shell.update(KEY, attr(Order.state).set("paid"), attr(HOME.city).set("a"))


@pytest.mark.parametrize(
    "write",
    [
        by_put,
        by_put_if,
        by_transaction,
        by_merged_writes,
        by_batch,
        by_delete_and_create,
        by_upsert,
        by_update,
        by_path,
    ],
)
async def test_a_write_of_what_was_read_erases_nothing(shell: Shell, write: Callable[..., Any]) -> None:
    await put_newer(shell)
    order: Any = await shell.get(KEY)
    order.state = "paid"
    await write(shell, order)
    assert await newer_in(shell) == {**NEWER, **INSIDE}
    assert await shell.get(KEY) == replace(order, state="paid")
    assert await shell.check(old) == []


async def test_it_takes_the_requests_and_units_that_it_took(shell: Shell) -> None:
    await put_newer(shell)
    with shell.meter() as meter:
        order: Any = await shell.get(KEY)
        await shell.put(order)
    assert (meter.requests, meter.read_units) == (2, 0.5)


async def test_every_read_brings_it(shell: Shell) -> None:
    await put_newer(shell)
    await shell.put(Order(n=2))
    key = Order.by_state("open")
    for order in (
        (await shell.get_many([KEY, Order.by_n(2)]))[0],
        (await shell.page(key))[0],
        (await shell.all(key))[0],
        (await shell.get_many([KEY], unreadable=list[Any]().append))[0],
        await shell.update(KEY, attr(Order.state).set("open")),
    ):
        await shell.put(order)
        assert await newer_in(shell) == {**NEWER, **INSIDE}


async def test_copies_and_pickles_keep_it_and_replace_drops_it(shell: Shell) -> None:
    await put_newer(shell)
    order: Any = await shell.get(KEY)
    for same in (copy.copy(order), copy.deepcopy(order), pickle.loads(pickle.dumps(order))):
        await put_newer(shell)
        await shell.put(same)
        assert await newer_in(shell) == {**NEWER, **INSIDE}
    await shell.put(replace(order))
    bare = {"L": [{"M": {"city": {"S": city}}} for city in "ef"]}
    assert await newer_in(shell) == {
        **INSIDE,
        "slotted": bare,
    }  # the other objects inside are the same, and have a place
    order.home, order.slotted[0] = replace(order.home), Slotted("e")
    await shell.put(order)
    newer = await newer_in(shell)
    assert newer["home"] == {"M": {"city": {"S": "a"}}}
    assert newer["slotted"] == {"L": [{"M": {"city": {"S": "e"}}}, place("f")]}


async def test_it_takes_no_part_in_what_an_object_is(shell: Shell) -> None:
    await put_newer(shell)
    order: Any = await shell.get(KEY)
    bare = Order(
        n=1,
        home=Address("a"),
        homes=[Address("b"), Address("c")],
        frozen=Frozen("d"),
        slotted=[Slotted("e"), Slotted("f")],
    )
    assert order == bare
    assert repr(order) == repr(bare)
    assert asdict(order) == asdict(bare)
    assert hash(order.frozen) == hash(bare.frozen)
    assert "zip" not in repr(vars(order))


async def test_a_new_object_writes_what_it_is_and_no_more(shell: Shell) -> None:
    """No condition can say that an item has no other attributes: put replaces, upsert leaves what it doesn't know."""
    await put_newer(shell)
    await shell.upsert(Order(n=1, state="paid"))
    empty: dict[str, Any] = {"homes": {"L": []}, "slotted": {"L": []}}
    assert await newer_in(shell) == {**NEWER, **empty}
    await shell.put(Order(n=1, state="paid"))
    assert await newer_in(shell) == empty


async def test_an_upsert_keeps_the_newer_value(shell: Shell) -> None:
    await put_newer(shell)
    order: Any = await shell.get(KEY)
    await put_raw(shell.port, Order, {**ITEM, **NEWER, **INSIDE, "priority": {"N": "6"}})
    await shell.upsert(order)
    assert (await newer_in(shell))["priority"] == {"N": "6"}


async def test_what_is_the_librarys_own_does_not_come_back(shell: Shell) -> None:
    """Keys of indexes that the class is not in, the time of expiry, and the write id: as its class makes them."""
    await put_raw(shell.port, Order, {**ITEM, **NEWER, "gsi2pk": {"S": "of another class"}})
    order: Any = await shell.get(KEY)
    order.state = "paid"
    await shell.put(order)
    item = dict(await stored(shell.port, KEY) or {})
    assert not {"gsi2pk", "_ttl", "_w"} & item.keys()
    assert item["gsi1pk"] == {"S": "s#paid"}


async def test_what_a_class_declares_is_the_objects_own(shell: Shell) -> None:
    """Also where the object was pickled by a program whose class did not declare it."""
    order: Any = Order(n=1, state="paid")
    vars(order)["__undeclared__"] = Undeclared({"state": {"S": "open"}, "gsi1pk": {"S": "s#open"}, **NEWER})
    await shell.put(order)
    item = dict(await stored(shell.port, KEY) or {})
    assert (item["state"], item["gsi1pk"], item["priority"]) == ({"S": "paid"}, {"S": "s#paid"}, {"N": "5"})


async def test_what_was_read_in_part_is_not_written_whole(shell: Shell) -> None:
    await put_newer(shell)
    await put_raw(
        shell.port,
        Brief,
        {
            "pk": {"S": "b#a1"},
            "sk": {"S": "b"},
            "_type": {"S": "brief"},
            "_v": {"N": "1"},
            "n": {"N": "1"},
            "state": {"S": "x"},
            "gsi2pk": {"S": "s#x"},
            "gsi2sk": {"S": "a1"},
            "priority": {"N": "5"},
        },
    )
    names = (Order.n, Order.state, Order.home, Order.homes, Order.frozen, Order.slotted)
    await shell.put(Order(n=2))
    plain: Any = await shell.get(Order.by_n(2).only(*names))
    part: Any = await shell.get(KEY.only(*names))
    assert part == await shell.get(KEY)
    (brief,) = await shell.all(Brief.by_state("x"))
    assert brief == Brief(n=1, state="x")
    for entity in (plain, part, brief):
        with pytest.raises(InvalidRequest, match="was read in part"):
            await shell.put(entity)
    await shell.update(brief, attr(Brief.state).set("y"))


# --- items of an older schema version, and in two forms --------------------------------------------------------------
class Person(Entity, table=old, type="person", version=2):
    id: str
    first: str
    home: Address | None = None

    @old.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"


@Person.upcast(1)
def name_became_first(item: dict[str, Any]) -> dict[str, Any]:
    first = item.pop("name")
    return {**item, "first": first}


FIRST: dict[str, Any] = {
    "pk": {"S": "person#1"},
    "sk": {"S": "person"},
    "_type": {"S": "person"},
    "_v": {"N": "1"},
    "id": {"S": "1"},
    "name": {"S": "Ada"},
    "home": place("a"),
    **NEWER,
}
PERSON: Any = Person.by_id("1")


async def by_put_of_person(shell: Shell, person: Any) -> None:
    await shell.put(person)


async def by_upgrade(shell: Shell, person: Any) -> None:
    await shell.update(PERSON, attr(Person.first).set("Ada"))


@pytest.mark.parametrize("write", [by_put_of_person, by_upgrade])
async def test_an_upcast_takes_away_what_it_takes_and_no_more(shell: Shell, write: Callable[..., Any]) -> None:
    await put_raw(shell.port, Person, FIRST)
    person = await shell.get(PERSON)
    assert person == Person(id="1", first="Ada", home=Address("a"))
    await write(shell, person)
    item = dict(await stored(shell.port, PERSON) or {})
    assert {name: item.get(name) for name in (*NEWER, "home")} == {**NEWER, "home": place("a")}
    assert (item["_v"], "name" in item) == ({"N": "2"}, False)
    assert undeclared_in(await shell.get(PERSON)) == NEWER


both = Table("both")


class Contact(Entity, table=both, type="contact", version=2, stored_as=1):
    id: str
    first: str

    @both.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"contact#{id}", "contact"


@Contact.upcast(1)
def first_of_name(item: dict[str, Any]) -> dict[str, Any]:
    first = item.pop("name")
    return {**item, "first": first}


@Contact.downcast(2)
def name_of_first(item: dict[str, Any]) -> dict[str, Any]:
    name = item.pop("first")
    return {**item, "name": name}


async def test_the_other_form_of_an_item_does_not_come_back_stale(shell: Shell) -> None:
    key: Any = Contact.by_id("1")
    await shell.create(Contact(id="1", first="Ada"))
    item = dict(await stored(shell.port, key) or {})
    await put_raw(shell.port, Contact, {**item, "name": {"S": "Ben"}, **NEWER})  # an older program wrote it last
    contact: Any = await shell.get(key)
    assert contact == Contact(id="1", first="Ben")
    assert undeclared_in(contact) == NEWER
    contact.first = "Cara"
    await shell.put(contact)
    item = dict(await stored(shell.port, key) or {})
    assert (item["name"], item["first"]) == ({"S": "Cara"}, {"S": "Cara"})
    assert {name: item.get(name) for name in NEWER} == NEWER


@dataclass
class Answering:
    """It has an answer for any name."""

    city: str

    def __getattr__(self, name: str) -> str:
        return name


@dataclass
class Failing:
    """It looks in itself for any name, and finds none."""

    city: str

    def __getattr__(self, name: str) -> object:
        return self.__dict__["more"][name]


class Visit(Entity, table=old, type="visit"):
    n: int
    answering: Answering
    failing: Failing

    @old.key
    @staticmethod
    def by_n(n: int) -> Key:
        return f"v#{n}", "v"


async def test_an_object_that_answers_for_any_name_carries_too(shell: Shell) -> None:
    key: Any = Visit.by_n(1)
    await shell.create(Visit(n=1, answering=Answering("a"), failing=Failing("b")))
    item = dict(await stored(shell.port, key) or {})
    assert (item["answering"], item["failing"]) == ({"M": {"city": {"S": "a"}}}, {"M": {"city": {"S": "b"}}})
    await put_raw(shell.port, Visit, {**item, "answering": place("c"), "failing": place("d")})
    visit: Any = await shell.get(key)
    await shell.put(visit)
    item = dict(await stored(shell.port, key) or {})
    assert (item["answering"], item["failing"]) == (place("c"), place("d"))


@dataclass(frozen=True)
class Currency:
    """One object for each code."""

    code: str

    def __new__(cls, code: str) -> Currency:
        return _CURRENCIES.setdefault(code, object.__new__(cls))


_CURRENCIES: dict[str, Currency] = {}


class Price(Entity, table=old, type="price"):
    n: int
    currency: Currency

    @old.key
    @staticmethod
    def by_n(n: int) -> Key:
        return f"price#{n}", "price"


async def test_an_object_that_items_share_carries_nothing_from_one_to_the_other(shell: Shell) -> None:
    keys: list[Any] = [Price.by_n(1), Price.by_n(2)]
    await shell.create(Price(n=1, currency=Currency("EUR")))
    item = dict(await stored(shell.port, keys[0]) or {})
    currency = {"M": {"code": {"S": "EUR"}, "owner": {"S": "of the first"}}}
    await put_raw(shell.port, Price, {**item, "currency": currency})
    price: Any = await shell.get(keys[0])
    await shell.create(Price(n=2, currency=price.currency))
    item = dict(await stored(shell.port, keys[1]) or {})
    assert item["currency"] == {"M": {"code": {"S": "EUR"}}}
