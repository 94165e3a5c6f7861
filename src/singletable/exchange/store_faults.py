"""What is raised where a place of exports refuses, is full, or lacks a file."""

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
    hint = "What the manifest names is as it was. The same command goes on, once the place works."
    return Unavailable(f"{url} could not {verb}: {why}", hint=hint, operation=f"export {verb}")


def missing(url: str, path: str) -> Unavailable:
    return Unavailable(f"{url} lacks {path}, which its manifest names", hint="Export again.")
