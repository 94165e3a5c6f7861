"""Which table deletes the blobs of a family of documents: the one that the blob store names.

    =collectors/<parent>/<plural>/<root>/table.json       a table, as the service identifies it

A table that was restored, or copied, uses the blobs of the one that it comes from, where both have the same store. Each
reaches contents that the other does not. So the first collection of garbage, or deletion of a document, notes its
table, and another table's is refused. The first one is refused, too, where the document is older than the table: it
comes from another table, which may still use the blobs.

No content has such a path: a parent's "=" is written "%3D".
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from singletable.documents.blobs import BlobStore, replace_blob
from singletable.documents.context import Context
from singletable.documents.families import root_of
from singletable.documents.manifests import Manifests, StoredFamily, decoded_note
from singletable.documents.read import any_epoch_row
from singletable.documents.rows import GcEpoch, Version
from singletable.errors import InvalidRequest
from singletable.flow import Port
from singletable.foundation import KeyOf, get, ready
from singletable.operations import TableCall
from singletable.tables import table_identity

_ROOT = "=collectors/"
_MOST_BYTES = 1 << 16
_SKEW_SECONDS = 900.0
"""Clocks of programs and of the service differ by less."""


class Collector(Struct, frozen=True):
    """A table that deletes blobs. Another one of its name has another id."""

    table: str
    id: str
    file: str = ""
    """The file of an embedded engine, where it is known: a copy of it has the same tables."""

    def is_same(self, other: Collector) -> bool:
        is_file = self.file == other.file or not (self.file and other.file)
        return (self.table, self.id) == (other.table, other.id) and is_file


async def check_collector(port: Port, context: Context[Any], epoch: GcEpoch, *, take_over: bool = False) -> Collector:
    """Return this table, which may delete the blobs that a document uses. Raises InvalidRequest for another table.

    `take_over` notes this table, whatever the store says. One DescribeTable and one read of the blob store; at the
    first time one or two reads of the table more, and a put.
    """
    path = _path(context, epoch)
    described = await _described(port, context)
    own = _collector(port, described)
    (noted,) = await port.call_all([partial(_noted, context.store, path)])
    if noted is not None and noted.is_same(own):
        return own
    put = partial(context.store.put, path, msgspec.json.encode(own))
    if take_over:
        put = partial(replace_blob, context.store, *put.args)
    elif noted is not None:
        raise _refused(context, f"the blob store names {' '.join(filter(None, msgspec.structs.astuple(noted)))}")
    elif await _is_older(port, context, epoch, described):
        raise _refused(context, "the document is older than the table, which was restored or copied")
    (is_new,) = await port.call_all([put])
    return own if is_new else await check_collector(port, context, epoch)


async def take_over_blobs(port: Port, context: Context[Any], *, but_other_names: bool = False) -> int:
    """Note this table for the families of its documents, as after it took another one's place; their number.

    `but_other_names` leaves what a table of another name is noted for. Killed, it is called again: one note at a time
    is away. One DescribeTable and a listing of the store; for each family a read of both, a delete and a put.
    """
    await ready(port, context.model.table)
    own, store = _collector(port, await _described(port, context)), context.store
    (prefixes,) = await port.call_all([lambda: _prefixes(store, context.model.words.plural)])
    count = 0
    for prefix in prefixes:
        path = f"{_ROOT}{prefix}table.json"
        (noted,) = await port.call_all([partial(_noted, store, path)])
        is_others = but_other_names and noted is not None and noted.table != own.table
        if is_others or not await _is_known(port, context, prefix):
            continue
        if noted is None or not noted.is_same(own):
            await port.call_all([partial(replace_blob, store, path, msgspec.json.encode(own))])
        count += 1
    return count


def _prefixes(store: BlobStore, plural: str) -> list[str]:
    """The families that have contents or a note. Blocks."""
    noted = (path.removeprefix(_ROOT).removesuffix("table.json") for path in store.list(_ROOT))
    prefixes = {prefix for prefix in noted if prefix.split("/")[1:2] == [plural]}
    return sorted(prefixes | {family.prefix for family in Manifests(store, plural).families()})


def _noted(store: BlobStore, path: str) -> Collector | None:
    stored = store.get(path, _MOST_BYTES)
    return None if stored is None else decoded_note(path, stored, Collector)


async def _is_known(port: Port, context: Context[Any], prefix: str) -> bool:
    """Whether a family is this table's. Another one's may lie in the same store."""
    root = await any_epoch_row(port, context, StoredFamily(prefix, ()).root)
    return root is not None and context.contents_of(root).prefix == prefix


async def forget_collector(port: Port, context: Context[Any], root: GcEpoch) -> None:
    """Delete the note of a family that is deleted."""
    await port.call_all([partial(context.store.delete, _path(context, root))])


def _path(context: Context[Any], epoch: GcEpoch) -> str:
    return f"{_ROOT}{context.contents_of(epoch).prefix}table.json"


async def _described(port: Port, context: Context[Any]) -> dict[str, Any]:
    answer: Any = await port.send(TableCall("DescribeTable", {"TableName": context.model.table.name}))
    described: dict[str, Any] = answer["Table"]
    return described


def _collector(port: Port, described: dict[str, Any]) -> Collector:
    """The table that is described."""
    name = described.get("TableArn", described["TableName"])
    return Collector(name, table_identity(described), port.traits.data_file)


async def _is_older(port: Port, context: Context[Any], epoch: GcEpoch, described: dict[str, Any]) -> bool:
    """Whether the document, or the first of its family, was made before the table."""
    if port.traits.creates_tables:  # a copy of a data file has the time of its tables, too
        return False
    created = float(described.get("CreationDateTime", 0.0))
    for document_id in dict.fromkeys((root_of(epoch), epoch.document_id)):
        key: KeyOf[Version] = context.model.rows.version.by_number(document_id, 0)
        first = await get(port, key.consistent())
        if first is not None:
            return first.time.timestamp() < created - _SKEW_SECONDS
    return False


def _refused(context: Context[Any], why: str) -> InvalidRequest:
    return InvalidRequest(
        f"another table may use the blobs of this document: {why}",
        table=context.model.table.name,
        operation="collect_garbage",
        hint="Nothing was deleted. Give this table a blob store of its own, with a copy of the blobs. Where no other "
        "table uses them any more, call take_over_blobs() once, or collect_garbage(document_id, take_over=True).",
    )
