"""The boards of a database and a blob store, with all that their pages need, put together."""

from __future__ import annotations

from projects.board.callers import Callers
from projects.board.rights import Readers
from projects.board.service import Boards
from projects.model import Project
from projects.rights import check_may_change, view_of
from singletable import AsyncDatabase
from singletable.documents import AsyncDocuments, BlobStore
from singletable.queues import Queue
from singletable.sync import HttpRequest, Limits, Pointer, Sync, View

DEMO_LIMITS = Limits(
    requests_per_second=1_000.0,
    burst=2_000,
    listeners_per_user=1_000,
    presence_per_second=1_000.0,
    presence_burst=2_000,
)
"""All who come are one user there."""


def open_boards(
    db: AsyncDatabase,
    blobs: BlobStore,
    callers: Callers,
    *,
    is_demo: bool,
    queue: Queue[Pointer] | None = None,
) -> Boards:
    """In the demo, everybody is one user."""
    documents = AsyncDocuments(db, Project, blobs=blobs, authorise=None if is_demo else check_may_change)

    def user_of(request: HttpRequest) -> str | None:
        return callers(request.headers)

    sync = Sync(
        documents,
        authenticate=user_of,
        authorise=Readers(documents),
        view=None if is_demo else _view,
        processor=queue or "inline",
        limits=DEMO_LIMITS if is_demo else Limits(),
    )
    return Boards(db, documents, sync, is_demo=is_demo)


def _view(user: str, project: str) -> View:
    """The same of every board."""
    return view_of(user)
