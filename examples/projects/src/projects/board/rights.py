"""Who may see a board: the people of its organisation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable

from projects.model import Project
from projects.rights import organisation_of
from singletable import NotFound
from singletable.documents import AsyncDocuments
from singletable.sync import Access

REMEMBERED = 10_000


class Readers:
    """Who may see a board, for sync: asked at each push, pull and stream of pokes."""

    def __init__(self, documents: AsyncDocuments[Project]) -> None:
        self._documents = documents
        # A board stays with its organisation, so what was read once holds for good.
        self._organisations: OrderedDict[str, str] = OrderedDict()

    def __call__(self, user: str, project: str, access: Access) -> Awaitable[bool] | bool:
        """Whether a user may read. Asks the database for a board's organisation once. Changes: `check_may_change`."""
        if not access.is_read:
            return True
        known = self._organisations.get(project)
        return self._find(user, project) if known is None else known == organisation_of(user)

    async def _find(self, user: str, project: str) -> bool:
        try:
            found = await self._documents.parent(project)
        except NotFound:
            return False
        self._organisations[project] = found
        if len(self._organisations) > REMEMBERED:
            self._organisations.popitem(last=False)
        return found == organisation_of(user)
