"""What a document writes, in bytes: items as DynamoDB counts them, and blobs as they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from singletable.documents import Documents
from singletable.operations import PutItem, TransactWriteItems
from singletable.values import item_size


@dataclass
class Written:
    """The sizes of what was put, by the first word of the sort key; blobs by their folder."""

    items: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    blobs: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def bytes_of(self, *words: str) -> int:
        return sum(size for word, size in self.items if not words or word in words)

    @property
    def blob_bytes(self) -> int:
        return sum(size for _, size in self.blobs)


@contextmanager
def recorded(documents: Documents[Any]) -> Any:
    """Records what `documents` put, for as long as the block lasts."""
    port: Any = documents.db.port
    store: Any = documents.context.store
    written = Written()
    send, send_all, put = port.send, port.send_all, store.put

    def note(operation: Any) -> None:
        inner = getattr(operation, "put", operation)
        for action in inner.actions if isinstance(inner, TransactWriteItems) else (inner,):
            if isinstance(action, PutItem):
                written.items.append((str(action.item["sk"]["S"]).partition("#")[0], item_size(action.item)))

    async def noting_send(operation: Any) -> Any:
        note(operation)
        return await send(operation)

    async def noting_all(operations: Sequence[Any]) -> Any:
        for operation in operations:
            note(operation)
        return await send_all(operations)

    def noting_put(path: str, data: bytes) -> bool:
        is_new: bool = put(path, data)
        if is_new:
            written.blobs.append((path.split("/")[-2], len(data)))
        return is_new

    _replace(port, send=noting_send, send_all=noting_all)
    _replace(store, put=noting_put)
    try:
        yield written
    finally:
        _restore(port, "send", "send_all")
        _restore(store, "put")


def _replace(target: Any, **by: Callable[..., Any]) -> None:
    target.__dict__.update(by)


def _restore(target: Any, *names: str) -> None:
    for name in names:
        del target.__dict__[name]
