"""An application filled with an example of its own, and a studio of it on loopback, at a clock that stands still."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the server runs in an event loop)
import shutil
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Final

import uvicorn

from goals.model import records
from goals.sample import load_sample as load_goals
from goals.service import Service as Goals
from manhunt.escalation import Escalation
from manhunt.links import Links
from manhunt.model import manhunt
from manhunt.providers import echoing
from manhunt.sample import load_sample as load_contacts
from manhunt.service import Service as Manhunt
from manhunt.worker import drain
from organisations.github_file import read
from organisations.groups import Group
from organisations.import_github import import_file
from organisations.model import organisations
from organisations.sample import SAMPLE, SAMPLE_ID
from organisations.service import Service as Organisations
from projects.model import projects
from projects.sample import draw_sample
from projects.service import Service as Projects
from singletable import Database, Table, connect, connect_async
from singletable.documents import LocalBlobs
from singletable.exchange import Exports
from singletable.studio import loopback_studio
from tools.screenshots.shots import BOARD, Application

NOW: Final = datetime(2026, 11, 23, 9, 30, tzinfo=timezone.utc).timestamp()
TABLES: Final[Mapping[Application, Table]] = {
    "goals": records,
    "manhunt": manhunt,
    "organisations": organisations,
    "projects": projects,
}


@asynccontextmanager
async def served(application: Application, folder: Path) -> AsyncGenerator[str]:
    """The address of a studio of an application, with its token. Its data lie in a folder, which is emptied first."""
    table, target = TABLES[application], f"local:{folder / application}.db"
    shutil.rmtree(folder, ignore_errors=True)
    kept = await asyncio.to_thread(_fill, application, target, folder)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        made, address = loopback_studio(
            connect_async(target, clock=lambda: NOW),
            table,
            port=bound.getsockname()[1],
            module=f"{application}.model",
            export=str(folder / "exports"),
            blobs=LocalBlobs(folder / "blobs"),
        )
        server = uvicorn.Server(uvicorn.Config(made, log_level="warning", access_log=False, lifespan="on"))
        running = asyncio.create_task(server.serve(sockets=[bound]))
        yield address
        server.should_exit = True
        await running
    del kept
    shutil.rmtree(folder)


def _fill(application: Application, target: str, folder: Path) -> object:
    """Everything that is shown, and an export of it. Returns what has to live as long as it is shown."""
    with connect(target, clock=lambda: NOW) as db:
        db.create_table(TABLES[application])
        kept = _FILLS[application](db, folder)
        Exports(db, TABLES[application]).export(folder / "exports")
        return kept


def _organisations(db: Database, folder: Path) -> None:
    numbers = count(1)
    now = datetime.fromtimestamp(NOW, timezone.utc)
    app = Organisations(db, now=lambda: now, new_id=lambda: f"o{next(numbers)}")
    import_file(db, read(SAMPLE, SAMPLE_ID), now, lambda done, total: None)
    for name, last in (("ada", "Lovelace"), ("grace", "Hopper"), ("linus", "Torvalds")):
        app.put_user(name, first_name=name.title(), last_name=last)
    app.put_service(SAMPLE_ID, "radio", "Radio", by="ada")
    app.invite(SAMPLE_ID, "frances@example.org", [Group("pilot", "radio")], by="ada")


def _goals(db: Database, folder: Path) -> None:
    load_goals(Goals(db))


def _manhunt(db: Database, folder: Path) -> Escalation:
    """Three searches, whose first messages are out. It is returned, as its consumer is shown while it lives."""
    app = Manhunt(db)
    escalation = Escalation(
        app,
        Links("https://manhunt.example.org", ["no secret: nobody follows a link of a picture"]),
        echoing(_unsent),
        "worker",
    )
    for number, contact in enumerate(load_contacts(app, "harbour"), start=1):
        app.open_search("harbour", contact.contact_id, {"summary": f"lamp {number} is out"})
    drain(db, escalation)
    return escalation


def _unsent(text: str) -> None:
    """Messages are not shown."""


def _projects(db: Database, folder: Path) -> None:
    draw_sample(Projects(db, LocalBlobs(folder / "blobs")), BOARD)


_FILLS: Final[Mapping[Application, Callable[[Database, Path], object]]] = {
    "goals": _goals,
    "manhunt": _manhunt,
    "organisations": _organisations,
    "projects": _projects,
}
