"""The HTTP API. OpenAPI at /api/openapi.json.

What another organisation has, nobody here is told of: 404, as for what is not there.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from examples.projects.board.requests import App, Caller
from examples.projects.board.schemas import (
    DifferenceOut,
    HistoryOut,
    NameIn,
    ProjectOut,
    ProjectsOut,
    SnapshotOut,
    VersionIn,
    VersionMadeOut,
)

routes = APIRouter(prefix="/api")
Limit = Annotated[int, Query(ge=1, le=100)]
Number = Annotated[int, Query(ge=0)]
ONE = "/projects/{project_id:path}"
"""The board alone comes last: an id may hold a slash, so its route takes whatever the others leave."""


@routes.get("/projects")
async def projects(app: App, caller: Caller, limit: Limit = 50, after: str | None = None) -> ProjectsOut:
    """The boards of one's organisation, by their ids."""
    return await app.projects(caller, limit=limit, after=after)


@routes.post("/projects", status_code=201)
async def create(app: App, caller: Caller, given: NameIn) -> ProjectOut:
    """A new board."""
    return await app.create(caller, given.name)


@routes.get(ONE + "/versions")
async def history(app: App, caller: Caller, project_id: str, limit: Limit = 50, after: str | None = None) -> HistoryOut:
    """Its versions, newest first, and the mutations that made each."""
    return await app.history(caller, project_id, limit=limit, after=after)


@routes.get(ONE + "/versions/{version}")
async def at(app: App, caller: Caller, project_id: str, version: int) -> SnapshotOut:
    """A board as it was."""
    return await app.at(caller, project_id, version)


@routes.get(ONE + "/diff")
async def difference(
    app: App, caller: Caller, project_id: str, before: Annotated[Number, Query(alias="from")], to: Number
) -> DifferenceOut:
    """What differs from one version to another."""
    return await app.difference(caller, project_id, before, to)


@routes.post(ONE + "/restore", status_code=201)
async def restore(app: App, caller: Caller, project_id: str, given: VersionIn) -> VersionMadeOut:
    """A new version that is as an older one was."""
    return VersionMadeOut(version=await app.restore(caller, project_id, given.version))


@routes.get(ONE)
async def head(app: App, caller: Caller, project_id: str) -> SnapshotOut:
    """A board as it is now."""
    return await app.head(caller, project_id)
