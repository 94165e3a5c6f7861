"""Searches by words: every verb keeps the words of an item in its own transaction, in both shells."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, Key, NotFound, Table, attr, field, starting_with
from singletable.errors import InvalidValue, TransactionCancelled
from tests.support.raw import all_items
from tests.support.shells import Shell

crm = Table("crm", ttl_attribute="ends")


class Customer(Entity, table=crm, type="customer"):
    tenant: str
    id: str
    name: str | None = None
    note: str = ""
    revision: int = field(version=True, default=0)
    ends: datetime | None = field(expires=True, default=None)

    @crm.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One customer."""
        return f"customer#{id}", "customer"

    @crm.search
    @staticmethod
    def by_word(tenant: str, name: str = ANY) -> Key:
        """The customers of a tenant by the words of their names."""
        return f"names#{tenant}", f"{name:words(4)}"


class Tag(Entity, table=crm, type="tag"):
    id: str

    @crm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"tag#{id}", "tag"

    @crm.search
    @staticmethod
    def by_word(id: str) -> Key:
        return "tags", f"{id:words}"


class Plain(Entity, table=crm, type="plain"):
    id: str
    name: str = ""

    @crm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"plain#{id}", "plain"


def customer(id: str, name: str | None, tenant: str = "t1", **more: Any) -> Customer:
    return Customer(tenant=tenant, id=id, name=name, **more)


async def ids(shell: Shell, begins: str, tenant: str = "t1") -> list[str]:
    return [found.id for found in await shell.all(Customer.by_word(tenant, starting_with(begins)))]


async def words(shell: Shell) -> list[str]:
    items = [item for item in await all_items(shell.port, crm.name) if item["_type"] == {"S": "_word"}]
    return sorted(f"{item['pk']['S']} {item['sk']['S'].split('#')[1]} {item['owner']['S']}" for item in items)


async def test_a_word_is_found_by_its_beginning(shell: Shell) -> None:
    await shell.create(customer("1", "Ada Lovelace"))
    await shell.create(customer("2", "ÁDÁM O'Brien"))
    await shell.create(customer("3", "Jean-Luc  Adams"))
    await shell.create(customer("4", "Ada", tenant="t2"))
    assert await ids(shell, "ad") == ["1", "2", "3"]
    assert await ids(shell, "LOV") == ["1"]
    assert await ids(shell, "o'bri") == await ids(shell, "bri") == ["2"]
    assert await ids(shell, "adams j") == await ids(shell, "jean-l") == ["3"]
    assert await ids(shell, "ada jean x") == await ids(shell, "vel") == []
    assert await ids(shell, "") == await ids(shell, "-") == ["1", "2", "3"]
    assert await ids(shell, "a", "t2") == ["4"]
    assert [found.id for found in await shell.all(Customer.by_word("t1", "ADA"))] == ["1"]
    assert [found.id for found in await shell.all(Customer.by_word("t1", "lovelace ada"))] == ["1"]
    assert len(await shell.all(Customer.by_word("t1"))) == 3
    assert await shell.check(crm) == []


async def test_an_item_is_given_once_whatever_its_words(shell: Shell) -> None:
    await shell.create(customer("1", "anna andersen an anouk"))
    await shell.create(customer("2", "anders"))
    assert await ids(shell, "an") == ["1", "2"]
    found: list[str] = []
    cursor = None
    while True:
        page = await shell.page(Customer.by_word("t1", starting_with("an")), limit=1, after=cursor)
        found += [one.id for one in page]
        if (cursor := page.cursor) is None:
            break
    assert found == ["1", "2"]


