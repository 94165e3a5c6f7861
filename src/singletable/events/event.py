"""An event: what it holds, and how the library's own log shows it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import ClassVar

from msgspec import Struct


class Event(Struct, frozen=True, kw_only=True):
    """Something that the library did. Its fields never hold a value or a key of an item.

    The other members say how a log shows it: `logger` names the logger, `level` is a level of `logging`, `text` the
    message. Events of one `cause` are shown once a minute, with the number of the others; one without a cause, and one
    at DEBUG, is always shown.
    """

    logger: ClassVar[str] = "singletable"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG",)
    """The levels that an event of the class may have."""

    @property
    def level(self) -> int:
        """The level of its record."""
        return 10

    @property
    def text(self) -> str:
        """The message of its record."""
        return type(self).__name__

    @property
    def cause(self) -> Hashable:
        """Equal for events that are shown once a minute together; None for an event that is always shown."""
        return None


Listener = Callable[[Event], object]
"""A plain function that is called with each event, in the thread or the event loop where it happens: it must be quick.

What it raises is logged, once for each listener, and changes nothing for the call.
"""
