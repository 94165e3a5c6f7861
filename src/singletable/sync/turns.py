"""Turns: the changes of many inbox rows, applied one version of a document at a time.

A version takes up to 40 mutations of a document, whoever pushed them. So of the changes that one process handles
concurrently one applies the next version, and those whose mutation is in it are done with it. It only saves work: the
result is right without it, as other processes have turns of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from zlib import crc32

from singletable.documents import InboxRow, Outcome
from singletable.flow import ForkSafeLock, check_going_on

_STRIPES = 64


class AppliedIds:
    """The last id of each client that this process has applied, for documents whose changes are being handled."""

    def __init__(self) -> None:
        self._last: dict[str, dict[str, int]] = {}
        self._handlers: dict[str, int] = {}
        self._guard = ForkSafeLock()

    @contextmanager
    def handling(self, document_id: str) -> Generator[None]:
        """Keep what is noted in the block, until the last such block of the document ends."""
        self._count(document_id, 1)
        try:
            yield
        finally:
            self._count(document_id, -1)

    def note(self, document_id: str, outcomes: Iterable[Outcome]) -> None:
        """Note what a version has applied or rejected."""
        if document_id not in self._handlers:
            return
        last = self._last.setdefault(document_id, {})
        last |= {outcome.client: max(outcome.id, last.get(outcome.client, 0)) for outcome in outcomes}

    def has(self, row: InboxRow) -> bool:
        """Whether a row's mutation is known to be applied or rejected."""
        return row.id <= self._last.get(row.document_id, {}).get(row.client, 0)

    def _count(self, document_id: str, change: int) -> None:
        with self._guard.lock:
            handlers = self._handlers[document_id] = self._handlers.get(document_id, 0) + change
            if not handlers:
                del self._handlers[document_id]
                self._last.pop(document_id, None)


class InboxTurns:
    """The turns of threads: one applies a document's next version at a time."""

    def __init__(self) -> None:
        self._applied = AppliedIds()
        self._locks = [ForkSafeLock() for _ in range(_STRIPES)]

    def apply(self, row: InboxRow, next_version: Callable[[], list[Outcome]]) -> None:
        """Return once a row's mutation is applied, here or by another thread, or nothing of the document can be. Raises
        HandedBack before a version, once the worker is to stop."""
        document_id = row.document_id
        with self._applied.handling(document_id):
            while not self._applied.has(row):
                with self._locks[crc32(document_id.encode()) % _STRIPES].lock:
                    if self._applied.has(row):
                        return
                    check_going_on()
                    outcomes = next_version()
                    self._applied.note(document_id, outcomes)
                if not outcomes:
                    return
