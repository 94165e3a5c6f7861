"""The stores of exports: a directory, or a bucket of S3 through obstore.

store_at("exports")                     # a directory, made at the first write
store_at("s3://reports/shop")           # region, endpoint and credentials from the environment
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Protocol

from singletable.errors import InvalidRequest
from singletable.exchange.claims import FolderClaim
from singletable.exchange.directory_store import DirectoryStore as DirectoryStore
from singletable.exchange.object_store import ObjectStore as ObjectStore, s3_store


class Store(Protocol):
    """Files under paths of `/` and plain characters. Failures raise Unavailable or Denied."""

    @property
    def url(self) -> str:
        """The place, for people and other programs."""
        ...

    def read(self, path: str) -> bytes | None:
        """A file's content; None if it is missing."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Replace a file at once, durable when it returns."""
        ...

    def claim(self) -> FolderClaim:
        """The claim that keeps other exports out of the folder: a `BeatClaim`, which needs `write_if`, or the store's
        own kind."""
        ...

    def draft(self, path: str) -> Path:
        """A local path at which a file is to be written, before `keep`."""
        ...

    def keep(self, path: str, draft: Path) -> int:
        """Make a file of a draft, durable when it returns; its bytes."""
        ...

    def fetch(self, path: str) -> Path:
        """A local file with the content. Unavailable if it is missing."""
        ...

    def opened(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A file to read, in pieces; a copy that was fetched for it is deleted. Unavailable if it is missing."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """The paths below a prefix that ends with `/`, or all with an empty one."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file. A missing one is not an error."""
        ...

    def delete_drafts(self, folder: str, older_seconds: float) -> None:
        """Delete what killed programs have left half-written and is so old by the store's own clock: in a folder and
        below it; with an empty name, in the root alone."""
        ...


def store_at(to: str | os.PathLike[str] | Store) -> Store:
    """The store of a directory or of an `s3://bucket/prefix`; a store is returned unchanged. InvalidRequest for any
    other scheme. Sends nothing."""
    if not isinstance(to, (str, os.PathLike)):
        return to
    text = os.fspath(to)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return DirectoryStore(text)
    bucket, _, prefix = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise InvalidRequest(f"{text!r} is not a place of an export", hint="Name a directory, or s3://BUCKET/PREFIX.")
    return s3_store(bucket, prefix.strip("/"), text.rstrip("/"))
