"""Check: the invariants of a consumer's state. It reads that state and the stream's shards, and nothing else.

* a consumer has no dead letters; each one can be read
* every lease is for one of the stream's shards, or for one that has ended
* a shard ends only after its parent
* a change that is tried again lies behind its shard's position
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from singletable.errors import Corrupt
from singletable.flow import Port
from singletable.foundation import Finding, flows
from singletable.operations import Shard
from singletable.streams.acquisition import label_of
from singletable.streams.consumer import Consumer
from singletable.streams.dead_letters import DeadLetter, dead_letters
from singletable.streams.leases import all_leases
from singletable.streams.shard_tree import all_shards, find_stream
from singletable.streams.state import LeaseItem, TryItem, leases_needed


async def check(port: Port, consumer: Consumer) -> list[Finding]:
    """Everything of a consumer's state that is not as it should be; empty where it is sound."""
    stream = await find_stream(port, consumer.table)
    state, name, label = consumer.state, consumer.name, label_of(stream)
    shards = await all_shards(port, stream)
    with leases_needed(port, state):
        leases = {lease.shard: lease for lease in await all_leases(port, state, name, label)}
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
