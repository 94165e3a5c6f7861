"""write_many: more than a request takes, twice the same item, and what is left undone."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import pytest

from singletable import Entity, InvalidRequest, Key, Table, key_of
from singletable.errors import Incomplete
from singletable.flow.port import Operation
from singletable.operations import BatchGetItem, BatchWriteItem
from singletable.operations.batch import BatchFound
from tests.support.models import Membership, User, membership
from tests.support.shells import Shell

T = TypeVar("T")
ADA = "ada@example.org"
EVERY = [membership(n) for n in range(60)]
elsewhere = Table("elsewhere")


class Elsewhere(Entity, table=elsewhere, type="elsewhere"):
    id: str

    @elsewhere.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"elsewhere#{id}", "elsewhere"


async def test_entities_are_deleted_as_their_keys_are(shell: Shell) -> None:
    await shell.write_many(puts=EVERY)
    with shell.meter() as meter:
        await shell.write_many(deletes=[*EVERY[:40], *(key_of(m) for m in EVERY[40:])])
    assert (meter.requests, meter.round_trips) == (3, 1)
    assert await shell.all(Membership.of_user(ADA)) == []
    with pytest.raises(InvalidRequest, match="two writes of the same Membership"):
        await shell.write_many(deletes=[EVERY[0], key_of(EVERY[0])])
    wrong: Any = ["ada", User, None]
    for each in wrong:
        with pytest.raises(InvalidRequest, match="a key or an entity is expected"):
            await shell.write_many(deletes=[each])


async def test_puts_and_deletes_by_25_in_one_round_trip(shell: Shell) -> None:
    await shell.write_many(puts=EVERY[:30])
    with shell.meter() as meter:
        await shell.write_many(puts=EVERY[30:], deletes=[key_of(m) for m in EVERY[:30]])
    assert (meter.requests, meter.round_trips) == (3, 1)
    assert await shell.all(Membership.of_user(ADA)) == EVERY[30:]


async def test_it_takes_iterators_and_nothing(shell: Shell) -> None:
    await shell.write_many(puts=(m for m in EVERY[:3]), deletes=iter([key_of(EVERY[9])]))
    assert await shell.all(Membership.of_user(ADA)) == EVERY[:3]
    with shell.meter() as meter:
        await shell.write_many()
    assert meter.requests == 0


async def test_keys_come_from_any_iterable(shell: Shell) -> None:
    await shell.write_many(puts=EVERY)
    keys = [key_of(m) for m in EVERY]
    for some in ((key for key in keys), iter(keys), dict.fromkeys(keys), tuple(keys), map(key_of, EVERY)):
        with shell.meter() as meter:
            assert await shell.get_many(some) == EVERY
        assert meter.requests == 1
    assert sorted((await shell.get_many(set(keys))), key=lambda m: m.org_id) == EVERY
    assert await shell.get_many(iter(())) == []
    assert len(shell.explain(iter(keys))) == 1


async def test_items_are_written_with_their_index_keys(shell: Shell) -> None:
    await shell.write_many(puts=EVERY)
    assert await shell.all(Membership.of_org("o0007")) == [EVERY[7]]


async def test_two_tables_in_one_call(shell: Shell) -> None:
    await shell.write_many(puts=[EVERY[0], Elsewhere(id="1")])
    assert await shell.get_many([Elsewhere.by_id("1")]) == [Elsewhere(id="1")]
    assert await shell.get(key_of(EVERY[0])) == EVERY[0]


@pytest.mark.parametrize("second", ["put", "delete"])
async def test_two_writes_of_one_item_are_refused_before_anything_is_sent(shell: Shell, second: str) -> None:
    await shell.get(key_of(EVERY[0]))
    puts = [EVERY[0], *([EVERY[0]] if second == "put" else [])]
    deletes = [key_of(EVERY[0])] if second == "delete" else []
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="two writes of the same Membership"):
        await shell.write_many(puts=puts, deletes=deletes)
    assert meter.requests == 0


async def test_an_iterator_is_sent_while_it_is_read(shell: Shell) -> None:
    """One request after 25 items, then 16 after 400 each: as many as for a list, and no more than a round is held."""
    await shell.write_many(puts=EVERY[:1])
    sent: list[int] = []

    def entities(count: int) -> Iterator[Membership]:
        for number in range(count):
            sent.append(meter.requests)
            yield membership(number)

    with shell.meter() as meter:
        await shell.write_many(puts=entities(900))
    assert sent == [0] * 25 + [1] * 400 + [17] * 400 + [33] * 75
    assert (meter.requests, meter.round_trips) == (36, 4)
    with shell.meter() as meter:
        await shell.write_many(puts=[*entities(50)], deletes=map(key_of, map(membership, range(50, 900))))
    assert await shell.all(Membership.of_user(ADA)) == EVERY[:50]
    assert (meter.requests, meter.round_trips) == (2 + 34, 1 + 4)


async def test_of_an_iterator_a_key_is_written_once_a_round(shell: Shell) -> None:
    again = dataclasses.replace(EVERY[0], role="owner")
    with pytest.raises(InvalidRequest, match="two writes of the same Membership") as caught:
        await shell.write_many(puts=iter([*EVERY[:30], EVERY[28]]))
    assert caught.value.__notes__ == ["write_many had read 31 of its iterator, and written 25 of them."]
    assert await shell.all(Membership.of_user(ADA)) == EVERY[:25]
    await shell.write_many(puts=iter([*EVERY[:30], again]))
    assert await shell.get(key_of(again)) == again
    with pytest.raises(InvalidRequest, match="two writes of the same Membership"):
        await shell.write_many(puts=iter(EVERY), deletes=[key_of(EVERY[28]), EVERY[2]])
    assert await shell.get_many([key_of(EVERY[2]), key_of(EVERY[28])]) == []
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="two writes of the same Membership"):
        await shell.write_many(puts=iter(EVERY), deletes=[EVERY[2], EVERY[2]])
    assert meter.requests == 0


async def test_what_was_written_is_told_where_an_iterator_fails(shell: Shell) -> None:
    def entities() -> Iterator[Membership]:
        yield from EVERY[:26]
        raise KeyError("the source")

    with pytest.raises(KeyError, match="the source") as caught:
        await shell.write_many(puts=entities(), deletes=EVERY[50:])
    assert caught.value.__notes__ == ["write_many had read 26 of its iterator, and written 25 of them."]
    assert await shell.all(Membership.of_user(ADA)) == EVERY[:25]


class Throttling:
    """A port whose service leaves some of every batch undone for some time, or for ever."""

    def __init__(self, port: Any, refusals: int, of: int = 2) -> None:
        self._port, self._refusals, self._of = port, refusals, of
        self.traits, self.ready, self.names = port.traits, port.ready, port.names
        self.clock, self.now, self.monotonic, self.token = port.clock, port.now, port.monotonic, port.token
        self.call_all, self.to, self.events, self.tell = port.call_all, port.to, port.events, port.tell
        self.waits: list[float] = []

    def random(self) -> float:
        return 0.5

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def send(self, operation: Operation[T]) -> T:
        return await self._port.send(operation)  # type: ignore[no-any-return]

    async def send_all(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        return [await self._partly(operation) for operation in operations]

    async def _partly(self, operation: Any) -> Any:
        if self._refusals == 0:
            return await self._port.send(operation)
        self._refusals -= 1
        if isinstance(operation, BatchWriteItem):
            done = BatchWriteItem(operation.table, operation.writes[self._of :])
            return [*operation.writes[: self._of], *(await self._port.send(done) if done.writes else [])]
        assert isinstance(operation, BatchGetItem)
        if len(operation.keys) <= self._of:
            return BatchFound([], list(operation.keys))
        found = await self._port.send(
            BatchGetItem(operation.table, operation.keys[self._of :], operation.reader, operation.consistent)
        )
        return BatchFound(found.items, [*operation.keys[: self._of], *found.rest])


async def test_what_the_service_leaves_is_tried_again(shell: Shell) -> None:
    from singletable.records.flows import get_many, write_many

    port = Throttling(shell.port, refusals=3)
    await shell.run(write_many(port, EVERY[:30], ()))
    assert await shell.all(Membership.of_user(ADA)) == EVERY[:30]
    assert len(port.waits) >= 1
    assert all(0 < wait <= 5 for wait in port.waits)
    port = Throttling(shell.port, refusals=2)
    assert await shell.run(get_many(port, [key_of(m) for m in EVERY[:30]])) == EVERY[:30]


async def test_what_stays_undone_comes_back_as_it_was_given(shell: Shell) -> None:
    from singletable.records.flows import write_many

    port = Throttling(shell.port, refusals=10**6)
    with pytest.raises(Incomplete, match="2 of 5 writes") as caught:
        await shell.run(write_many(port, [*EVERY[:4], User(email=ADA)], ()))
    assert list(caught.value.rest) == EVERY[:2]
    await shell.write_many(puts=caught.value.rest)
    assert await shell.all(Membership.of_user(ADA)) == EVERY[:4]


async def test_what_an_iterator_leaves_undone_and_how_far_it_was_read(shell: Shell) -> None:
    from singletable.records.flows import write_many

    port = Throttling(shell.port, refusals=10**6, of=3)
    source = iter([Elsewhere(id="1"), *EVERY])
    with pytest.raises(Incomplete, match="Then go on with what follows in the iterator: 26 were read of it") as caught:
        await shell.run(write_many(port, source, ()))
    assert list(caught.value.rest) == [*EVERY[:3], Elsewhere(id="1")]
    assert caught.value.read == 26
    assert "the writes of other tables, which were not sent: 1." in caught.value.hint
    await shell.write_many(puts=chain(caught.value.rest, source))
    assert await shell.all(Membership.of_user(ADA)) == EVERY
    assert await shell.get(Elsewhere.by_id("1")) == Elsewhere(id="1")


async def test_a_list_that_stays_undone_beside_an_iterator_that_was_not_read(shell: Shell) -> None:
    from singletable.records.flows import write_many

    port = Throttling(shell.port, refusals=10**6)
    with pytest.raises(Incomplete, match="2 of 5 writes") as caught:
        await shell.run(write_many(port, EVERY[:5], map(key_of, EVERY)))
    assert (caught.value.rest, caught.value.read) == (tuple(EVERY[:2]), 0)
    with pytest.raises(Incomplete) as caught:
        await shell.run(write_many(port, [*EVERY[:2], Elsewhere(id="1"), Elsewhere(id="2")], ()))
    assert list(caught.value.rest) == [*EVERY[:2], Elsewhere(id="1"), Elsewhere(id="2")]
    assert caught.value.read is None


async def test_keys_that_stay_unread_come_back_as_they_were_given(shell: Shell) -> None:
    from singletable.records.flows import get_many

    await shell.write_many(puts=EVERY[:5])
    keys = [key_of(m) for m in EVERY[:5]]
    port = Throttling(shell.port, refusals=10**6)
    with pytest.raises(Incomplete, match="2 of 5 items") as caught:
        await shell.run(get_many(port, keys))
    assert list(caught.value.rest) == keys[:2]
    assert await shell.get_many(caught.value.rest) == EVERY[:2]
