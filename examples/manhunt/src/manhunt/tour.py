"""The three most telling calls, for `make demo`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from examples_shared.tour import Call, Tour
from manhunt.model import Stage, Target, TargetKind, manhunt
from manhunt.sample import load_sample
from manhunt.service import Service
from singletable import Database

DOMAIN = "harbour"
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)


def calls(db: Database, blobs: Path) -> Iterator[Call]:
    """Who is on call, an alarm, and the same alarm again."""
    db.create_table(manhunt)
    app = Service(db)
    people = [contact.contact_id for contact in load_sample(app, DOMAIN)]
    rota = app.create_rota(DOMAIN, "Lamps", people, starts_at=app.now(), turn_seconds=DAY // SECOND).rota_id
    stages = [Stage([Target(TargetKind.ROTA, rota)], wait_seconds=600)]
    policy = app.create_policy(DOMAIN, "Lamps", stages).policy_id
    yield Call("calendar", "who is on call in the next week", lambda: _calendar(app, rota))
    yield Call("open_incident", "whoever is needed now is looked for: one transaction", lambda: _open(app, policy))
    yield Call("open_incident", "the same alarm again: nobody is looked for twice", lambda: _open(app, policy))


def _calendar(app: Service, rota: str) -> str:
    return f"{len(app.calendar(DOMAIN, rota, app.now(), app.now() + 7 * DAY))} turns"


def _open(app: Service, policy: str) -> str:
    opened = app.open_incident(DOMAIN, policy, "The lamp is out", alarm_key="lamp")
    return "a new incident" if opened.is_new else f"alarm {opened.incident.alarms} of the incident"


TOUR = Tour(
    "manhunt",
    "an alarm goes out until somebody answers",
    calls,
    (),
    "demo",
)
