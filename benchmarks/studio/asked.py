"""A page that is asked for, as an ASGI application is asked in this process, beside the same read by a program.

The engine is another process. So the CPU time of this one is what the server itself takes: routing, the library, the
view, the template.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any
from urllib.parse import quote

from singletable import AsyncDatabase, Table
from singletable.documents import BlobStore
from singletable.studio import Studio, studio


@dataclass(frozen=True)
class Result:
    page: str
    items: int
    requests: int
    read_units: float
    kilobytes: float
    """Of HTML."""
    milliseconds: float
    """CPU time of the server."""
    read_milliseconds: float
    """CPU time of the same read by a program; 0 where a page reads no items."""


@dataclass
class Case:
    """A page, how many items, edges or lines it shows, and the read that a program would do in its place."""

    name: str
    path: str
    query: str
    items: int
    read: Callable[[AsyncDatabase], Awaitable[Any]] | None = None
    taken: list[float] = field(default_factory=list[float])
    read_taken: list[float] = field(default_factory=list[float])


@dataclass(frozen=True)
class Asked:
    """A studio, and its pages."""

    app: Studio
    db: AsyncDatabase
    cases: Sequence[Case]

    async def round(self, *, counts: bool = True) -> None:
        """Each page once, and then its read, so that a slow moment of the machine meets all."""
        for case in self.cases:
            began = time.process_time()
            await ask(self.app, case.path, case.query)
            between = time.process_time()
            if case.read is not None:
                await case.read(self.db)
            if counts:
                case.taken.append((between - began) * 1000)
                case.read_taken.append((time.process_time() - between) * 1000)

    async def results(self) -> list[Result]:
        """Medians of all rounds."""
        return [await self._result(case) for case in self.cases]

    async def _result(self, case: Case) -> Result:
        page = await ask(self.app, case.path, case.query)
        cost = json.loads(await ask(self.app, f"{case.path}.json", case.query))["cost"]
        read = median(case.read_taken) if case.read is not None else 0.0
        kilobytes = round(len(page) / 1024, 1)
        took = round(median(case.taken), 2), round(read, 2)
        return Result(case.name, case.items, cost["requests"], cost["read_units"], kilobytes, *took)


def studio_of(db: AsyncDatabase, table: Table, *, export: str = "", blobs: BlobStore | None = None) -> Studio:
    """For one who may do all."""
    sources: dict[str, Any] = {"export": export, "blobs": blobs}
    return studio(db, table, authenticate=lambda _: "ada", authorise=lambda user, kind, right: True, **sources)


async def ask(app: Studio, path: str, query: str) -> bytes:
    """The body of a page, as a server gets it from the application. AssertionError for another status than 200."""
    body, statuses = bytearray(), list[int]()

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])
        body.extend(message.get("body", b""))

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"studio.example")],
        "scheme": "https",
        "server": ("studio.example", 443),
        "root_path": "",
        "http_version": "1.1",
    }
    await app(scope, receive, send)
    assert statuses == [200], (path, statuses, bytes(body[:2000]))
    return bytes(body)


def table_of(found: Sequence[Result]) -> str:
    """Results, as a person reads them."""
    head = f"{'page':<24} {'items':>9} {'requests':>9} {'units':>7} {'KB':>7} {'ms':>8} {'read ms':>8} {'ratio':>6}"
    return "\n".join([head, *(_line(result) for result in found)])


def _line(r: Result) -> str:
    line = f"{r.page:<24} {r.items:>9,} {r.requests:>9} {r.read_units:>7g} {r.kilobytes:>7.1f} {r.milliseconds:>8.2f}"
    if not r.read_milliseconds:
        return line
    return f"{line} {r.read_milliseconds:>8.2f} {r.milliseconds / r.read_milliseconds:>6.1f}"
