"""How far an export has come, while it is under way, or after it was ended: `unfinished.json`."""

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

UNFINISHED: Final = "unfinished.json"
DRAFT_SECONDS: Final = 3600.0
"""Longer than any program takes to write a file."""


class Unfinished(Struct):
    """How far an export has come: what the next run goes on from."""

    id: ExportId
    begun_at: datetime
    made_for: dict[str, Any]
    """What the export is of: another run goes on only where all of it is the same."""
    segments: dict[str, tuple[ScanSegment, ...]]
    """By table, those of its scan that are not over."""
    files: dict[DatasetName, list[DataFile]] = {}
    items: Count = 0
    mask_key: bytes | None = None
    """Of the masks that stand for personal values, where the caller gave none. It goes with the last file."""

    def is_like(self, other: Unfinished) -> bool:
        """Whether both are of the same export, in the same number of segments."""
        return self.made_for == other.made_for


class StateFile:
    """Where an export keeps how far it has come: in its folder; with masks, in a file of the user who runs it.

    The folder then names the export, so that another user's next one deletes what this one left.
    """

    def __init__(self, store: Store, own: Store | None) -> None:
        self.store, self.own = store, own

    def read(self, *, anew: bool = False) -> Unfinished | None:
        """What an earlier run left, if it left something. Corrupt for what no export has written; None if the export
        begins anew in any case."""
        found = _read(self.store, UNFINISHED, anew=anew)
        if found is None or self.own is None:
            return found
        return _read(self.own, _own(found), anew=anew) or _named(found)

    def begin(self, state: Unfinished) -> None:
        if self.own is not None:
            self.store.write(UNFINISHED, msgspec.json.encode(_named(state)))
        self.write(state)

    def write(self, state: Unfinished) -> None:
        """Replace it, at once."""
        store, path = (self.store, UNFINISHED) if self.own is None else (self.own, _own(state))
        store.write(path, msgspec.json.encode(state))

    def delete(self, state: Unfinished) -> None:
        """The export has ended, or another one takes its place, perhaps without masks."""
        own = self.own if state.made_for else private_files()
        if own is not None:
            own.delete(_own(state))
        self.store.delete(UNFINISHED)


def _named(state: Unfinished) -> Unfinished:
    """The name of an export, and nothing to go on with: a folder may hold a key that its sender knows."""
    return Unfinished(state.id, state.begun_at, {}, {})


def _own(state: Unfinished) -> str:
    return f"{state.id}.json"


def _read(store: Store, path: str, *, anew: bool) -> Unfinished | None:
    text = store.read(path)
    try:
        return None if text is None else msgspec.json.decode(text, type=Unfinished)
    except (msgspec.MsgspecError, RecursionError) as error:
        if anew:
            return None
        raise Corrupt(
            f"{path} in {store.url} can't be read: {error}",
            hint="Say anew (--anew): the export begins again, and leaves what that file names.",
        ) from None


def delete_folder(store: Store, id: str) -> None:
    """Delete all files of an export."""
    for path in store.list(f"{id}/"):
        store.delete(path)


def delete_unkept(store: Store, state: Unfinished, now: float) -> None:
    """Delete what a killed run wrote after its last section. What lies half-written elsewhere may be another's work: it
    is deleted when it is an hour old."""
    kept = {file.path for files in state.files.values() for file in files}
    store.delete_drafts(state.id, before=inf)
    store.delete_drafts("", before=now - DRAFT_SECONDS)
    found = set(store.list(f"{state.id}/"))
    if gone := sorted(kept - found):
        raise missing(store.url, gone[0])
    for path in found - kept:
        store.delete(path)
