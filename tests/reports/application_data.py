"""The applications with data in them: what their demonstrations show, and the real inputs where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from examples.manhunt.tests.support import DOMAIN, Clock, Outbox, contact_with, make_world
from examples.projects.tests.gitted import Step, make_repository
from goals import Service as Goals
from goals.enhancements import read as read_enhancements
from goals.import_enhancements import import_enhancements
from goals.model import records
from goals.sample import load_sample
from manhunt import Service as Manhunt
from manhunt.model import Kind, manhunt
from organisations.github_file import read as read_organisation
from organisations.import_github import import_file
from organisations.model import organisations
from organisations.service import Service as Organisations
from organisations.walkthrough import walkthrough
from projects.import_git import import_git
from projects.model import projects
from projects.service import Service as Projects
from singletable import Database, Table
from singletable.documents import LocalBlobs
from tests.support.engines import fresh

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
TABLES: Mapping[str, Table] = {
    "goals": records,
    "organisations": organisations,
    "manhunt": manhunt,
    "projects": projects,
}
ALARM = datetime(2026, 11, 20, 6, 0, tzinfo=timezone.utc)
COMMITS = (b"wire: sockets\n", b"wire: retries\n", b"graph: nodes\n", b"docs: a page\n", b"graph: pages\n")
"""Of the repository of the demonstration."""


@contextmanager
def filled(application: str, folder: Path) -> Iterator[Database]:
    """A database with what the application's demonstration shows."""
    clock = Clock(at=ALARM.timestamp())
    with fresh(clock=clock) if application == "manhunt" else fresh() as db:
        db.create_table(TABLES[application])
        if application == "manhunt":
            fill_manhunt(db, clock)
        elif application == "projects":
            fill_projects(db, folder)
        elif application == "goals":
            load_sample(Goals(db))
        else:
            for _ in walkthrough(db):
                continue
        yield db


def fill_manhunt(db: Database, clock: Clock) -> None:
    """A day of alarms: answered by one method or the next, and every fourth not at all."""
    app = Manhunt(db)
    world = make_world(app, clock, Outbox())
    contacts = [
        contact_with(app, (Kind.EMAIL, 0), (Kind.SMS, 60), (Kind.VOICE, 120), name=name)
        for name in ("Ada", "Grace", "Linus")
    ]
    for number in range(12):
        contact = contacts[number % 3]
        search = app.open_search(DOMAIN, contact.contact_id, {"summary": "a lamp is out"}, answer_seconds=300)
        world.drain()
        for seconds in (60, 120)[: number % 3]:
            world.later(seconds)
        if number % 4:
            clock.forward(10 * number)
            app.answer(search.search_id, number % 3, by=contact.name, how="link")
        else:
            world.later(900)
        clock.forward(3600)


def fill_projects(db: Database, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    app = Projects(db, LocalBlobs(folder / "blobs"))
    steps = [Step({f"file{n}".encode(): ("100644", b"x")}, message=message) for n, message in enumerate(COMMITS)]
    import_git(db, app.blobs, make_repository(folder / "lighthouse", steps), organisation="demo")


def fill_real_goals(db: Database) -> None:
    db.create_table(records)
    text = (DATA / "goals" / "enhancements.jsonl").read_text("utf-8")
    import_enhancements(db, read_enhancements(text, "enhancements.jsonl"), lambda done, total: None)


def fill_real_organisation(db: Database) -> None:
    db.create_table(organisations)
    file = DATA / "organisations" / "kubernetes-csi.yaml"
    found = read_organisation(file.read_text("utf-8"), file.stem)
    import_file(db, found, Organisations(db).now(), lambda done, total: None)
