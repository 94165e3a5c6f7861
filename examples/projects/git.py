"""A git repository, read: its history along first parents, what each commit changed, and the contents of its objects.

Everything is read by git itself, in three processes however long the history is. The repository may be anybody's: no
hook, filter or helper of its own is run, nothing is fetched, and replacement objects are not followed.

    git = Git(Path("."))
    ids = git.history()                              # oldest first
    with git.objects() as objects:
        for id, changes in git.changes(ids):
            objects.read(changes[0].object_id)       # the file's bytes
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from examples.projects.errors import NoHistory

CHUNK_BYTES = 1 << 16
GONE = "000000"
SUBMODULE = "160000"
SYMLINK = "120000"


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one path. `mode` is git's six digits, and GONE where the path was taken away.

    A submodule's `object_id` is a commit of another repository.
    """

    path: bytes
    mode: str
    object_id: str


class Git:
    """The repository that `folder` lies in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def history(self) -> list[str]:
        """The ids of HEAD's commits along first parents, oldest first. NoHistory where there are none to read."""
        with self._running("rev-list", "--first-parent", "--reverse", "HEAD", "--", stderr=subprocess.PIPE) as process:
            out, said = process.communicate()
            if process.returncode:
                raise NoHistory(self.folder, said.decode(errors="replace").strip())
            return out.decode("ascii").split()

    def changes(self, ids: Sequence[str], after: str | None = None) -> Iterator[tuple[str, list[Change]]]:
        """Each commit of `ids`, in that order, with what it changed from the one before; the first from `after`.

        One that changed nothing has an empty list.
        """
        how = ("--stdin", "--root", "-r", "-z", "--raw", "--always")
        not_as_configured = ("--no-renames", "--no-relative", "--ignore-submodules=none")
        with tempfile.TemporaryFile() as asked:
            pairs = zip(ids, [after, *ids], strict=False)
            asked.writelines(f"{id} {before}\n".encode() if before else f"{id}\n".encode() for id, before in pairs)
            asked.seek(0)
            with self._running("diff-tree", *how, *not_as_configured, stdin=asked) as process:
                yield from _commits(_texts(_pipe(process.stdout)))
                if process.wait():
                    raise NoHistory(self.folder, f"git diff-tree ended with status {process.returncode}")

    @contextmanager
    def objects(self) -> Generator[Objects, None, None]:
        """A reader of contents, for as long as the block lasts."""
        with self._running("cat-file", "--batch", stdin=subprocess.PIPE) as process:
            yield Objects(self.folder, _pipe(process.stdin), _pipe(process.stdout))

    @contextmanager
    def _running(
        self, *arguments: str, stdin: IO[bytes] | int = subprocess.DEVNULL, stderr: int | None = None
    ) -> Generator[subprocess.Popen[bytes], None, None]:
        """A process of git, ended with the block however that ends; what it says goes to our own standard error."""
        command = ["git", "-C", str(self.folder), *arguments]
        try:
            process = subprocess.Popen(  # noqa: S603 a list of arguments, and no shell
                command, env=_environment(), stdin=stdin, stdout=subprocess.PIPE, stderr=stderr
            )
        except FileNotFoundError as error:
            raise NoHistory(self.folder, "git is not installed") from error
        with process:
            try:
                yield process
            finally:
                process.kill()


class Objects:
    """The contents of objects by their ids, from one `git cat-file --batch`."""

    def __init__(self, folder: Path, asked: IO[bytes], answers: IO[bytes]) -> None:
        self._folder = folder
        self._asked = asked
        self._answers = answers

    def read(self, object_id: str) -> bytes:
        """The bytes of a blob or a commit, whole. NoHistory for an object that isn't there."""
        self._asked.write(f"{object_id}\n".encode())
        self._asked.flush()
        head = self._answers.readline().split()
        if len(head) != 3:
            raise NoHistory(self._folder, f"object {object_id} is missing; fetch the whole history")
        size = int(head[2])
        content = self._answers.read(size + 1)
        if len(content) != size + 1:
            raise NoHistory(self._folder, f"git ended in the middle of object {object_id}")
        return content[:-1]


def _environment() -> dict[str, str]:
    """Ours without what would point git at another repository, and with what keeps it from acting for this one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _texts(stream: IO[bytes]) -> Iterator[bytes]:
    """What stands between NULs."""
    rest = b""
    while chunk := stream.read(CHUNK_BYTES):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole


def _commits(texts: Iterator[bytes]) -> Iterator[tuple[str, list[Change]]]:
    """`<commit>`; for each change `:<mode> <mode> <object> <object> <letter>` and a path; and so on."""
    commit, changes = "", list[Change]()
    for text in texts:
        if text.startswith(b":"):
            _, mode, _, object_id, _ = text.decode("ascii").split(" ")
            changes.append(Change(next(texts), mode, object_id))
            continue
        if commit:
            yield commit, changes
        commit, changes = text.decode("ascii"), []
    if commit:
        yield commit, changes
