"""The library's own mutation `$merge`: some items and scalars become what another document has.

Its arguments name each with its value when the merge was decided, so that it is applied to that or rejected: an edit
that comes in between is never overwritten. The library decides again then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from singletable.documents.canonical_json import canonical
from singletable.documents.document import DocumentModel
from singletable.documents.mutations import Mutation, Ref
from singletable.errors import InvalidValue
from singletable.values import AttributeValue, json_decoder

MERGE = "$merge"
CHANGED = "was changed while it was merged"


class ItemMerge(Struct, frozen=True):
    """An item's old sha256 and its new content; None for no item."""

    was: str | None
    to: Ref[Any] | None


class ScalarMerge(Struct, frozen=True):
    was: AttributeValue | None
    to: AttributeValue


class MergeState(Struct, frozen=True):
    """The arguments."""

    source: str
    version: int
    """The version of the source that is merged: what both have in common from then on."""
    scalars: dict[str, ScalarMerge]
    items: dict[str, dict[str, ItemMerge]]


_decoder = json_decoder(MergeState)


def merge_mutation(state: MergeState) -> Mutation:
    return Mutation(MERGE, canonical(state).decode())


def read_merge(arguments: str) -> MergeState:
    """Read a merge. Raises InvalidValue for other arguments."""
    try:
        state: MergeState = _decoder.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise InvalidValue("the arguments are not those of a merge", operation=MERGE) from None
    return state


def merge_draft(model: DocumentModel, draft: Any, arguments: str) -> None:
    """Run it. InvalidValue if something was changed since it was decided: then nothing of it happens."""
    state = read_merge(arguments)
    for name, changes in state.items.items():
        _merge_items(name, getattr(draft, name), changes)
    if state.scalars:
        _merge_scalars(model, draft, state.scalars)


def _merge_items(name: str, items: Any, changes: Mapping[str, ItemMerge]) -> None:
    for id, change in changes.items():
        now = items.hash_of(id) if id in items else None
        if now != change.was:
            raise InvalidValue(f"{name}/{id} {CHANGED}", operation=MERGE)
        if change.to is not None:
            items.refer(id, change.to)
        elif now is not None:
            del items[id]


def _merge_scalars(model: DocumentModel, draft: Any, changes: Mapping[str, ScalarMerge]) -> None:
    stored = model.scalars.dump(draft)
    for name, change in changes.items():
        if stored.get(name) != change.was:
            raise InvalidValue(f"{name} {CHANGED}", operation=MERGE)
    merged = {**stored, **{name: change.to for name, change in changes.items()}}
    values = model.scalars.load(merged).__dict__
    for name in changes:
        setattr(draft, name, values[name])
