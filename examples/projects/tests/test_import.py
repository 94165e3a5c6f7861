"""The import of a history: every version is its commit, nothing is written twice, and it goes on where it stopped."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from examples.projects.tests.comparing import assert_same_history, tree_of_version
from examples.projects.tests.conftest import ORGANISATION
from examples.projects.tests.gitted import EXECUTABLE, REGULAR, Step, commits_of, make_repository, run_git
from examples.projects.tests.histories import EVERYTHING
from examples_shared.testing.sampling import strides
from projects.errors import NoHistory, OtherHistory, Refused
from projects.import_git import CLIENT, Imported, import_git
from projects.service import Service, blobs_at
from singletable import Database


def take(app: Service, repository: Path, **options: Any) -> Imported:
    return import_git(app.db, app.blobs, repository, organisation=ORGANISATION, **options)


def small(folder: Path, count: int = 3) -> Path:
    """A history of commits that each put a file and change another."""
    steps = [Step({b"%d.txt" % n: (REGULAR, b"new %d" % n), b"same": (REGULAR, b"%d" % n)}) for n in range(count)]
    return make_repository(folder, steps)


# --- versions ---------------------------------------------------------------------------------------------------------
def test_every_version_is_its_commit(app: Service, everything: Path) -> None:
    done = take(app, everything)
    ids = commits_of(everything)
    assert (done.versions, len(done.commits)) == (len(ids), len(ids)) == (17, 17)
    assert [each.commit for each in done.commits] == ids
    assert_same_history(app.repositories, done.project, everything, ids)
    assert tree_of_version(app.repositories, done.project, 0) == {}


def test_its_id_is_the_folder_and_the_first_commit(app: Service, everything: Path) -> None:
    first = commits_of(everything)[0]
    assert take(app, everything, limit=1).project == f"everything-{first[:8]}"
    assert take(app, everything, limit=1, project="mine").project == "mine"
    assert [row.document_id for _, row in app.projects(ORGANISATION)] == [f"everything-{first[:8]}", "mine"]


def test_a_folder_inside_the_repository_is_the_repository(app: Service, tmp_path: Path) -> None:
    repository = small(tmp_path / "git")
    (repository / "inner").mkdir()
    done = take(app, repository / "inner")
    assert_same_history(app.repositories, done.project, repository, commits_of(repository))


def test_who_when_and_why_are_kept_in_the_mutation(app: Service, everything: Path) -> None:
    """A replay onto an empty repository runs on nothing but the mutations: it gives the same files and commits."""
    done = take(app, everything)
    app.repositories.create(ORGANISATION, "copy")
    replay = app.repositories.replay(done.project, since=0, onto="copy")
    assert len(replay.mutations) == done.versions
    assert tree_of_version(app.repositories, "copy", replay.after) == tree_of_version(
        app.repositories, done.project, done.versions
    )
    head = app.repositories.head("copy")
    assert (head.commit, head.subject) == (commits_of(everything)[-1], "m" * 72)
    arguments = "".join(stored_arguments(app, done.project))
    for said in ("Ada <ada@example.org>", "2026-01-01T01:30:00+01:30", "a mode alone", "m" * 5000):
        assert said in arguments


def stored_arguments(app: Service, project: str) -> list[str]:
    """Of every mutation, from its record or its blob."""
    kind = app.repositories.context.model.rows.mutation
    records = [app.db.get(kind.by_id(project, CLIENT, n)) for n in range(1, 18)]
    folder = Path(vars(app.blobs)["directory"]) / ORGANISATION / "repositories" / project / "mutations"
    blobs = {path.name: gzip.decompress(path.read_bytes()).decode() for path in folder.iterdir()}
    return [r.arguments or blobs[f"{r.arguments_blob.hex()}.json.gz"] for r in records if r is not None]


def test_contents_lie_in_any_store(app: Service, everything: Path) -> None:
    elsewhere = Service(app.db, blobs_at("memory:///"))
    here, there = (
        take(app, everything),
        import_git(app.db, elsewhere.blobs, everything, organisation="o2", project="elsewhere"),
    )
    assert_same_history(elsewhere.repositories, "elsewhere", everything, commits_of(everything))
    assert [each.contents for each in here.commits] == [each.contents for each in there.commits]
    assert elsewhere.repositories.check("elsewhere") == []


def test_a_commit_is_stored_in_parts_and_is_one_version(
    app: Service, everything: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.import_git.PART_BYTES", 100)
    done = take(app, everything)
    assert done.versions == 17
    assert_same_history(app.repositories, done.project, everything, commits_of(everything))


# --- bytes ------------------------------------------------------------------------------------------------------------
def test_a_commit_writes_its_changed_contents_and_little_besides(app: Service, everything: Path) -> None:
    for each in take(app, everything).commits:
        assert 0 < each.rest <= each.allowed == 2048 + 120 * each.files


def test_what_is_counted_is_what_lies_there(app: Service, everything: Path, tmp_path: Path) -> None:
    done = take(app, everything)
    sizes = {path.parent.name: 0 for path in (tmp_path / "blobs").rglob("*.gz")}
    for path in (tmp_path / "blobs").rglob("*.gz"):
        sizes[path.parent.name] += path.stat().st_size
    assert sum(each.contents for each in done.commits) == sizes["files"]
    assert sum(each.rest for each in done.commits) > sizes["mutations"] > 0
    assert done.written == sum(each.contents + each.rest for each in done.commits)


def test_contents_that_are_there_are_not_written_again(app: Service, tmp_path: Path) -> None:
    big = bytes(range(256)) * 40
    repository = make_repository(
        tmp_path / "git",
        [
            Step({b"a": (REGULAR, big), b"b": (REGULAR, big)}),
            Step({b"moved/a": (REGULAR, big)}, deletes=[b"a"]),
            Step({b"moved/a": (EXECUTABLE, big)}),
            Step({b"b": (REGULAR, b"other")}),
            Step({b"b": (REGULAR, big)}),
        ],
    )
    first, moved, mode, other, back = take(app, repository).commits
    assert (moved.contents, back.contents) == (0, 0)
    assert mode.contents == pytest.approx(first.contents, abs=10)
    assert 0 < other.contents < 100
    assert first.copied == 2 * first.contents
    assert back.copied == first.contents + mode.contents
    assert (first.changed, first.files, moved.changed, moved.files) == (2, 2, 1, 2)


def test_copying_is_counted_alike_in_one_run_or_in_many(app: Service, everything: Path) -> None:
    whole = take(app, everything, project="whole")
    parts = [take(app, everything, project="parts", limit=limit) for limit in (3, 9, 12, 17)]
    assert sum(part.copied for part in parts) == whole.copied
    assert [part.versions for part in parts] == [3, 9, 12, 17]
    assert sum(each.contents for part in parts for each in part.commits) == sum(c.contents for c in whole.commits)


# --- going on ---------------------------------------------------------------------------------------------------------
def test_what_is_there_is_not_done_again(app: Service, everything: Path) -> None:
    done = take(app, everything, limit=5)
    again = take(app, everything, limit=5)
    assert (again.versions, again.commits, again.written) == (5, [], 0)
    assert take(app, everything, limit=2).versions == 5
    rest = take(app, everything)
    assert (rest.versions, len(rest.commits)) == (17, 12)
    assert_same_history(app.repositories, done.project, everything, commits_of(everything))


def test_a_history_that_has_grown_is_gone_on_with(app: Service, tmp_path: Path) -> None:
    repository = small(tmp_path / "git")
    done = take(app, repository)
    script = (
        b"commit refs/heads/main\ncommitter A <a> 0 +0000\ndata 0\nfrom refs/heads/main^0\nM 644 inline z\ndata 1\nz\n"
    )
    run_git(repository, "fast-import", "--quiet", said=script)
    assert [each.changed for each in take(app, repository).commits] == [1]
    assert_same_history(app.repositories, done.project, repository, commits_of(repository))


class _Stopped(Exception):
    """The program ended here."""


class _StopsAt:
    """A port under which the program ends: instead of its n-th round trip, or when that is done and not told."""

    def __init__(self, db: Database, at: int, is_done: bool) -> None:
        self._port, self._left, self._is_done = db.port, at, is_done
        port: Any = self
        self.db = Database(port, db.target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def send(self, operation: Any) -> Any:
        return (await self.send_all([operation]))[0]

    async def send_all(self, operations: Sequence[Any]) -> Any:
        self._left -= 1
        if self._left == 0 and self._is_done:
            await self._port.send_all(operations)
        if self._left <= 0:
            raise _Stopped
        return await self._port.send_all(operations)

    async def call_all(self, calls: Sequence[Any]) -> Any:
        self._left -= 1
        if self._left <= 0:
            raise _Stopped
        return await self._port.call_all(calls)


@strides(7)
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "unanswered"])
def test_an_import_that_was_broken_off_anywhere_is_finished_by_the_next(
    app: Service, tmp_path: Path, is_done: bool, stride: int
) -> None:
    repository = small(tmp_path / "git")
    ids = commits_of(repository)
    stopped: list[int] = []
    for at in range(1, 100, stride):
        project = f"p{at}"
        stops = _StopsAt(app.db, at, is_done)
        try:
            import_git(stops.db, app.blobs, repository, organisation=ORGANISATION, project=project)
        except _Stopped:
            stopped.append(at)
            assert take(app, repository, project=project).versions == 3
        assert_same_history(app.repositories, project, repository, ids)
        assert app.repositories.head(project).version == 3
        if at not in stopped:
            break
    assert 20 < max(stopped) < 96


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_first_commit_of_many_files_is_one_version(app: Service, tmp_path: Path) -> None:
    """Its arguments pass what a mutation of a board may have."""
    files = {b"folder-%03d/a-file-of-some-name-%05d" % (n % 500, n): (REGULAR, b"%d" % n) for n in range(30_000)}
    done = take(app, make_repository(tmp_path / "git", [Step(files)]))
    assert (done.versions, done.commits[0].files) == (1, 30_000)


# --- refusals ---------------------------------------------------------------------------------------------------------
def test_another_history_is_refused(app: Service, everything: Path, tmp_path: Path) -> None:
    done = take(app, everything, limit=4)
    other = small(tmp_path / "git")
    with pytest.raises(OtherHistory, match="--project"):
        take(app, other, project=done.project)
    longer = make_repository(tmp_path / "rewritten", [*EVERYTHING[:3], Step(message=b"rewritten\n"), Step()])
    with pytest.raises(OtherHistory, match="version 4"):
        take(app, longer, project=done.project)
    assert app.repositories.head(done.project).version == 4


@pytest.mark.parametrize("version", [1, 3])
def test_a_project_that_was_restored_is_refused(app: Service, everything: Path, version: int) -> None:
    done = take(app, everything, limit=4)
    assert app.restore(done.project, version) == 5
    with pytest.raises(OtherHistory, match="restored or branched"):
        take(app, everything)


def test_a_branch_is_refused(app: Service, everything: Path) -> None:
    done = take(app, everything, limit=4)
    app.branch(done.project, "branched", 2)
    with pytest.raises(OtherHistory, match="restored or branched"):
        take(app, everything, project="branched")


def test_a_path_too_long_for_an_item_takes_no_number(app: Service, tmp_path: Path) -> None:
    path = b"/".join([b"\xff" * 100] * 5)
    repository = make_repository(tmp_path / "git", [Step({b"a": (REGULAR, b"a")}), Step({path: (REGULAR, b"b")})])
    with pytest.raises(Refused, match="too long"):
        take(app, repository, project="p")
    assert app.projects(ORGANISATION) == []


def test_a_file_too_large_takes_no_number(app: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.service.MAX_FILE_BYTES", 1000)
    repository = make_repository(tmp_path / "git", [Step({b"a": (REGULAR, b"a" * 2000)})])
    with pytest.raises(Refused, match="file 'a': it has 2000 bytes, and the limit is 1000"):
        take(app, repository, project="p")
    assert app.projects(ORGANISATION) == []


def test_no_history_makes_no_project(app: Service, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet", "empty")
    with pytest.raises(NoHistory):
        take(app, tmp_path / "empty")
    assert app.projects(ORGANISATION) == []
