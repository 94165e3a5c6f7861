"""Passing events on: to the listeners of a database, then to the library's own log.

A request must not pay for events that nobody hears. A database without listeners makes none for a request whose first
try succeeds, unless the level of its logger is DEBUG: `Levels` is read for that without a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cached_property
from os import getpid, urandom
from sys import modules
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from singletable.errors import InvalidRequest

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from hashlib import blake2b

    from singletable.events.context import Carrier, Kind, TraceContext, TracedWork
    from singletable.events.event import Event, Listener
    from singletable.events.log import EventLog

DEBUG: Final = 10
INFO: Final = 20
_WARNING = 30
SLOW_SECONDS: Final = 1.0
"""An answer that takes so long is told at INFO."""
SLOW_FIRST_SECONDS: Final = 0.2
"""The same for the first one of a connection."""
_LISTENING: Final[ContextVar[bool]] = ContextVar("singletable_listening", default=False)
"""True while a listener is called: nobody hears what its own requests do."""


class _HasLevel(Protocol):
    @property
    def level(self) -> int: ...


class Levels(Struct, frozen=True):
    """The loggers whose levels decide over the log of requests. The first that has a level, which is not 0, decides.

    They follow `logging`: a level that is set later counts from the next request on.
    """

    own: _HasLevel
    library: _HasLevel
    root: _HasLevel


class _Silent:
    level = 100


SILENT: Final = Levels(_Silent(), _Silent(), _Silent())
"""Stands for the loggers while the program has not imported `logging`: nobody reads a log of requests then."""


class Listeners:
    """The listeners of a database, and its log. InvalidRequest for a listener that can't be called, or is async."""

    def __init__(self, listeners: Sequence[Listener] = (), secret: bytes = b"", *, shows_keys: bool = False) -> None:
        for listener in listeners:
            _check(listener)
        self._listeners = tuple(listeners)
        self.listens = bool(listeners)
        """Whether there is a listener, not the log alone."""
        self.wants_partitions = any(getattr(one, "wants_partitions", False) for one in listeners)
        """Whether a listener asks for the hashes of partitions."""
        self.carrier: Carrier | None = _carrier_of(self._listeners)
        """The listener that carries contexts: `context.Carrier`."""
        self.monotonic: Callable[[], float] = monotonic
        """The clock of the log, by which it shows a cause once a minute: that of the port."""
        self._failed: set[int] = set()
        self._secret, self._shows_keys = secret or urandom(32), shows_keys
        self._log: EventLog | None = None

    def emit(self, event: Event) -> None:
        """Pass an event on. It raises nothing."""
        if self._listeners and not _LISTENING.get():
            token = _LISTENING.set(True)
            try:
                for number, listener in enumerate(self._listeners):
                    self._pass_to(number, listener, event)
            finally:
                _LISTENING.reset(token)
        if event.level >= _WARNING or "logging" in modules:
            self._show(lambda log: log.show(event))

    @property
    def process(self) -> str:
        """This process as its workers' events name it: the host, and the process's id."""
        from socket import gethostname  # noqa: PLC0415 for workers

        return f"{gethostname()}, process {getpid()}"

    def hash_of(self, *key: str) -> str:
        """A key as events and logs show it, in 16 hex digits. Equal keys have equal hashes, in every process with the
        same secret: a database's first cursor key. Without one a process has a secret of its own. The key itself, each
        text in quotes, where the database shows keys."""
        if self._shows_keys:
            return " ".join(map(repr, key))
        hashed = self._keyed.copy()
        hashed.update("\0".join(key).encode("utf-8", "surrogatepass"))
        return hashed.hexdigest()

    @cached_property
    def _keyed(self) -> blake2b:
        """The hash before a key goes into it."""
        from hashlib import blake2b  # noqa: PLC0415 for workers and errors

        secret = blake2b(self._secret, person=b"singletable keys").digest()
        return blake2b(key=secret, digest_size=8)

    def context(self, kind: Kind, name: str, place: str) -> TraceContext | None:
        """The context to store with a write; None if no listener carries one, and for a listener's own writes."""
        if self.carrier is None or _LISTENING.get():
            return None
        from singletable.events.context import Sent, checked  # noqa: PLC0415 for carriers

        token = _LISTENING.set(True)
        try:
            return checked(self.carrier.context(Sent(kind=kind, name=name, place=place)))
        except Exception as error:
            self._note_carrier("context", error)
            return None
        finally:
            _LISTENING.reset(token)

    def context_text(self, kind: Kind, name: str, place: str) -> str | None:
        """The context in its stored form."""
        context = self.context(kind, name, place)
        return None if context is None else context.text

    def handling(self, kind: Kind, name: str, place: str, **facts: Any) -> AbstractContextManager[TracedWork]:
        """The block of some work, for the carrier; `facts` are the other fields of a `Handled`."""
        from singletable.events.context import Handled, TracedWork  # noqa: PLC0415 for workers

        handled = Handled(kind=kind, name=name, place=place, **facts)
        return TracedWork(None if self.carrier is None else self.carrier.handling, handled, self._note_carrier)

    def _note_carrier(self, where: str, error: Exception) -> None:
        self._note_failure(-1, self.carrier, f"its {where}()", error)

    def _pass_to(self, number: int, listener: Listener, event: Event) -> None:
        try:
            listener(event)
        except Exception as error:
            self._note_failure(number, listener, f"a {type(event).__name__}", error)

    def _note_failure(self, number: int, listener: object, where: str, error: Exception) -> None:
        if number not in self._failed:
            self._failed.add(number)
            self._show(lambda log: log.show_failure(listener, where, error))

    def _show(self, show: Callable[[EventLog], None]) -> None:
        if self._log is None:
            try:
                from singletable.events.log import EventLog  # noqa: PLC0415 it imports logging
            except (ImportError, OSError):  # no file descriptor is left: what is shown is less than the call's answer
                return
            self._log = EventLog(self.monotonic)
        show(self._log)

    def levels(self) -> Levels:
        """The loggers of requests, once the program has imported `logging`."""
        if "logging" not in modules:
            return SILENT
        from logging import getLogger  # noqa: PLC0415 it is imported already

        library = getLogger("singletable")  # first: its place between the two others stays
        return Levels(getLogger("singletable.requests"), library, getLogger())


def _carrier_of(listeners: Sequence[Any]) -> Any:
    """The listener that carries contexts, if any. InvalidRequest for two: an item holds one context."""
    carriers = [one for one in listeners if hasattr(one, "context") and hasattr(one, "handling")]
    if len(carriers) > 1:
        raise InvalidRequest(
            f"{len(carriers)} of the listeners carry a trace's context, and an item holds one",
            operation="connect",
            hint="Give one listener with context() and handling().",
        )
    return carriers[0] if carriers else None


def _check(listener: Callable[..., object]) -> None:
    name = getattr(listener, "__name__", type(listener).__name__)
    if not callable(listener):
        raise InvalidRequest(
            f"a listener is a function, not a {name}",
            operation="connect",
            hint="As in connect(target, listeners=[print]): it is called with each event.",
        )
    if inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(type(listener).__call__):
        raise InvalidRequest(
            f"the listener {name} is an async function, and events come by plain calls",
            operation="connect",
            hint="Write it without async; let it put events into a queue that a task reads.",
        )
