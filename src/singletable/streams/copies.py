"""Keeping copies up to date: a change of a source is written to all holders, and a new holder is checked.

Every write is conditional on the copy being of an older version of its source, and the source is read consistently each
time: a late, repeated or overtaken handler writes nothing older than what is stored. A copy that has the right value
but no version is written too, so that a late writer can't overwrite it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from singletable.errors import DeclarationError
from singletable.flow import Port, pause_for_index
from singletable.foundation import (
    Bound,
    CopyWriter,
    OnUnreadable,
    Table,
    TryWrite,
    Unreadable,
    UpdateWrite as Write,
    copies_in,
    flows,
    key_from,
    model_of,
    moment_at,
    read_pages,
)
from singletable.streams.events import Inserted, Modified
from singletable.streams.router import Handler


@dataclass(frozen=True)
class CopyUpdater(CopyWriter):
    """The copies of one source in one class of holders, and the pattern that finds these, or leads to them."""

    pattern: Bound[..., Any]

    def handlers(self) -> Iterator[Handler]:
        source, holder = model_of(self.source).type, model_of(self.holder).type
        names = tuple(dict.fromkeys(copy.source_name for copy in self.copies))
        yield Handler(source, "inserted", self.source_inserted, is_flow=True)
        yield Handler(source, "modified", self.source_modified, names, is_flow=True)
        yield Handler(holder, "inserted", self.holder_inserted, is_flow=True)
        yield Handler(holder, "modified", self.holder_modified, is_flow=True)

    # --- handlers -----------------------------------------------------------------------------------------------------
    async def source_modified(self, port: Port, change: Modified[Any]) -> None:
        await self._write_all(port, change.key)

    async def source_inserted(self, port: Port, change: Inserted[Any]) -> None:
        """Holders may exist already, with copies of a source that was deleted; their versions have no meaning now."""
        await self._write_all(port, change.key, is_another=True)

    async def holder_inserted(self, port: Port, change: Inserted[Any]) -> None:
        await self._check(port, change.new)

    async def holder_modified(self, port: Port, change: Modified[Any]) -> None:
        """A write of these handlers brings a new version; any other change of a copy is checked. In a holder that names
        another source now the version is that of the one before."""
        if any(getattr(change.old, name) != getattr(change.new, name) for name in self.naming):
            await self._check(port, change.new, is_another=True)
            await self._check(port, change.new)
            return
        old, new = self.known_version(change.old), self.known_version(change.new)
        if new is None or (new == old and self.values(change.old) != self.values(change.new)):
            await self._check(port, change.new)

    # --- flows --------------------------------------------------------------------------------------------------------
    async def _check(self, port: Port, holder: Any, *, is_another: bool = False) -> None:
        key: Any = key_from(self.source, holder)
        source: Any = await flows.get_any(port, key.consistent())
        if source is not None:
            await self.update(port, model_of(self.holder).key_of(holder), source, is_another)

    async def _write_all(self, port: Port, key: Any, *, is_another: bool = False) -> None:
        source: Any = await flows.get_any(port, key.consistent())
        if source is None:
            return
        await self._write_found(port, source, is_another)
        lag = port.traits.index_lag_seconds if self.pattern.captured.index is not None else 0.0
        if lag:
            # Holders that the index didn't show yet; those written before cost a read, and no write.
            await pause_for_index(port)
            await self._write_found(port, source, is_another=False)

    async def _write_found(self, port: Port, source: Any, is_another: bool) -> None:
        """All holders that can be read; then the error of the first that can't be."""
        told: list[Unreadable] = []
        names = self.pattern.captured.templates[0].names
        query: Any = self.pattern(**{name: getattr(source, name) for name in names})
        query = query if query.index is not None else query.consistent()
        async for page in read_pages(port, query, told.append):
            there = await self._holders(port, page, told.append)
            holders = [holder for holder in there if self.is_behind(holder, source, is_another)]
            await self._update_all(port, holders, source, is_another)
        for unreadable in told:
            raise unreadable.error

    async def _holders(self, port: Port, holders: Sequence[Any], unreadable: OnUnreadable) -> list[Any]:
        """The holders on a page, or the ones that its items lead to: one more round trip."""
        own = [item for item in holders if isinstance(item, self.pattern.captured.owner)]
        if self.holder is self.pattern.captured.owner:
            return own
        return await flows.get_many(port, [key_from(self.holder, item) for item in own], True, unreadable)

    async def _update_all(self, port: Port, holders: Sequence[Any], source: Any, is_another: bool) -> None:
        """Concurrently, one request each. A holder whose write is refused has changed, and is updated alone."""
        model = model_of(self.holder)
        writes: list[TryWrite] = []
        for holder in holders:
            updates, where = self.updates(source), self.condition(source, is_another)
            write = Write(model.key_of(holder), updates, where)
            part: Any = write.main(holder, moment_at(port, port.token()))
            writes.append(TryWrite(part.action))
        held = await port.send_all(writes)
        for holder in (holder for holder, ok in zip(holders, held, strict=True) if not ok):
            await self.update(port, model.key_of(holder), source, is_another)


