"""What happens between the requests of a program: another program's writes, or its end."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock  # noqa: TID251
from typing import Any

import pytest

from singletable import Database


class Killed(BaseException):
    """Ends the process, as far as a flow can tell."""


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
