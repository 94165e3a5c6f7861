"""Merging: what was changed in one document since both were the same is changed in the other, item by item.

    base     what both have in common: the newest of the versions in which they parted, or in which one was merged
             into the other
    ours     the newest version of the document that is merged into
    theirs   the newest version of the document that is merged

An item that only they changed becomes theirs. One that both changed, and not to the same, is a conflict: it is listed,
and nothing at all is written until the call says which to keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal

from singletable.documents.arguments import texts_of
from singletable.documents.commit import apply_next
from singletable.documents.contents import Content
from singletable.documents.context import Context
from singletable.documents.families import pages
from singletable.documents.mutations import MAX_TEXT_BYTES, Outcome, Ref
from singletable.documents.own_mutations import (
    CHANGED,
    MERGE,
    ItemMerge,
    MergeState,
    ScalarMerge,
    merge_mutation,
    read_merge,
)
from singletable.documents.read import hashes_of_all, newest, version_row
from singletable.documents.replay import copy
from singletable.documents.rows import MutationRecord, Place, Version
from singletable.documents.snapshots import check_known, scalar_values, scalars_of, stored_scalars, unknown_scalars
from singletable.errors import InvalidRequest, NotFound
from singletable.flow import Port, Race
from singletable.foundation import ANY, Query
from singletable.values import AttributeValue

Side = Literal["ours", "theirs"]
_PAGE = 20


@dataclass(frozen=True)
class Conflict:
    """Something that both changed, and not to the same."""

    collection: str
    """Empty for a scalar."""
    id: str = field(repr=False)
    """The item's, or the name of the scalar."""
    base: Any = field(repr=False)
    """The content's sha256, None for no item; the value of a scalar."""
    ours: Any = field(repr=False)
    theirs: Any = field(repr=False)


@dataclass(frozen=True)
class Merge:
    """The result of a merge. Contents of conflicts are read by `at()` of the three versions."""

    base: Place
    ours: Place
    theirs: Place
    taken: tuple[tuple[str, str], ...] = field(repr=False)
    """The changes taken from theirs, by collection and id; scalars by "" and name."""
    conflicts: tuple[Conflict, ...]
    """All conflicts, including the ones that the call decided."""
    outcome: Outcome | None
    """The outcome of the mutation that merged; None if nothing was written: see `is_merged`."""
    is_merged: bool
    """False if conflicts were left open. Then nothing was written."""


@dataclass(frozen=True)
class _Decided:
    """The changes to make, and the conflicts."""

    state: MergeState
    taken: tuple[tuple[str, str], ...]
    conflicts: tuple[Conflict, ...]
    open: tuple[Conflict, ...]


async def merge(
    port: Port,
    context: Context[Any],
    document_id: str,
    onto: str,
    prefer: Side | None = None,
    choose: Mapping[tuple[str, str], Side] | None = None,
    principal: str | None = None,
) -> Merge:
    """Merge a document's changes into another. NotFound; InvalidRequest if they have no version in common.

    `prefer` says which side to keep in every conflict, `choose` in those of a collection and an id. With a conflict of
    which neither says it, nothing is written. No content is written: within a family none is read either.
    Reads three versions and the hashes that differ, then the round trips of a restored version.
    """
    if onto == document_id:
        raise InvalidRequest("a document is merged into another one", operation="merge")
    chosen = choose or {}
    race = Race(port, "merge", "a mutation changed what is merged", context.model.table.name)
    race.hint = "Nothing was merged. Merge again, with fewer writers at once."
    while True:
        theirs, ours = await newest(port, context, document_id), await newest(port, context, onto)
        base = await _base(port, context, ours, theirs)
        check_known(context.model, "merge", base, ours, theirs)
        decided = await _decide(port, context, base, ours, theirs, prefer, chosen)
        merge_result = _found(base, ours, theirs, decided)
        if decided.open:
            return replace(merge_result, taken=(), is_merged=False)
        if not decided.taken and not decided.conflicts:
            return merge_result
        outcome = await _submit(port, context, ours, theirs, decided, principal)
        if outcome is not None:
            return replace(merge_result, outcome=outcome, is_merged=outcome.status == "applied")
        await race.lost()


def _found(base: Version, ours: Version, theirs: Version, decided: _Decided) -> Merge:
    first, second, third = (Place(version.document_id, version.number) for version in (base, ours, theirs))
    return Merge(first, second, third, decided.taken, decided.conflicts, None, True)


# --- the common version -----------------------------------------------------------------------------------------------
async def _base(port: Port, context: Context[Any], ours: Version, theirs: Version) -> Version:
    """The newest known version that both have in common."""
    places = [
        await _last_merge(port, context, theirs.document_id, ours),
        await _last_merge(port, context, ours.document_id, theirs),
        await _parting(port, context, ours, theirs),
    ]
    shared = [await version_row(port, context, place.document_id, place.number) for place in places if place]
    if not shared:
        raise InvalidRequest(
            "the two documents have no version in common",
            table=context.model.table.name,
            operation="merge",
            hint="A branch and its origin have one, or two branches. For others: replay().",
        )
    return max(shared, key=lambda version: version.time)


