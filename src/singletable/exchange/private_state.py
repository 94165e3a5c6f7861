"""Files that only the user of an export or a copy may read: the key of masks, and the keys of items that masks hide.

It lies in this user's state directory, `~/.local/state/singletable/unfinished` by the rules of XDG, and goes at the
end. Neither the files that are exported nor the table that is copied into hold any of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from singletable.errors import SingletableError
from singletable.exchange.directory_store import DirectoryStore
from singletable.exchange.store_faults import faults, gone_on_failure


def state_home(environ: Mapping[str, str]) -> Path:
    """The directory in which programs of this user keep the state of runs."""
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local" / "state")
    return Path(home) / "singletable"


class PrivateStore(DirectoryStore):
    """Files that nobody but this user may read."""

    def write(self, path: str, data: bytes) -> None:
        draft = self.draft(path)
        with faults(self.url, "write"), gone_on_failure(draft), open(draft, "xb", opener=_for_owner) as file:
            file.write(data)
        self.keep(path, draft)


def private_files() -> PrivateStore:
    """The files of this user, where there are any."""
    return PrivateStore(state_home(os.environ) / "unfinished")


def private_store() -> PrivateStore:
    """The files of this user. Unavailable or Denied if there can be none."""
    files = private_files()
    try:
        with faults(files.url, "write"):
            files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except SingletableError as error:
        error.hint = "The key of masks is kept there until the end: name another directory in XDG_STATE_HOME."
        raise
    return files


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
