"""This repository's own history, imported: each version's files are the commit's tree, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from examples.projects.tests.comparing import assert_same_history
from examples.projects.tests.conftest import ORGANISATION
from examples.projects.tests.gitted import commits_of
from projects.files import File
from projects.import_git import import_git
from projects.model import Repository, commit
from projects.service import Service
from tests.documents.recording import recorded

FIRST, MANY = 12, 250
"""Commits of the short run and of the long one."""

ROOT = Path(__file__).parents[3]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A clone that stays as it is while people commit; skipped where there is no history to clone."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git repository here")
    clone = ["git", "clone", "--quiet", "--bare", "--no-hardlinks", str(ROOT), str(tmp_path / "own")]
    done = subprocess.run(clone, capture_output=True, check=False, timeout=60)
    if done.returncode or len(commits_of(tmp_path / "own")) < 2:
        pytest.skip("the history here is shallow, or somebody else's")
    return tmp_path / "own"


def assert_imported(app: Service, own: Path, limit: int) -> None:
    ids = commits_of(own)[:limit]
    done = import_git(app.db, app.blobs, own, organisation=ORGANISATION, limit=limit)
    assert done.versions == len(ids)
    assert_same_history(app.repositories, done.project, own, ids)
    for each in done.commits:
        assert each.rest <= each.allowed == 2048 + 120 * each.files, each
    assert done.written < done.copied


def test_the_first_commits(app: Service, own: Path) -> None:
    assert_imported(app, own, FIRST)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_hundreds_of_commits(app: Service, own: Path) -> None:
    assert_imported(app, own, MANY)


# --- branches of it ---------------------------------------------------------------------------------------------------
def test_a_branch_of_the_history_copies_nothing_and_merges_exactly(app: Service, own: Path, tmp_path: Path) -> None:
    """The branch gets some commits and the origin others: what comes out has both, and conflicts where both touched."""
    limit = 20
    source = import_git(app.db, app.blobs, own, organisation=ORGANISATION, limit=limit).project
    repositories = app.repositories
    before = blobs_in(tmp_path)
    with recorded(repositories) as written:
        app.branch(source, "branch", 10)
    assert written.blobs == []
    assert written.bytes_of() < 2048
    assert blobs_in(tmp_path) == before
    base = hashes(repositories.at(source, version=10))
    ours = hashes(repositories.head(source))
    changed = {path for path in {*base, *ours} if base.get(path) != ours.get(path)}
    same = sorted(set(base) - changed)
    own_paths, both = same[:3], sorted(changed & set(base) & set(ours))[:2]
    contents = [File(mode="100644", text=f"of the branch: {path}\n") for path in [*own_paths, *both]]
    refs = repositories.store("branch", Repository.files, contents)
    puts = dict(zip([*own_paths, *both], refs, strict=True))
    edit = commit(id="f" * 40, author="a", time="", message="of the branch", puts=puts, deletes=[])
    repositories.apply("branch", [edit.by("git", 1)])
    theirs = hashes(repositories.head("branch"))
    found = repositories.merge("branch", onto=source)
    assert not found.is_merged
    conflicts = {each.id: (each.base, each.ours, each.theirs) for each in found.conflicts if each.collection}
    assert conflicts == {path: (base[path], ours[path], theirs[path]) for path in both}
    assert {each.id for each in found.conflicts if not each.collection} == {"commit", "made_at", "subject"}
    merged = repositories.merge("branch", onto=source, prefer="ours")
    assert {id for _, id in merged.taken} == {*own_paths, "author"}  # the origin had one author all along
    assert hashes(repositories.head(source)) == {**ours, **{path: theirs[path] for path in own_paths}}
    (newest, *_) = repositories.item_history(source, Repository.files, own_paths[0], limit=1)
    assert [each.name for each in newest.mutations] == ["$merge"]
    app.repositories.delete(source)
    assert hashes(repositories.head("branch")) == theirs
    repositories.collect_garbage("branch")
    assert repositories.check("branch") == []


def blobs_in(folder: Path) -> int:
    return sum(file.is_file() for file in (folder / "blobs").rglob("*.gz"))


def hashes(found: Repository) -> dict[str, str]:
    return {path: found.files.hash_of(path) for path in found.files}
