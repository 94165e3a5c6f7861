"""Check: the invariants of a consumer's state. It reads that state and the stream's shards, and nothing else.

* a consumer has no dead letters; each one can be read
* every lease is for one of the stream's shards, or for one that has ended
* a shard ends only after its parent
* a change that is tried again lies behind its shard's position
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from singletable.errors import Corrupt, NotConfigured
from singletable.flow import Port
from singletable.foundation import Finding, WholePass, flows
from singletable.operations import Shard
from singletable.streams.acquisition import label_of
from singletable.streams.consumer import Consumer
from singletable.streams.dead_letters import DeadLetter, dead_letters
from singletable.streams.leases import all_leases
from singletable.streams.shard_tree import all_shards, find_stream
from singletable.streams.state import LeaseItem, TryItem


class ConsumerPass(WholePass):
    """The check of one consumer. Before its first worker there may be nothing to check, which is a note."""

    def __init__(self, consumer: Consumer) -> None:
        super().__init__(consumer.table, f"changes of {consumer.name}", partial(check, consumer=consumer))
        self._consumer = consumer

    async def end(self, port: Port, counts: Mapping[str, int]) -> list[Finding]:
        findings = await findings_of(port, self._consumer)
        if findings is None:
            self.note = f"{self.name}: no worker has run, as the table {self._consumer.state.table.name} is missing"
        return findings or []


async def check(port: Port, consumer: Consumer) -> list[Finding]:
    """The findings in a consumer's state; empty if it is sound, or no worker has run."""
    return await findings_of(port, consumer) or []


async def findings_of(port: Port, consumer: Consumer) -> list[Finding] | None:
    """The findings in a consumer's state; None if the table of its leases is missing."""
    stream = await find_stream(port, consumer.table)
    state, name, label = consumer.state, consumer.name, label_of(stream)
    shards = await all_shards(port, stream)
    try:
        leases = {lease.shard: lease for lease in await all_leases(port, state, name, label)}
    except NotConfigured:
        return None
    query: Any = state.attempt.by_sequence(name, label)
    tries: list[TryItem] = await flows.read_all(port, query.consistent())
    found = [_of_dead_letter(one) for one in await dead_letters(port, state, name)]
    return [*found, *_of_leases(shards, leases), *_of_tries(tries, leases)]


def _of_dead_letter(one: DeadLetter) -> Finding:
    place, what = (one.shard, one.sequence), f"a change of {one.type or 'an item'} failed {one.tries} times"
    with suppress(Corrupt):
        if one.record.sequence == one.sequence:
            return Finding("change.dead-letter", what, one.type, place)
    return Finding("dead-letter.damaged", f"{what}, and the record that is stored of it is damaged", one.type, place)


def _of_leases(shards: Sequence[Shard], leases: Mapping[str, LeaseItem]) -> Iterator[Finding]:
    parents = {shard.id: shard.parent for shard in shards}
    for lease in leases.values():
        place = lease.consumer, lease.shard
        if lease.shard not in parents and not lease.is_over:
            yield Finding("lease.orphan", "its shard is gone, and was not read to its end", "_lease", place)
        parent = leases.get(parents.get(lease.shard) or "")
        begun = lease.position or lease.is_over
        if parent is not None and not parent.is_over and begun:
            yield Finding("lease.order", "it was read before its parent's end", "_lease", place)


def _of_tries(tries: Sequence[TryItem], leases: Mapping[str, LeaseItem]) -> Iterator[Finding]:
    for attempt in tries:
        lease = leases.get(attempt.shard)
        if lease is None or lease.is_over or attempt.sequence <= lease.position:
            what = "a change is counted as failing that lies before the checkpoint"
            yield Finding("try.stale", what, "_try", (attempt.shard, attempt.sequence))