def copy_updater(table: Table, pattern: Any, to: type[Any] | None = None) -> CopyUpdater:
    """The handler of `keep_copies` for a pattern. Raises DeclarationError for a pattern without one."""
    if not _is_pattern(pattern):
        raise DeclarationError(
            "keep_copies() takes the access pattern that finds the holders by their source",
            hint="As in changes.keep_copies(Membership.of_organisation).",
        )
    owner: type[Any] = pattern.captured.owner
    holder = to or owner
    sources = list(dict.fromkeys(copy.source for copy in copies_in(holder)))
    names = pattern.captured.templates[0].names
    for source in sources:
        leads_there = model_of(holder).identity <= model_of(owner).by_name.keys()
        leads_back = model_of(source).identity <= model_of(holder).by_name.keys()
        if {*names} <= model_of(source).by_name.keys() and leads_there and leads_back:
            _check_pattern(table, pattern, owner)
            _check_holder(table, holder)
            return CopyUpdater(holder, source, copies_in(holder, source), pattern)
    raise DeclarationError(_why_not(pattern, holder, sources), table=table.name, hint=_HINT)


_HINT = (
    "The partition of the pattern, and the key of the source, are made of attributes that both classes have under the "
    "same names."
)


def _is_pattern(value: Any) -> TypeGuard[Bound[..., Any]]:
    return isinstance(value, Bound)


def _check_pattern(table: Table, pattern: Bound[..., Any], found: type[Any]) -> None:
    captured, model = pattern.captured, model_of(found)
    if model.table is not table:
        raise DeclarationError(f"{captured.shown} reads table {model.table.name}", table=table.name)
    if untold := captured.templates[0].untold:
        raise DeclarationError(
            f"{captured.shown} finds the holders of other sources, too: its partition doesn't tell {min(untold)} apart",
            table=table.name,
            hint="Find them by an index whose partition holds the whole value.",
        )
    sparse = [n for t in captured.templates for n in t.names if model.by_name[n].optional]
    if sparse:
        raise DeclarationError(f"{captured.shown} misses the holders whose {sparse[0]} is None", table=table.name)
    if captured.index is not None and table.definition.indexes[captured.index].projection != "all":
        raise DeclarationError(f"{captured.shown} reads an index that holds only a part of each item", table=table.name)


def _check_holder(table: Table, holder: type[Any]) -> None:
    model = model_of(holder)
    if model.is_in_two_forms:
        raise DeclarationError(
            f"{holder.__name__} has stored_as={model.stored_as}, and copies are written to many items at once, which "
            "can't keep both forms of an item in step",
            table=table.name,
            hint="Keep its copies by a handler of your own, with db.update; or drop stored_as= first.",
        )


def _why_not(pattern: Bound[..., Any], holder: type[Any], sources: Sequence[type[Any]]) -> str:
    if not sources:
        return f"{holder.__name__} copies nothing: it has no attribute with copy_of(...)"
    needed = ", ".join(pattern.captured.templates[0].names) or "no attribute"
    named = " or ".join(source.__name__ for source in sources)
    return f"{pattern.captured.shown} finds holders by {needed}, which {named} does not have, or the other way round"
