"""Stored items that their class can't read: told one by one, while a read goes on with the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from singletable.errors import Corrupt
from singletable.operations import Item, ItemReader, met_by
from singletable.values import from_attribute_value

T = TypeVar("T")


class Unreadable(Struct, frozen=True):
    """A stored item that its class can't read, as `unreadable=` of a read is called with it."""

    key: Any
    """The item's key; of a document's content, its id."""
    item: Mapping[str, Any]
    """The stored item, by the stored names."""
    error: Corrupt
    """The error that a read without `unreadable=` raises."""

    def __repr__(self) -> str:
        """Without the item's values, as it may be shown in a log."""
        return f"<Unreadable: {self.error}>"


OnUnreadable = Callable[[Unreadable], object] | None
"""Called with each item that can't be read, as a list's `append`. None: the first one raises its error."""


class TellingReader:
    """The same reader, for which an item that can't be read is an Unreadable, and no error."""

    def __init__(self, reader: ItemReader[Any]) -> None:
        self._reader = reader

    @property
    def wire(self) -> Any:
        return self._reader.wire

    @property
    def build(self) -> Callable[[Any], Any]:
        return self._reader.build

    def load(self, item: Item) -> Any:
        try:
            return self._reader.load(item)
        except Corrupt as error:
            values = {name: from_attribute_value(value) for name, value in item.items()}
            return Unreadable(error.key, values, error.with_traceback(None))


def readable(answers: Sequence[T], unreadable: OnUnreadable, operation: str) -> Sequence[T]:
    """The entities among what was found. `unreadable` is called with the others."""
    if unreadable is None:
        return answers
    kept: list[T] = []
    for answer in answers:
        if isinstance(answer, Unreadable):
            answer.error.operation = operation
            unreadable(answer)
        else:
            kept.append(answer)
    return kept


def load_or_tell(reader: ItemReader[T], item: Item, unreadable: OnUnreadable, operation: str) -> T | None:
    """The entity of an item that was read raw; None for one that is reported as unreadable."""
    if unreadable is not None:
        return next(iter(readable([TellingReader(reader).load(item)], unreadable, operation)), None)
    try:
        return reader.load(item)
    except Corrupt as error:
        met_by(error, operation)
        raise
