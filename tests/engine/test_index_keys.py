"""Index keys follow their attributes on every path: what an update doesn't know it reads, and holds as a condition."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from singletable import ANY, Entity, Index, InvalidRequest, InvalidValue, Key, Table, attr, between, key_of
from tests.support.invariants import broken
from tests.support.models import Invoice, User, app
from tests.support.raw import stored
from tests.support.shells import Shell

ADA = User(email="ada@example.org", age=36, phone="12")
KEY = key_of(ADA)


labelled = Table("labelled", indexes=["gsi1", "gsi2"])


class Labelled(Entity, table=labelled, type="labelled"):
    owner: str
    label: str
    alone: str = "alone"

    @labelled.key
    @staticmethod
    def of(owner: str, label: str = ANY) -> Key:
        return f"owner#{owner}", f"label#{label}"

    @labelled.index("gsi1")
    @staticmethod
    def by_label(label: str, owner: str = ANY) -> Key:
        return f"label#{label}", f"owner#{owner}"

    @labelled.index("gsi2")
    @staticmethod
    def by_alone(alone: str) -> Key:
        return "all", f"{alone}"


class Run(Entity, table=labelled, type="run"):
    number: int
    delay: timedelta

    @labelled.key
    @staticmethod
    def of(number: int) -> Key:
        return f"run#{number}", "run"

    @labelled.index("gsi1")
    @staticmethod
    def by_delay(delay: timedelta = ANY) -> Key:
        return "runs", f"{delay}"


async def index_key(shell: Shell) -> tuple[str, str] | None:
    item = await stored(shell.port, KEY)
    assert item is not None
    return (item["gsi1pk"]["S"], item["gsi1sk"]["S"]) if "gsi1pk" in item else None


async def test_a_change_of_a_part_that_needs_the_others_reads_them(shell: Shell) -> None:
    await shell.put(ADA)
    with shell.meter() as meter:
        await shell.update(KEY, attr(User.age).add(1))
    assert meter.requests == 2
    assert await index_key(shell) == ("phone#12", "037")


async def test_an_entity_brings_the_others_and_they_are_held(shell: Shell) -> None:
    await shell.put(ADA)
    with shell.meter() as meter:
        changed = await shell.update(ADA, attr(User.age).add(1))
        async with shell.transaction() as tx:
            tx.update(changed, attr(User.age).set(38))
    assert meter.requests == 2
    assert await index_key(shell) == ("phone#12", "038")
    await shell.update(KEY, attr(User.phone).set("99"))
    with shell.meter() as meter:
        await shell.update(ADA, attr(User.age).add(1))  # it still says phone 12 and age 36
    assert meter.requests == 2
    assert await index_key(shell) == ("phone#99", "039")
    async with shell.transaction() as tx:
        tx.update(ADA, attr(User.age).set(50))
    assert await index_key(shell) == ("phone#99", "050")


async def test_an_entity_that_was_loaded_in_part_reads_the_rest(shell: Shell) -> None:
    await shell.put(ADA)
    part = await shell.get(KEY.only(User.name, User.email))
    assert part is not None
    await shell.update(part, attr(User.age).add(1))
    assert await index_key(shell) == ("phone#12", "037")


async def test_a_change_of_an_attribute_in_no_key_reads_nothing(shell: Shell) -> None:
    await shell.put(ADA)
    with shell.meter() as meter:
        await shell.update(KEY, attr(User.name).set("Ada"), attr(User.score).add(Decimal("0.5")))
    assert meter.requests == 1


async def test_an_item_leaves_the_index_without_a_read(shell: Shell) -> None:
    await shell.put(ADA)
    with shell.meter() as meter:
        await shell.update(KEY, attr(User.phone).set(None))
    assert meter.requests == 1
    assert await index_key(shell) is None
    assert await shell.all(User.by_phone("12")) == []


async def test_an_item_comes_back_into_the_index_with_its_whole_key(shell: Shell) -> None:
    await shell.put(replace(ADA, phone=None))
    assert await index_key(shell) is None
    await shell.update(KEY, attr(User.phone).set("77"))
    assert await index_key(shell) == ("phone#77", "036")
    await shell.update(KEY, attr(User.phone).remove())
    assert await index_key(shell) is None


async def test_a_change_outside_the_index_leaves_it_outside(shell: Shell) -> None:
    await shell.put(replace(ADA, phone=None))
    await shell.update(KEY, attr(User.age).add(1))
    assert await index_key(shell) is None


async def test_all_parts_given_reads_nothing(shell: Shell) -> None:
    await shell.put(ADA)
    with shell.meter() as meter:
        await shell.update(KEY, attr(User.age).set(40), attr(User.phone).set("5"))
    assert meter.requests == 1
    assert await index_key(shell) == ("phone#5", "040")


async def test_in_a_transaction_the_same_holds(shell: Shell) -> None:
    invoice = Invoice(email="ada@example.org", number=1, total=Decimal(5))
    await shell.put(ADA)
    await shell.put(invoice)
    async with shell.transaction() as tx:
        tx.update(KEY, attr(User.age).add(1))
        tx.update(key_of(invoice), attr(Invoice.total).add(Decimal("0.50")))
    assert await index_key(shell) == ("phone#12", "037")
    assert [i.total for i in await shell.all(Invoice.by_total("ada@example.org"))] == [Decimal("5.5")]
    assert await broken(shell.port, app) == []


async def test_a_sum_that_has_no_place_in_the_key_is_refused_and_changes_nothing(shell: Shell) -> None:
    await shell.put(replace(ADA, age=999))
    with pytest.raises(InvalidValue, match="does not fit its width"):
        await shell.update(KEY, attr(User.age).add(1))
    assert await index_key(shell) == ("phone#12", "999")


async def test_the_primary_key_never_changes(shell: Shell) -> None:
    await shell.put(ADA)
    with pytest.raises(InvalidRequest, match="primary key"):
        await shell.update(KEY, attr(User.email).set("x"))
    with pytest.raises(InvalidRequest, match="primary key"):
        await shell.upsert(ADA, attr(User.email).set("x"))
    async with shell.transaction() as tx:
        with pytest.raises(InvalidRequest, match="primary key"):
            tx.update(KEY, attr(User.email).set("x"))


async def test_an_empty_text_is_a_part_of_a_key_but_no_key(shell: Shell) -> None:
    """As docs/how-to/types.md says: beside a literal it is a value like any, alone DynamoDB has no such key."""
    labels = [Labelled(owner=owner, label=label) for owner in ("", "a") for label in ("", "x")]
    for each in labels:
        await shell.put(each)
    assert await shell.get(Labelled.of("", "")) == labels[0]
    assert await shell.all(Labelled.of("")) == labels[:2]
    assert await shell.all(Labelled.by_label("")) == [labels[0], labels[2]]
    assert await shell.check(labelled) == []
    with shell.meter() as meter, pytest.raises(InvalidValue, match="the key's text is empty"):
        await shell.put(Labelled(owner="b", label="y", alone=""))
    assert meter.requests == 0


async def test_durations_sort_and_are_added_to(shell: Shell) -> None:
    delays = [timedelta(seconds=seconds) for seconds in (-1000, -10.25, -10, -0.5, -0.25, 0, 9, 10, 1e9)]
    runs = [Run(number=number, delay=delay) for number, delay in enumerate(delays)]
    for run in reversed(runs):
        await shell.put(run)
    assert await shell.all(Run.by_delay()) == runs
    assert await shell.all(Run.by_delay(between(timedelta(seconds=-10), timedelta()))) == runs[2:6]
    later = await shell.update(Run.of(0), attr(Run.delay).add(timedelta(seconds=1000.5)))
    assert later.delay == timedelta(seconds=0.5)
    assert await shell.all(Run.by_delay()) == [*runs[1:6], later, *runs[6:]]
    assert await shell.check(labelled) == []


shared = Table("shared-attribute", indexes={"gsi1": Index("gsi1pk", "day_sk"), "gsi2": Index("gsi2pk", "day_sk")})


class Visit(Entity, table=shared, type="visit"):
    id: str
    place: str | None = None
    guest: str | None = None
    day: int | None = 1

    @shared.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"visit#{id}", "visit"

    @shared.index("gsi1")
    @staticmethod
    def by_place(place: str, day: int = ANY) -> Key:
        return f"place#{place}", f"{day:03}"

    @shared.index("gsi2")
    @staticmethod
    def by_guest(guest: str, day: int = ANY) -> Key:
        return f"guest#{guest}", f"{day:03}"


async def test_an_attribute_in_the_keys_of_two_indexes_stays_for_the_other_one(shell: Shell) -> None:
    """An item that is not in one of them is in the other, however it came so; and one update writes it once."""
    await shell.create(Visit(id="1", guest="ada"))
    assert [visit.id for visit in await shell.all(Visit.by_guest("ada"))] == ["1"]
    updates = [
        (attr(Visit.place).set("inn"), attr(Visit.day).set(2)),
        (attr(Visit.day).set(3),),
        (attr(Visit.place).remove(),),
        (attr(Visit.day).remove(),),
        (attr(Visit.place).set("inn"),),
        (attr(Visit.day).set(4),),
        (attr(Visit.guest).remove(),),
    ]
    for update in updates:
        visit = await shell.update(Visit.by_id("1"), *update)
        by_place = [] if visit.place is None or visit.day is None else [visit]
        by_guest = [] if visit.guest is None or visit.day is None else [visit]
        assert await shell.all(Visit.by_place("inn")) == by_place
        assert await shell.all(Visit.by_guest("ada")) == by_guest
        assert await shell.check(shared) == []
    by_place = await shell.all(Visit.by_place("inn"))
    assert by_place == [Visit(id="1", place="inn", day=4)]
