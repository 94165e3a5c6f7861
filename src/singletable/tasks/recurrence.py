"""Recurrence: when a recurring task runs, and what becomes of the runs that were missed.

Its times are those of cron (`cron`), or an interval apart. A run is due at one of them. When it ends, the next is due:

    missed="once"   the first time after the run began: one run for all times that passed before
    missed="each"   the first time after its own: each missed time has a run, one after the other
    missed="skip"   as "once"; and a run that could not begin within a minute of its time is left out
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Literal, Protocol, get_args

from msgspec import Struct

from singletable.errors import DeclarationError
from singletable.tasks.cron import cron_of

Missed = Literal["once", "each", "skip"]
LATE: Final = timedelta(minutes=1)
"""A run that begins later is a missed one."""
_SHORTEST: Final = timedelta(seconds=1)


class Times(Protocol):
    """The times at which runs are due."""

    def after(self, moment: datetime) -> datetime:
        """The first one after a moment."""
        ...


class Interval(Struct, frozen=True):
    """Times an interval apart. `origin` is one of them."""

    every: timedelta
    origin: datetime

    def after(self, moment: datetime) -> datetime:
        return self.origin + self.every * max(1, (moment - self.origin) // self.every + 1)


class Recurrence(Struct, frozen=True):
    """The declared times of a recurring task."""

    missed: Missed
    every: timedelta | None = None
    cron: str = ""
    zone: str = "UTC"

    @property
    def text(self) -> str:
        """The times, for people, and to see that a stored plan is another one."""
        return f"{self.cron} {self.zone}" if self.every is None else f"every {self.every}"

    def first(self, now: datetime) -> datetime:
        """The first run of a plan that begins now."""
        return self._times(now).after(now)

    def next(self, due: datetime, began: datetime) -> datetime:
        """The run after one that was due at a time, and began at another."""
        return self._times(due).after(due if self.missed == "each" else max(due, began))

    def is_left_out(self, due: datetime, began: datetime) -> bool:
        """Whether a run is too late to be begun."""
        return self.missed == "skip" and began - due > LATE

    def _times(self, origin: datetime) -> Times:
        return cron_of(self.cron, self.zone) if self.every is None else Interval(self.every, origin)


def recurrence_of(name: str, every: timedelta | None, cron: str | None, zone: str, missed: Missed) -> Recurrence:
    """The times that a declaration names. Raises DeclarationError unless it names one valid way."""
    if (every is None) == (cron is None):
        raise DeclarationError(
            f"the recurring task {name} needs either every= or cron=",
            hint='As in every=timedelta(hours=1), or cron="30 2 * * *", zone="Europe/Berlin".',
        )
    if missed not in get_args(Missed):
        raise DeclarationError(f"missed={missed!r} of the task {name}", hint='It is "once", "each" or "skip".')
    if every is not None and every < _SHORTEST:
        raise DeclarationError(
            f"the recurring task {name} runs every {every}", hint="A second is the least: run it more often by a loop."
        )
    return Recurrence(missed, every, "" if cron is None else cron_of(cron, zone).text, zone)
