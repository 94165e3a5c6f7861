"""The shared part of operations: reading an answer's items, its cost, and the error that an error answer raises.

An item is read by a `ItemReader`. On the fast path msgspec decodes the whole answer into the reader's wire type. If one
item does not fit, each item of that answer is tried alone, and only a failing item takes the reader's slow path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from singletable.errors import (
    Applied,
    ConditionFailed,
    InvalidRequest,
    InvalidValue,
    NotConfigured,
    ShownKey,
    SingletableError,
    TooLarge,
)
from singletable.flow import OPERATIONS, Consumed, OperationFacts, Response, lacking
from singletable.operations.unencodable import attribute_of
from singletable.values import AttributeValue, from_attribute_value, json_decoder
from singletable.wire import Fault, read_fault

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
W = TypeVar("W")

Item = Mapping[str, AttributeValue]
Key = dict[str, AttributeValue]
"""A primary key, or where a page ended: the key attributes with their values."""

_MANY = 8
"""Items up to which a reader's `build_all` is not worth its compiling."""
_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def encode(body: Any) -> bytes:
    """The JSON of a request; InvalidValue for a text that no UTF-8 can say."""
    try:
        return _encode(body)
    except UnicodeEncodeError:
        raise InvalidValue(
            "a str holds a lone surrogate, which has no form in UTF-8",
            attribute=attribute_of(body),
            hint='Read texts with errors="strict", or replace what text.encode("utf-8", "replace") shows as "?".',
        ) from None


class ItemReader(Protocol[T_co]):
    """Turns items into objects. None stands for an item of a class that was not asked for."""

    @property
    def wire(self) -> Any:
        """The msgspec type of an item on the fast path."""
        ...

    @property
    def build(self) -> Callable[[Any], T_co | None]:
        """`build(wire)`: a method, or a function that is made once."""
        ...

    def load(self, item: Item) -> T_co | None:
        """The slow path, which explains what can't be read."""
        ...


class RawItems:
    """Reads items of any class in their stored form."""

    wire: Any = dict[str, dict[str, Any]]

    def build(self, wire: Any) -> Item:
        found: Item = wire
        return found

    def load(self, item: Item) -> Item:
        return item


RAW = RawItems()


class Capacity(Struct, rename="pascal", gc=False):
    capacity_units: float = 0.0
    read_capacity_units: float | None = None
    write_capacity_units: float | None = None


# An absent item leaves the default: `W | None` would shut out a W of Raw, which msgspec takes only by itself.
class GetAnswer(Struct, Generic[W], rename="pascal", gc=False):
    item: W = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    consumed_capacity: Capacity | None = None


class WriteAnswer(Struct, Generic[W], rename="pascal", gc=False):
    attributes: W = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    consumed_capacity: Capacity | None = None


class ItemsAnswer(Struct, Generic[W], rename="pascal", gc=False):
    items: list[W] = []
    count: int = 0
    scanned_count: int = 0
    last_evaluated_key: dict[str, Any] | None = None
    consumed_capacity: Capacity | None = None


@cache
def decoder(envelope: Any, wire: Any) -> Callable[[bytes], Any]:
    return json_decoder(envelope[wire], strict=False).decode


@cache
def decoder_of(wire: Any) -> Callable[[bytes | Raw], Any]:
    return json_decoder(wire, strict=False).decode


read_item: Callable[[bytes | Raw], dict[str, AttributeValue]] = msgspec.json.Decoder(dict[str, dict[str, Any]]).decode

NOTHING = Consumed()


def facts_of(pattern: Any, items: int, index: str | None = None) -> OperationFacts:
    """The facts of an operation on the items of one pattern, or of none that is known."""
    return OperationFacts(() if pattern is None else (pattern.shown,), items, index or "")


Partition = tuple[str, str, str]
"""A table, an index or "", and the text of a partition: a key, which an event has as a hash only."""


def partitions_in(pattern: Any, items: Iterable[Item]) -> list[Partition]:
    """The partitions of items or keys under a pattern's key; none where the pattern is not known."""
    if pattern is None:
        return []
    name, table = pattern.partition_attribute, pattern.model.table.name
    values = (value for item in items for value in item.get(name, {}).values())
    return [(table, pattern.index or "", str(value)) for value in values]


def named_by(pattern: Any, item: Item | None = None) -> Any:
    """The key of an item under a pattern, for errors; without an item the pattern alone. None where none is known."""
    if pattern is None:
        return None
    if item is not None:
        return pattern.model.key_in(item)
    templates = " / ".join(template.shown for template in getattr(pattern, "templates", ()))
    return ShownKey(f"{pattern.shown} {templates}".strip())


def facts_of_batch(pattern_at: Callable[[Item], Any] | None, places: Iterable[Item], items: int) -> OperationFacts:
    """The facts of an operation on items of several patterns."""
    if pattern_at is None:
        return OperationFacts((), items)
    names = [pattern.shown for place in places if (pattern := pattern_at(place)) is not None]
    return OperationFacts(tuple(dict.fromkeys(names)), items)


def read_units(capacity: Capacity | None, passed_over: int = 0) -> Consumed:
    return Consumed(capacity.capacity_units if capacity is not None else 0.0, 0.0, passed_over)


def write_units(capacity: Capacity | None) -> Consumed:
    return Consumed(write_units=capacity.capacity_units) if capacity is not None else NOTHING


