"""Restore: a table, the tables beside it and its contents, brought back together from one source.

    make       the table, without a stream: restored by the service, or created
    hold       nothing of it runs until `singletable release`
    items      of a copy or an export; a service has restored them
    beside     the tables beside it, as that of leases and dead letters
    contents   what the store of contents lacks
    settings   as declared: expiry, tags, recovery, protection; the stream last

A record in the table says which of these are done. Each may be done again, so a killed restore goes on with the same
call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest, SingletableError
from singletable.exchange.items import RestoreRecord, Transfer
from singletable.exchange.renamed_port import RenamedPort
from singletable.exchange.restore_sources import RestoreSource, Tell
from singletable.exchange.table_copy import has_items
from singletable.flow import Port, instant
from singletable.foundation import Table, flows, maintain_stream, model_for
from singletable.holds import hold
from singletable.layers import BackedContents, CopiedContents, tables_beside
from singletable.migrations import flows as migrations
from singletable.operations import PutItem
from singletable.tables import Description, describe_indexes, table_identity
from singletable.values import changed


class RestoreStep(Struct, frozen=True):
    """A part of a restore, and what it does."""

    name: str
    what: str


class RestorePlan(Struct, frozen=True):
    """The work of a restore, before it begins."""

    table: str
    source: str
    steps: tuple[RestoreStep, ...]
    notes: tuple[str, ...] = ()
    """The parts that it can't bring back."""


class Restored(Struct, frozen=True):
    """The outcome of a restore."""

    table: str
    source: str
    items: int = 0
    """The items that were put; 0 if the service restored them."""
    beside: tuple[str, ...] = ()
    """The tables beside it that were restored."""
    contents: CopiedContents = CopiedContents()
    settings: tuple[str, ...] = ()
    """The declared settings that were given to it."""
    notes: tuple[str, ...] = ()


