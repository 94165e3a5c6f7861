"""A git history, replayed into a repository document: a commit is one mutation and one version, oldest first.

The contents of the files that a commit changed are stored first, side by side; the mutation only refers to them. So a
commit writes its changed files once, and besides them a few bytes for every file of its tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from projects import service
from projects.commits import parse_commit
from projects.counting import CountingBlobs, counted
from projects.errors import OtherHistory, Refused
from projects.files import File
from projects.git import GONE, SUBMODULE, Change, Git, Objects
from projects.model import Repository, commit
from projects.names import item_id
from projects.service import repositories_of
from projects.verifying import verify
from singletable import Database, NotFound
from singletable.documents import BlobStore, Ref

CLIENT = "git"
"""Who submits: the n-th commit is its n-th mutation, so an import that runs twice applies nothing twice."""

ITEM_BYTES = 2048
FILE_BYTES = 120
"""What a commit may write besides its changed contents: ITEM_BYTES, and FILE_BYTES for each file of its tree."""


@dataclass(frozen=True, slots=True)
class CommitBytes:
    """What one commit wrote, and what writing every file of it again would have."""

    version: int
    commit: str
    subject: str
    changed: int
    """Files that it put."""
    files: int
    """Files of its whole tree."""
    contents: int
    """Bytes of the changed files' contents, compressed, that were not stored before."""
    rest: int
    """Bytes of everything else: items, and arguments too large for one."""
    copied: int

    @property
    def written(self) -> int:
        return self.contents + self.rest

    @property
    def allowed(self) -> int:
        """The most that `rest` may be."""
        return ITEM_BYTES + FILE_BYTES * self.files


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to. `versions` are all of the project's, `commits` those of this run."""

    project: str
    versions: int
    commits: Sequence[CommitBytes] = field(default_factory=list[CommitBytes])

    @property
    def written(self) -> int:
        return sum(each.written for each in self.commits)

    @property
    def copied(self) -> int:
        return sum(each.copied for each in self.commits)


PART_BYTES = 32 * 1024 * 1024
"""Contents that are read and stored together."""

Progress = Callable[[int, int], None]
"""Called with the number of commits done, and the number of all."""


def import_git(
    db: Database,
    blobs: BlobStore,
    folder: Path,
    *,
    organisation: str,
    project: str | None = None,
    limit: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Imported:
    """Bring a project up to a git history, of which the first `limit` commits; what it holds already is not done again.

    Without `project` it is named by the folder and the first commit. About ten requests a commit. The history is read
    once before anything is written, so that what is refused leaves nothing.
    Raises NoHistory, Refused, and OtherHistory for a project that holds commits which the repository doesn't.
    """
    git = Git(folder)
    ids = git.history()
    name = item_id(os.fsencode(folder.resolve().name))
    run = _Run(db, blobs, project or f"{name}-{ids[0][:8]}")
    there = run.find(ids)
    done = there or 0
    wanted = ids[done:limit]
    verify(git, ids, wanted, run.files, service.MAX_FILE_BYTES)
    if there is None:
        run.create(organisation, name)
    commits = list[CommitBytes]()
    for each in run.commits(git, wanted, done):
        commits.append(each)
        progress(each.version, done + len(wanted))
    return Imported(run.project, done + len(commits), commits)


class _Run:
    """One import into one project."""

    def __init__(self, db: Database, blobs: BlobStore, project: str) -> None:
        self.project = project
        counting, self._port = counted(db)
        self._store = CountingBlobs(blobs)
        self._repositories = repositories_of(counting, self._store)
        self._sizes: dict[str, int] = {}
        """Of the files of the newest version, by item."""
        self._last: str | None = None

    @property
    def files(self) -> Collection[str]:
        """The items of the newest version."""
        return self._sizes.keys()

    def create(self, organisation: str, name: str) -> None:
        self._repositories.create(organisation, self.project, name=name)

    def find(self, ids: Sequence[str]) -> int | None:
        """How many commits the project holds already; None where there is no project."""
        try:
            self._repositories.process(self.project)  # what an import that was broken off has left
            head = self._repositories.head(self.project)
        except NotFound:
            return None
        if head.commit != (["", *ids][head.version] if head.version <= len(ids) else None):
            raise OtherHistory(self.project, head.version, head.commit)
        head.files.all()  # which shows the store the size of each
        self._sizes = {id: self._store.size(head.files.hash_of(id)) for id in head.files}
        self._last = head.commit or None
        return head.version

    def commits(self, git: Git, ids: Sequence[str], done: int) -> Iterator[CommitBytes]:
        """Replay the commits that follow on those the project holds."""
        with git.objects() as objects:
            for version, (id, changes) in enumerate(git.changes(ids, self._last), done + 1):
                yield self._replay(version, id, changes, objects)

    def _replay(self, version: int, id: str, changes: Sequence[Change], objects: Objects) -> CommitBytes:
        self._restart_counting()
        said = parse_commit(objects.read(id, "commit"))
        puts = dict[str, Ref[File]]()
        for files in _parts([change for change in changes if change.mode != GONE], objects):
            refs = self._repositories.store(self.project, Repository.files, list(files.values()))
            puts |= zip(files, refs, strict=True)
        deletes = [item_id(change.path) for change in changes if change.mode == GONE]
        mutation = commit(id=id, author=said.author, time=said.time, message=said.message, puts=puts, deletes=deletes)
        (outcome,) = self._repositories.apply(self.project, [mutation.by(CLIENT, version)])
        if outcome.version != version or outcome.error is not None:
            raise Refused(f"commit {id} did not become version {version} of {self.project!r}: {outcome.error}")
        for path in deletes:
            self._sizes.pop(path, None)
        self._sizes |= {path: self._store.size(_sha256(ref)) for path, ref in puts.items()}
        return self._counted(version, id, said.subject, len(puts))

    def _restart_counting(self) -> None:
        self._store.taken()
        self._port.taken()

    def _counted(self, version: int, id: str, subject: str, changed: int) -> CommitBytes:
        blobs = self._store.taken()
        contents = blobs.pop("files", 0)
        rest = self._port.taken() + sum(blobs.values())
        copied = sum(self._sizes.values())
        return CommitBytes(version, id, subject, changed, len(self._sizes), contents, rest, copied)


def _parts(changes: Sequence[Change], objects: Objects) -> Iterator[dict[str, File]]:
    """The files by item, so many at a time that a large first commit is never in memory whole."""
    part, size = dict[str, File](), 0
    for change in changes:
        part[item_id(change.path)] = file = _file(change, objects)
        size += len(file.content)
        if size > PART_BYTES:
            yield part
            part, size = {}, 0
    if part:
        yield part


def _file(change: Change, objects: Objects) -> File:
    if change.mode == SUBMODULE:
        return File(SUBMODULE, change.object_id)
    return File.of(change.mode, objects.read(change.object_id))


def _sha256(ref: Ref[File]) -> str:
    return ref.blob.rpartition("/")[2]
