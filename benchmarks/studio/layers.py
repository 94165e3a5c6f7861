"""Graph, documents and work, each with more to show than a page shows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.studio.asked import Asked, Case, studio_of
from goals.model import Goal, GoalMembership, Role, SeeAlso, SubGoal, User, records
from organisations.changes import changes_of
from organisations.groups import Group
from organisations.model import organisations
from organisations.service import Service as Organisations
from projects.model import Project, projects
from projects.sample import ORGANISATION, note
from projects.service import Service
from singletable import AsyncDatabase, Database, connect, connect_async
from singletable.documents import AsyncDocuments, LocalBlobs
from singletable.graph import Edge, Graph
from singletable.streams import ChangeWorker

SINCE = date(2026, 1, 5)
BOARD = "board"


@asynccontextmanager
async def graph(folder: Path, items: int) -> AsyncGenerator[Asked]:
    """A goal of which half of the edges go out, and to which half come."""
    target = f"local:{folder / 'graph.db'}"
    with connect(target) as db:
        _fill_graph(db, items // 2)
        async with connect_async(target) as waiting:
            yield Asked(studio_of(waiting, records), waiting, _graph_cases(items))


def _graph_cases(items: int) -> list[Case]:
    return [Case("graph", "/graph/records", "", 25), Case("node", "/graph/records", "node=GOAL-G", items)]


def _fill_graph(db: Database, each: int) -> None:
    db.create_table(records)
    people = [User(id=f"U{n:03}", name=f"User {n}") for n in range(each)]
    goals = [Goal(id=f"G{n:03}", title=f"A goal of the harbour, number {n}") for n in range(each)]
    here, made = Goal(id="G", title="Ships find the harbour by night"), Graph(db)
    made.load(people)
    made.load([here], [GoalMembership(source=here, target=user, role=Role.LEAD, since=SINCE) for user in people])
    made.load(goals, [_coming(goal, here, number) for number, goal in enumerate(goals)])


def _coming(goal: Goal, here: Goal, number: int) -> Edge[Any, Any]:
    """Of two types, as a page shows 20 of each."""
    if number % 2:
        return SeeAlso(source=goal, target=here, since=SINCE)
    return SubGoal(source=goal, target=here, position="0")


@asynccontextmanager
async def documents(folder: Path, items: int) -> AsyncGenerator[Asked]:
    """A board with so many notes, each of which was a version."""
    target, blobs = f"local:{folder / 'documents.db'}", LocalBlobs(folder / "blobs")
    with connect(target) as db:
        app = Service(db, blobs)
        app.create_table()
        app.create_board(ORGANISATION, BOARD, "Lighthouse", "What the lamp room needs")
        for number in range(1, items + 1):
            app.boards.apply(BOARD, [note(f"s{number:03}", "Two lamps before the winter", number).by("ada", number)])
        async with connect_async(target) as waiting:
            yield Asked(studio_of(waiting, projects, blobs=blobs), waiting, _document_cases(items, blobs))


def _document_cases(items: int, blobs: LocalBlobs) -> list[Case]:
    async def head(db: AsyncDatabase) -> Any:
        return await AsyncDocuments(db, Project, blobs=blobs).head(BOARD)

    async def history(db: AsyncDatabase) -> Any:
        return await AsyncDocuments(db, Project, blobs=blobs).history(BOARD, limit=25)

    path = "/documents/projects/Project"
    return [
        Case("documents", "/documents/projects", "", 1),
        Case("version beside another", path, f"id={BOARD}&since={items - 20}&item=shapes/s001", items, head),
        Case("history", f"{path}/history", f"id={BOARD}", 25, history),
        Case("inbox", f"{path}/inbox", f"id={BOARD}", 1),
        Case("contents", f"{path}/contents", f"id={BOARD}", 25),
        Case("collection", f"{path}/collection", f"id={BOARD}&version={items}&collection=shapes", 50),
    ]


@asynccontextmanager
async def work(folder: Path, items: int) -> AsyncGenerator[Asked]:
    """So many tasks that wait, each of an invitation, and a consumer that has run."""
    target = f"local:{folder / 'work.db'}"
    with connect(target) as db:
        app = Organisations(db)
        db.create_table(organisations)
        app.put_user("ada")
        id = app.create_organisation("Harbour", owner="ada").organisation_id
        app.put_service(id, "radio", "Radio", by="ada")
        for number in range(items):
            app.invite(id, f"user{number:03}@example.org", [Group("pilot", "radio")], by="ada")
        ChangeWorker(db, changes_of(db)).drain()
        async with connect_async(target) as waiting:
            yield Asked(studio_of(waiting, organisations), waiting, [Case("work", "/work/organisations", "", 25)])
