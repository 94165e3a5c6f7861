"""What the pages and the API do, each verb for a user: the boards of their organisation, and no others.

A board of another organisation looks the same as one that is not there, and so does an item that is another's alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from projects.board.merge_report import Choices, Side
from projects.board.schemas import (
    AppliedOut,
    BranchesOut,
    BranchOut,
    ChangeOut,
    ChangerOut,
    ConflictOut,
    DifferenceOut,
    HistoryOut,
    ItemChangeOut,
    ItemHistoryOut,
    ItemsDifferenceOut,
    MergeOut,
    OriginOut,
    ProjectOut,
    ProjectsOut,
    SnapshotOut,
    TagOut,
    TagsOut,
    VersionOut,
)
from projects.board.visible_changes import COLLECTIONS, visible_changes
from projects.errors import Missing, Refused
from projects.model import Project
from projects.rights import is_seen_by, organisation_of
from singletable import AlreadyExists, AsyncDatabase, NotFound
from singletable.documents import (
    AsyncDocuments,
    CollectionDiff,
    Conflict,
    ItemChange,
    Items,
    Merge,
    Place,
    Version,
)
from singletable.sync import Sync

T = TypeVar("T")
ID_BYTES = 12


class Boards:
    """The boards in a database. `sync` is what their pages are kept in step by."""

    def __init__(self, db: AsyncDatabase, documents: AsyncDocuments[Project], sync: Sync, *, is_demo: bool) -> None:
        self.db, self.documents, self.sync, self.is_demo = db, documents, sync, is_demo

    async def close(self) -> None:
        await self.db.close()

    # --- boards -------------------------------------------------------------------------------------------------------
    async def projects(self, user: str, *, limit: int = 100, after: str | None = None) -> ProjectsOut:
        """A page of the boards of a user's organisation. Two round trips, one request more for each board."""
        page = await self.documents.page(organisation_of(user), limit=limit, after=after, principal=user)
        found: list[Project | None] = await self.db.port.call_all(
            [self._reading(row.document_id) for row in page.items]
        )
        return ProjectsOut(projects=[_listed(board) for board in found if board is not None], after=page.cursor)

    async def listed(self, user: str, id: str) -> ProjectOut:
        """One of them. One request."""
        return _listed(_own(user, await self.documents.head(id, collections=[])))

    def _reading(self, id: str) -> Callable[[], Awaitable[Project | None]]:
        """None for a board that is deleted meanwhile."""

        async def read() -> Project | None:
            try:
                return await self.documents.head(id, collections=[])
            except NotFound:
                return None

        return read

    async def create(self, user: str, name: str) -> ProjectOut:
        """A new board of the user's organisation, under an id that nobody guesses."""
        id = secrets.token_hex(ID_BYTES)
        return _listed(await self.documents.create(organisation_of(user), id, name=name))

    async def admit(self, user: str, id: str) -> None:
        """Missing or NotFound, unless the board is there, and the user's to see."""
        await self._check(user, id)

    # --- versions -----------------------------------------------------------------------------------------------------
    async def head(self, user: str, id: str) -> SnapshotOut:
        return await self._snapshot(user, _own(user, await self.documents.head(id)))

    async def at(self, user: str, id: str, version: int) -> SnapshotOut:
        return await self._snapshot(user, await self._at(user, id, version))

    async def history(self, user: str, id: str, *, limit: int = 50, after: str | None = None) -> HistoryOut:
        """A page of the versions, newest first. One request, and one to see whose they are."""
        await self._check(user, id)
        page = await self.documents.history(id, limit=limit, after=after, principal=user)
        return HistoryOut(versions=[_version(version) for version in page.items], after=page.cursor)

    async def difference(self, user: str, id: str, before: int, after: int) -> DifferenceOut:
        """What differs from one version to another, with the values of what does."""
        one, other = await self._at(user, id, before), await self._at(user, id, after)
        found = await self.documents.diff(id, before, after)
        return DifferenceOut(
            scalars={name: ChangeOut(before=old, after=new) for name, (old, new) in found.scalars.items()},
            shapes=await self._items(user, one.shapes, other.shapes, found.collections.get("shapes")),
            comments=await self._items(user, one.comments, other.comments, found.collections.get("comments")),
        )

    async def restore(self, user: str, id: str, version: int) -> int:
        """A new version that is as an older one was; its number. Nothing is lost: the history goes on."""
        await self._check(user, id)
        made = await self.documents.restore(id, version=version, by=f"restore-{user}", principal=user)
        if made.version is None or made.status != "applied":
            raise Refused(f"version {version} was not restored: {made.error or 'try again'}")
        self.sync.notify(id, made.version)
        return made.version

    # --- branches and names -------------------------------------------------------------------------------------------
    async def branch(self, user: str, id: str, version: int | None) -> ProjectOut:
        """A new board that begins as a version of another, under an id that nobody guesses."""
        await self._check(user, id)
        return _listed(await self.documents.branch(id, secrets.token_hex(ID_BYTES), version=version))

    async def branches(self, user: str, id: str) -> BranchesOut:
        """The other boards of a board's family. Four requests, and one for each."""
        await self._check(user, id)
        family = [each for each in await self.documents.family(id) if each.document_id != id]
        calls = [self._reading(each.document_id) for each in family]
        boards: list[Project | None] = await self.db.port.call_all(calls) if calls else []
        return BranchesOut(
            branches=[
                _branch(board, each.origin)
                for each, board in zip(family, boards, strict=True)
                if board is not None and board.parent == organisation_of(user)
            ]
        )

    async def merge(
        self, user: str, id: str, *, onto: str, prefer: Side | None = None, choose: Choices | None = None
    ) -> MergeOut:
        """Merge a board's changes into another one of the user's. With a conflict that is left, nothing is written."""
        await self._check(user, id)
        await self._check(user, onto)
        found = await self.documents.merge(id, onto=onto, prefer=prefer, choose=choose, principal=user)
        version = found.outcome.version if found.outcome is not None else None
        if version is not None:
            self.sync.notify(onto, version)
        conflicts = await self._conflicts(user, found)
        hidden = len(found.conflicts) - len(conflicts)
        return MergeOut(
            merged=found.is_merged, version=version, taken=len(found.taken), conflicts=conflicts, hidden=hidden
        )

    async def _conflicts(self, user: str, found: Merge) -> list[ConflictOut]:
        """Conflicts with the contents of the three versions, without those of items that are another's alone."""
        if not found.conflicts:
            return []
        places = (found.base, found.ours, found.theirs)
        contents = [await self._contents(place, found.conflicts) for place in places]
        return [shown for each in found.conflicts if (shown := _conflict(user, each, contents)) is not None]

    async def _contents(self, place: Place, conflicts: Sequence[Conflict]) -> Mapping[tuple[str, str], Any]:
        board = await self.documents.at(place.document_id, version=place.number)
        contents: dict[tuple[str, str], Any] = {}
        parts: dict[str, Items[Any]] = {"shapes": board.shapes, "comments": board.comments}
        for name, items in parts.items():
            ids = [each.id for each in conflicts if each.collection == name and each.id in items]
            contents |= {(name, id): value for id, value in (await self.documents.load(items, ids)).items()}
        return contents

    async def tags(self, user: str, id: str, *, limit: int, after: str | None) -> TagsOut:
        await self._check(user, id)
        page = await self.documents.tags(id, limit=limit, after=after, principal=user)
        return TagsOut(tags=[TagOut(name=tag.name, version=tag.number) for tag in page.items], after=page.cursor)

    async def tag(self, user: str, id: str, name: str, *, version: int | None) -> TagOut:
        """Name a version. Refused where the name is given."""
        await self._check(user, id)
        try:
            made = await self.documents.tag(id, name, version=version)
        except AlreadyExists:
            raise Refused(f"there is a tag {name!r} already") from None
        return TagOut(name=made.name, version=made.number)

    async def untag(self, user: str, id: str, name: str) -> None:
        await self._check(user, id)
        await self.documents.untag(id, name)

    async def item_history(self, user: str, id: str, item: str, *, limit: int, before: int | None) -> ItemHistoryOut:
        """Who changed an item, as `shapes/s1`: the changes before or after which the user could see it.

        Missing where it names no collection. An item that is another's alone looks like one that never was.
        """
        await self._check(user, id)
        name, _, item_id = item.partition("/")
        if name not in COLLECTIONS or not item_id:
            raise Missing(item)
        found = await visible_changes(self.documents, user, id, name, item_id, limit, before)
        return ItemHistoryOut(changes=[_change(each) for each in found])

    async def delete(self, user: str, id: str) -> None:
        await self._check(user, id)
        await self.documents.delete(id)

    # --- how ----------------------------------------------------------------------------------------------------------
    async def _check(self, user: str, id: str) -> None:
        if await self.documents.parent(id) != organisation_of(user):
            raise Missing(id)

    async def _at(self, user: str, id: str, version: int) -> Project:
        return _own(user, await self.documents.at(id, version=version))

    async def _snapshot(self, user: str, board: Project) -> SnapshotOut:
        return SnapshotOut(
            project=board.id,
            version=board.version,
            time=board.time,
            name=board.name,
            description=board.description,
            shapes=_seen(user, await self.documents.load(board.shapes)),
            comments=_seen(user, await self.documents.load(board.comments)),
        )

    async def _items(
        self, user: str, before: Items[Any], after: Items[Any], found: CollectionDiff | None
    ) -> ItemsDifferenceOut:
        """The values of what differs, and of nothing else."""
        changes = found or CollectionDiff()
        old = _seen(user, await self.documents.load(before, [*changes.changed, *changes.removed]))
        new = _seen(user, await self.documents.load(after, [*changes.added, *changes.changed]))
        return ItemsDifferenceOut(
            added={id: value for id, value in new.items() if id not in old},
            changed={id: ChangeOut(before=old[id], after=new[id]) for id in new if id in old},
            removed={id: value for id, value in old.items() if id not in new},
        )


