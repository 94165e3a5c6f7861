"""A search as it is shown: its plan, with what became of each method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from manhunt.messages import text_of
from manhunt.model import Delivery, Planned, Search, SearchAttempt, SearchDetails, Status

DELIVERIES = {
    Delivery.WAITING: "on its way",
    Delivery.CLAIMED: "being sent",
    Delivery.SENT: "sent",
    Delivery.REFUSED: "refused",
    Delivery.WITHHELD: "not sent: the search had ended",
    Delivery.UNKNOWN: "unknown whether it left",
}


@dataclass(frozen=True)
class StepView:
    """One method of the plan. Without an attempt it is still to come, or never will."""

    number: int
    method: Planned
    attempt: SearchAttempt | None
    due_at: datetime | None
    """When it will be tried, while the search goes on."""

    @property
    def said(self) -> str:
        if self.attempt is None:
            return "not tried" if self.due_at is None else "to come"
        if self.attempt.answered_at is not None:
            return f"answered: {self.attempt.answer}"
        if self.attempt.problem and self.attempt.delivery in (Delivery.WAITING, Delivery.CLAIMED):
            return f"will be sent again: {self.attempt.problem}"
        state = DELIVERIES[self.attempt.delivery]
        has_reason = self.attempt.problem and self.attempt.delivery in (Delivery.REFUSED, Delivery.UNKNOWN)
        return f"{state}: {self.attempt.problem}" if has_reason else state

    @property
    def look(self) -> str:
        """A class of the style sheet."""
        if self.attempt is None:
            return "idle" if self.due_at is None else "due"
        return "answered" if self.attempt.answered_at is not None else self.attempt.delivery.value


@dataclass(frozen=True)
class SearchView:
    search: Search
    steps: tuple[StepView, ...]
    text: str
    fails_at: datetime | None
    """When the search will have failed, if nobody answers until then."""

    @property
    def is_active(self) -> bool:
        return self.search.status is Status.ACTIVE


def search_view(found: SearchDetails) -> SearchView:
    search = found.search
    attempts = {attempt.step: attempt for attempt in found.attempts}
    times = list(due_times(search))
    steps = tuple(
        StepView(number, method, attempts.get(number), times[number] if number >= search.step else None)
        for number, method in enumerate(search.plan)
    )
    return SearchView(search, steps, text_of(search.message, search.metadata), times[-1])


def due_times(search: Search) -> Iterator[datetime | None]:
    """When each method is due, and last when the search fails: from the next step on, for one that goes on."""
    at = search.wake_at if search.status is Status.ACTIVE else None
    for number, method in enumerate(search.plan):
        if at is not None and number > search.step:
            at += timedelta(seconds=method.wait_seconds)
        yield at if number >= search.step else None
    if at is not None and search.step < len(search.plan):
        at += timedelta(seconds=search.answer_seconds)
    yield at
