"""Manifests: the contents that each backup needs, kept in the blob store itself for as long as there is the backup.

    =backups/open/<plural>/<name>.json                       a backup is being made: nothing may be deleted
    =backups/made/<plural>/<name>.json                       its table, its time, and the place of its contents
    =backups/held/<parent>/<plural>/<root>/<name>.json.gz    the contents of one family of documents

No content has such a path: a parent's "=" is written "%3D". The name is a digest of the backup's id.

A backup needs what its families have in the store just after it was made: their documents reach no more than that.
These steps keep all of it, beside collections and deletions of documents:

    begin    write `open`
    back up  the table, or its file, at one moment
    hold     list the contents of each family, and write `held`; then write `made`
    end      delete `open`

A content that the documents of that moment reach was in the store. Whoever deletes contents first finds them
unreachable, then reads `open` and then `held`. It found this one unreachable after the moment, so it reads one of both.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import TypeVar
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from singletable.documents.blobs import BlobStore, replace_blob
from singletable.documents.contents import Content, Contents, content_of
from singletable.errors import Corrupt, Unavailable
from singletable.layers import BackupNote

T = TypeVar("T")
_ROOT = "=backups/"
_HELD = f"{_ROOT}held/"
_MOST_BYTES = 1 << 30
_GZIP = 31


class FamilyContents(Struct, frozen=True):
    """The contents that a backup needs of one family."""

    backup: str
    place: str
    folders: dict[str, list[str]]
    """The sha256 of the contents, by collection."""

    @property
    def contents(self) -> set[Content]:
        """The names of the contents."""
        pairs = ((folder, name) for folder, names in self.folders.items() for name in names)
        return {content for folder, name in pairs if (content := content_of(folder, name)) is not None}


class StoredFamily(Struct, frozen=True):
    """A family of documents in a store."""

    prefix: str
    contents: Sequence[Content]

    @property
    def root(self) -> str:
        """The id of the document whose contents these are."""
        return unquote(self.prefix.split("/")[2])


@dataclass(frozen=True)
class Manifests:
    """The backups that a store knows of the documents of one class. Its functions block."""

    store: BlobStore
    plural: str

    def begin(self, note: BackupNote) -> None:
        """From now on nothing is deleted, until `end`. A backup that goes on is never without it."""
        path = self._path("open", note.backup)
        if not self.store.put(path, msgspec.json.encode(note)) and not self.store.has(path):
            raise Unavailable(
                f"the blob store refused to put {path}, and does not have it",
                operation="blob put",
                hint="No backup was made; call again when the store works.",
            )

    def is_open(self, backup: str) -> bool:
        return self.store.has(self._path("open", backup))

    def end(self, backup: str) -> None:
        self.store.delete(self._path("open", backup))

    def families(self) -> Iterator[StoredFamily]:
        """The families in the store, one after the other: a listing of all of it."""
        for prefix, paths in groupby(self.store.list(""), key=lambda path: "/".join(path.split("/", 3)[:3]) + "/"):
            parts = prefix.split("/")
            if len(parts) == 4 and parts[1] == self.plural and not prefix.startswith("="):
                contents = Contents(self.store, prefix)
                yield StoredFamily(prefix, [name for path in paths if (name := contents.named(path)) is not None])

    def hold(self, note: BackupNote, family: StoredFamily) -> None:
        """Write what the backup needs of a family."""
        folders: dict[str, list[str]] = {}
        for content in family.contents:
            folders.setdefault(content.folder, []).append(content.sha256)
        manifest = msgspec.json.encode(FamilyContents(note.backup, note.place, folders))
        path = f"{_HELD}{family.prefix}{_name(note.backup)}.json.gz"
        replace_blob(self.store, path, gzip.compress(manifest, mtime=0))

    def made(self, note: BackupNote) -> None:
        """Write what the backup is."""
        replace_blob(self.store, self._path("made", note.backup), msgspec.json.encode(note))

    def notes(self) -> list[BackupNote]:
        """The backups, oldest first. A listing, and a read of each."""
        notes = _all_decoded(self.store, f"{_ROOT}made/{self.plural}/", BackupNote)
        return sorted(notes, key=lambda note: note.at)

    def prefixes(self, backup: str) -> list[str]:
        """The prefixes of the families that a backup needs contents of. A listing of every backup's manifests."""
        end = f"{_name(backup)}.json.gz"
        paths = (path.removeprefix(_HELD) for path in self.store.list(_HELD) if path.endswith(f"/{end}"))
        return [path.removesuffix(end) for path in paths if path.split("/")[1:2] == [self.plural]]

    def drop(self, backup: str, prefix: str) -> None:
        """Delete what a backup needs of a family."""
        self.store.delete(f"{_HELD}{prefix}{_name(backup)}.json.gz")

    def forget(self, backup: str) -> None:
        """Delete the rest of a backup."""
        for kind in ("made", "open"):
            self.store.delete(self._path(kind, backup))

    def _path(self, kind: str, backup: str) -> str:
        return f"{_ROOT}{kind}/{self.plural}/{_name(backup)}.json"


def needed_by_backups(contents: Contents) -> Iterator[FamilyContents]:
    """The contents that each backup needs of a family. A listing, and a read of each manifest. Blocks."""
    yield from _all_decoded(contents.store, f"{_HELD}{contents.prefix}", FamilyContents)


def kept_for_backups(contents: Contents, wanted: set[Content], but: str = "") -> set[Content]:
    """The contents among `wanted`, all of one family, that backups keep: all while one is being made.

    `but` is a backup that keeps nothing any more. Two listings, and a read of each manifest; nothing for no contents.
    Blocks.
    """
    if not wanted:
        return set()
    plural = contents.prefix.split("/")[1]
    if any(True for _ in contents.store.list(f"{_ROOT}open/{plural}/")):
        return set(wanted)
    kept: set[Content] = set()
    for needed in needed_by_backups(contents):
        if not needed.place and needed.backup != but:
            kept |= wanted & needed.contents
    return kept


def _name(backup: str) -> str:
    return sha256(backup.encode()).hexdigest()[:32]


def _all_decoded(store: BlobStore, prefix: str, kind: type[T]) -> Iterator[T]:
    """The manifests below a prefix, but those that `backup delete` deletes meanwhile."""
    for path in list(store.list(prefix)):
        if (data := store.get(path, _MOST_BYTES)) is not None:
            yield decoded_note(path, data, kind)


def decoded_note(path: str, data: bytes, kind: type[T]) -> T:
    """A note of the library in a blob store. Raises Corrupt."""
    try:
        return msgspec.json.decode(_unpacked(data) if path.endswith(".gz") else data, type=kind)
    except (msgspec.MsgspecError, zlib.error) as error:
        raise Corrupt(
            f"the note {path} in the blob store can't be read: {error}",
            operation="blob get",
            hint="Nothing is deleted while it is there. Delete it by hand if the backup, or the table, is gone.",
        ) from None


def _unpacked(data: bytes) -> bytes:
    unpacking = zlib.decompressobj(_GZIP)
    unpacked = unpacking.decompress(data, _MOST_BYTES)
    if not unpacking.eof:
        raise zlib.error(f"it is cut short, or unpacks to more than {_MOST_BYTES} bytes")
    return unpacked
