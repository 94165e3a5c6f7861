"""The changes of one item that its table's stream still holds, read to a limit."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from singletable.errors import SingletableError
from singletable.flow import instant
from singletable.foundation import COVERED, Table, place_in, type_in
from singletable.operations import Item
from singletable.streams.inspect import Tail, TailedChange
from singletable.studio.edits import AttributeDifference
from singletable.studio.items import attributes_of
from singletable.studio.visit import Visit

MOST_RECORDS = 2_000
MOST_READINGS = 20


class StreamedChange(Struct, frozen=True):
    at: datetime
    what: str
    """`inserted`, `modified`, `removed`, or another word of the stream."""
    differences: tuple[AttributeDifference, ...]


class StreamedChanges(Struct, frozen=True):
    found: tuple[StreamedChange, ...]
    seen: int
    """Records that were looked at; of the item alone, for who may not read every class."""
    is_all: bool
    """Whether that was all that the stream holds."""
    problem: str = ""


async def changes_of(visit: Visit, table: Table, item: Item) -> StreamedChanges:
    """The changes of an item, newest first; a request for each open shard and reading, no units."""
    tail, seen, changes = Tail(visit.db.port, table, "horizon"), 0, dict[str, StreamedChange]()
    place, is_all, problem = place_in(table, item), False, ""
    try:
        for _ in range(MOST_READINGS):
            read = [change for change in await tail.read() if isinstance(change, TailedChange)]
            is_all = not read
            if is_all or seen >= MOST_RECORDS:
                break
            seen += len(read)
            for change in read:
                images = change.record.dynamodb
                if place_in(table, images.keys) == place:
                    problem = change.error or problem
                    changes[images.sequence_number] = _change(visit, table, change)
    except SingletableError as error:
        is_all, problem = False, error.what
    return StreamedChanges(
        tuple(reversed(changes.values())), seen if visit.reads_all else len(changes), is_all, visit.told(problem)
    )


def _change(visit: Visit, table: Table, change: TailedChange) -> StreamedChange:
    images = change.record.dynamodb
    shown = [
        {a.name: a.value for a in attributes_of(visit, table, image)}
        if visit.may_read_type(table, type_in(table, image))
        else {}
        for image in map(_item, (images.old_image, images.new_image))
    ]
    names = dict.fromkeys((*shown[0], *shown[1]))
    differences = tuple(
        AttributeDifference(name, shown[0].get(name), shown[1].get(name))
        for name in names
        if shown[0].get(name) != shown[1].get(name) or shown[0].get(name) == COVERED
    )
    at = instant(images.approximate_creation_date_time)
    return StreamedChange(
        at, {"INSERT": "inserted", "MODIFY": "modified", "REMOVE": "removed"}[change.record.event], differences
    )


def _item(image: msgspec.Raw) -> Item:
    raw = bytes(image)
    return msgspec.json.decode(raw, type=dict[str, dict[str, Any]]) if raw and raw != b"null" else {}
