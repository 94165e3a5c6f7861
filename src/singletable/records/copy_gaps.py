"""The copies that items lack, written for many items at once: a batch of their sources, and an update each.

An update has the condition that the holder names its source still, and that the copy is of an older version of it, or
differs from this one. Sent twice, it is refused the second time, so it may be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import Applied, SingletableError
from singletable.flow import DECLARED, Consumed, Port, Request, Response, TableNames, patiently
from singletable.operations import Item, RefusedWrite, UpdateItem
from singletable.records.check_passes import items_at, type_in
from singletable.records.copies import CopyWriter, copies_of, key_from
from singletable.records.item_writes import UpdateWrite
from singletable.records.placement import PLAIN, placement_of
from singletable.records.readers import Place, place_in
from singletable.records.write import Moment, moment_at
from singletable.schema import Model, Table, model_of


class _Copy(Struct, frozen=True):
    """One holder, and what it copies from one source."""

    model: Model[Any]
    holder: Any
    writer: CopyWriter
    source: Place


async def write_copies(port: Port, table: Table, items: Sequence[Item]) -> dict[Place, bool]:
    """Write copies. Returns by item: True if its copies are right, False if it must be checked again. Copies that take
    more than an update are left out. A read of each source, a hundred in a request, and a write for each item."""
    held = {place_in(table, item): _copies_in(table, item) for item in items}
    asked = [each.source for copies in held.values() for each in copies]
    sources = await patiently(port, partial(items_at, port, table, asked))
    moment = moment_at(port, port.token())
    tried: dict[Place, _TryCopy] = {}
    for place, copies in held.items():
        updates = [update for each in copies if (update := _update(each, sources.get(each.source), moment)) is not None]
        if updates:
            tried[place] = _TryCopy(updates[0], is_all=len(updates) == 1)
    outcomes = await patiently(port, partial(port.send_all, list(tried.values())))
    return dict(zip(tried, outcomes, strict=True))


def _copies_in(table: Table, item: Item) -> list[_Copy]:
    """The copies that one plain update writes."""
    model = table.model_here(type_in(table, item))
    if model is None or model.is_leaving or placement_of(model) is not PLAIN:
        return []
    try:
        holder: Any = model.load(item)
        keys = [(writer, key_from(writer.source, holder)) for writer in copies_of(model) if holder is not None]
    except SingletableError:
        return []
    return [_Copy(model, holder, writer, (key.partition, key.low)) for writer, key in keys]


def _update(copy: _Copy, stored: Item | None, moment: Moment) -> UpdateItem[Any] | None:
    """The update of a copy; None if it is right, or takes more than an update."""
    try:
        source: Any = None if stored is None else model_of(copy.writer.source).load(stored)
        if source is None or not copy.writer.differs(copy.holder, source):
            return None
        key, where = copy.model.key_of(copy.holder), copy.writer.condition_as_read(copy.holder, source)
        write = UpdateWrite(key, copy.writer.updates(source), where, caller_copy=copy.holder)
        part = write.main(copy.holder, moment)
        if part is None or any(True for _ in write.claims(copy.holder)):
            return None
    except SingletableError:
        return None
    action = cast("UpdateItem[Any]", part.action)
    return replace(action, repeatable=True)


class _TryCopy(Struct, frozen=True):
    """An update of a copy: False if its condition failed, or the item has other copies that are behind."""

    update: UpdateItem[Any]
    is_all: bool

    def request(self, names: TableNames = DECLARED) -> Request:
        return self.update.request(names)

    def answer(self, response: Response) -> tuple[bool, Consumed]:
        try:
            _, consumed = self.update.answer(response)
        except RefusedWrite:
            return False, Consumed()
        except Applied:
            return self.is_all, Consumed()
        return self.is_all, consumed
