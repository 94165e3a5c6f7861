"""The library's own mutations. Only the library may submit them; from a client, their names count as unknown.

$restore   the document becomes what a version was. Its arguments contain the whole state: the stored scalars, and a
           reference to each item's content. So it is data like any other mutation: it is applied once, in its
           client's order, and can be replayed onto another document
$merge     some items and scalars become what another document has. Its arguments name each with its value when the
           merge was decided, so that it is applied to that or rejected: an edit that comes in between is never
           overwritten. The library decides again then
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from singletable.documents.canonical_json import canonical, digest_of
from singletable.documents.document import DocumentModel
from singletable.documents.mutations import Mutation, Ref
from singletable.documents.rows import Version
from singletable.documents.snapshots import Hashes, scalars_of, stored_scalars, unknown_collection
from singletable.errors import InvalidValue
from singletable.values import UNDECLARED, AttributeValue, json_decoder

RESTORE = "$restore"


class VersionState(Struct, frozen=True, omit_defaults=True):
    """The whole state of a version, as arguments."""

    version: int
    """The restored version's number, for readers of the history."""
    scalars: dict[str, AttributeValue]
    items: dict[str, dict[str, Ref[Any]]]
    over: str = ""
    """A digest of the state that it replaces; empty where it replaces any."""


def restoration(model: DocumentModel, version: Version, hashes: Mapping[str, Hashes], over: str = "") -> Mutation:
    """The mutation that restores a version; with `over`, only where the document's state has that digest."""
    items = {
        name: {id: Ref[Any](f"{model.collections[name].folder}/{digest.hex()}") for id, digest in own.items()}
        for name, own in hashes.items()
    }
    return Mutation(RESTORE, canonical(VersionState(version.number, scalars_of(version), items, over)).decode())


def digest_of_version(model: DocumentModel, version: Version, hashes: Mapping[str, Hashes]) -> str:
    """A digest of a version's whole state: equal states have equal ones."""
    return _digest(model, model.scalars.load(scalars_of(version)), hashes)


def _digest_of_draft(model: DocumentModel, draft: Any) -> str:
    drafted = {name: getattr(draft, name) for name in model.collections}
    hashes = {name: {id: bytes.fromhex(items.hash_of(id)) for id in items} for name, items in drafted.items()}
    return _digest(model, draft, hashes)


def _digest(model: DocumentModel, scalars: Any, hashes: Mapping[str, Hashes]) -> str:
    """Collections without items don't count: one that was never written has none either."""
    items = {name: {id: digest.hex() for id, digest in own.items()} for name, own in hashes.items() if own}
    return digest_of(canonical([stored_scalars(model, scalars), items])).hex()


def restore_draft(model: DocumentModel, draft: Any, arguments: str) -> None:
    """Run it. Collections that the class no longer has are left out; new scalars get their defaults."""
    try:
        state: VersionState = _STATE.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise InvalidValue("the arguments are not the state of a document", operation=RESTORE) from None
    if state.over and state.over != _digest_of_draft(model, draft):
        raise InvalidValue("the document was changed since the version that this was to replace", operation=RESTORE)
    _set_scalars(model, draft, state.scalars)
    for name in model.collections:
        items, wanted = getattr(draft, name), state.items.get(name, {})
        for id in [id for id in items if id not in wanted]:
            del items[id]
        for id, ref in wanted.items():
            if id not in items or f"{model.collections[name].folder}/{items.hash_of(id)}" != ref.blob:
                items.refer(id, ref)


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


_STATE, _MERGE_STATE = json_decoder(VersionState), json_decoder(MergeState)


def merge_mutation(state: MergeState) -> Mutation:
    return Mutation(MERGE, canonical(state).decode())


def read_merge(arguments: str) -> MergeState:
    """Read a merge. Raises InvalidValue for other arguments."""
    try:
        state: MergeState = _MERGE_STATE.decode(arguments)
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
            raise InvalidValue(f"an item of {name} {CHANGED}", operation=MERGE)
        if change.to is not None:
            items.refer(id, change.to)
        elif now is not None:
            del items[id]


def _merge_scalars(model: DocumentModel, draft: Any, changes: Mapping[str, ScalarMerge]) -> None:
    stored = stored_scalars(model, draft)
    for name, change in changes.items():
        if stored.get(name) != change.was:
            raise InvalidValue(f"{name} {CHANGED}", operation=MERGE)
    merged = {**stored, **{name: change.to for name, change in changes.items()}}
    _set_scalars(model, draft, merged)


def _set_scalars(model: DocumentModel, draft: Any, stored: Mapping[str, AttributeValue]) -> None:
    """All scalars of a draft, those that this program does not know as well."""
    drafted: dict[str, Any] = draft.__dict__
    drafted.pop(UNDECLARED, None)
    drafted |= model.scalars.load(stored).__dict__


def with_scalars(
    name: str, arguments: str, change: Callable[[Mapping[str, AttributeValue]], Mapping[str, AttributeValue]]
) -> str:
    """The arguments of one of these mutations with other scalars; the same text where they stay."""
    try:
        if name == RESTORE:
            state: VersionState = _STATE.decode(arguments)
            scalars = change(state.scalars)
            same = scalars is state.scalars
            return arguments if same else canonical(structs.replace(state, scalars=dict(scalars))).decode()
        merged = read_merge(arguments)
    except (InvalidValue, msgspec.DecodeError, RecursionError, UnicodeError):
        return arguments  # it was rejected
    was = {name: each.was for name, each in merged.scalars.items() if each.was is not None}
    to = {name: each.to for name, each in merged.scalars.items()}
    old, new = change(was), change(to)
    if old is was and new is to:
        return arguments
    changed = {name: ScalarMerge(old.get(name), new.get(name, {"NULL": True})) for name in merged.scalars}
    return canonical(structs.replace(merged, scalars=changed)).decode()


def newer_in(model: DocumentModel, head: Version, mutation: Mutation) -> str | None:
    """The collection of a document, or of the arguments, that this program does not know; None if it knows all."""
    try:
        state = _NAMED.decode(mutation.arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None  # it is refused when it is run
    named = (name for name in state.items if name not in model.collections)
    return unknown_collection(model, head) or next(named, None)


class _Named(Struct, frozen=True):
    """The argument that both mutations have."""

    items: dict[str, msgspec.Raw] = {}


_NAMED = json_decoder(_Named)
