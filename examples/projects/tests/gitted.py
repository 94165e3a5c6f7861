"""Git repositories made for a test, commit by commit, of whatever a history can hold."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

REGULAR, EXECUTABLE, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"
FAR_COMMIT = "1234567890abcdef1234567890abcdef12345678"
"""A commit of another repository, which this one doesn't hold."""

Tree = dict[bytes, tuple[str, bytes]]
"""(mode, content) by path; of a submodule its commit's id."""


@dataclass(frozen=True)
class Step:
    """One commit: the files it puts and the paths it takes away. `merges` names the marks of further parents."""

    puts: Tree = field(default_factory=dict[bytes, tuple[str, bytes]])
    deletes: Sequence[bytes] = ()
    message: bytes = b"a commit\n"
    author: bytes = b"Ada <ada@example.org> 1767225600 +0130"
    branch: bytes = b"refs/heads/main"
    start: int | None = None
    merges: Sequence[int] = ()


def make_repository(folder: Path, steps: Sequence[Step]) -> Path:
    """A repository whose n-th commit is the n-th step; its HEAD is the branch `main`."""
    run_git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    script = b"".join(_commit(mark, step) for mark, step in enumerate(steps, 1))
    run_git(folder, "fast-import", "--quiet", "--force", "--date-format=raw-permissive", said=script)
    return folder


def tree_of(repository: Path, commit: str) -> Tree:
    """The whole tree of a commit, as `git ls-tree` and `git cat-file` tell it."""
    listed = run_git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
    entries = [entry.partition(b"\t")[::2] for entry in listed if entry]
    return {path: _entry(repository, *said.split(b" ")) for said, path in entries}


def commits_of(repository: Path) -> list[str]:
    """Along first parents, oldest first."""
    return run_git(repository, "log", "--first-parent", "--reverse", "--format=%H").decode().split()


def tree_in(folder: Path) -> Tree:
    """What lies in a folder: files and symlinks as git has their modes, and empty folders as submodules."""
    found: Tree = {}
    for root, folders, names in os.walk(os.fsencode(folder)):
        for name in [*names, *folders]:
            path = os.path.join(root, name)
            entry = _found(path)
            if entry is not None:
                found[os.path.relpath(path, os.fsencode(folder))] = entry
    return found


def run_git(folder: Path, *arguments: str, said: bytes = b"") -> bytes:
    """What git says. The test is skipped where there is no git."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, input=said, env=environ, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _commit(mark: int, step: Step) -> bytes:
    lines = [
        b"commit " + step.branch,
        b"mark :%d" % mark,
        b"author " + step.author,
        b"committer Grace <grace@example.org> 1767225600 +0000",
        b"data %d\n%b" % (len(step.message), step.message),
    ]
    lines += [b"from :%d" % step.start] if step.start is not None else []
    lines += [b"merge :%d" % other for other in step.merges]
    lines += [b"D " + _quoted(path) for path in step.deletes]
    for path, (mode, content) in step.puts.items():
        if mode == SUBMODULE:
            lines.append(b"M 160000 %b %b" % (content, _quoted(path)))
        else:
            lines.append(b"M %b inline %b\ndata %d\n%b" % (mode.encode(), _quoted(path), len(content), content))
    return b"\n".join(lines) + b"\n\n"


def _quoted(path: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'


def _entry(repository: Path, mode: bytes, kind: bytes, object_id: bytes) -> tuple[str, bytes]:
    if kind == b"commit":
        return mode.decode(), object_id
    return mode.decode(), run_git(repository, "cat-file", "blob", object_id.decode())


def _found(path: bytes) -> tuple[str, bytes] | None:
    if os.path.islink(path):
        return SYMLINK, os.readlink(path)
    if os.path.isdir(path):
        return (SUBMODULE, b"") if not os.listdir(path) else None
    content = Path(os.fsdecode(path)).read_bytes()
    return "100" + format(os.stat(path).st_mode & 0o777, "03o"), content
