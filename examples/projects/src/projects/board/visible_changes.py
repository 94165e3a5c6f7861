"""The history of one item, as far as a user could see the item: what was another's alone is left out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from projects.model import Project
from projects.rights import is_seen_by
from singletable import NotFound
from singletable.documents import AsyncDocuments, ItemChange, Items

COLLECTIONS: Final[Mapping[str, Items[Any]]] = {"shapes": Project.shapes, "comments": Project.comments}


async def visible_changes(
    documents: AsyncDocuments[Project],
    user: str,
    board: str,
    name: str,
    id: str,
    limit: int,
    before: int | None,
) -> list[ItemChange]:
    """The newest changes of an item of the collection `name`, before or after which a user could see it.

    Reads each content once more than `documents.item_history`: three round trips for each page of changes. NotFound.
    """
    visible: list[ItemChange] = []
    while len(visible) < limit:
        found = await documents.item_history(board, COLLECTIONS[name], id, limit=limit, before=before)
        seen = await _seen_hashes(documents, user, name, id, found)
        visible += [each for each in found if each.before in seen or each.after in seen]
        if len(found) < limit:
            break
        board, before = found[-1].document_id, found[-1].version
    return visible[:limit]


async def _seen_hashes(
    documents: AsyncDocuments[Project], user: str, name: str, id: str, changes: Sequence[ItemChange]
) -> set[str]:
    """The hashes of those contents that a user may see."""
    places: dict[str, tuple[str, int]] = {}
    for change in changes:
        if change.after is not None:
            places[change.after] = change.document_id, change.version
        if change.before is not None:
            places.setdefault(change.before, (change.document_id, change.version - 1))

    def reading(board: str, version: int) -> Callable[[], Awaitable[bool]]:
        async def read() -> bool:
            try:
                found = await documents.at(board, version=version, collections=[COLLECTIONS[name]])
                items: Items[Any] = found.shapes if name == "shapes" else found.comments
                return is_seen_by(user, (await documents.load(items, [id]))[id])
            except NotFound:  # the board was deleted meanwhile
                return False

        return read

    calls = [reading(*place) for place in places.values()]
    shown: list[bool] = await documents.db.port.call_all(calls) if calls else []
    return {digest for digest, is_shown in zip(places, shown, strict=True) if is_shown}