def read_one(raw: Raw | bytes, reader: ItemReader[T], operation: str | None = None) -> T | None:
    """One item by itself: fast where it fits, else slow. Raises what the slow path explains: the fast path's own error
    may quote a value, or be the class's."""
    try:
        wire, build = reader.wire, reader.build  # in this order: a reader that learns replaces both
        return build(decoder_of(wire)(raw))
    except Exception:  # also from a class's own code
        try:
            return reader.load(read_item(raw))
        except SingletableError as error:
            if operation is not None and error.operation is None:
                met_by(error, operation)
            raise error from error.__cause__


def build_many(reader: ItemReader[T], wires: Sequence[Any]) -> list[T]:
    """The objects of items on the fast path: of many without a call for each, where the reader has a way."""
    build_all = getattr(reader, "build_all", None) if len(wires) > _MANY else None
    if build_all is not None:
        return build_all(wires)  # type: ignore[no-any-return]
    build = reader.build
    return [item for wire in wires if (item := build(wire)) is not None]


def met_by(error: SingletableError, operation: str) -> None:
    """Say of an item that can't be read which read met it, and how to go on."""
    error.operation, error.hint = operation, f"{error.hint} Reads go past it with unreadable=."


def read_written(raw: Raw, reader: ItemReader[T], operation: str, table: str) -> T | None:
    """The item that a write returns. Raises Applied if it can't be read."""
    try:
        return read_one(raw, reader)
    except Exception as error:  # also from a class's own code
        raise applied(read_item(raw), error, operation, table) from error


def applied(item: Item | None, error: Exception, operation: str, table: str) -> Applied:
    """The error for a write that took effect but whose result can't be read."""
    why = error.what if isinstance(error, SingletableError) else type(error).__name__
    return Applied(
        f"the write took effect, and what it gives back can't be read: {why}",
        item=None if item is None else {name: from_attribute_value(value) for name, value in item.items()},
        operation=operation,
        table=table,
        attribute=error.attribute if isinstance(error, SingletableError) else None,
        hint="Don't repeat it. The item is on the error as `item`: correct it, or the class.",
    )


def read_items(items: Sequence[Raw], reader: ItemReader[T], operation: str) -> list[T]:
    return [found for raw in items if (found := read_one(raw, reader, operation)) is not None]


def raise_fault(response: Response, operation: str, table: str) -> NoReturn:
    """Raise what an error answer stands for; a condition's refusal carries the stored item and whether an earlier
    try was lost."""
    fault = read_fault(response.body) or Fault("UnreadableAnswer")
    if fault.code == "ConditionalCheckFailedException":
        raise RefusedWrite(stored_item(fault.item), response.unsettled, operation, table)
    raise named(fault, operation, table)


class RefusedWrite(ConditionFailed):
    """The condition of a single write did not hold. Caught in `records`, which knows what the condition meant."""

    def __init__(self, stored: Item | None, unsettled: bool, operation: str, table: str) -> None:
        super().__init__("the condition does not hold", stored=stored, operation=operation, table=table)
        self.unsettled = unsettled


def stored_item(raw: Any) -> Item | None:
    return read_item(raw) if isinstance(raw, Raw) else None


def named(fault: Fault, operation: str, table: str) -> SingletableError:
    where = {"operation": operation, "table": table}
    if fault.code in ("ResourceNotFoundException", "TableNotFoundException"):
        missing_index = " or one of its indexes" if operation in _INDEXED else ""
        return NotConfigured(
            f"the table{missing_index} does not exist",
            hint="Ask the region and account that have it, or create it: db.create_table(table), `singletable apply`.",
            **where,
        )
    if (index := fault.message.partition(_NO_INDEX)[2]) and re.fullmatch(_INDEX_NAME, index):
        return NotConfigured(
            f"the table has no index {index}",
            hint="Add it: `singletable plan` shows the step, `apply` does it.",
            **where,
        )
    if fault.code == "UnknownOperationException" and (missing := OPERATIONS.get(operation)) is not None:
        return lacking(missing, why=f"it does not know {operation}", operation=operation, table=table)
    if (too_large := why_too_large(fault.code, fault.message)) is not None:
        what, hint = too_large
        return TooLarge(f"DynamoDB refused the request: {what}", hint=hint, **where)
    return InvalidRequest(f"DynamoDB refused the request: {fault.code}: {_without_values(fault.message)}", **where)


def why_too_large(code: str, message: str) -> tuple[str, str] | None:
    """The size that a refused write would have passed, and what to do; None for a refusal of another reason."""
    if code.startswith("ItemCollectionSizeLimitExceeded"):
        return _FULL_PARTITION
    return _LARGE_ITEM if message.startswith(("Item size", "Collection size of items exceeded")) else None


_INDEXED = ("Query", "Scan", "UpdateTable")
"""The operations that may name an index."""
_NO_INDEX = "The table does not have the specified index: "
_INDEX_NAME = r"[a-zA-Z0-9_.-]{3,255}"
_LARGE_ITEM = (
    "the item would be over 400 KB, or the transaction over 4 MB",
    "Keep large content outside the item, or split it over several.",
)
_FULL_PARTITION = (
    "the items of its partition, with their entries in local indexes, would be over 10 GB",
    "Delete items of the partition, or begin another one: put a part, as the year, into the partition key.",
)


def _without_values(message: str) -> str:
    """A service's message without what it quotes: that may be an item's value."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|(?<=Value: )\S+", "'...'", message)
