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

import hashlib
import os
import select
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from projects.errors import NoHistory, Refused

CHUNK_BYTES = 1 << 16
READ_BYTES = 1 << 20
SILENCE_SECONDS = 60.0
MOST_SAID_CHARACTERS = 300
SHA1_DIGITS = 40
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
        with self._running("rev-list", "--first-parent", "--reverse", "HEAD", "--") as (process, said):
            out, _ = process.communicate()
            if process.returncode:
                raise NoHistory(self.folder, _last_line(said) or f"git rev-list ended with {process.returncode}")
            ids = out.decode("ascii").split()
            if not ids:
                raise NoHistory(self.folder, "its HEAD is not a commit")
            return ids

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
            with self._running("diff-tree", *how, *not_as_configured, stdin=asked) as (process, said):
                last = ""
                for last, changes in _commits(_texts(_pipe(process.stdout))):
                    yield last, changes
                if process.wait() or (ids and last != ids[-1]):
                    why = _last_line(said) or f"git diff-tree ended with status {process.returncode}"
                    raise NoHistory(self.folder, f"after commit {last or after}: {why}")

    @contextmanager
    def objects(self) -> Generator[Objects, None, None]:
        """A reader of contents, for as long as the block lasts."""
        with self._running("cat-file", "--batch", stdin=subprocess.PIPE) as (process, said):
            yield Objects(self.folder, _pipe(process.stdin), _pipe(process.stdout), said)

    @contextmanager
    def _running(
        self, *arguments: str, stdin: IO[bytes] | int = subprocess.DEVNULL
    ) -> Generator[tuple[subprocess.Popen[bytes], IO[bytes]], None, None]:
        """A process of git, ended with the block however that ends, and what it complains of."""
        command = ["git", "-C", str(self.folder), *arguments]
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(  # noqa: S603 a list of arguments, and no shell
                    command, env=_environment(), stdin=stdin, stdout=subprocess.PIPE, stderr=said
                )
            except FileNotFoundError as error:
                raise NoHistory(self.folder, "git is not installed") from error
            try:
                yield process, said
            finally:
                process.kill()
                for pipe in (process.stdin, process.stdout):
                    if pipe is not None:
                        with suppress(BrokenPipeError):  # what git ended too early to read
                            pipe.close()
                process.wait()


class Objects:
    """The contents of objects by their ids, from one `git cat-file --batch`."""

    def __init__(self, folder: Path, asked: IO[bytes], answers: IO[bytes], said: IO[bytes]) -> None:
        self._folder = folder
        self._asked = asked
        self._answers = Answers(answers)
        self._said = said

    def read(self, object_id: str, kind: str = "blob", most_bytes: int | None = None, where: str = "") -> bytes:
        """The bytes of a blob or a commit, whole. NoHistory for an object that isn't there, or isn't what its id says;
        Refused for one of more than `most_bytes`. `where` names it besides. The reader is of no use after an error."""
        what = f"{where}: object {object_id}" if where else f"object {object_id}"
        head = self._ask(object_id, what)
        if len(head) != 3:
            raise NoHistory(self._folder, f"{what} is missing; fetch the whole history")
        if head[1] != kind.encode():
            raise NoHistory(self._folder, f"{what} is a {head[1].decode('ascii', 'replace')}, not a {kind}")
        size = int(head[2])
        if most_bytes is not None and size > most_bytes:
            raise Refused(f"{where}: it has {size} bytes, and the limit is {most_bytes}")
        try:
            content = self._answers.read(size + 1)[:-1]
        except EOFError as error:
            raise NoHistory(self._folder, f"{what} can't be read whole: {self._why()}") from error
        return self._checked(object_id, head[1], content, what)

    def _ask(self, object_id: str, what: str) -> list[bytes]:
        """`<id> <kind> <size>`, or fewer words where there is none."""
        try:
            self._asked.write(f"{object_id}\n".encode())
            self._asked.flush()
            return self._answers.line().split()
        except (BrokenPipeError, EOFError) as error:
            raise NoHistory(self._folder, f"{what} can't be read: {self._why()}") from error

    def _why(self) -> str:
        return _last_line(self._said) or "git gives less than it announced"

    def _checked(self, object_id: str, kind: bytes, content: bytes, what: str) -> bytes:
        """Git itself doesn't look whether what it gives is what was asked for."""
        algorithm = "sha1" if len(object_id) == SHA1_DIGITS else "sha256"
        found = hashlib.new(algorithm, b"%b %d\0" % (kind, len(content)), usedforsecurity=False)
        found.update(content)
        if found.hexdigest() != object_id:
            raise NoHistory(self._folder, f"{what} is corrupt: its content has the id {found.hexdigest()}")
        return content


class Answers:
    """What git writes, waited for no longer than it may be silent: of a corrupt object it gives less than it announced,
    and then waits for the next question. EOFError where nothing more comes."""

    def __init__(self, stream: IO[bytes], silence_seconds: float | None = None) -> None:
        self._file = stream.fileno()
        self._silence_seconds = SILENCE_SECONDS if silence_seconds is None else silence_seconds
        self._rest = bytearray()

    def line(self) -> bytes:
        while (end := self._rest.find(b"\n")) < 0:
            self._more()
        return self._taken(end + 1)

    def read(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._more()
        return self._taken(size)

    def _taken(self, size: int) -> bytes:
        taken = bytes(memoryview(self._rest)[:size])
        del self._rest[:size]
        return taken

    def _more(self) -> None:
        ready, _, _ = select.select([self._file], [], [], self._silence_seconds)
        found = os.read(self._file, READ_BYTES) if ready else b""
        if not found:
            raise EOFError
        self._rest += found


def _environment() -> dict[str, str]:
    """Ours without what would point git at another repository, and with what keeps it from acting for this one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}


def _last_line(said: IO[bytes]) -> str:
    """What git complained of last, as one line that can be printed."""
    said.seek(0)
    lines = [line for line in said.read(CHUNK_BYTES).decode(errors="replace").splitlines() if line.strip()]
    last = lines[-1][:MOST_SAID_CHARACTERS] if lines else ""
    return "".join(character if character.isprintable() else "?" for character in last)


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
