"""A tour of an application: some of its calls on a real database, with what each took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from examples_shared.cost import metered
from singletable import Database


@dataclass(frozen=True)
class Call:
    """One call to show. Where `act` returns a text, that is shown too."""

    name: str
    note: str
    act: Callable[[], object]


@dataclass(frozen=True)
class Step:
    """A call that was made, and what it took."""

    name: str
    requests: int
    round_trips: int
    read_units: float
    write_units: float
    seconds: float
    note: str


@dataclass(frozen=True)
class Tour:
    """The most telling calls of one application."""

    application: str
    about: str
    """What the application is, in a line."""
    calls: Callable[[Database, Path], Iterator[Call]]
    """With a directory for blobs. They come one after the other, as each may need what the one before it wrote."""
    loads: tuple[str, ...]
    """The commands that load data, as its program takes them."""
    serve: str
    """The command that opens them in a browser."""


def steps(db: Database, calls: Iterable[Call], clock: Callable[[], float] = time.perf_counter) -> Iterator[Step]:
    """Make each call, and say what it took when it is done."""
    for call in calls:
        said, measured = metered(db, call.act, clock)
        cost = measured.cost
        note = ": ".join(text for text in (call.note, said if isinstance(said, str) else "") if text)
        yield Step(
            call.name,
            cost.requests,
            cost.round_trips,
            cost.read_units,
            cost.write_units,
            measured.milliseconds / 1000,
            note,
        )