class RestoreRun:
    """One run of a restore of `table` into the table that is called `to` in the account."""

    def __init__(
        self,
        port: Port,
        table: Table,
        to: str,
        source: RestoreSource,
        contents: Sequence[BackedContents] = (),
        contents_from: Any = None,
        tell: Tell = lambda state: None,
    ) -> None:
        self.port, self.table, self.source = port, table, source
        self.contents, self.contents_from, self.tell = contents, contents_from, tell
        self.target = unprepared(port, table.name, to)
        self.to = self.target.names[table.name]
        self.is_renamed = self.to != port.names[table.name]
        self.restored = Restored(self.to, source.text)

    async def plan(self) -> RestorePlan:
        """The work of `run`, before it begins. Reads descriptions only. InvalidRequest if the name is taken."""
        live = await describe_indexes(self.target, self.table.definition)
        record = await self._record(live)
        if live is not None and record is None:
            await self._check_is_its_own(live)
        done = () if record is None else ("make", "hold", *record.done)
        steps = [step async for step in self._steps() if step.name not in done]
        return RestorePlan(self.to, self.source.text, tuple(steps), (*self._notes("beside"), *self._notes("contents")))

    async def run(self) -> Restored:
        """Restore, or go on after a kill with a restore from the same source. InvalidRequest if the name is taken."""
        record = await self._begin()
        if record.ended_at is not None:
            note = f"it was restored at {record.ended_at}, and nothing was done now"
            return replace(self.restored, notes=(note, *record.notes))
        stages: Mapping[str, Callable[[], Awaitable[None]]] = {
            "items": self._items,
            "beside": self._beside,
            "contents": self._contents,
            "settings": self._settings,
        }
        for name, stage in stages.items():
            if name not in record.done:
                await stage()
                notes = [*record.notes, *self._notes(name)]
                record = await self._put(changed(record, done=[*record.done, name], notes=notes))
        await self._put(changed(record, ended_at=instant(self.port.now())))
        return replace(self.restored, notes=tuple(record.notes))

    # --- the beginning ------------------------------------------------------------------------------------------------
    async def _begin(self) -> Any:
        live = await describe_indexes(self.target, self.table.definition)
        record = await self._record(live)
        if record is not None:
            if record.ended_at is None:
                if "contents" not in record.done:
                    await self._keep_contents()
                await self._hold()  # it may have been released in the middle
            return record
        if live is not None:
            await self._check_is_its_own(live)
        await self._keep_contents()
        try:
            await self.source.make(self.target, self.table, self.tell)
        except SingletableError:
            await self._end_keeping()
            raise
        await self._hold()
        live = await describe_indexes(self.target, self.table.definition)
        kind: Any = RestoreRecord.of(self.table)
        now = instant(self.port.now())
        return await self._put(kind(source=self.source.text, identity=_identity(live), began_at=now))

    async def _keep_contents(self) -> None:
        """From now on, until its manifests are written, no content is deleted: the table of the declared name deletes
        from the same store."""
        for part in self._shared:
            await part.begin(self.target, self._holder)

    async def _end_keeping(self) -> None:
        for part in self._shared:
            await part.end(self.target, self._holder)

    @property
    def _shared(self) -> list[BackedContents]:
        """The contents that lie in the store of the table of the declared name."""
        return [part for part in self.contents if part.has_store and self.is_renamed]

    @property
    def _holder(self) -> str:
        return f"table {self.to}"

    async def _hold(self) -> None:
        """Whatever this program declares: another one may have workers. They may run, and know the declared name."""
        why = f"restored from {self.source.text}"
        await hold(self.target, self.table, why, in_use=not self.is_renamed)

    async def _record(self, live: Description | None) -> Any:
        """The record of this restore; None if it has none yet. One that the items brought along is another table's.

        InvalidRequest for the record of another restore that made the table.
        """
        if live is None or live.raw.get("TableStatus") == "CREATING":
            return None
        kind: Any = RestoreRecord.of(self.table)
        record = await flows.get(self.target, kind.only().consistent())
        if record is None or record.identity != _identity(live):
            return None
        if record.source != self.source.text:
            raise self._taken()
        return record

    async def _check_is_its_own(self, live: Description) -> None:
        """A restore that was killed before its record goes on. InvalidRequest for any other table of the name."""
        if self.source.is_service:
            is_own = self.source.has_made(live.raw)
        else:
            is_own = not await has_items(self.target, self.table)
        if not is_own:
            raise self._taken()

    def _taken(self) -> InvalidRequest:
        return InvalidRequest(
            "a table of this name is there, and this restore has not made it",
            table=self.to,
            operation="restore",
            hint="Restore under another name: --to NAME. For this name, delete the table first.",
        )

    async def _put(self, record: Any) -> Any:
        model = model_for(record)
        await self.target.send(PutItem(model.table.name, model.item(record)))
        return record

    # --- its parts ----------------------------------------------------------------------------------------------------
    async def _items(self) -> None:
        self.restored = replace(self.restored, items=await self.source.fill(self.target, self.table, self.tell))

    async def _beside(self) -> None:
        for beside, to in self._tables_beside():
            source = await self.source.beside(beside)
            target = unprepared(self.port, beside.name, to)
            if source is None or await self._is_taken(source, target, beside):
                continue
            self.tell(f"{to}: restoring")
            await source.make(target, beside, self.tell)
            await source.fill(target, beside, self.tell)
            self.restored = replace(self.restored, beside=(*self.restored.beside, to))

    async def _is_taken(self, source: RestoreSource, target: Port, beside: Table) -> bool:
        """Whether a table beside is there that this restore has not made: it stays."""
        live = await describe_indexes(target, beside.definition)
        if live is None:
            return False
        if source.is_service:
            return not source.has_made(live.raw)
        is_begun = bool(await flows.read_all(target, Transfer.all_of(beside).consistent()))
        return not is_begun and await has_items(target, beside)

    async def _contents(self) -> None:
        copied = CopiedContents()
        for part in self.contents:
            if not part.has_store:
                continue
            self.tell(part.name)
            if self.contents_from is not None:
                copied = copied.and_also(await part.copy(self.target, source=self.contents_from))
            elif self.source.is_service and not self.is_renamed:
                await part.take_over(self.target)  # the table of this name, in this place, is gone
        for part in self._shared:
            await part.hold(self.target, self._holder)
        await self._end_keeping()
        self.restored = replace(self.restored, contents=copied)

    async def _settings(self) -> None:
        self.tell("settings")
        given = await migrations.set_declared(self.target, self.table.definition)
        await maintain_stream(self.target, self.table)
        self.restored = replace(self.restored, settings=tuple(given))

    # --- in words -----------------------------------------------------------------------------------------------------
    async def _steps(self) -> AsyncIterator[RestoreStep]:
        yield RestoreStep("make", f"{self.to}, from {self.source.text}: {self.source.costs}")
        yield RestoreStep("hold", "no task, handler or queue of it runs until `singletable release`")
        if not self.source.is_service:
            yield RestoreStep("items", "each item is written once, 25 in a request")
        for beside, to in self._tables_beside():
            if (source := await self.source.beside(beside)) is not None:
                yield RestoreStep("beside", f"{to}, from {source.text}, unless it is there")
        for part in filter(lambda part: part.has_store, self.contents):
            yield RestoreStep("contents", self._contents_in_words(part))
        if declared := migrations.wanted_settings(self.table.definition):
            yield RestoreStep("settings", ", ".join(declared))

    def _contents_in_words(self, contents: BackedContents) -> str:
        if self.contents_from is not None:
            return f"{contents.name}: a read and a put for each that the store lacks"
        if self.is_renamed:
            return f"{contents.name}: they stay in the store of {self.table.name}, which keeps them for {self.to}"
        return f"{contents.name}: they are in the store, which keeps them for its backups"

    def _notes(self, step: str) -> Iterator[str]:
        """The parts that a step could not bring back, known once it was planned or done."""
        if step == "beside":
            yield from self.source.lacking
        if step == "contents":
            for part in self.contents:
                if not part.has_store:
                    yield f"the {part.name} are not brought back: no blob store is configured here"
            for path in self.restored.contents.damaged:
                yield f"the content {path} can't be read in the source, and is missing"

    def _tables_beside(self) -> list[tuple[Table, str]]:
        names = [(beside, beside.name.removeprefix(self.table.name)) for beside in tables_beside(self.table)]
        own = self.port.names
        return [(beside, f"{self.to}{rest}" if self.is_renamed else own[beside.name]) for beside, rest in names]


def unprepared(port: Port, name: str, there: str) -> RenamedPort:
    """A port to a table under another name, which is not set up at its first use: a restore does that at its end."""
    target = RenamedPort(port, name, there)
    target.ready.add(name)
    return target


def _identity(live: Description | None) -> str:
    return "" if live is None else table_identity(live.raw)
