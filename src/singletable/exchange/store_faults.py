"""The errors for a store of exports that refuses, is full, or lacks a file."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from singletable.errors import Denied, Unavailable

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def faults(url: str, verb: str) -> Generator[None, None, None]:
    try:
        yield
    except PermissionError:
        raise denied(url, verb) from None
    except OSError as error:
        why = "the disk is full" if error.errno in _FULL else errno.errorcode.get(error.errno or 0, "OSError")
        raise failed(url, verb, why) from error


@contextmanager
def exhausted(operation: str) -> Generator[None, None, None]:
    """Say what the system refuses this process: memory, also for the buffers of Arrow and DuckDB, or threads."""
    try:
        yield
    except MemoryError as error:
        raise _refused("memory", operation, "Raise the limit, or read fewer segments at once: segments=1.") from error
    except RuntimeError as error:
        if "new thread" not in str(error):
            raise
        raise _refused("threads", operation, "Raise the limit of processes (ulimit -u), or of memory.") from error


def _refused(what: str, operation: str, hint: str) -> Unavailable:
    hint = f"{hint} The same command goes on where it was."
    return Unavailable(f"the system gives this process no more {what}", operation=operation, hint=hint)


@contextmanager
def gone_on_failure(draft: Path) -> Generator[None, None, None]:
    """Nothing is left half-written."""
    try:
        yield
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def denied(url: str, verb: str) -> Denied:
    return Denied(f"{url} refused to {verb}", hint="Allow it, or name another place.", operation=f"export {verb}")


def failed(url: str, verb: str, why: str) -> Unavailable:
    hint = "The files of the manifest are unchanged. The same command goes on, once the place works."
    return Unavailable(f"{url} could not {verb}: {why}", hint=hint, operation=f"export {verb}")


def missing(url: str, path: str) -> Unavailable:
    return Unavailable(f"{url} lacks {path}, which its manifest names", hint="Export again.")
