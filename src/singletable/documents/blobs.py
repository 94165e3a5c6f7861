"""Blob stores: contents under paths, each written once and never changed.

The library has two: `LocalBlobs` on a directory, durable when `put` returns, and `ObjectBlobs` on any object store of
obstore, in memory or S3. Any object with these verbs works too. They are called from several threads.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from singletable.errors import Denied, NotConfigured, SingletableError, Unavailable
from singletable.flow import DurableDirectories
from singletable.object_faults import ObjectPlace, is_denial, is_of_missing_bucket, place_of, refusal_of, remedy_of

_WRITING = ".writing"
"""The directory in which files are written before they are linked under their names. It is not listed."""

NOTES: Final = "="
"""How the paths of the library's own notes begin: of collections, of backups. A new store has none."""


class BlobStore(Protocol):
    """Contents under paths of `/` and plain characters. Failures raise Unavailable or Denied."""

    def put(self, path: str, data: bytes) -> bool:
        """Write once, durable when it returns; False if there is something already, which stays.

        Also False if another request for the path is in progress: after False, read what is stored.
        """
        ...

    def get(self, path: str, most: int) -> bytes | None:
        """The content; None if it is missing. At most `most` + 1 bytes are read."""
        ...

    def has(self, path: str) -> bool:
        """Whether there is a content."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """The paths below a prefix that ends with `/`, or all with an empty one; those of a folder together."""
        ...

    def delete(self, path: str) -> None:
        """Delete a content. A missing one is not an error."""
        ...


def replace_blob(store: BlobStore, path: str, data: bytes) -> bool:
    """Put a note of the library, which may have another text by now; False if somebody else just has. Blocks."""
    if store.put(path, data):
        return True
    store.delete(path)
    return store.put(path, data)


class NoBlobs:
    """No store: for tools that look at a document's items only. Each verb raises NotConfigured."""

    def put(self, path: str, data: bytes) -> bool:
        raise _no_store()

    def get(self, path: str, most: int) -> bytes | None:
        raise _no_store()

    def has(self, path: str) -> bool:
        raise _no_store()

    def list(self, prefix: str) -> Iterator[str]:
        raise _no_store()

    def delete(self, path: str) -> None:
        raise _no_store()


def _no_store() -> NotConfigured:
    return NotConfigured("no blob store is configured here", hint='Give one, as in blobs=LocalBlobs("data/blobs").')


