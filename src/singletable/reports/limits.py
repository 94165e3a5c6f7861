"""Limits of questions that others ask: rows, seconds, memory. DuckDB itself has none of time."""

from __future__ import annotations

import threading  # noqa: TID251  (a question runs in its caller's thread; another one has to end it)
from collections.abc import Generator
from contextlib import contextmanager

import duckdb
from msgspec import Struct

from singletable.errors import InvalidRequest


class Limits(Struct, frozen=True):
    """How much one question may take. None is unlimited."""

    rows: int | None = None
    """More are cut off, and the answer says so."""
    seconds: float | None = None
    """A question that takes longer is ended: InvalidRequest."""
    megabytes: int | None = None
    """Of memory, beside the answer: InvalidRequest for a question that needs more."""


@contextmanager
def ended_after(db: duckdb.DuckDBPyConnection, seconds: float | None) -> Generator[None]:
    """End what runs within after some seconds."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, db.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise InvalidRequest(
            f"the question took longer than {seconds:g} s, and was ended",
            hint="Ask for less: fewer rows in a join, a narrower WHERE; or ask with `singletable sql`, which waits.",
        ) from None
    finally:
        timer.cancel()
