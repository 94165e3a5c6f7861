"""What happens between the requests of a program: another program's writes, or its end."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock  # noqa: TID251
from typing import Any

import pytest

from singletable import Database


class Killed(BaseException):
    """Ends the process, as far as a flow can tell."""


def killed_at_every_request(db: Database, monkeypatch: pytest.MonkeyPatch, run: Callable[[int], object]) -> int:
    """The process ends before its first request, the next one before its second, and so on, until one ends whole. How
    many were killed. Nobody waits for the leases that they leave."""
    kills, waited = 0, 0.0

    async def sleep(seconds: float) -> None:
        nonlocal waited
        waited += seconds

    with monkeypatch.context() as clock:
        clock.setattr(db.port, "sleep", sleep)
        clock.setattr(db.port, "monotonic", lambda: waited)
        while True:
            left = kills + 1

            def kill(operation: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise Killed

            with monkeypatch.context() as patched:
                before_each(db, patched, kill)
                try:
                    run(kills)
                except Killed:
                    kills += 1
                    continue
            return kills


def before_each(db: Database, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Any], None]) -> None:
    """Call a function with each request before it is sent: with one after the other, though threads send them."""
    send_all, send = db.port.send_all, db.port.send
    is_inside, lock = False, RLock()

    def happens_alone(operation: Any) -> None:
        with lock:
            happens(operation)

    async def watched_all(operations: Any) -> list[Any]:
        nonlocal is_inside
        for operation in operations:
            happens_alone(operation)
        is_inside = True  # the blocking port sends them one by one
        try:
            return await send_all(operations)
        finally:
            is_inside = False

    async def watched(operation: Any) -> Any:
        if not is_inside:
            happens_alone(operation)
        return await send(operation)

    monkeypatch.setattr(db.port, "send_all", watched_all)
    monkeypatch.setattr(db.port, "send", watched)
