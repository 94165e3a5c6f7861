"""The progress of an export, while it is under way, or after it was ended: `unfinished.json`."""

from __future__ import annotations

from datetime import datetime
from math import inf
from typing import Any, Final

import msgspec
from msgspec import Struct

from singletable.errors import Corrupt
from singletable.exchange.gate import Count, DatasetName, ExportId
from singletable.exchange.manifest import DataFile
from singletable.exchange.private_state import private_files
from singletable.exchange.store_faults import missing
from singletable.exchange.stores import Store
from singletable.foundation import ScanSegment
from singletable.hidden_fields import repr_without

UNFINISHED: Final = "unfinished.json"
DRAFT_SECONDS: Final = 3600.0
"""Longer than any program takes to write a file."""


class UnfinishedExport(Struct):
    """The progress of an export, from which the next run goes on."""

    id: ExportId
    begun_at: datetime
    made_for: dict[str, Any]
    """The scope of the export: another run goes on only with the same."""
    segments: dict[str, tuple[ScanSegment, ...]] = {}
    """The unfinished segments of each table's scan. Missing in the file of an older version, which begins again."""
    files: dict[DatasetName, list[DataFile]] = {}
    items: Count = 0
    documents: tuple[Count, Count] = (0, 0)
    """The class of documents whose contents are being written, by its number, and its documents that are done."""
    contents: Count = 0
    lost: Count = 0
    mask_key: bytes | None = None
    """The key of the masks, if the caller didn't give one. It is deleted with the last file."""

    __repr__ = repr_without("mask_key")

    def is_like(self, other: UnfinishedExport) -> bool:
        """Whether both are of the same export: this one has none but the segments of the other, which is new."""
        parts, others = ({(t, s.number, s.of) for t in x.segments for s in x.segments[t]} for x in (self, other))
        return self.made_for == other.made_for and self.segments.keys() == other.segments.keys() and parts <= others


class StateFile:
    """The file of an export's progress: in its folder; with masks, a file of the user who runs it.

    The folder then names the export, so that another user's next one deletes what this one left.
    """

    def __init__(self, store: Store, own: Store | None) -> None:
        self.store, self.own = store, own

    def read(self, *, anew: bool = False) -> UnfinishedExport | None:
        """The state of an earlier run, if it left one. Raises Corrupt for a file that no export has written; None if
        the export begins again in any case."""
        shared = _read(self.store, UNFINISHED, anew=anew)
        if shared is None or self.own is None:
            return shared
        return _read(self.own, _own(shared), anew=anew) or _named(shared)

    def begin(self, state: UnfinishedExport) -> None:
        if self.own is not None:
            self.store.write(UNFINISHED, msgspec.json.encode(_named(state)))
        self.write(state)

    def write(self, state: UnfinishedExport) -> None:
        """Replace it, at once."""
        store, path = (self.store, UNFINISHED) if self.own is None else (self.own, _own(state))
        store.write(path, msgspec.json.encode(state))

    def delete(self, state: UnfinishedExport) -> None:
        """The export has ended, or another one takes its place, perhaps without masks."""
        own = self.own if state.made_for else private_files()
        if own is not None:
            own.delete(_own(state))
        self.store.delete(UNFINISHED)


def _named(state: UnfinishedExport) -> UnfinishedExport:
    """The name of an export, and nothing to go on with: a folder may hold a key that its sender knows."""
    return UnfinishedExport(state.id, state.begun_at, {})


def _own(state: UnfinishedExport) -> str:
    return f"{state.id}.json"


def _read(store: Store, path: str, *, anew: bool) -> UnfinishedExport | None:
    text = store.read(path)
    try:
        return None if text is None else msgspec.json.decode(text, type=UnfinishedExport)
    except (msgspec.MsgspecError, RecursionError) as error:
        if anew:
            return None
        raise Corrupt(
            f"{path} in {store.url} can't be read: {error}",
            hint="Pass anew=True (--anew): the export begins again, and leaves the files that it names.",
        ) from None


def delete_folder(store: Store, id: str) -> None:
    """Delete all files of an export."""
    for path in store.list(f"{id}/"):
        store.delete(path)


def delete_unkept(store: Store, state: UnfinishedExport) -> None:
    """Delete the files of a killed run after its last section. Half-written files elsewhere may be another's work: they
    are deleted when they are an hour old."""
    kept = {file.path for files in state.files.values() for file in files}
    store.delete_drafts(state.id, -inf)
    store.delete_drafts("", DRAFT_SECONDS)
    stored = set(store.list(f"{state.id}/"))
    if gone := sorted(kept - stored):
        raise missing(store.url, gone[0])
    for path in stored - kept:
        store.delete(path)
