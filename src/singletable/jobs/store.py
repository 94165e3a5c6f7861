"""The items of jobs, read and written. Flows.

Every write of a section is on condition of the fence of its owner, a round also of the round before it. So a worker
that was taken over keeps nothing. An answer that was lost is settled by a read: each write leaves a value that only it
can have left.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

import msgspec

from singletable.errors import AlreadyExists, ConditionFailed, Corrupt, NotFound, OutcomeUnknown
from singletable.expressions import Condition, attr
from singletable.flow import (
    FAN_OUT,
    LEASE_TRANSITIONS,
    LeaseEvent,
    LeaseState,
    Port,
    instant,
    send_patiently,
    side_by_side,
)
from singletable.foundation import (
    Table,
    TryWrite,
    delete_if,
    flows,
    items_at,
    model_for,
    model_of,
    put_if,
    ready,
)
from singletable.jobs.items import JobItem, JobLines, JobPart, SectionState
from singletable.jobs.states import JOB_TRANSITIONS, JobEvent, JobState
from singletable.jobs.work import JOBS, Line, Round

AT_ONCE: Final = 100
"""Sections that are read in one request."""
_PACK_BYTES: Final = 200_000
"""The lines of one item, before they are compressed."""


class JobStore:
    """The jobs of one table."""

    def __init__(self, port: Port, table: Table) -> None:
        self.port = port
        self.job: Any = JobItem.of(table)
        self.part: Any = JobPart.of(table)
        self.lines: Any = JobLines.of(table)
        self.states: Any = SectionState.of(table)
        self.kept_in: Table = model_of(self.job).table
        """The table itself, or what a foreign one names for such items."""

    async def ready(self) -> None:
        await ready(self.port, self.kept_in)

    # --- jobs ---------------------------------------------------------------------------------------------------------
    async def all(self) -> list[JobItem]:
        """Every job. One query."""
        jobs: list[Any] = await flows.read_all(self.port, self.job.by_id().consistent())
        return jobs

    async def read(self, job: str) -> JobItem | None:
        """A job; None for one that is not there. A read."""
        stored: JobItem | None = await flows.get(self.port, self.job.by_id(job).consistent())
        return stored

    async def make(self, job: JobItem) -> JobItem:
        """Write a new job, or return the one that another process has made of the same id at the same time."""
        try:
            await flows.create(self.port, job)
        except AlreadyExists:
            made = await self.read(job.job)
            if made is None:
                raise
            return made
        return job

    async def change(self, job: JobItem, event: JobEvent, **values: Any) -> JobItem | None:
        """Change the state of a job, and its times; None if it is another by now."""
        after = JOB_TRANSITIONS.after(JobState(job.state), event)
        same = (attr(self.job.state) == job.state) & (attr(self.job.paused_seconds) == job.paused_seconds)
        return await self.set(job, same, state=after.value, **_times(job, after, instant(self.port.now())), **values)

    async def set(self, job: JobItem, where: Condition, **values: Any) -> JobItem | None:
        """Set attributes of a job under a condition; None if that does not hold."""
        changed: JobItem | None = await self._set(self.job.by_id(job.job), self.job, where, values)
        return changed

    # --- sections -----------------------------------------------------------------------------------------------------
    async def parts(self, job: str, sections: Sequence[int]) -> dict[int, JobPart]:
        """The sections that were begun. A request for each hundred."""
        model = model_of(self.part)
        places = [model.place_of(self.part(job=job, section=section)) for section in sections]
        items = await items_at(self.port, self.kept_in, places)
        parts: list[Any] = [model.load(item) for item in items.values()]
        return {part.section: part for part in parts}

    async def take(self, job: str, section: int, stored: JobPart | None, owner: str) -> JobPart | None:
        """Become the owner of a section that was seen to be free; None if another was first."""
        now, process = instant(self.port.now()), self.port.events.process
        if stored is None:
            LEASE_TRANSITIONS.after(LeaseState.MISSING, LeaseEvent.MAKE)
            part: JobPart = self.part(job=job, section=section, owner=owner, process=process, fence=1, beat_at=now)
            try:
                await flows.create(self.port, part)
            except AlreadyExists:
                there = (await self.parts(job, [section])).get(section)
                return there if there is not None and there.owner == owner else None
            return part
        same = (attr(self.part.beats) == stored.beats) & (attr(self.part.rounds) == stored.rounds)
        values = {"owner": owner, "process": process, "fence": stored.fence + 1, "beat_at": now}
        return await self._held(stored, LeaseEvent.TAKE, same, **values)

    async def beat(self, part: JobPart, beats: int) -> bool:
        """Renew a lease; False if it was lost. One write."""
        now = instant(self.port.now())
        return await self._held(part, LeaseEvent.BEAT, None, beats=beats, beat_at=now) is not None

    async def keep(
        self, part: JobPart, done: Round, read_units: float, write_units: float, state: bytes | None = None
    ) -> JobPart | None:
        """Keep a round: its position, counts, lines, cost and state, together. None if the lease was lost: nothing is
        kept.

        One write, and one before it for each 200 KB of lines, and for a state.
        """
        slot = part.state if state is None else await self._write_state(part, state)
        numbers = list(part.lines)
        for packed in _packed(done.lines):
            lines = self.lines(job=part.job, section=part.section, number=len(numbers), fence=part.fence, packed=packed)
            await flows.put(self.port, lines)
            numbers.append(part.fence)
        counts = {name: part.counts.get(name, 0) + done.counts.get(name, 0) for name in {*part.counts, *done.counts}}
        kept = await self._held(
            part,
            LeaseEvent.FINISH if done.is_over else LeaseEvent.BEAT,
            attr(self.part.rounds) == part.rounds,
            rounds=part.rounds + 1,
            position=msgspec.json.encode(done.position).decode(),
            is_over=done.is_over,
            owner="" if done.is_over else part.owner,
            seen=part.seen + done.seen,
            counts=counts,
            lines=numbers,
            state=slot,
            read_units=part.read_units + read_units,
            write_units=part.write_units + write_units,
            beat_at=instant(self.port.now()),
            trouble="",
            failures=0,
        )
        if kept is None and done.lines:
            await self._drop_lost(part, numbers)
        return kept

    async def release(self, part: JobPart, trouble: str = "", failures: int = 0) -> JobPart | None:
        """Leave a section to others; None where the lease was lost: it stays as it is."""
        return await self._held(part, LeaseEvent.RELEASE, None, owner="", trouble=trouble, failures=failures)

    async def drop_unkept(self, part: JobPart) -> None:
        """Delete the lines that the owner before wrote and did not keep: it ended in between. A read, if there are
        none."""
        await self._drop_after(part, part.fence - 1)

    async def _drop_lost(self, part: JobPart, numbers: Sequence[int]) -> None:
        """Delete the lines of a round that was not kept: if the job was forgotten, nobody else does. A read before."""
        stored = (await self.parts(part.job, [part.section])).get(part.section)
        if stored is None or stored.lines[: len(numbers)] != numbers:
            await self._drop_after(part, part.fence)

    async def _drop_after(self, part: JobPart, fence: int) -> None:
        """Delete the lines of an owner that the section does not list. A read, if there are none."""
        number = len(part.lines)
        while True:
            key = self.lines.by_number(part.job, part.section, number, fence)
            if await flows.get(self.port, key.consistent()) is None:
                return
            await flows.delete(self.port, key)
            number += 1

    async def told(self, parts: Iterable[JobPart]) -> AsyncIterator[Line]:
        """The lines of some sections, in their order. A read for each 200 KB of a section, 16 in a round trip."""
        keys = (
            (part, self.lines.by_number(part.job, part.section, number, fence))
            for part in parts
            for number, fence in enumerate(part.lines)
        )
        async for _, stored in self._read(keys):
            if stored is not None:
                for line in msgspec.json.decode(zlib.decompress(stored.packed)):
                    yield line

    async def state(self, part: JobPart) -> bytes | None:
        """The state of a section; None without one. A read of it."""
        states = [state async for state in self.states_of([part])]
        return states[0] if states else None

    async def states_of(self, parts: Iterable[JobPart]) -> AsyncIterator[bytes]:
        """The states of the sections that have one, in their order. A read for each, 16 in a round trip."""
        keys = (
            (part, self.states.by_slot(part.job, part.section, part.state)) for part in parts if part.state is not None
        )
        async for part, stored in self._read(keys):
            if stored is None:
                raise Corrupt(
                    f"section {part.section} of {part.job} lacks its state, which it names",
                    table=self.kept_in.name,
                    operation="job",
                    hint="Cancel the job, and begin it again.",
                )
            packed: bytes = stored.packed
            yield packed

    async def _read(self, keys: Iterable[tuple[JobPart, Any]]) -> AsyncIterator[tuple[JobPart, Any]]:
        """Sections with their items at some keys; None for a missing one. Those of a round trip are held at a time: an
        item has up to 400 KB."""
        left = iter(keys)
        while some := list(islice(left, FAN_OUT)):
            reads: list[Callable[[Port], Any]] = [partial(_read, key.consistent()) for _, key in some]
            for (part, _), stored in zip(some, await side_by_side(self.port, reads), strict=True):
                yield part, stored

    async def _write_state(self, part: JobPart, packed: bytes) -> int:
        """Write the item that doesn't hold the present state. Nothing where a later owner has: it keeps another."""
        slot = 0 if part.state is None else 1 - part.state
        state = self.states(job=part.job, section=part.section, slot=slot, fence=part.fence, packed=packed)
        model = model_for(state)
        later = ~(attr(self.states.fence) > part.fence)
        await self.port.send(TryWrite(put_if(model.key_of(state), model.item(state), later)))
        return slot

    async def forget(self, job: JobItem) -> None:
        """Delete all of a job, itself last. A read for each hundred sections; two and a write for each that is not
        over, whose owners may have been killed, or work on; a write for each item."""
        has_states = _has_states(job.kind)
        for begin in range(0, job.sections + 1, AT_ONCE):
            numbers = range(begin, min(begin + AT_ONCE, job.sections + 1))
            parts = await self.parts(job.job, numbers)
            parts |= {number: await self._ended(part) for number, part in parts.items() if not part.is_over}
            keys = [
                self.lines.by_number(part.job, part.section, number, fence)
                for part in parts.values()
                for number, fence in enumerate(part.lines)
            ]
            if has_states:
                keys += [self.states.by_slot(job.job, number, slot) for number in parts for slot in (0, 1)]
            await send_patiently(self.port, [delete_if(key, None) for key in keys])
            await send_patiently(self.port, [delete_if(model_for(part).key_of(part), None) for part in parts.values()])
        await flows.delete(self.port, self.job.by_id(job.job))

    async def _ended(self, part: JobPart) -> JobPart:
        """A section of a job that is forgotten, taken from its owner, who may be at work: it keeps nothing more, and
        drops what it has not kept. Of one that was killed that is dropped here, before."""
        while True:
            for fence in (part.fence - 1, part.fence):
                await self._drop_after(part, fence)
            taken = await self.take(part.job, part.section, part, self.port.token())
            if taken is not None:
                return taken
            there = (await self.parts(part.job, [part.section])).get(part.section)
            if there is None or there.is_over:
                return there or part
            part = there

    async def _held(self, part: JobPart, event: LeaseEvent, same: Condition | None, /, **values: Any) -> JobPart | None:
        """Write attributes of a section under its fence; None if it was lost."""
        LEASE_TRANSITIONS.after(_state_of(part), event)
        fence = attr(self.part.fence) == part.fence
        key = self.part.by_section(part.job, part.section)
        changed: JobPart | None = await self._set(key, self.part, fence if same is None else fence & same, values)
        return changed

    async def _set(self, key: Any, kind: Any, where: Condition, values: Mapping[str, Any]) -> Any:
        changes = tuple(attr(getattr(kind, name)).set(value) for name, value in values.items())
        try:
            return await flows.update(self.port, key, changes, where=where)
        except (ConditionFailed, NotFound):
            return None
        except OutcomeUnknown:
            stored: Any = await flows.get(self.port, key.consistent())
            if stored is not None and all(getattr(stored, name) == value for name, value in values.items()):
                return stored
            raise


