"""What a layer asks for, sent again as it was: what is left of a unit's cost is the layer's own."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from singletable import Database
from singletable.flow import DECLARED, Consumed, Request, Response, TableNames

Rounds = Sequence[Sequence[Any]]
"""Operations, one list a call of the port."""


class Recorder:
    """Keeps the operations that are sent while it records, one list a call of the port."""

    def __init__(self, db: Database) -> None:
        self.port: Any = db.port
        self.rounds: list[list[Any]] = []

    @contextmanager
    def recording(self) -> Generator[None]:
        send, send_all = self.port.send, self.port.send_all

        async def keep(operation: Any) -> Any:
            self.rounds.append([operation])
            return await send(operation)

        async def keep_all(operations: Any) -> Any:
            self.rounds.append(list(operations))
            return await send_all(operations)

        self.port.__dict__.update(send=keep, send_all=keep_all)
        try:
            yield
        finally:
            del self.port.__dict__["send"], self.port.__dict__["send_all"]


class Undecoded:
    """A recorded request, whatever its answer is: a write that is sent again is refused, which costs the client as
    much."""

    def __init__(self, operation: Any) -> None:
        self._request: Request = operation.request()

    def request(self, names: TableNames = DECLARED) -> Request:
        return self._request

    def answer(self, response: Response) -> tuple[None, Consumed]:
        return None, Consumed()


def bare_cpu(db: Database, rounds: Rounds) -> float:
    """Seconds of CPU for the same bytes, signed, sent and received once more."""
    undecoded = [[Undecoded(operation) for operation in operations] for operations in rounds]
    began = time.process_time()
    for operations in undecoded:
        db.run(db.port.send_all(operations))
    return time.process_time() - began
