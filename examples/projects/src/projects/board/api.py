"""The HTTP API. OpenAPI at /api/openapi.json.

What another organisation has, nobody here is told of: 404, as for what is not there.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from examples_shared.bodies import ApiRoute
from projects.board.merge_report import Choices
from projects.board.requests import App, Caller
from projects.board.schemas import (
    BranchesOut,
    BranchIn,
    DifferenceOut,
    HistoryOut,
    ItemHistoryOut,
    MergeIn,
    MergeOut,
    NameIn,
    ProjectOut,
    ProjectsOut,
    SnapshotOut,
    TagIn,
    TagOut,
    TagsOut,
    VersionIn,
    VersionMadeOut,
)

routes = APIRouter(prefix="/api", route_class=ApiRoute)
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


@routes.get(ONE + "/branches")
async def branches(app: App, caller: Caller, project_id: str) -> BranchesOut:
    """The boards that this one can be merged with: what it was branched from, and all branches."""
    return await app.branches(caller, project_id)


@routes.post(ONE + "/branch", status_code=201)
async def branch(app: App, caller: Caller, project_id: str, given: BranchIn) -> ProjectOut:
    """A new board that begins as a version of this one, and shares its contents."""
    return await app.branch(caller, project_id, given.version)


@routes.post(ONE + "/merge")
async def merge(app: App, caller: Caller, project_id: str, given: MergeIn, response: Response) -> MergeOut:
    """Merge what was done here, since both were the same, into another board. 409 where conflicts are left."""
    choose: Choices = {(each.collection, each.id): each.side for each in given.choose}
    found = await app.merge(caller, project_id, onto=given.onto, prefer=given.prefer, choose=choose)
    response.status_code = 200 if found.merged else 409
    return found


@routes.get(ONE + "/tags")
async def tags(app: App, caller: Caller, project_id: str, limit: Limit = 50, after: str | None = None) -> TagsOut:
    """The names of its versions."""
    return await app.tags(caller, project_id, limit=limit, after=after)


@routes.post(ONE + "/tags", status_code=201)
async def tag(app: App, caller: Caller, project_id: str, given: TagIn) -> TagOut:
    """Name a version, the newest by default."""
    return await app.tag(caller, project_id, given.name, version=given.version)


@routes.delete(ONE + "/tags/{name}", status_code=204)
async def untag(app: App, caller: Caller, project_id: str, name: str) -> None:
    """Take a name away. Its version stays."""
    await app.untag(caller, project_id, name)


@routes.get(ONE + "/history")
async def item_history(
    app: App, caller: Caller, project_id: str, item: str, limit: Limit = 20, before: Number | None = None
) -> ItemHistoryOut:
    """Who changed an item, as `shapes/s1`."""
    return await app.item_history(caller, project_id, item, limit=limit, before=before)


@routes.delete(ONE, status_code=204)
async def delete(app: App, caller: Caller, project_id: str) -> None:
    """Delete a board with all its versions. It is hidden at once; repeat a call that failed."""
    await app.delete(caller, project_id)


@routes.get(ONE)
async def head(app: App, caller: Caller, project_id: str) -> SnapshotOut:
    """A board as it is now."""
    return await app.head(caller, project_id)
