"""The difference of two versions, from their items in the table alone: no content is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from singletable.documents.context import Context
from singletable.documents.read import collection_key, hashes_of_all, version_rows
from singletable.documents.rows import Version
from singletable.documents.snapshots import Hashes, scalar_values, scalars_of
from singletable.flow import Port


@dataclass(frozen=True)
class CollectionDiff:
    """Item ids, each list in order."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True)
class Diff:
    """The differences between two versions. False if there are none."""

    before: int
    after: int
    scalars: Mapping[str, tuple[Any, Any]]
    """The two values, by name."""
    collections: Mapping[str, CollectionDiff]
    """Only the collections that differ."""

    def __bool__(self) -> bool:
        return bool(self.scalars or self.collections)


async def diff(port: Port, context: Context[Any], document_id: str, before: int, after: int) -> Diff:
    """The differences between two versions of a document. Two round trips; unchanged collections are not read."""
    one, other = await version_rows(port, context, document_id, (before, after))
    return await diff_of(port, context, one, other)


async def diff_of(port: Port, context: Context[Any], one: Version, other: Version) -> Diff:
    """The same for versions that were read, possibly of two documents."""
    names = [name for name in context.model.collections if collection_key(one, name) != collection_key(other, name)]
    old, new = await hashes_of_all(port, context, ((one, names), (other, names)))
    changes = {name: diff_hashes(old[name], new[name]) for name in names}
    return Diff(
        one.number, other.number, _scalars(context, one, other), {name: own for name, own in changes.items() if own}
    )


def diff_hashes(before: Hashes, after: Hashes) -> CollectionDiff:
    """The differences between two maps of item ids to hashes."""
    return CollectionDiff(
        tuple(sorted(id for id in after if id not in before)),
        tuple(sorted(id for id, digest in after.items() if before.get(id, digest) != digest)),
        tuple(sorted(id for id in before if id not in after)),
    )


def _scalars(context: Context[Any], one: Version, other: Version) -> dict[str, tuple[Any, Any]]:
    old, new = scalar_values(context, scalars_of(one)), scalar_values(context, scalars_of(other))
    return {name: (old[name], new[name]) for name in new if old[name] != new[name]}
