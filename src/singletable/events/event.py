"""An event: what it holds, and how the library's own log shows it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import ClassVar

from msgspec import Struct

from singletable.errors import SingletableError

_NUMBERS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40}


class Event(Struct, frozen=True, kw_only=True):
    """Something that the library did. Its fields never hold a value or a key of an item.

    The other members say how a log shows it: `logger` names the logger, `level` is a level of `logging`, `text` the
    message. Events of one `cause` are shown once a minute, with the number of the others; one without a cause, and one
    at DEBUG, is always shown.
    """

    logger: ClassVar[str] = "singletable"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG",)
    """The levels that an event of the class may have."""
    shows_traceback: ClassVar[bool] = False
    """Whether its record has the traceback of its error below ERROR too: no other record has it."""

    def __repr__(self) -> str:
        """With an error as `described` tells it: a listener may print events."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        told = (f"{name}={described(v) if isinstance(v, BaseException) else repr(v)}" for name, v in values)
        return f"{type(self).__name__}({', '.join(told)})"

    @property
    def level(self) -> int:
        """The level of its record: the first of `levels`, where a class does not say another."""
        return _NUMBERS[self.levels[0]]

    @property
    def text(self) -> str:
        """The message of its record."""
        return type(self).__name__

    @property
    def cause(self) -> Hashable:
        """Equal for events that are shown once a minute together; None for an event that is always shown."""
        return None


class Problem(Event, frozen=True, kw_only=True):
    """Something that went wrong, or was left out, and ended neither a worker nor a call.

    Those with equal fields, and errors of one class, are of one cause.
    """

    levels: ClassVar[tuple[str, ...]] = ("WARNING",)

    @property
    def cause(self) -> Hashable:
        values = (getattr(self, name) for name in self.__struct_fields__)
        return tuple(type(value) if isinstance(value, BaseException) else value for value in values)


def described(error: BaseException | None) -> str:
    """An error as events and the log show it. One of the library has its words and its place, which hold no value of an
    item; of an application's own, whose words may, there is the class alone."""
    kind, package = type(error).__name__, type(error).__module__.partition(".")[0]
    return f"{kind}: {error.summary()}" if isinstance(error, SingletableError) and package == "singletable" else kind


Listener = Callable[[Event], object]
"""A plain function that is called with each event, in the thread or the event loop where it happens: it must be quick.

What it raises is logged, once for each listener, and changes nothing for the call.
"""
