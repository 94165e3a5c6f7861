"""Where exports lie: a directory, or a bucket of S3 through obstore.

    store_at("exports")                     # a directory, made at the first write
    store_at("s3://reports/shop")           # region, endpoint and credentials from the environment

A file is written under another name, synced and renamed, so that it is there whole or not at all; an object of S3 is so
by itself.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
import tempfile
import weakref
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol

from singletable.errors import Denied, InvalidRequest, NotConfigured, Unavailable

if sys.platform != "win32":  # the module must import where exports are only read
    import fcntl

_WRITING: Final = ".writing-"
_LOCK: Final = ".lock"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_PART_BYTES: Final = 16 << 20
"""Of an upload in parts."""


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

    def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
        """Replace a file that has the content `before`, or is missing where that is None; False where it has not.
        Of two that replace the same content at once, one is told False."""
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
        """Delete a file. A missing one is no error."""
        ...

    def delete_drafts(self, folder: str) -> None:
        """Delete what killed programs have left half-written, in the root and in a folder of it."""
        ...


class DirectoryStore:
    """A directory of this machine."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)

    def __repr__(self) -> str:
        return f"<DirectoryStore {self.directory}>"

    @property
    def url(self) -> str:
        return str(self.directory)

    def read(self, path: str) -> bytes | None:
        with _faults(self.url, "read"):
            try:
                return (self.directory / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, path: str, data: bytes) -> None:
        draft = self.draft(path)
        with _faults(self.url, "write"), _gone_on_failure(draft):
            draft.write_bytes(data)
        self.keep(path, draft)

    def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
        with self._locked():
            if self.read(path) != before:
                return False
            self.write(path, data)
            return True

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """One process at a time; the system unlocks for one that dies."""
        with _faults(self.url, "write"):
            self.directory.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def draft(self, path: str) -> Path:
        with _faults(self.url, "write"):
            target = self.directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            return target.with_name(f"{_WRITING}{secrets.token_hex(4)}-{target.name}")

    def keep(self, path: str, draft: Path) -> int:
        target = self.directory / path
        with _faults(self.url, "write"), _gone_on_failure(draft):
            with open(draft, "rb+") as file:
                os.fsync(file.fileno())
                size = os.fstat(file.fileno()).st_size
            os.replace(draft, target)
            _sync_directory(target.parent)
        return size

    def fetch(self, path: str) -> Path:
        found = self.directory / path
        if not found.is_file():
            raise _missing(self.url, path)
        return found

    @contextmanager
    def opened(self, path: str) -> Generator[IO[bytes], None, None]:
        with open(self.fetch(path), "rb") as file:
            yield file

    def list(self, prefix: str) -> Iterator[str]:
        with _faults(self.url, "list"):
            files = sorted(file for file in (self.directory / prefix).rglob("*") if file.is_file())
        found = (file for file in files if not file.name.startswith(_WRITING))
        return (file.relative_to(self.directory).as_posix() for file in found)

    def delete_drafts(self, folder: str) -> None:
        with _faults(self.url, "delete"):
            for draft in (*self.directory.glob(f"{_WRITING}*"), *(self.directory / folder).rglob(f"{_WRITING}*")):
                draft.unlink(missing_ok=True)

    def delete(self, path: str) -> None:
        with _faults(self.url, "delete"):
            target = self.directory / path
            target.unlink(missing_ok=True)
            for folder in target.parents:
                if folder == self.directory or self.directory not in folder.parents or _is_used(folder):
                    return
                folder.rmdir()


