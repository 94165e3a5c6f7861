"""Files, written into a folder exactly as git would check them out: bytes, modes, symlinks.

Names come from anywhere. All are looked at before the first byte is written, so a tree is written whole or not at
all, and nothing is ever written through a symlink or outside the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from projects.errors import Invalid, Refused, UnsafeName
from projects.files import File
from projects.git import SUBMODULE, SYMLINK
from projects.names import path_of

GITS_OWN = (b".git", b"git~1")
"""Folders that git would take for a repository and its hooks, in whatever case; it never checks them out itself."""


def paths_of(ids: Iterable[str]) -> dict[str, bytes]:
    """The path of each item, by its id. UnsafeName for one that leaves the folder, or that stands in another's way."""
    paths = {id: path_of(id) for id in ids}
    taken = set(paths.values())
    for id, path in paths.items():
        parts = path.split(b"/")
        if why := _fault(parts):
            raise UnsafeName(id, why)
        if any(parent in taken for parent in _parents(parts)):
            raise UnsafeName(id, "goes through another file")
    return paths


def write_tree(folder: Path, files: Mapping[bytes, File]) -> None:
    """Write the files into `folder`, which is made if it isn't there, and must be empty.

    `files` are by path, as `paths_of` gives them. A submodule is an empty folder. Symlinks come last: until then there
    is none to write through.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Invalid(f"{folder} is not an empty folder: name another with --to")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, file in sorted(files.items(), key=lambda pair: pair[1].mode == SYMLINK):
            _write(os.path.join(os.fsencode(folder), path), file)
    except OSError as error:
        raise Refused(f"{folder} holds a part of the files only: {error}") from error


def _write(path: bytes, file: File) -> None:
    if file.mode == SUBMODULE:
        return os.makedirs(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if file.mode == SYMLINK:
        return os.symlink(file.content, path)
    with open(path, "xb") as stream:
        stream.write(file.content)
        os.fchmod(stream.fileno(), int(file.mode, 8) & 0o777)
    return None


def _fault(parts: list[bytes]) -> str | None:
    if any(part in (b"", b".", b"..") for part in parts):
        return "leaves the folder"
    if any(part.lower() in GITS_OWN for part in parts):
        return "is one that git would act on"
    return None if b"\0" not in b"".join(parts) else "holds a NUL"


def _parents(parts: list[bytes]) -> Iterator[bytes]:
    return (b"/".join(parts[:length]) for length in range(1, len(parts)))
