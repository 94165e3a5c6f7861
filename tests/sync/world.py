"""The application around sync in these tests: users named by a header, members of projects, a clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from singletable import AsyncDatabase
from singletable.documents import BlobStore
from singletable.documents.service_async import AsyncDocuments
from singletable.sync import Access, HttpRequest, Sync
from tests.sync.board import Project
from tests.sync.calling import Answer, Stream, call
from tests.sync.simulated import Client, View

EVERYBODY = "*"


class World:
    """Users `ada`, `ben` ... send `authorization: <name>`. Everybody may do everything, unless `members` says who."""

    def __init__(self, db: AsyncDatabase, blobs: BlobStore, *, kind: type[Any] = Project, **options: Any) -> None:
        self.db = db
        self.documents: AsyncDocuments[Project] = AsyncDocuments(db, kind, blobs=blobs)
        self.members: dict[str, set[str]] = {}
        self.forbidden: set[tuple[str, str]] = set()
        """Users and the mutations that they may not make."""
        self.aliases: dict[str, str] = {}
        """Credentials that name another user than they say."""
        self.asked: list[tuple[str, str, Access]] = []
        self.now = 1000.0
        given = {"create": lambda user, project: "o1", "monotonic": lambda: self.now, **options}
        self.sync = Sync(self.documents, authenticate=self.authenticate, authorise=self.authorise, **given)
        self.app = self.sync.asgi()

    async def authenticate(self, request: HttpRequest) -> str | None:
        said = request.headers.get("authorization") or request.query.get("auth")
        return self.aliases.get(said, said) if said else None

    async def authorise(self, user: str, project: str, access: Access) -> bool:
        self.asked.append((user, project, access))
        is_member = project not in self.members or user in self.members[project]
        return is_member and (user, access.mutation) not in self.forbidden

    async def send(self, path: str, body: Any, *, user: str | None = "ada", project: str = "p1") -> Answer:
        headers: Mapping[str, str] = {} if user is None else {"authorization": user}
        return await call(self.app, path, body, headers=headers, project=project)

    async def push(self, client: Client, *, user: str = "ada", project: str = "p1") -> Answer:
        """Push all that is pending, and wait until this process has done with it."""
        answer = await (await self.send("/push", client.push(), user=user, project=project)).done()
        if answer.status == 200:
            client.pushed(answer.json)
        return answer

    async def pull(self, client: Client, *, user: str = "ada", project: str = "p1") -> Answer:
        asked = client.pull()
        answer = await (await self.send("/pull", asked, user=user, project=project)).done()
        if answer.status == 200:
            client.pulled(asked, answer.json)
        return answer

    def listen(self, user: str = "ada", project: str = "p1") -> Stream:
        return Stream(self.app, project, {"authorization": user})

    async def view(self, project: str = "p1") -> View:
        """The client view of the newest version, from the documents themselves."""
        head = await self.documents.head(project)
        found: View = {"project": {"name": head.name, "description": head.description}}
        shapes, comments = await self.documents.load(head.shapes), await self.documents.load(head.comments)
        found |= {f"shapes/{id}": vars(shape) for id, shape in shapes.items()}
        found |= {f"comments/{id}": vars(comment) for id, comment in comments.items()}
        return found