class LocalBlobs:
    """A directory. A file is written and synced under a temporary name, linked under its own, and the directory is
    synced: two syncs for a content, and one of the directory for all that are put at the same time. After a power
    failure a file is complete or missing.

    A killed process can leave a file in `.writing`, which nothing reads. Empty that directory while no process writes.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._directories = DurableDirectories(self.directory)

    def __repr__(self) -> str:
        return f"<LocalBlobs at {self.directory}>"

    def put(self, path: str, data: bytes) -> bool:
        with self._faults("put"):
            target = self.directory / path
            self._directories.make(target.parent)
            is_new = not target.exists() and self._link(target, data)
            # Another process may have just linked the file: sync the directory before reporting that it exists.
            self._directories.sync(target.parent)
            return is_new

    def get(self, path: str, most: int) -> bytes | None:
        with self._faults("get"):
            try:
                with open(self.directory / path, "rb") as file:
                    return file.read(most + 1)
            except (FileNotFoundError, NotADirectoryError):
                if not path.startswith(NOTES):
                    self._check_mounted()
                return None

    def has(self, path: str) -> bool:
        with self._faults("has"):
            return (self.directory / path).exists()

    def list(self, prefix: str) -> Iterator[str]:
        with self._faults("list"):
            for folder, folders, files in os.walk(self.directory / prefix, onerror=_unless_missing):
                folders[:] = sorted(each for each in folders if each != _WRITING)
                names = sorted(file for file in files if not file.startswith("."))  # as .DS_Store, and .nfs0001 of NFS
                yield from ((Path(folder) / name).relative_to(self.directory).as_posix() for name in names)

    def delete(self, path: str) -> None:
        with self._faults("delete"):
            target = self.directory / path
            target.unlink(missing_ok=True)
            if target.parent.exists():
                self._directories.sync(target.parent)

    @contextmanager
    def _faults(self, verb: str) -> Generator[None, None, None]:
        """Errors say the directory, and no path below it, which holds keys."""
        try:
            yield
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, "OSError")
            if isinstance(error, PermissionError):
                hint = f"Allow the user of this process to write in {self.directory}."
                raise _at(
                    self._place, Denied(f"the blob store ({self.name}) refused to {verb}: {name}", hint=hint), verb
                ) from None
            raise _at(self._place, _failed(self.name, verb, name), verb) from None

    @property
    def name(self) -> str:
        """The store as errors and events name it."""
        return f"directory {self.directory}"

    @property
    def _place(self) -> ObjectPlace:
        return ObjectPlace(self.name, endpoint=self.directory.absolute().as_uri())

    def _check_mounted(self) -> None:
        """Raises Unavailable where the whole directory is missing or has no content: the one asked for is not lost
        then. A note may have been put there meanwhile, as by a collection of garbage."""
        names = self.directory.iterdir() if self.directory.is_dir() else ()
        if not any(each.name != _WRITING and not each.name.startswith(NOTES) for each in names):
            missing = Unavailable(
                f"the directory of the blob store is missing or empty: {self.directory}",
                hint="Mount it, or correct its path, and call again: what waits for it goes on.",
            )
            raise _at(self._place, missing, "get")

    def _link(self, target: Path, data: bytes) -> bool:
        draft = self.directory / _WRITING / secrets.token_hex(16)
        self._directories.make(draft.parent)
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, target)
            except FileExistsError:
                return False
            return True
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()


class ObjectBlobs:
    """An object store of obstore, as in `ObjectBlobs(obstore.store.MemoryStore())` or `ObjectBlobs(S3Store(...))`.

    A content is created only if it is missing (S3: If-None-Match). Durability is the store's own: obstore's local
    store doesn't promise it; use `LocalBlobs`.
    """

    def __init__(self, store: Any) -> None:
        try:
            import obstore  # noqa: PLC0415 an extra: documents on a directory need none
        except ImportError:
            raise NotConfigured(
                "ObjectBlobs needs obstore", hint="Install it: python -m pip install 'singletable[documents]'."
            ) from None
        self._obstore: Any = obstore
        self.store = store

    def __repr__(self) -> str:
        return f"<ObjectBlobs on {place_of(self.store).name}>"

    @property
    def name(self) -> str:
        """The store as errors and events name it."""
        return place_of(self.store).name

    def put(self, path: str, data: bytes) -> bool:
        exists = self._obstore.exceptions.AlreadyExistsError
        with self._faults("put"):
            try:
                self._obstore.put(self.store, path, data, mode="create", use_multipart=False)
            except exists:
                return False
            return True

    def get(self, path: str, most: int) -> bytes | None:
        with self._faults("get"):
            try:
                blob = self._obstore.get(self.store, path)
            except FileNotFoundError as error:
                if is_of_missing_bucket(error):
                    raise
                return None
            if blob.meta["size"] <= most:
                return bytes(blob.bytes())
            return bytes(self._obstore.get_range(self.store, path, start=0, length=most + 1))

    def has(self, path: str) -> bool:
        with self._faults("has"):
            try:
                self._obstore.head(self.store, path)
            except FileNotFoundError:
                return False
            return True

    def list(self, prefix: str) -> Iterator[str]:
        with self._faults("list"):
            for page in self._obstore.list(self.store, prefix.rstrip("/") or None):
                yield from (entry["path"] for entry in page)

    def delete(self, path: str) -> None:
        with self._faults("delete"):
            try:
                self._obstore.delete(self.store, path)
            except FileNotFoundError as error:
                if is_of_missing_bucket(error):
                    raise

    @contextmanager
    def _faults(self, verb: str) -> Generator[None, None, None]:
        """Errors say the bucket and the reason, and no path, which holds keys."""
        errors = self._obstore.exceptions
        try:
            yield
        except (errors.BaseError, OSError) as error:
            place, why = place_of(self.store), refusal_of(error)
            if isinstance(error, (errors.PermissionDeniedError, errors.UnauthenticatedError)) or is_denial(error):
                hint = remedy_of(place, verb, why)
                denied = Denied(f"the blob store ({place.name}) refused to {verb}: {why}", hint=hint)
                raise _at(place, denied, verb) from None
            raise _at(place, _failed(place.name, verb, why), verb) from None


def _unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _failed(name: str, verb: str, why: str) -> Unavailable:
    hint = "Nothing was committed with it; call again when the store works."
    return Unavailable(f"the blob store ({name}) could not {verb}: {why}", hint=hint)


def _at(place: ObjectPlace, error: SingletableError, verb: str) -> SingletableError:
    """The error, of the service that was asked: it is another one than the database's."""
    error.operation, error.region, error.endpoint = f"blob {verb}", place.region, place.endpoint
    return error