def _has_states(kind: str) -> bool:
    """Whether sections may have states, named by them or left by a kill. Of an unknown kind they may."""
    entry = JOBS.entry(kind)
    return entry is None or JOBS.load(entry).has_states


async def _read(key: Any, port: Port) -> Any:
    return await flows.get(port, key)


def _times(job: JobItem, after: JobState, now: datetime) -> dict[str, Any]:
    """The times of a job that comes to a state: while it is paused, or has failed, its time stands still."""
    if after in (JobState.PAUSED, JobState.FAILED):
        return {"paused_at": job.paused_at or now}
    paused = 0.0 if job.paused_at is None else max(0.0, (now - job.paused_at).total_seconds())
    over = {"paused_at": None, "paused_seconds": job.paused_seconds + paused}
    return over | ({"ended_at": now} if after.is_final else {})


def _state_of(part: JobPart) -> LeaseState:
    if part.is_over:
        return LeaseState.OVER
    return LeaseState.HELD if part.owner else LeaseState.FREE


def _packed(lines: Sequence[Line]) -> Iterator[bytes]:
    """Lines, in parts that fit into an item."""
    size, waiting = 0, list[msgspec.Raw]()
    for line in lines:
        encoded = msgspec.json.encode(line)
        if waiting and size + len(encoded) > _PACK_BYTES:
            yield zlib.compress(msgspec.json.encode(waiting))
            size, waiting = 0, []
        size += len(encoded)
        waiting.append(msgspec.Raw(encoded))
    if waiting:
        yield zlib.compress(msgspec.json.encode(waiting))
