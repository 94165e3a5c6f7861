"""Claims: one process at a time writes an export into a folder.

In a directory it is a lock, which the system takes from a process that dies. In a bucket it is a file that its owner
rewrites every ten seconds: a lease (`flow.leases`) whose sign is the whole file, so that each write of it is on
condition of the one before. An owner that has lost it notices at its next beat, and writes no manifest.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Final, Protocol

import msgspec

from singletable.errors import NotConfigured, Unavailable
from singletable.exchange.store_faults import faults
from singletable.flow import Port, Tenure, acquire

if sys.platform != "win32":  # the module must import where exports are only read
    import fcntl

CLAIM: Final = "exporting.json"
"""In a bucket, while an export is under way."""
LOCK: Final = ".exporting"
"""In a directory, while an export is under way."""
BEAT_SECONDS: Final = 10.0
LEASE_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 5.0


class FolderClaim(Protocol):
    """The right to write an export into a folder. `take` and `beat` raise Unavailable if another process has it."""

    async def take(self, port: Port) -> None: ...

    def beat(self, port: Port) -> None:
        """Show that the owner lives; at most every ten seconds is anything written."""
        ...

    def release(self) -> None:
        """Leave the folder to others; nothing where it is not held."""
        ...


class LockClaim:
    """A lock on a file of a directory, which the system releases when its process ends."""

    def __init__(self, directory: Path) -> None:
        self._path, self._url = directory / LOCK, str(directory)
        self._handle = -1

    async def take(self, port: Port) -> None:
        if sys.platform == "win32":
            raise NotConfigured(
                f"an export into the folder {self._url} takes a lock that Windows has not",
                hint="Export into a bucket: s3://bucket/prefix.",
            )
        while self._handle < 0:
            with faults(self._url, "write"):  # of a link that somebody else made nothing is opened
                handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise _taken(self._url) from None
            if _is_still_at(self._path, handle):
                self._handle = handle
            else:  # its owner deleted it between the two calls
                os.close(handle)

    def beat(self, port: Port) -> None:
        """Nothing: the system knows that the process lives."""

    def release(self) -> None:
        if self._handle >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1


class ClaimedFiles(Protocol):
    """The part of a store that a claim by beats needs: verbs of `Store`, and a write on condition."""

    @property
    def url(self) -> str: ...

    def read(self, path: str) -> bytes | None: ...

    def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
        """Replace a file that has the content `before`, or is missing if that is None; False for another content. If
        two replace the same content concurrently, one gets False."""
        ...

    def delete(self, path: str) -> None: ...


class BeatClaim:
    """A file that shows by its changes that its owner lives: a `LeaseStore`."""

    def __init__(self, files: ClaimedFiles) -> None:
        self._files, self._owner = files, secrets.token_hex(8)
        self.name, self.fence = f"the export to {files.url}", 0
        self._tenure = Tenure(renewed_at=0.0)
        self._text: bytes | None = None
        """The file as this process wrote it; None if the claim is not held."""

    async def take(self, port: Port) -> None:
        await acquire(port, self, LEASE_SECONDS, _LOOK_SECONDS)

    def beat(self, port: Port) -> None:
        if self._tenure.is_due(port.monotonic(), BEAT_SECONDS) and not self._write(port, self._text):
            self._text = None
            raise _taken(self._files.url)

    def release(self) -> None:
        """Delete the file, where this process wrote it: also by a write that raised, and was applied."""
        if self._tenure.beats and self._is_own(self._files.read(CLAIM)):
            self._files.delete(CLAIM)
        self._text = None

    async def read(self, port: Port) -> bytes | None:
        return self._files.read(CLAIM)

    def sign(self, stored: bytes) -> bytes:
        return stored

    def holder(self, stored: bytes) -> str:
        return ""

    async def try_take(self, port: Port, seen: bytes | None) -> bool:
        return self._write(port, seen)

    def refusal(self, stored: bytes) -> Unavailable:
        return _taken(self._files.url)

    def _is_own(self, stored: bytes | None) -> bool:
        """Whether this process wrote the file, also by a beat whose answer was lost."""
        return stored is not None and self._owner.encode() in stored

    def _write(self, port: Port, before: bytes | None) -> bool:
        began = port.monotonic()
        self._tenure.beats += 1
        text = msgspec.json.encode({"owner": self._owner, "beats": self._tenure.beats})
        if not self._files.write_if(CLAIM, text, before):
            stored = self._files.read(CLAIM)
            if stored != text and not (self._is_own(stored) and self._files.write_if(CLAIM, text, stored)):
                return False  # else the answer to an earlier try, or to the beat before, was lost
        self._text = text
        self._tenure.note(began, True)
        return True


def _is_still_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _taken(url: str) -> Unavailable:
    return Unavailable(
        f"another export is being written to {url}",
        operation="export",
        hint="Wait for its end, or name another folder. One that was killed goes on with the same command.",
    )