async def test_what_each_verb_takes(shell: Shell) -> None:
    async def cost(flow: Any) -> tuple[int, float, float]:
        with shell.meter() as meter:
            await flow
        return meter.requests, meter.read_units, meter.write_units

    assert await cost(shell.create(customer("1", "Ada Lovelace"))) == (1, 0, 6)
    assert await cost(shell.update(Customer.by_id("1"), attr(Customer.note).set("x"))) == (1, 0, 1)
    assert await cost(shell.update(Customer.by_id("1"), attr(Customer.name).set("Ada King"))) == (3, 2, 6)
    assert await words(shell) == [
        "_word#customer#by_word#names#t1 ada customer#1",
        "_word#customer#by_word#names#t1 king customer#1",
    ]
    stored = await shell.get(Customer.by_id("1"))
    assert stored is not None
    assert await cost(shell.put(stored)) == (2, 1, 2)
    assert await cost(shell.delete(Customer.by_id("1"))) == (2, 1, 6)
    assert await words(shell) == []


async def test_a_page_costs_its_entries_and_its_items(shell: Shell) -> None:
    for part in (range(20), range(20, 40)):
        async with shell.transaction() as tx:
            for number in part:
                tx.create(customer(f"{number:03}", f"Ada {'x' * 10}"))
    with shell.meter() as meter:
        page = await shell.page(Customer.by_word("t1", starting_with("ad")), limit=10)
    assert (len(page), meter.requests, meter.round_trips) == (10, 2, 2)
    assert meter.read_units == 0.5 + 10 * 0.5
    rest = await shell.page(Customer.by_word("t1", starting_with("ad")), limit=100, after=page.cursor)
    assert {one.id for one in page} | {one.id for one in rest} == {f"{n:03}" for n in range(40)}
    newest = await shell.page(Customer.by_word("t1", starting_with("ad")).newest_first(), limit=40)
    assert [one.id for one in newest] == [one.id for one in [*page, *rest]][::-1]
    with shell.meter() as meter:
        await shell.all(Customer.by_word("t1", starting_with("ad")).consistent())
    assert meter.read_units == 2 + 40  # 6 KB of words, and 40 items
    with shell.meter() as meter:
        assert await shell.all(Customer.by_word("t1", "ad")) == []
    assert (meter.requests, meter.read_units) == (1, 0.5)  # whole words alone are read
    query, batch = shell.explain(Customer.by_word("t1", starting_with("ad")))
    assert (query.operation, batch.operation) == ("Query", "BatchGetItem")


async def test_a_page_of_two_words_looks_at_twice_as_many_each_time(shell: Shell) -> None:
    """The longest word that is asked for is read; whether an item has the other one is seen when it is there."""
    for part in (range(20), range(20, 40), range(40, 60)):
        async with shell.transaction() as tx:
            for number in part:
                tx.create(customer(f"{number:03}", f"José {'García' if number % 20 == 7 else 'Smith'}"))
    with shell.meter() as meter:
        page = await shell.page(Customer.by_word("t1", starting_with("jose gar")), limit=10)
    assert [one.id for one in page if one.id[1:] in {"07", "27", "47"}] == [one.id for one in page]
    assert (len(page), page.cursor) == (3, None)
    assert meter.requests == 2 * 3  # 10, 20 and 40 entries


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("text", ["jo", "jo jon", "jones", ""])
async def test_pages_have_each_item_once(shell: Shell, limit: int, text: str) -> None:
    """Also where an answer has more of them than a page."""
    async with shell.transaction() as tx:
        for number in range(15):
            tx.create(customer(f"{number:03}", f"Jo Jones {'Ada' if number % 3 else 'Jo-Ann'}"))
    query = Customer.by_word("t1", starting_with(text))
    every = [one.id for one in await shell.all(query)]
    assert sorted(every) == [f"{number:03}" for number in range(15)]
    for asked in (query, query.newest_first()):
        found, cursor, sizes = list[str](), None, list[int]()
        while True:
            page = await shell.page(asked, limit=limit, after=cursor)
            sizes.append(len(page))
            found += [one.id for one in page]
            if (cursor := page.cursor) is None:
                break
        assert found == (every if asked is query else every[::-1])
        assert max(sizes) <= limit


