"""The three most telling calls, for `make demo`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from examples_shared.tour import Call, Tour
from organisations.github_file import read
from organisations.import_github import import_file
from organisations.model import organisations
from organisations.sample import SAMPLE, SAMPLE_ID
from organisations.service import Service
from singletable import Database


def calls(db: Database, blobs: Path) -> Iterator[Call]:
    """Shown, asked, and granted to somebody who is in it."""
    db.create_table(organisations)
    app = Service(db)
    import_file(db, read(SAMPLE, SAMPLE_ID), app.now(), lambda done, total: None)
    yield Call("organisation_details", "people, groups and services: one query", lambda: _shown(app))
    yield Call("may", "does Linus write the docs? His own record says", lambda: _may(app))
    yield Call("invite", "a transaction: the organisation and both sides", lambda: _invite(app))


def _shown(app: Service) -> str:
    found = app.organisation_details(SAMPLE_ID)
    return f"{len(found.members)} members, {len(found.groups)} groups, {len(found.services)} services"


def _may(app: Service) -> str:
    return "yes" if app.may("linus", SAMPLE_ID, service="docs", group="write") else "no"


def _invite(app: Service) -> None:
    app.invite(SAMPLE_ID, "grace@example.org", by="ada")


TOUR = Tour(
    "organisations",
    "users, organisations, services and groups: who may do what",
    calls,
    ("walkthrough",),
    "serve --insecure-user ada",
)
