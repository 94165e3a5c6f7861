"""A history is read whole before any of it is written: an import that is refused leaves nothing.

Every commit follows on the one before it, every object is there and is what its id says, and every version can be
stored. What is not is named with its commit and path.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from examples_shared.textfile import shown
from projects.commits import parents_of
from projects.errors import NoHistory, Refused
from projects.files import File
from projects.git import GONE, SUBMODULE, SYMLINK, Change, Git, Objects
from projects.names import item_id

MAX_ID_BYTES = 1024
"""What the layer takes as an item's id."""
MAX_MAP_BYTES = 4_000_000
"""Of the ids and hashes of a version's files, which are written in one transaction of 4 MB."""
MAP_ENTRY_BYTES = 36
LONGEST_ESCAPE = 6
"""Bytes of JSON for one of a text, at most."""
_MODES = frozenset({"100644", "100664", "100755", SYMLINK, SUBMODULE, GONE})


def verify(git: Git, ids: Sequence[str], wanted: Sequence[str], files: Collection[str], most_bytes: int) -> None:
    """Read what an import of the commits `wanted` will read, which follow on a version that holds `files`.

    `ids` is the whole history, and `most_bytes` what one file may have as JSON. NoHistory where something can't be
    read, Refused where it can't be stored.
    """
    done = len(ids) - len(ids[ids.index(wanted[0]) :]) if wanted else len(ids)
    before = ids[done - 1] if done else None
    checks = _Checks(git, files, most_bytes)
    with git.objects() as objects:
        for id, changes in git.changes(wanted, before):
            checks.check_commit(objects, id, before)
            checks.check_changes(objects, id, changes)
            before = id


class _Checks:
    def __init__(self, git: Git, files: Collection[str], most_bytes: int) -> None:
        self._git, self._most_bytes = git, most_bytes
        self._files = set(files)
        self._map_bytes = sum(map(_entry_bytes, files))
        self._read = set[str]()
        """Objects that were found whole."""

    def check_commit(self, objects: Objects, id: str, before: str | None) -> None:
        """That it follows on the one before. In a shallow clone the first one has a parent that is not there."""
        parent = next(iter(parents_of(objects.read(id, "commit"))), None)
        if parent != before:
            why = f"its parent {parent} is not here: fetch the whole history (git fetch --unshallow)"
            raise NoHistory(self._git.folder, f"commit {id} does not follow on {before}: {why}")

    def check_changes(self, objects: Objects, id: str, changes: Sequence[Change]) -> None:
        if len({change.path for change in changes}) < len(changes):
            raise NoHistory(self._git.folder, f"commit {id} has a path twice")
        # What goes comes first: a folder may become a file.
        for change in sorted(changes, key=lambda change: change.mode != GONE):
            where = f"commit {id}, file {shown(item_id(change.path))}"
            self._check_place(change, where)
            if change.mode not in (GONE, SUBMODULE) and change.object_id not in self._read:
                self._check_content(objects, change, where)
        if self._map_bytes > MAX_MAP_BYTES:
            raise Refused(
                f"commit {id} has {len(self._files)} files: their names and hashes pass {MAX_MAP_BYTES} bytes"
            )

    def _check_place(self, change: Change, where: str) -> None:
        file = item_id(change.path)
        if len(file.encode()) > MAX_ID_BYTES:
            raise Refused(f"{where}: a path of {len(change.path)} bytes is too long: its id has over {MAX_ID_BYTES}")
        if change.mode not in _MODES:
            raise NoHistory(self._git.folder, f"{where}: git has no mode {change.mode}")
        if change.mode == GONE and file in self._files:
            self._files.discard(file)
            self._map_bytes -= _entry_bytes(file)
        elif change.mode != GONE and file not in self._files:
            self._files.add(file)
            self._map_bytes += _entry_bytes(file)

    def _check_content(self, objects: Objects, change: Change, where: str) -> None:
        content = objects.read(change.object_id, "blob", self._most_bytes, where)
        if LONGEST_ESCAPE * len(content) > self._most_bytes:
            size = len(msgspec.json.encode(File.of(change.mode, content)))
            if size > self._most_bytes:
                raise Refused(f"{where}: it has {size} bytes as JSON, and the limit is {self._most_bytes}")
        self._read.add(change.object_id)


def _entry_bytes(file: str) -> int:
    return len(file.encode()) + MAP_ENTRY_BYTES
