"""A copy of a table: whole, a slice that hangs together, masked alike everywhere; killed anywhere, it goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from singletable import ANY, Database, Entity, InvalidRequest, Key, Meter, Table, connect, field, key_of
from singletable.errors import NotConfigured
from singletable.exchange import AsyncTableCopy, Copied, TableCopy
from singletable.exchange.masked_items import ItemMask
from singletable.exchange.masks import Mask
from singletable.exchange.table_copy import OWN
from singletable.flow import Rate
from singletable.operations import encode, read_item
from singletable.schema import model_of
from singletable.streams import Changes, ChangeWorker
from tests.exchange.kin import Relative, kin
from tests.exchange.people import Letter, Order, Person, fill, order, people, person
from tests.migrations.watching import Killed, before_each
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items, put_raw

KEY = b"a key for these masks"
TELLING = r"somebody\d|Surname\d|\b7946\b|Nickname|Longstreet|Schoolmate|Confidential"
"""What no masked copy may hold."""


@pytest.fixture
def dbs() -> Iterator[tuple[Database, Database]]:
    with ExitStack() as stack:
        source, target = (stack.enter_context(fresh()) for _ in range(2))
        fill(source)
        yield source, target


def items_of(db: Database, table: str = "people") -> dict[tuple[str, str], Any]:
    return {(i["pk"]["S"], i["sk"]["S"]): i for i in db.run(all_items(db.port, table))}


def test_a_whole_copy_is_the_table(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    with Meter() as meter:
        copied = TableCopy(source, target, people).run(keep_personal=True)
    assert items_of(target) == items_of(source)
    assert copied == Copied(read=110, written=110)
    assert meter.requests < 30
    assert target.check(people) == []


@pytest.mark.parametrize("keep_personal", [False, True])
def test_only_a_whole_copy_takes_the_traces_of_writes(dbs: tuple[Database, Database], keep_personal: bool) -> None:
    source, target = dbs
    trace = {"_trace": {"S": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
    for item in items_of(source).values():
        if item["_type"]["S"] in ("person", "letter"):
            source.run(put_raw(source.port, Person, {**item, **trace}))
    traced = [item["_type"] for item in items_of(source).values() if "_trace" in item]
    TableCopy(source, target, people).run(keep_personal=keep_personal)
    held = [item["_type"] for item in items_of(target).values() if "_trace" in item]
    assert len(traced) > 10
    assert len(held) == keep_personal * len(traced)


async def test_the_awaiting_shell_copies_the_same() -> None:
    async with fresh_async() as source, fresh_async() as target:
        await source.create_table(people)
        for number in range(5):
            await source.create(person(number))
        copied = await AsyncTableCopy(source, target, people).run(mask_key=KEY)
        assert (copied.read, copied.written) == (10, 10)
        assert await target.check(people) == []


def test_a_copy_goes_into_the_table_that_is_named(dbs: tuple[Database, Database]) -> None:
    """`to_table` is a name in the account, also where it is the declared one of a table that is called otherwise."""
    with connect(dbs[0].target.endpoint.url, tables={"people": "people-7"}) as db:
        TableCopy(dbs[0], db, people, to_table="people-7").run(keep_personal=True)
        TableCopy(dbs[0], db, people, to_table="people-8").run(keep_personal=True)
        with pytest.raises(InvalidRequest, match="the same table"):
            TableCopy(dbs[0], db, people, to_table="people").run(keep_personal=True, add=True)
    assert items_of(dbs[0], "people-7") == items_of(dbs[0], "people-8") == items_of(dbs[0])


def test_personal_values_have_masks_everywhere(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    TableCopy(source, target, people).run(mask_key=KEY)
    stored = json.dumps(list(items_of(target).values()), ensure_ascii=False)
    assert re.search(TELLING, json.dumps(list(items_of(source).values()), ensure_ascii=False))
    assert not re.search(TELLING, stored)
    assert target.check(people) == []
    assert len(items_of(target)) == len(items_of(source))
    for bought in target.scan(Order):
        buyer = target.get(Person.by_email(bought.buyer))
        assert buyer is not None
        assert bought.number in [each.number for each in target.all(Order.of_buyer(buyer.email))]
        assert all(target.get(Person.by_email(each)) is not None for each in bought.seen_by)
    assert all(each.name == target.get(Person.by_email(each.email)).name for each in target.scan(Letter))  # type: ignore[union-attr]


def test_a_mask_has_the_type_and_the_shape_of_its_value(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    TableCopy(source, target, people).run(mask_key=KEY)
    before, after = ({each.revision_id: each for each in map(_Shaped, db.scan(Person))} for db in (source, target))
    assert before.keys() == after.keys()


class _Shaped:
    """A person by what a mask keeps."""

    def __init__(self, who: Person) -> None:
        digits = re.sub(r"[0-9]", "9", who.phone or "")
        letters = re.sub(r"[a-zë]", "x", re.sub(r"[A-Z]", "X", re.sub(r"[0-9]", "9", who.name)))
        assert who.email.endswith((".invalid", "example.org"))
        assert who.id is not None
        kinds = tuple(type(each).__name__ for each in (who.salary, who.weight, who.born, who.seen, who.diet))
        self.revision_id = (digits, len(letters), who.id.version, len(who.picture), who.town, kinds, who.revision)


def test_two_copies_mask_alike_under_one_key_only(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    with fresh() as other, fresh() as third:
        TableCopy(source, target, people).run(mask_key=KEY)
        TableCopy(source, other, people).run(mask_key=KEY)
        TableCopy(source, third, people).run(mask_key=b"another key for masks")
        assert items_of(target) == items_of(other)
        assert items_of(target).keys() != items_of(third).keys()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keep_personal", [False, True])
def test_a_slice_hangs_together(dbs: tuple[Database, Database], seed: int, keep_personal: bool) -> None:
    source, target = dbs
    copied = TableCopy(source, target, people).run(
        sample=0.2, seed=seed, follow_edges=True, keep_personal=keep_personal
    )
    assert 0 < copied.read < 110
    assert target.check(people) == []
    for bought in target.scan(Order):
        for email in (bought.buyer, *bought.seen_by):
            assert target.get(Person.by_email(email)) is not None
    for letter in target.scan(Letter):
        assert target.get(Person.by_email(letter.email)) is not None


def test_a_slice_without_following_is_what_was_scanned(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    copied = TableCopy(source, target, people).run(sample=0.3, seed=1, keep_personal=True)
    assert items_of(target).items() <= items_of(source).items()
    assert len(items_of(target)) == copied.written <= copied.read + 20
    assert target.check(people) == []


def test_killed_at_any_request_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as source, fresh() as whole:
        fill(source, 6, 10)
        TableCopy(source, whole, people).run(mask_key=KEY)
        at = 1
        while True:
            with fresh() as target:
                is_over = _copy_killed(source, target, at, monkeypatch)
                TableCopy(source, target, people).run(mask_key=KEY, add=is_over)
                assert items_of(target) == items_of(whole)
                assert target.check(people) == []
            if is_over:
                break
            at += 1
        assert at > 6


def test_killed_without_a_key_it_goes_on_with_the_same_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as source, fresh() as target:
        fill(source, 6, 10)
        assert not _copy_killed(source, target, 12, monkeypatch, mask_key=None)
        TableCopy(source, target, people).run()
        assert len(items_of(target)) == len(items_of(source))
        assert target.check(people) == []


def test_a_copy_goes_on_with_its_own_key_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another one, the same person would have two masks in the target."""
    with fresh() as source, fresh() as target:
        fill(source, 6, 10)
        assert not _copy_killed(source, target, 12, monkeypatch)
        for other in (b"another key for masks", None):
            with pytest.raises(InvalidRequest, match="no copy with these options"):
                TableCopy(source, target, people).run(mask_key=other)
        TableCopy(source, target, people).run(mask_key=KEY)
        assert len(items_of(target)) == len(items_of(source))
        assert target.check(people) == []


