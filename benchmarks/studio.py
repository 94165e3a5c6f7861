"""Pages of the studio with 100 items: the CPU time of the server, beside that of the same read by a program.

    python -m benchmarks.studio                  100 items a page
    python -m benchmarks.studio --items 1000 --rounds 50
    python -m benchmarks.studio --json

The studio is asked as an ASGI application, in this process; the engine is another process. So the CPU time of this one
is what the server itself takes: routing, the library, the view, the template. Each round asks every page and then does
the reads, so that a slow moment of the machine meets all. Times are medians; the first round is not counted.
The exit code is 1 where a page of 100 items takes more than 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251  (the studio is an ASGI application: it is asked in an event loop)
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from examples.organisations.model import Organisation, OrganisationMember, User, organisations
from singletable import AsyncDatabase, connect_async
from singletable.exchange import AsyncExports
from singletable.studio import Studio, studio

MOST_MILLISECONDS = 50.0
ID = "harbour"
SINCE = datetime(2026, 1, 5, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Result:
    page: str
    items: int
    requests: int
    kilobytes: float
    """Of HTML."""
    milliseconds: float
    """CPU time of the server."""
    read_milliseconds: float
    """CPU time of the same read by a program; 0 where a page reads no items."""


@dataclass
class Case:
    """A page, and the read that a program would do in its place."""

    name: str
    path: str
    query: str
    items: int
    read: Callable[[AsyncDatabase], Awaitable[Any]] | None = None
    taken: list[float] = field(default_factory=list[float])
    read_taken: list[float] = field(default_factory=list[float])


def cases(items: int) -> list[Case]:
    async def page(db: AsyncDatabase) -> Any:
        return await db.page(OrganisationMember.of_organisation(ID), limit=items)

    async def item(db: AsyncDatabase) -> Any:
        return await db.get(User.by_email("user00000@example.org"))

    member = f"/{organisations.name}/OrganisationMember"
    partition = quote(f"organisation/{ID}")
    return [
        Case("home, counted before", "/", "", 0),
        Case("pattern", f"/patterns{member}/of_organisation", f"organisation_id={ID}&limit={items}", items, page),
        Case("partition", f"/partition/{organisations.name}", f"pk={partition}&limit={items}", items, page),
        Case("item", f"/item/{organisations.name}", "pk=user%2Fuser00000%40example.org&sk=user", 1, item),
        Case("model", f"/model/{organisations.name}", "", 0),
        Case("class", f"/model{member}", "", 0),
        Case("sql", "/sql", f"sql={quote(f'FROM organisation_member LIMIT {items}')}", items),
    ]


# --- asking -----------------------------------------------------------------------------------------------------------
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


async def fill(db: AsyncDatabase, items: int) -> None:
    await db.create_table(organisations)
    names = [f"user{number:05}@example.org" for number in range(items)]
    await db.create(Organisation(organisation_id=ID, organisation_name="Harbour"))
    people = [User(email=name, first_name="Ada", last_name="Lovelace", created_at=SINCE) for name in names]
    members = [
        OrganisationMember(
            organisation_id=ID, email=name, first_name="Ada", groups={"organisationGroup/member"}, accepted_at=SINCE
        )
        for name in names
    ]
    await db.write_many(puts=[*people, *members])


async def run(items: int, rounds: int, say: Callable[[str], None]) -> list[Result]:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="singletable-studio-"))
        db = await stack.enter_async_context(connect_async("local"))
        say(f"writing {items} members")
        await fill(db, items)
        await AsyncExports(db, organisations).export(Path(folder) / "exports")
        app = studio(
            db,
            organisations,
            authenticate=lambda request: "ada",
            authorise=lambda user, kind, right: True,
            export=str(Path(folder) / "exports"),
        )
        found = cases(items)
        say(f"{len(found)} pages, {rounds} rounds")
        for number in range(rounds + 1):
            for case in found:
                await _measure(app, db, case, counts=number > 0)
        return [await _result(app, case) for case in found]


async def _measure(app: Studio, db: AsyncDatabase, case: Case, *, counts: bool) -> None:
    began = time.process_time()
    await ask(app, case.path, case.query)
    between = time.process_time()
    if case.read is not None:
        await case.read(db)
    if counts:
        case.taken.append((between - began) * 1000)
        case.read_taken.append((time.process_time() - between) * 1000)


async def _result(app: Studio, case: Case) -> Result:
    page = await ask(app, case.path, case.query)
    twin = json.loads(await ask(app, f"{case.path}.json", case.query))
    read = median(case.read_taken) if case.read is not None else 0.0
    return Result(
        case.name,
        case.items,
        twin["cost"]["requests"],
        round(len(page) / 1024, 1),
        round(median(case.taken), 2),
        round(read, 2),
    )


# --- showing ----------------------------------------------------------------------------------------------------------
def table(found: Sequence[Result]) -> str:
    head = f"{'page':<22} {'items':>6} {'requests':>9} {'KB':>7} {'ms':>8} {'read ms':>8} {'ratio':>6}"
    lines = [
        f"{r.page:<22} {r.items:>6} {r.requests:>9} {r.kilobytes:>7.1f} {r.milliseconds:>8.2f} "
        + (f"{r.read_milliseconds:>8.2f} {r.milliseconds / r.read_milliseconds:>6.1f}" if r.read_milliseconds else "")
        for r in found
    ]
    return "\n".join([head, *(line.rstrip() for line in lines)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studio", description=__doc__)
    parser.add_argument("--items", type=int, default=100, help="items of a page")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(run(options.items, options.rounds, lambda said: print(said, file=sys.stderr)))
    print(json.dumps([asdict(each) for each in found], indent=2) if options.json else table(found))
    slow = [r.page for r in found if r.items <= 100 and r.milliseconds > MOST_MILLISECONDS]
    if slow:
        sys.exit(f"more than {MOST_MILLISECONDS:g} ms: {', '.join(slow)}")


if __name__ == "__main__":
    main()