def _own(user: str, board: Project) -> Project:
    if board.parent != organisation_of(user):
        raise Missing(board.id)
    return board


def _listed(board: Project) -> ProjectOut:
    return ProjectOut(id=board.id, name=board.name, version=board.version, time=board.time)


def _branch(board: Project, origin: Place | None) -> BranchOut:
    place = None if origin is None else OriginOut(project=origin.document_id, version=origin.number)
    return BranchOut(**_listed(board).model_dump(), origin=place)


def _conflict(user: str, conflict: Conflict, contents: Sequence[Mapping[tuple[str, str], Any]]) -> ConflictOut | None:
    """A conflict as a user sees it. None where each of its contents is another's alone."""
    sides: list[Any] = [conflict.base, conflict.ours, conflict.theirs]
    if conflict.collection:
        stored = [own.get((conflict.collection, conflict.id)) for own in contents]
        sides = [content if is_seen_by(user, content) else None for content in stored]
        if all(side is None for side in sides):
            return None
    base, ours, theirs = sides
    return ConflictOut(collection=conflict.collection, id=conflict.id, base=base, ours=ours, theirs=theirs)


def _version(row: Version) -> VersionOut:
    mutations = [AppliedOut(client=a.client, id=a.id, name=a.name, rejected=a.rejected) for a in row.mutations]
    return VersionOut(version=row.number, time=row.time, mutations=mutations)


def _change(change: ItemChange) -> ItemChangeOut:
    return ItemChangeOut(
        project=change.document_id,
        version=change.version,
        time=change.time,
        change="added" if change.before is None else "removed" if change.after is None else "changed",
        by=[ChangerOut(client=m.client, id=m.id, name=m.name, user=m.principal) for m in change.mutations],
    )


def _seen(user: str, items: Mapping[str, T]) -> dict[str, T]:
    """Those of some items that are everybody's, or the user's own."""
    return {id: item for id, item in items.items() if is_seen_by(user, item)}