class ObjectStore:
    """A store of obstore, as in `ObjectStore(S3Store("reports", prefix="shop"), "s3://reports/shop")`."""

    def __init__(self, store: Any, url: str) -> None:
        self._obstore = _obstore()
        self.store, self._url = store, url
        self._drafts: Path | None = None

    def __repr__(self) -> str:
        return f"<ObjectStore {self._url}>"

    @property
    def url(self) -> str:
        return self._url

    def read(self, path: str) -> bytes | None:
        with self._faults("read"):
            try:
                return bytes(self._obstore.get(self.store, path).bytes())
            except FileNotFoundError:
                return None

    def write(self, path: str, data: bytes) -> None:
        with self._faults("write"):
            self._obstore.put(self.store, path, data)

    def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
        said = self._obstore.exceptions
        mode: Any = "create"
        with self._faults("write"):
            if before is not None:
                try:
                    found = self._obstore.get(self.store, path)
                except FileNotFoundError:
                    return False
                if bytes(found.bytes()) != before:
                    return False
                mode = {"e_tag": found.meta["e_tag"]}
            try:
                self._obstore.put(self.store, path, data, mode=mode, use_multipart=False)
            except (said.PreconditionError, said.AlreadyExistsError, FileNotFoundError):
                return False
            return True

    def draft(self, path: str) -> Path:
        if self._drafts is None:
            self._drafts = Path(tempfile.mkdtemp(prefix="singletable-export-"))
            weakref.finalize(self, shutil.rmtree, self._drafts, ignore_errors=True)  # without a ResourceWarning
        return self._drafts / secrets.token_hex(8)

    def keep(self, path: str, draft: Path) -> int:
        with self._faults("write"), _gone_on_failure(draft):
            size = draft.stat().st_size
            self._obstore.put(self.store, path, draft, chunk_size=_PART_BYTES)
        draft.unlink()
        return size

    def fetch(self, path: str) -> Path:
        draft = self.draft(path)
        with self._faults("read"), _gone_on_failure(draft):
            try:
                found = self._obstore.get(self.store, path)
            except FileNotFoundError:
                raise _missing(self._url, path) from None
            with open(draft, "wb") as file:
                for chunk in found.stream(min_chunk_size=_PART_BYTES):
                    file.write(chunk)
        return draft

    @contextmanager
    def opened(self, path: str) -> Generator[IO[bytes], None, None]:
        copy = self.fetch(path)
        try:
            with open(copy, "rb") as file:
                yield file
        finally:
            copy.unlink(missing_ok=True)

    def list(self, prefix: str) -> Iterator[str]:
        with self._faults("list"):
            pages = list(self._obstore.list(self.store, prefix.rstrip("/") or None))
        return (found["path"] for page in pages for found in page)

    def delete(self, path: str) -> None:
        with self._faults("delete"):
            try:
                self._obstore.delete(self.store, path)
            except FileNotFoundError:
                return

    def delete_drafts(self, folder: str) -> None:
        """There are none: drafts lie in a temporary directory of this machine."""

    @contextmanager
    def _faults(self, verb: str) -> Generator[None, None, None]:
        said = self._obstore.exceptions
        try:
            with _faults(self._url, verb):
                yield
        except (said.PermissionDeniedError, said.UnauthenticatedError):
            raise _denied(self._url, verb) from None
        except said.BaseError as error:
            why = "the bucket is missing" if "NoSuchBucket" in str(error) else type(error).__name__
            raise _failed(self._url, verb, why) from error


def store_at(to: str | os.PathLike[str] | Store) -> Store:
    """The store of a directory or of an `s3://bucket/prefix`; a store is returned as it is. InvalidRequest for any
    other scheme. Sends nothing."""
    if not isinstance(to, (str, os.PathLike)):
        return to
    text = os.fspath(to)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return DirectoryStore(text)
    bucket, _, prefix = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise InvalidRequest(f"{text!r} is no place of an export", hint="Name a directory, or s3://BUCKET/PREFIX.")
    return _s3(bucket, prefix.strip("/"), text.rstrip("/"))


def _s3(bucket: str, prefix: str, url: str) -> Store:
    _obstore()
    from obstore.store import S3Store  # noqa: PLC0415 an extra

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    options: dict[str, Any] = {}
    if endpoint:
        options |= {"endpoint": endpoint, "client_options": {"allow_http": endpoint.startswith("http://")}}
    if not os.environ.get("AWS_REGION") and not os.environ.get("AWS_DEFAULT_REGION") and endpoint:
        options["region"] = "us-east-1"
    return ObjectStore(S3Store(bucket, prefix=prefix or None, **options), url)


def _obstore() -> Any:
    try:
        import obstore  # noqa: PLC0415 an extra
    except ModuleNotFoundError:
        raise NotConfigured(
            "exports to S3 need obstore", hint="Install it: python -m pip install 'singletable[reports]'."
        ) from None
    return obstore


@contextmanager
def writing_to(store: Store) -> Generator[None, None, None]:
    """What is raised where a draft for the store can't be written."""
    with _faults(store.url, "write"):
        yield


@contextmanager
def _faults(url: str, verb: str) -> Generator[None, None, None]:
    try:
        yield
    except PermissionError:
        raise _denied(url, verb) from None
    except OSError as error:
        why = "the disk is full" if error.errno in _FULL else errno.errorcode.get(error.errno or 0, "OSError")
        raise _failed(url, verb, why) from error


@contextmanager
def _gone_on_failure(draft: Path) -> Generator[None, None, None]:
    """Nothing is left half-written."""
    try:
        yield
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _denied(url: str, verb: str) -> Denied:
    return Denied(f"{url} refused to {verb}", hint="Allow it, or name another place.", operation=f"export {verb}")


def _failed(url: str, verb: str, why: str) -> Unavailable:
    hint = "What the manifest names is as it was. The same command goes on, once the place works."
    return Unavailable(f"{url} could not {verb}: {why}", hint=hint, operation=f"export {verb}")


def _missing(url: str, path: str) -> Unavailable:
    return Unavailable(f"{url} lacks {path}, which its manifest names", hint="Export again.")


def _is_used(folder: Path) -> bool:
    return next(folder.iterdir(), None) is not None


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