def _copy_killed(
    source: Database, target: Database, at: int, monkeypatch: pytest.MonkeyPatch, mask_key: bytes | None = KEY
) -> bool:
    """Copy, and be killed before the target's request `at`, from 1. True where it ended before."""
    left = at

    def kill(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    with monkeypatch.context() as patched:
        before_each(target, patched, kill)
        try:
            TableCopy(source, target, people).run(mask_key=mask_key)
        except Killed:
            return False
    return True


def test_what_is_refused(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    target.create(person(99))
    with pytest.raises(InvalidRequest, match="has items"):
        TableCopy(source, target, people).run()
    with pytest.raises(InvalidRequest, match="the same table") as same:
        TableCopy(source, source, people).run(add=True)
    assert same.value.table == people.name
    assert source.check(people) == []
    assert len(items_of(source)) == 110
    both: dict[str, Any] = {"keep_personal": True, "mask_key": KEY}
    wrong: list[dict[str, Any]] = [{"sample": 1.0}, {"follow_edges": True}, both, {"mask_key": b"x"}]
    for options in wrong:
        with pytest.raises(InvalidRequest):
            TableCopy(source, target, people).run(**options)


def test_added_to_what_is_there(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    target.create(person(99))
    TableCopy(source, target, people).run(add=True, keep_personal=True)
    assert len(items_of(target)) == 112
    assert target.check(people) == []


def test_under_another_name_in_the_same_database(dbs: tuple[Database, Database]) -> None:
    source, _ = dbs
    TableCopy(source, source, people, to_table="people-copy").run(keep_personal=True)
    assert items_of(source, "people-copy") == items_of(source)


def test_a_dry_run_writes_nothing(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    with target.meter() as meter:
        copied = TableCopy(source, target, people).run(dry_run=True)
    assert (copied.read, copied.written) == (110, 110)
    assert meter.write_units == 0


def test_it_keeps_to_the_rates_of_both_sides(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    began = target.port.monotonic()
    TableCopy(source, target, people).run(target_rate=Rate(write_units=200))
    assert target.port.monotonic() - began > 0.4


def test_the_source_may_change_meanwhile(dbs: tuple[Database, Database]) -> None:
    source, target = dbs

    def write(copied: Copied) -> None:
        source.put(order(1000 + copied.read, 20))
        source.delete(key_of(order(3, 20)))

    TableCopy(source, target, people).run(progress=write)
    assert target.check(people) == []


def test_a_target_of_other_keys_is_refused(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    target.create_table(Table("people", key=("id", "rest")))
    with pytest.raises(NotConfigured, match="differs: key"):
        TableCopy(source, target, people).run()


versioned = Table("versioned", indexes=["gsi1"])


class Guest(Entity, table=versioned, type="guest", version=2):
    """Its first version had one name; `rest` is an attribute that no class declares."""

    id: str
    first: str = field(personal=True)
    last: str = field(default="", personal=True)

    @versioned.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One guest."""
        return f"guest#{id}", "guest"

    @versioned.index("gsi1")
    @staticmethod
    def by_name(last: str, id: str = ANY) -> Key:
        """The guests of a name."""
        return f"guests#{last}", f"{id}"


@Guest.upcast(1)
def split_name(values: dict[str, Any]) -> dict[str, Any]:
    first, _, last = values.pop("name").partition(" ")
    return {**values, "first": first, "last": last}


def test_an_older_item_is_masked_in_its_present_form() -> None:
    with fresh() as source, fresh() as target:
        key = {"pk": {"S": "guest#1"}, "sk": {"S": "guest"}, "_type": {"S": "guest"}, "_v": {"N": "1"}}
        old = {**key, "id": {"S": "1"}, "name": {"S": "Adelaide Lovelace"}, "rest": {"S": "stays"}}
        source.run(put_raw(source.port, Guest, old))
        unreadable = {**key, "pk": {"S": "guest#2"}, "_v": {"N": "9"}, "name": {"S": "Adelaide"}}
        source.run(put_raw(source.port, Guest, unreadable))
        source.run(put_raw(source.port, Guest, {"pk": {"S": "x"}, "sk": {"S": "x"}, "_type": {"S": "nobody"}}))
        copied = TableCopy(source, target, versioned).run(mask_key=KEY)
        assert (copied.read, copied.written, sum(copied.left_out.values())) == (3, 1, 2)
        (item,) = target.run(all_items(target.port, "versioned"))
        assert "Adelaide" not in json.dumps(item)
        assert (item["_v"], item["rest"] == {"S": "stays"}, "name" in item) == ({"N": "2"}, False, False)
        assert len(item["rest"]["S"]) == len("stays")  # what of it is personal, its class can't say
        assert target.check(versioned) == []
        guest = target.get(Guest.by_id("1"))
        assert guest is not None
        assert len(guest.last) == len("Lovelace")


desk = Table("desk", stream="new_and_old")


class Caller(Entity, table=desk, type="caller"):
    name: str = field(personal=True)

    @desk.key
    @staticmethod
    def by_name(name: str) -> Key:
        """One caller."""
        return f"caller#{name}", "caller"


def test_the_work_of_the_source_stays_behind() -> None:
    """Leases are of the workers of the source. They would hold up those of the target."""
    with fresh() as source, fresh() as target:
        changes = Changes(desk, leases="same")
        changes.on(Caller).inserted(lambda change: None)
        source.create(Caller(name="Ada"))
        ChangeWorker(source, changes).drain()
        copied = TableCopy(source, target, desk).run(mask_key=KEY)
        assert copied.left_out == {f"_consumer: {OWN}": 1, f"_lease: {OWN}": 1}
        assert [item["_type"]["S"] for item in target.run(all_items(target.port, "desk"))] == ["_hold", "caller"]


def test_what_a_class_does_not_declare_is_masked_too(dbs: tuple[Database, Database]) -> None:
    """What of it is personal is not known: in a class with personal attributes, in one without, and inside of one."""
    source, target = dbs
    undeclared = {
        "nickname": {"S": "Confidential"},
        "more": {"M": {"kind": {"S": "Confidential"}, "ids": {"NS": ["7946"]}, "nothing": {"NULL": True}}},
    }
    home = {"M": {"street": {"S": "Longstreet"}, "flat": {"N": "1"}, "door": {"S": "Confidential"}}}
    for item in items_of(source).values():
        if item["_type"]["S"] == "person":
            source.run(put_raw(source.port, Person, {**item, **undeclared, "homes": {"L": [home]}}))
    shelf = {"pk": {"S": "shelf"}, "sk": {"S": "1"}, "_type": {"S": "shelf"}, "_v": {"N": "1"}, "number": {"N": "1"}}
    source.run(put_raw(source.port, Shelf, {**shelf, "lent_to": {"S": "Confidential"}}))
    TableCopy(source, target, people).run(mask_key=KEY)
    items = items_of(target)
    assert not re.search(TELLING, json.dumps(list(items.values()), ensure_ascii=False))
    one = next(item for item in items.values() if item["_type"]["S"] == "person")
    assert (len(one["nickname"]["S"]), one["more"]["M"].keys()) == (len("Confidential"), {"kind", "ids", "nothing"})
    assert "door" not in one["homes"]["L"][0]["M"]
    assert len(items["shelf", "1"]["lent_to"]["S"]) == len("Confidential")
    assert target.check(people) == []


def test_what_a_node_does_not_declare_is_masked_and_what_is_the_librarys_is_not() -> None:
    """A name may begin as those of a node's counts do."""
    mask = ItemMask(kin, Mask(KEY))
    own = {"_w": {"S": "a write"}, "n_KNOWS": {"N": "3"}, "_ttl": {"N": "4000000000"}}
    stored: dict[str, Any] = read_item(encode(model_of(Relative).item(Relative(id="Surname"))))
    masked = mask.item({**stored, **own, "n_phone": {"S": "7946"}, "n_none": {"NULL": True}})
    assert masked is not None
    assert {name: masked[name] for name in own} == own
    assert masked["n_phone"]["S"] != "7946"


class Shelf(Entity, table=people, type="shelf"):
    """Nothing in it is personal, as far as this program knows."""

    number: int

    @people.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One shelf."""
        return "shelf", f"{number:01}"
