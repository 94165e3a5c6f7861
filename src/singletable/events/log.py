"""The library's own listener: it shows events as records of `logging`, each with the event's fields as `extra`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from logging import DEBUG, ERROR, Logger, LogRecord, NullHandler, getLogger
from typing import Any, Final

from singletable.events.event import Event
from singletable.fork_safe_lock import ForkSafeLock

SECONDS: Final = 60.0
"""Between two records of one cause."""
MOST_CAUSES: Final = 1_000
"""Causes that are remembered; beyond them the oldest is forgotten, and shown again."""


class EventLog:
    """Shows events, those of one cause once a minute. Threads share it. It raises nothing."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._shown: dict[Hashable, tuple[float, int]] = {}
        """By cause, when it was shown last, and the number left out since."""
        self._guard = ForkSafeLock()

    @property
    def causes(self) -> int:
        """The number of causes that are remembered."""
        return len(self._shown)

    def show(self, event: Event) -> None:
        """One record, unless nobody reads its level or its cause was shown within the minute."""
        logger, level = getLogger(event.logger), event.level
        if not logger.isEnabledFor(level):
            return
        left_out = 0 if level <= DEBUG or event.cause is None else self._left_out((type(event), event.cause))
        if left_out is None:
            return
        text = f"{event.text} ({_repeats(left_out)})" if left_out else event.text
        fields: dict[str, Any] = {f"singletable_{name}": getattr(event, name) for name in event.__struct_fields__}
        fields |= {"singletable_event": type(event).__name__, "singletable_left_out": left_out}
        error = getattr(event, "error", None)
        if error is not None:  # its text is the application's, and may quote values
            fields["singletable_error"] = type(error).__qualname__
        _write(logger, level, text, extra=fields, exc_info=error if level >= ERROR or event.shows_traceback else None)

    def show_failure(self, listener: object, where: str, error: Exception) -> None:
        """Show what a listener raised, and where: at an event, or in a method of its own."""
        name = getattr(listener, "__qualname__", type(listener).__qualname__)
        text = f"the listener {name} raised at {where}; what it raises further is not logged"
        _write(getLogger("singletable.events"), ERROR, text, exc_info=error)

    def _left_out(self, cause: Hashable) -> int | None:
        """The number of records of a cause that were left out; None if this one is, too."""
        with self._guard.lock:
            now = self._monotonic()
            since, left_out = self._shown.pop(cause, (now - SECONDS, 0))
            if now - since < SECONDS:
                self._shown[cause] = since, left_out + 1
                return None
            self._shown[cause] = now, 0
            if len(self._shown) > MOST_CAUSES:
                del self._shown[next(iter(self._shown))]
            return left_out


def _repeats(left_out: int) -> str:
    """Words for the records that were left out."""
    return f"{left_out} like it {'was' if left_out == 1 else 'were'} not logged since the one before"


def _write(logger: Logger, level: int, text: str, **options: Any) -> None:
    """Write a record. What a handler or a filter raises goes where `logging` tells of a handler's own errors: the call
    that the record is of has been made."""
    try:
        logger.log(level, "%s", text, **options)
    except Exception:
        record = LogRecord(logger.name, level, __file__, 0, text, None, None)
        NullHandler().handleError(record)