async def test_every_verb_keeps_the_words(shell: Shell) -> None:
    await shell.upsert(customer("1", "Ada"))
    await shell.upsert(customer("1", "Bea"))
    assert await ids(shell, "") == ["1"]
    assert await ids(shell, "ada") == []
    await shell.put(customer("1", "Cleo Dora", revision=2))
    await shell.update(Customer.by_id("1"), attr(Customer.tenant).set("t2"))
    assert (await ids(shell, "cleo"), await ids(shell, "cleo", "t2")) == ([], ["1"])
    await shell.update(Customer.by_id("1"), attr(Customer.name).remove())
    assert await words(shell) == []
    async with shell.transaction() as tx:
        tx.create(customer("2", "Ada"))
        tx.update(Customer.by_id("1"), attr(Customer.name).set("Ada Zoe"))
        tx.create(Plain(id="1"))
    assert await ids(shell, "ada") == ["2"]
    assert await ids(shell, "zo", "t2") == ["1"]
    async with shell.transaction() as tx:
        tx.delete(Customer.by_id("1"))
        tx.update(Customer.by_id("2"), attr(Customer.name).set("Eva"))
    assert [line.split()[1] for line in await words(shell)] == ["eva"]
    with pytest.raises(InvalidRequest, match="a search"):
        await shell.write_many(puts=[Tag(id="one two")])
    with pytest.raises(NotFound):
        await shell.update(Customer.by_id("9"), attr(Customer.name).set("Ada"))
    assert await shell.check(crm) == []


async def test_the_first_words_are_found_and_none_is_refused(shell: Shell) -> None:
    await shell.create(customer("1", "one two three one four five six"))
    assert [await ids(shell, word) for word in ("two", "four", "five")] == [["1"], ["1"], []]
    for number, name in enumerate(["", "\u0301", "#/-", "x" * 30_000, "한" * 300, "😀 \0", "ﷺ" * 90, "last\U0010ffff"]):
        await shell.create(customer(f"odd{number}", name))
    assert await ids(shell, "xxxx") == ["odd3"]
    assert await ids(shell, "하") == ["odd4"]
    assert await ids(shell, "😀") == ["odd5"]
    assert await ids(shell, "las") == ["odd7"]
    assert await shell.check(crm) == []
    with pytest.raises(InvalidValue):
        Customer.by_word("t1", starting_with("\ud800"))


async def test_what_expired_is_not_found_and_its_words_expire_with_it(shell: Shell) -> None:
    ends = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(seconds=60)
    await shell.put(customer("1", "Ada", ends=ends))
    assert await ids(shell, "ada") == []
    items = [item for item in await all_items(shell.port, crm.name) if item["_type"] == {"S": "_word"}]
    assert [item["ends"] for item in items] == [{"N": str(int(ends.timestamp()))}]
    await shell.create(customer("1", "Bea"))
    assert await ids(shell, "bea") == ["1"]
    await shell.update(Customer.by_id("1"), attr(Customer.ends).set(ends + timedelta(days=1)))
    items = [item for item in await all_items(shell.port, crm.name) if item["sk"]["S"].startswith("_word#bea")]
    assert [item["ends"] for item in items] == [{"N": str(int(ends.timestamp()) + 86_400)}]
    assert await ids(shell, "bea") == ["1"]


async def test_a_transaction_has_a_hundred_items_words_among_them(shell: Shell) -> None:
    async def create(count: int, *, with_check: bool) -> None:
        async with shell.transaction() as tx:
            for number in range(count):
                tx.create(customer(f"{number}", "one two three four"))
            if with_check:
                tx.check(Plain.by_id("none"))

    with pytest.raises(InvalidRequest, match="a transaction of 105 items"):
        await create(21, with_check=False)
    assert await words(shell) == []
    with pytest.raises(TransactionCancelled):
        await create(2, with_check=True)
    assert await words(shell) == []


async def test_what_a_search_does_not_take_is_refused_by_name(shell: Shell) -> None:
    query = Customer.by_word("t1", starting_with("a"))
    for refused in (
        lambda: query.where(attr(Customer.note) == "x"),
        lambda: query.only(Customer.name),
        query.keys,
        query.hydrated,
        lambda: query.also(Plain),
    ):
        with pytest.raises(InvalidRequest, match="is not for a search"):
            refused()
    both = await shell.together(query, Plain.by_id("1"))
    assert both == ([], None)
