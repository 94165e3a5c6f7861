"""The bytes that are written, counted where they leave: contents for the blob store, items for the table.

An item counts as DynamoDB counts it, names and keys included. What only changes an item (a client's last id) counts
with the key and the values that it sends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from singletable import Database
from singletable.documents import BlobStore
from singletable.values import item_size

_KEYS = {"Key", "ExpressionAttributeValues"}


class CountingBlobs:
    """A blob store that counts what is new in it, and keeps the size of everything that passed.

    Sizes are of contents as they lie there, compressed. Several threads put at once: each adds an entry of its own.
    """

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._new: dict[str, int] = {}
        self._sizes: dict[str, int] = {}

    def taken(self) -> dict[str, int]:
        """The bytes that were new since this was asked last, by the folder that they lie in."""
        new, self._new = self._new, {}
        found: dict[str, int] = {}
        for path, size in new.items():
            folder = PurePosixPath(path).parent.name
            found[folder] = found.get(folder, 0) + size
        return found

    def size(self, sha256: str) -> int:
        """The bytes of a content that was put or read here."""
        return self._sizes[sha256]

    def put(self, path: str, data: bytes) -> bool:
        is_new = self._store.put(path, data)
        if is_new:
            self._new[path] = len(data)
        self._sizes[_sha256(path)] = len(data)
        return is_new

    def get(self, path: str, most: int) -> bytes | None:
        data = self._store.get(path, most)
        self._sizes[_sha256(path)] = len(data or b"")
        return data

    def has(self, path: str) -> bool:
        return self._store.has(path)

    def list(self, prefix: str) -> Iterator[str]:
        return self._store.list(prefix)

    def delete(self, path: str) -> None:
        self._store.delete(path)


class CountingPort:
    """A database's port that counts the bytes of items on their way out."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self._written = 0

    def taken(self) -> int:
        """The bytes since this was asked last."""
        written, self._written = self._written, 0
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def send(self, operation: Any) -> Any:
        self._written += written_by(operation)
        return await self._port.send(operation)

    async def send_all(self, operations: Sequence[Any]) -> list[Any]:
        self._written += sum(map(written_by, operations))
        found: list[Any] = await self._port.send_all(operations)
        return found


def counted(db: Database) -> tuple[Database, CountingPort]:
    """The same database with a port that counts."""
    counting: Any = CountingPort(db.port)
    return Database(counting, db.target), counting


def written_by(operation: Any) -> int:
    """The bytes of the items that one request writes; 0 for one that reads or deletes."""
    request = operation.request()
    if request.operation not in ("PutItem", "UpdateItem", "TransactWriteItems", "BatchWriteItem"):
        return 0
    return sum(_sizes(json.loads(request.body)))


def _sizes(body: Any) -> Iterator[int]:
    """Of every item in a request, however deep: DynamoDB names it `Item` wherever it is a whole one."""
    if body.__class__ is list:
        for element in body:
            yield from _sizes(element)
    elif body.__class__ is dict:
        for name, inner in body.items():
            if name == "Item" or (name in _KEYS and "UpdateExpression" in body):
                yield item_size(inner)
            else:
                yield from _sizes(inner)


def _sha256(path: str) -> str:
    return PurePosixPath(path).name.partition(".")[0]
