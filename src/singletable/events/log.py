"""The library's own listener: it shows events as records of `logging`, each with the event's fields as `extra`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from logging import DEBUG, ERROR, getLogger
from typing import Any, Final

from singletable.events.event import Event

SECONDS: Final = 60.0
"""Between two records of one cause."""
MOST_CAUSES: Final = 1_000
"""Causes that are remembered; beyond them the oldest is forgotten, and shown again."""


class EventLog:
    """Shows events, those of one cause once a minute. Threads share it: a race may show one record more."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._shown: dict[Hashable, tuple[float, int]] = {}
        """By cause, when it was shown last, and the number left out since."""

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
        text = f"{event.text} ({left_out} more since the last record)" if left_out else event.text
        fields: dict[str, Any] = {f"singletable_{name}": getattr(event, name) for name in event.__struct_fields__}
        fields |= {"singletable_event": type(event).__name__, "singletable_left_out": left_out}
        error = getattr(event, "error", None) if level >= ERROR else None
        logger.log(level, "%s", text, extra=fields, exc_info=error)

    def show_failure(self, listener: object, event: Event, error: Exception) -> None:
        """Show what a listener raised."""
        getLogger("singletable.events").error(
            "the listener %s raised at a %s; what it raises further is not logged",
            getattr(listener, "__qualname__", type(listener).__qualname__),
            type(event).__name__,
            exc_info=error,
        )

    def _left_out(self, cause: Hashable) -> int | None:
        """The number of records of a cause that were left out; None if this one is, too."""
        now = self._monotonic()
        since, left_out = self._shown.pop(cause, (now - SECONDS, 0))
        if now - since < SECONDS:
            self._shown[cause] = since, left_out + 1
            return None
        self._shown[cause] = now, 0
        if len(self._shown) > MOST_CAUSES:
            del self._shown[next(iter(self._shown))]
        return left_out