async def _last_merge(port: Port, context: Context[Any], source: str, into: Version) -> Place | None:
    """The version of one document that was merged into another last."""
    client = client_of(source)
    records: Query[MutationRecord] = context.model.rows.mutation.by_id(into.document_id, client, ANY)
    async for page in pages(port, records.newest_first(), _PAGE):
        for record in page:
            if record.name == MERGE and record.error is None:
                (text,) = await texts_of(port, context.contents_of(into), [record])
                return Place(source, read_merge(text).version)
    return None


async def _parting(port: Port, context: Context[Any], ours: Version, theirs: Version) -> Place | None:
    """The version at which the two parted, of a document that exists: version 0 of a branch is its origin."""
    mine, other = await _lineage(port, context, ours), await _lineage(port, context, theirs)
    numbers = {place.document_id: (i, place.number) for i, place in enumerate(other)}
    for i, place in enumerate(mine):
        if place.document_id in numbers:
            k, number = numbers[place.document_id]
            chain, at = (mine, i) if place.number <= number else (other, k)
            return chain[at] if at == 0 else Place(chain[at - 1].document_id, 0)
    return None


async def _lineage(port: Port, context: Context[Any], version: Version) -> list[Place]:
    """A version, the one that its document began as, and so on, until a document is missing."""
    ancestors = [Place(version.document_id, version.number)]
    while True:
        try:
            first = await version_row(port, context, ancestors[-1].document_id, 0)
        except NotFound:
            return ancestors
        if first.origin is None:
            return ancestors
        ancestors.append(first.origin)


def client_of(source: str) -> str:
    """Whose mutations the merges of a document are."""
    name = f"merge-{source}"
    return name if len(name.encode()) <= MAX_TEXT_BYTES else f"merge-{sha256(source.encode()).hexdigest()}"


# --- deciding ---------------------------------------------------------------------------------------------------------
async def _decide(
    port: Port,
    context: Context[Any],
    base: Version,
    ours: Version,
    theirs: Version,
    prefer: Side | None,
    choose: Mapping[tuple[str, str], Side],
) -> _Decided:
    names = tuple(context.model.collections)
    hashes = await hashes_of_all(port, context, [(version, names) for version in (base, ours, theirs)])
    values = [_scalars(context, version) for version in (base, ours, theirs)]
    items: dict[str, dict[str, ItemMerge]] = {}
    taken: list[tuple[str, str]] = []
    conflicts: list[Conflict] = []
    for name in names:
        folder = context.model.collections[name].folder
        for id, mine, other, conflict in _differences(name, [own[name] for own in hashes], prefer, choose):
            conflicts += [conflict] if conflict is not None else []
            if mine != other:
                to = None if other is None else Ref[Any](f"{folder}/{other.hex()}")
                items.setdefault(name, {})[id] = ItemMerge(None if mine is None else mine.hex(), to)
                taken.append((name, id))
    own, wanted = (_stored(context, version) for version in (ours, theirs))
    scalars: dict[str, ScalarMerge] = {}
    for name, mine, other, conflict in _differences("", values, prefer, choose):
        conflicts += [conflict] if conflict is not None else []
        if mine != other:
            scalars[name] = ScalarMerge(own.get(name), wanted[name])
            taken.append(("", name))
    state = MergeState(theirs.document_id, theirs.number, scalars, items)
    left = tuple(c for c in conflicts if prefer is None and (c.collection, c.id) not in choose)
    return _Decided(state, tuple(taken), tuple(conflicts), left)


def _scalars(context: Context[Any], version: Version) -> dict[str, Any]:
    """The values of a version's scalars; of one that this program does not know, as it is stored."""
    stored = scalars_of(version)
    return {**scalar_values(context, stored), **unknown_scalars(context, stored)}


def _stored(context: Context[Any], version: Version) -> Mapping[str, AttributeValue]:
    return stored_scalars(context.model, context.model.scalars.load(scalars_of(version)))


def _differences(
    collection: str,
    sides: Sequence[Mapping[str, Any]],
    prefer: Side | None,
    choose: Mapping[tuple[str, str], Side],
) -> list[tuple[str, Any, Any, Conflict | None]]:
    """Their changes that differ from ours: the id, the value, the new value, and the conflict if it is one."""
    base, ours, theirs = sides
    differences: list[tuple[str, Any, Any, Conflict | None]] = []
    for id in sorted({*base, *theirs}):
        was, mine, other = base.get(id), ours.get(id), theirs.get(id)
        if other in (was, mine):
            continue
        if mine == was:
            differences.append((id, mine, other, None))
            continue
        side = choose.get((collection, id), prefer)
        conflict = Conflict(collection, id, *map(_shown, (was, mine, other)))
        differences.append((id, mine, other if side == "theirs" else mine, conflict))
    return differences


def _shown(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


# --- writing ----------------------------------------------------------------------------------------------------------
async def _submit(
    port: Port, context: Context[Any], ours: Version, theirs: Version, decided: _Decided, principal: str | None
) -> Outcome | None:
    """The outcome of the merge; None if something in it was changed meanwhile."""
    mutation, client, onto = merge_mutation(decided.state), client_of(theirs.document_id), ours.document_id
    wanted = {
        Content(folder, bytes.fromhex(digest))
        for own in decided.state.items.values()
        for change in own.values()
        if change.to is not None
        for folder, _, digest in [change.to.blob.partition("/")]
    }
    await copy(port, context.contents_of(theirs), context.contents_of(ours), wanted)
    outcome = await apply_next(port, context, onto, client, mutation, principal)
    return None if outcome.error is not None and CHANGED in outcome.error else outcome
