"""Exports in a directory of this machine.

A file is written under another name, synced and renamed, so that it is there whole or not at all.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from singletable.exchange.claims import LOCK, LockClaim
from singletable.exchange.gate import check_size, path_in
from singletable.exchange.store_faults import faults, gone_on_failure, missing
from singletable.flow import DurableDirectories

_WRITING: Final = ".writing-"


class DirectoryStore:
    """A directory of this machine."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._directories = DurableDirectories(self.directory)

    def __repr__(self) -> str:
        return f"<DirectoryStore {self.directory}>"

    @property
    def url(self) -> str:
        return str(self.directory)

    def read(self, path: str) -> bytes | None:
        with faults(self.url, "read"):
            try:
                file = path_in(self.directory, path)
                check_size(file.stat().st_size, str(file))
                return file.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, path: str, data: bytes) -> None:
        draft = self.draft(path)
        with faults(self.url, "write"), gone_on_failure(draft):
            draft.write_bytes(data)
        self.keep(path, draft)

    def claim(self) -> LockClaim:
        with faults(self.url, "write"):
            self._directories.make(self.directory)
        return LockClaim(self.directory)

    def draft(self, path: str) -> Path:
        with faults(self.url, "write"):
            target = path_in(self.directory, path)
            self._directories.make(target.parent)
            return target.with_name(f"{_WRITING}{secrets.token_hex(4)}-{target.name}")

    def keep(self, path: str, draft: Path) -> int:
        target = path_in(self.directory, path)
        with faults(self.url, "write"), gone_on_failure(draft):
            with open(draft, "rb+") as file:
                os.fsync(file.fileno())
                size = os.fstat(file.fileno()).st_size
            os.replace(draft, target)
            self._directories.sync(target.parent)
        return size

    def fetch(self, path: str) -> Path:
        file = path_in(self.directory, path)
        if not file.is_file():
            raise missing(self.url, path)
        return file

    @contextmanager
    def opened(self, path: str) -> Generator[IO[bytes], None, None]:
        with open(self.fetch(path), "rb") as file:
            yield file

    def list(self, prefix: str) -> Iterator[str]:
        with faults(self.url, "list"):
            files = sorted(file for file in path_in(self.directory, prefix.rstrip("/")).rglob("*") if file.is_file())
        found = (file for file in files if not file.name.startswith((_WRITING, LOCK)))
        return (file.relative_to(self.directory).as_posix() for file in found)

    def delete_drafts(self, folder: str, older_seconds: float) -> None:
        glob = path_in(self.directory, folder).rglob if folder else self.directory.glob
        with faults(self.url, "delete"):
            drafts = list(glob(f"{_WRITING}*"))
            now = self._now() if drafts else 0.0
            for draft in drafts:
                with suppress(FileNotFoundError):  # another process was first
                    if now - draft.stat().st_mtime >= older_seconds:
                        draft.unlink()

    def _now(self) -> float:
        """The time of the file system, which dates its files: no other clock says how old they are."""
        with TemporaryFile(dir=self.directory) as file:
            return os.fstat(file.fileno()).st_mtime

    def delete(self, path: str) -> None:
        with faults(self.url, "delete"):
            target = path_in(self.directory, path)
            target.unlink(missing_ok=True)
            for folder in target.parents:
                if folder == self.directory or self.directory not in folder.parents or any(folder.iterdir()):
                    return
                folder.rmdir()
