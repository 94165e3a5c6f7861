"""The arguments of handlers: a change of one entity, with its old and new state; or a gap in the stream."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from singletable.foundation import KeyOf
from singletable.operations import EventName

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True, repr=False)
class Change(Generic[T_co]):
    """One change of one item. It may be handled more than once: `key` and `sequence` together identify it."""

    key: KeyOf[T_co]
    sequence: str
    """Its place in its shard: of two changes of one item, the later has the greater text."""
    time: datetime
    """About when it happened, in UTC, by the service's clock."""
    event: EventName
    """The stream's own name of the event."""

    def __repr__(self) -> str:
        """Without the entities and the key's values, as logs show it."""
        return f"<{type(self).__name__} {self.key.shown}, sequence {self.sequence}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Inserted(Change[T_co]):
    """The item is new, or replaced one that had expired or was of another type."""

    new: T_co


@dataclass(frozen=True, kw_only=True, repr=False)
class Modified(Change[T_co]):
    """An attribute of the item changed."""

    old: T_co
    new: T_co


@dataclass(frozen=True, kw_only=True, repr=False)
class Removed(Change[T_co]):
    """The item was deleted, or an item of another type replaced it."""

    old: T_co


@dataclass(frozen=True, kw_only=True, repr=False)
class Expired(Change[T_co]):
    """The item had expired when it was deleted, by DynamoDB or a program, or overwritten."""

    old: T_co


@dataclass(frozen=True)
class Gap:
    """Changes that are lost: the stream holds a day, and this consumer had no worker for longer.

    Scan the items that your handlers keep in step.
    """

    consumer: str
    shard: str
    """The part of the stream; "" for all of it."""
    after: str
    """The sequence number of the last change that was handled there; "" where none was."""
    reason: Literal["trimmed", "replaced"]
    """`replaced`: the table has another stream than before, as after switching it off and on."""


AnyChange = Change[Any]
