"""A blob store whose calls are told to listeners and to the log: each costs a request, or a sync of a disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from singletable.documents.blobs import BlobStore
from singletable.errors import SingletableError
from singletable.events import BlobCalled
from singletable.flow import Port

T = TypeVar("T")


class HeardBlobs:
    """A store with the verbs of `BlobStore`, which emits an event for each call. Threads share it."""

    def __init__(self, store: BlobStore, port: Port) -> None:
        self._store, self._port = store, port

    def put(self, path: str, data: bytes) -> bool:
        return self._call("put", lambda: self._store.put(path, data), lambda _: len(data))

    def get(self, path: str, most: int) -> bytes | None:
        return self._call("get", lambda: self._store.get(path, most), lambda data: len(data or b""))

    def has(self, path: str) -> bool:
        return self._call("has", lambda: self._store.has(path), lambda _: 0)

    def list(self, prefix: str) -> Iterator[str]:
        """Walked through as it comes: its event has the time of the store alone, and comes at the end of the walk."""
        paths = iter(self._store.list(prefix))
        seconds, count = 0.0, 0
        while True:
            began = self._port.monotonic()
            try:
                path = next(paths, None)
            except Exception as error:
                self._tell_failure("list", seconds + self._port.monotonic() - began, error)
                raise
            seconds += self._port.monotonic() - began
            if path is None:
                break
            count += 1
            yield path
        self._tell("list", seconds, count)

    def delete(self, path: str) -> None:
        self._call("delete", lambda: self._store.delete(path), lambda _: 0)

    def _call(self, verb: str, call: Callable[[], T], size_of: Callable[[T], int]) -> T:
        began = self._port.monotonic()
        try:
            value = call()
        except Exception as error:
            self._tell_failure(verb, self._port.monotonic() - began, error)
            raise
        self._tell(verb, self._port.monotonic() - began, size_of(value))
        return value

    def _tell_failure(self, verb: str, seconds: float, error: Exception) -> None:
        if isinstance(error, SingletableError):
            self._tell(verb, seconds, 0, error.code, error.what)
        else:
            self._tell(verb, seconds, 0, "failed", type(error).__name__)

    def _tell(self, verb: str, seconds: float, size: int, outcome: str = "ok", why: str = "") -> None:
        name = getattr(self._store, "name", None)
        store = name if isinstance(name, str) else type(self._store).__name__
        self._port.events.emit(
            BlobCalled(verb=verb, store=store, size=size, milliseconds=1000 * seconds, outcome=outcome, why=why)
        )
