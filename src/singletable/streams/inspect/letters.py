"""Dead letters: changes that their handlers failed at too often, to read, retry and drop."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from singletable.errors import Corrupt, NotFound
from singletable.flow import Port
from singletable.foundation import CursorSeal, Table, covered_place, entity_at, page, personal_names, place_in
from singletable.operations import Item, StreamRecord, read_item
from singletable.shown_values import ShownValue, attributes_of, covered, shown, stored_attributes
from singletable.streams.dead_letters import DeadLetter, dead_letter_at
from singletable.streams.inspect.consumers import ConsumerName, is_there, state_at
from singletable.streams.state import DeadLetterItem

MOST_LETTERS = 25


class LetterLine(Struct, frozen=True):
    """A dead letter in a list."""

    stream: str
    shard: str
    sequence: str
    type: str
    event: str
    tries: int
    at: str
    parts: int
    error: ShownValue


class LettersInfo(Struct, frozen=True):
    """Some dead letters of a consumer, in the order of its shards."""

    table: str
    consumer: ConsumerName
    letters: tuple[LetterLine, ...]
    cursor: str | None


class LetterInfo(Struct, frozen=True):
    """One dead letter with both images of its item."""

    table: str
    consumer: ConsumerName
    line: LetterLine
    key: tuple[str, str]
    before: tuple[ShownValue, ...]
    after: tuple[ShownValue, ...]
    note: str = ""
    """The reason why an image is shown in its stored form, or not at all."""


async def inspect_letters(
    port: Port,
    seal: CursorSeal,
    table: Table,
    consumer: ConsumerName,
    *,
    after: str | None = None,
    personal: bool = False,
) -> LettersInfo:
    """Up to 25 dead letters of a consumer, from a cursor on, without their images.

    Two requests; a unit for each 8 KB of what is stored of them, 350 KB at most for each part. InvalidCursor.
    """
    state = state_at(table, consumer)
    if state.table is not table and not await is_there(port, state.table):
        return LettersInfo(table.name, consumer, (), None)
    kind: Any = state.dead_letter
    names = ("consumer", "stream", "shard", "sequence", "part", "parts", "kind", "event", "error", "tries", "at")
    query = kind.by_sequence(consumer.name).only(*(getattr(kind, name) for name in names))
    parts = await page(port, query, MOST_LETTERS, after, seal, max_pages=1)
    lines = tuple(_line_of(item, personal=personal) for item in parts.items if item.part == 0)
    return LettersInfo(table.name, consumer, lines, parts.cursor)


async def inspect_letter(
    port: Port,
    table: Table,
    consumer: ConsumerName,
    place: tuple[str, str, str],
    *,
    personal: bool = False,
) -> LetterInfo:
    """A dead letter at its stream, shard and sequence number. One request, a unit for each 4 KB. NotFound."""
    letter = await read_letter(port, table, consumer, place)
    line = _line(letter, personal=personal)
    try:
        record = letter.record
    except Corrupt as error:
        return LetterInfo(table.name, consumer, line, ("", ""), (), (), error.what)
    key = place_in(table, record.dynamodb.keys)
    before, after = _image(record, "old"), _image(record, "new")
    notes = [note for image in (before, after) if image is not None and (note := _unread(table, image))]
    return LetterInfo(
        table.name,
        consumer,
        line,
        key if personal else covered_place(table, letter.type, key),
        _attributes(table, before, personal=personal),
        _attributes(table, after, personal=personal),
        notes[0] if notes else "",
    )


async def read_letter(port: Port, table: Table, consumer: ConsumerName, place: tuple[str, str, str]) -> DeadLetter:
    """A dead letter with its record. One request. NotFound."""
    state = state_at(table, consumer)
    is_known = state.table is table or await is_there(port, state.table)
    letter = await dead_letter_at(port, state, consumer.name, *place) if is_known else None
    if letter is None:
        raise NotFound(
            "the dead letter no longer exists",
            table=state.table.name,
            operation="read",
            hint="It was retried or dropped. The list shows the remaining ones.",
        )
    return letter


def _line(letter: DeadLetter, *, personal: bool) -> LetterLine:
    error = shown("error", letter.error) if personal else covered("error")
    at = letter.at.isoformat()
    return LetterLine(
        letter.stream, letter.shard, letter.sequence, letter.type, letter.event, letter.tries, at, 1, error
    )


def _line_of(item: DeadLetterItem, *, personal: bool) -> LetterLine:
    error = shown("error", item.error) if personal else covered("error")
    at = "" if item.at is None else item.at.isoformat()
    return LetterLine(item.stream, item.shard, item.sequence, item.kind, item.event, item.tries, at, item.parts, error)


def _image(record: StreamRecord, side: str) -> Item | None:
    raw: Raw = record.dynamodb.old_image if side == "old" else record.dynamodb.new_image
    return read_item(raw) if bytes(raw) else None


def _unread(table: Table, item: Item) -> str:
    return "" if entity_at(table, item) is not None else "no class here can read it: its stored form is shown"


def _attributes(table: Table, item: Item | None, *, personal: bool) -> tuple[ShownValue, ...]:
    if item is None:
        return ()
    entity = entity_at(table, item)
    if entity is not None:
        return attributes_of(entity, personal=personal)
    hides = not personal and any(personal_names(model.kind) for model in table.models)
    return stored_attributes(item, is_covered=hides)
