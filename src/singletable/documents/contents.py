"""A document's blobs: their paths, and the check that a read returns what was written.

    <parent>/documents/<document>/<collection>/<sha256>.json.gz

The name is the sha256 of the uncompressed bytes; every read is verified against it. Decompression stops at a limit, and
accepts exactly one gzip member.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from singletable.documents.blobs import BlobStore
from singletable.documents.canonical_json import digest_of
from singletable.errors import Corrupt, InvalidValue, TooLarge, Unavailable

ARGUMENTS = "mutations"
"""The folder of arguments of mutations that are too large for an item."""
MAX_CONTENT_BYTES = 16 * 1024 * 1024
"""Uncompressed, by default."""
_LEVEL = 6
_SUFFIX = ".json.gz"
_DIGEST_BYTES = 32
_MAX_SEGMENT_BYTES = 255
_GZIP = 31
_OVERHEAD = 1024
_PUTS = 5
"""The tries to put a content that the store refuses and does not have."""


@dataclass(frozen=True)
class Content:
    """One blob's name within a document."""

    folder: str
    digest: bytes

    @property
    def sha256(self) -> str:
        return self.digest.hex()


@dataclass(frozen=True)
class Contents:
    """The blobs of one document in a store. Its functions block: they are called through the port, concurrently."""

    store: BlobStore
    prefix: str
    most: int = MAX_CONTENT_BYTES

    def path(self, content: Content) -> str:
        return f"{self.prefix}{content.folder}/{content.sha256}{_SUFFIX}"

    def write(self, content: Content, data: bytes) -> None:
        """Write a blob. If it exists, it is read and verified instead. Raises TooLarge, Corrupt, Unavailable."""
        check_size(data, self.most)
        packed = gzip.compress(data, _LEVEL, mtime=0)
        for _ in range(_PUTS):
            # S3 refuses a put with 409 while another request for the same name is under way, and a store says "there is
            # one" for that too. So only a content that was read is there.
            if self.store.put(self.path(content), packed) or self._find(content) is not None:
                return
        raise Unavailable(
            f"the blob store refused to put the content {content.sha256}, and does not have it",
            operation="blob put",
            hint="Nothing was committed with it; call again when the store works.",
        )

    def read(self, content: Content) -> bytes:
        """The uncompressed bytes; Corrupt if they are not those of the name, or not there."""
        data = self._find(content)
        if data is None:
            raise self._corrupt(content, "is not there")
        return data

    def _find(self, content: Content) -> bytes | None:
        packed = self.store.get(self.path(content), self.most + _OVERHEAD)
        if packed is None:
            return None
        data = self._unpacked(content, packed)
        if digest_of(data) != content.digest:
            raise self._corrupt(content, "holds another content than its name says")
        return data

    def has(self, content: Content) -> bool:
        return self.store.has(self.path(content))

    def is_stored(self, content: Content) -> bool:
        """The same for a caller that decides by it: raises where the whole store is missing. A content that is missing
        takes a second request."""
        path = self.path(content)
        return self.store.has(path) or self.store.get(path, 0) is not None

    def delete(self, content: Content) -> None:
        self.store.delete(self.path(content))

    def list(self) -> Iterator[Content]:
        """Every blob of the document. Other files below its prefix are left out."""
        for path in self.store.list(self.prefix):
            if (content := self.named(path)) is not None:
                yield content

    def named(self, path: str) -> Content | None:
        """The content at a path; None for any other file."""
        folder, _, name = path.removeprefix(self.prefix).partition("/")
        content = content_of(folder, name.removesuffix(_SUFFIX))
        return content if content is not None and self.path(content) == path else None

    def _unpacked(self, content: Content, packed: bytes) -> bytes:
        if len(packed) > self.most + _OVERHEAD:
            raise self._corrupt(content, f"is larger than {self.most} bytes even compressed")
        unpacking = zlib.decompressobj(_GZIP)
        try:
            data = unpacking.decompress(packed, self.most + 1)
        except zlib.error:
            raise self._corrupt(content, "is not gzip") from None
        if len(data) > self.most:
            raise self._corrupt(content, f"unpacks to more than {self.most} bytes")
        if not unpacking.eof:
            raise self._corrupt(content, "is cut short")
        if unpacking.unused_data:
            raise self._corrupt(content, "has more behind its end")
        return data

    def _corrupt(self, content: Content, what: str) -> Corrupt:
        return Corrupt(
            f"the blob {content.sha256} of {content.folder} {what}",
            operation="blob get",
            hint="Put the blob back from a backup of the store; its name is the sha256 of its uncompressed bytes.",
        )


def check_size(data: bytes, most: int) -> None:
    if len(data) > most:
        raise TooLarge(f"a content of {len(data)} bytes; the limit is {most}", hint="Raise max_content_bytes=.")


def content_of(folder: str, sha256: str) -> Content | None:
    """The content with this hexadecimal name; None if the name is malformed."""
    try:
        digest = bytes.fromhex(sha256)
    except ValueError:
        return None
    return Content(folder, digest) if len(digest) == _DIGEST_BYTES and digest.hex() == sha256 else None


@lru_cache(maxsize=1024)
def prefix_of(parent: str, plural: str, document_id: str) -> str:
    """The path of a document's blobs. Raises InvalidValue for an id that can't be part of a path."""
    return f"{_segment(parent, 'parent')}/{plural}/{_segment(document_id, 'document_id')}/"


def _segment(text: str, name: str) -> str:
    """One part of a path, for any text: all but letters, digits and `_-.~` becomes %XX, and so do lone dots."""
    quoted = quote(text, safe="")
    if not quoted.strip("."):
        quoted = quoted.replace(".", "%2E")
    if not 0 < len(quoted) <= _MAX_SEGMENT_BYTES:
        raise InvalidValue(f"an id has 1 to {_MAX_SEGMENT_BYTES} bytes as a part of a path", attribute=name)
    return quoted
