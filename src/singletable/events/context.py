"""Trace contexts that are stored: with a task, a mutation, a message of a queue, a changed item.

    class Tracing:                                         # a listener with two methods more is a carrier
        def __call__(self, event: Event) -> None: ...
        def context(self, sent: Sent) -> TraceContext | None: ...
        def handling(self, handled: Handled) -> AbstractContextManager[object]: ...

`context` returns the context that the library stores. `handling` returns a context manager, which the library enters
around a task, a handler, or the making of a version. The library knows the form of W3C Trace Context, and no tracer.
Without a carrier nothing is stored. A stored text of another form counts as missing: any program may have written it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Literal, Protocol

from msgspec import Struct

from singletable.errors import InvalidValue

MAX_STATE_BYTES: Final = 256
"""The longest `tracestate` that is stored. Entries at its end are left out, as W3C Trace Context allows."""
_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_STATE = re.compile(r"[ -~]*")
Kind = Literal["task", "mutation", "message", "change"]
Begin = Callable[["Handled"], AbstractContextManager[object]]


class TraceContext(Struct, frozen=True):
    """A context in the form of W3C Trace Context, version 00. InvalidValue for another form."""

    parent: str
    """The header `traceparent`, of 55 characters."""
    state: str = ""
    """The header `tracestate`."""

    def __post_init__(self) -> None:
        if not (_PARENT.fullmatch(self.parent) and _STATE.fullmatch(self.state)):
            raise InvalidValue(
                "a context has the form of the headers traceparent and tracestate",
                hint="TraceContext.of_headers() returns None for another form.",
            )

    @property
    def text(self) -> str:
        """The stored form: the parent, a space and the state, or the parent alone."""
        state = self.bounded_state
        return f"{self.parent} {state}" if state else self.parent

    def text_of_change(self, unique: str) -> str:
        """The stored form in a changed item: with a text that is another one in each change."""
        return self.text.replace(self.parent, f"{self.parent}.{unique}", 1)

    @property
    def bounded_state(self) -> str:
        """The first entries of the state, as many as are stored."""
        state = self.state
        while len(state) > MAX_STATE_BYTES:
            state = state.rpartition(",")[0]
        return state.strip()

    @classmethod
    def of_text(cls, text: object) -> TraceContext | None:
        """A stored context; None for another form."""
        if not isinstance(text, str):
            return None
        head, _, state = text.partition(" ")
        parent = head.partition(".")[0]
        return cls.of_headers(parent, state)

    @classmethod
    def of_headers(cls, parent: object, state: object = "") -> TraceContext | None:
        """A context from two headers; None if the first has another form. A state of another form is left out."""
        if not isinstance(parent, str) or not _PARENT.fullmatch(parent):
            return None
        is_state = isinstance(state, str) and len(state) <= 2 * MAX_STATE_BYTES and _STATE.fullmatch(state)
        return cls(parent, str(state)) if is_state else cls(parent)


def checked(given: object) -> TraceContext | None:
    """Return what a carrier gave. TypeError for anything but a context or None, as a coroutine is."""
    if given is None or isinstance(given, TraceContext):
        return given
    name = type(given).__name__
    if isinstance(given, Coroutine):
        given.close()
    raise TypeError(f"a {name} is not a TraceContext")


class Sent(Struct, frozen=True, kw_only=True):
    """A write that may store a context; without a value or a key."""

    kind: Kind
    name: str
    """The function of a task, the name of a mutation, the queue of a message, the service's action of a change."""
    place: str
    """The declared name of the table, or the name of the queue."""


class Handled(Struct, frozen=True, kw_only=True):
    """Work that begins: a try of a task, the handlers of a change or a message, a version of a document. It says no
    value and no key."""

    kind: Kind
    name: str
    """The function of a task, the queue of a message, `order#INSERT` of a change, the document class of mutations."""
    place: str
    """The declared name of the table, or the name of the queue."""
    contexts: tuple[TraceContext, ...] = ()
    """The stored contexts. Several mutations make one version; a missing context is left out."""
    count: int = 1
    """The number of mutations."""
    consumer: str = ""
    """The name of the consumer of changes."""
    key_hash: str = ""
    """The keyed hash of the task's or the item's key; the id of a message."""
    attempt: int = 1
    expected: tuple[type[BaseException], ...] = ()
    """The errors that are not failures, as NothingToDo."""


class Carrier(Protocol):
    """A listener that carries contexts. An error of its methods is logged once, and changes nothing for the work."""

    def context(self, sent: Sent) -> TraceContext | None:
        """The context to store; None for none."""
        ...

    def handling(self, handled: Handled) -> AbstractContextManager[object]:
        """The block of the work: entered in the thread or task that does the work, left with the work's error."""
        ...


class TracedWork:
    """The block of some work: the carrier's own block, guarded. `error` is an error that the block does not raise.

    `with events.handling(handled) as work: work.error = handle()`
    """

    def __init__(self, begin: Begin | None, handled: Handled, failed: Callable[[str, Exception], object]) -> None:
        self.error: BaseException | None = None
        self._begin, self._handled, self._failed = begin, handled, failed
        self._leave: Callable[..., Any] | None = None

    def __enter__(self) -> TracedWork:
        if self._begin is None:
            return self
        try:
            entered = self._begin(self._handled)
            entered.__enter__()
            self._leave = entered.__exit__
        except Exception as error:
            self._failed("handling", error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._leave is None:
            return
        error = raised or self.error
        try:
            self._leave(type(error) if error else None, error, error.__traceback__ if error else None)
        except Exception as own:
            if own is not error:
                self._failed("handling", own)
