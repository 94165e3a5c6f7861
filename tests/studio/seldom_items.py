"""Items of the classes that the tours of the applications leave empty, so that each pattern finds something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone

from goals.model import Goal, Replaces, SeeAlso
from manhunt.model import Conversation, IncidentPerson, IncidentResource, Kind, Planned, Search, SearchAttempt
from organisations.model import Job, JobKind, TrailEntry
from singletable import Database
from singletable.graph import Graph

THEN = datetime(2026, 1, 5, 9, 30, tzinfo=timezone.utc)
HOURS = tuple(THEN.replace(hour=hour) for hour in (10, 11, 12))


def _organisations(db: Database) -> None:
    db.put(Job(job_id="j1", organisation_id="harbour", kind=JobKind.RENAME, started_at=THEN))
    for hour in HOURS:
        db.put(TrailEntry(organisation_id="harbour", at=hour, sequence=f"{hour.hour}", what="renamed", by="ada"))


def _goals(db: Database) -> None:
    one, *others = [Goal.by_id(id) for id in ("G1", "G2", "G3")]
    for number, other in enumerate(others, start=1):
        Graph(db).link(SeeAlso(source=one, target=other, since=date(2026, 1, number)))
        Graph(db).link(Replaces(source=other, target=one, since=date(2026, 2, number)))


def _manhunt(db: Database) -> None:
    search = next(iter(db.scan(Search)))
    planned = Planned("m1", Kind.EMAIL, "ada@example.org", 60)
    for number, hour in enumerate(HOURS):
        db.put(IncidentPerson(incident_id="i1", name=f"Person {number}", did="answered", since=hour))
        db.put(IncidentResource(incident_id="i1", resource_id=f"r{number}", title="A room", url="https://example.org"))
        attempted = SearchAttempt(
            search_id=search.search_id, step=number, method=planned, due_at=hour, attempted_at=hour, worker="w"
        )
        db.put(attempted)
        db.put(Conversation(number=f"+4411{number}", search_id=search.search_id, step=number))


SELDOM: Mapping[str, Callable[[Database], None]] = {
    "organisations": _organisations,
    "goals": _goals,
    "manhunt": _manhunt,
}
