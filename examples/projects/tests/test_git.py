"""What is read of a repository, against what git itself says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from examples.projects.tests.gitted import REGULAR, Step, Tree, commits_of, make_repository, run_git, tree_of
from examples.projects.tests.histories import EVERYTHING, ODD_NAMES
from projects.commits import Commit, parse_commit
from projects.errors import Invalid, NoHistory
from projects.git import GONE, SUBMODULE, Git
from projects.names import item_id, path_of


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("git") / "everything", EVERYTHING)


def replayed(git: Git, ids: list[str], tree: Tree, after: str | None = None) -> list[Tree]:
    """The tree of each commit, from the one before it and what it changed."""
    found = list[Tree]()
    with git.objects() as objects:
        for _, changes in git.changes(ids, after):
            tree = dict(tree)
            for change in changes:
                tree.pop(change.path, None)
            for change in changes:
                if change.mode == SUBMODULE:
                    tree[change.path] = change.mode, change.object_id.encode()
                elif change.mode != GONE:
                    tree[change.path] = change.mode, objects.read(change.object_id)
            found.append(tree)
    return found


# --- history ----------------------------------------------------------------------------------------------------------
def test_changes_add_up_to_every_commits_tree(repository: Path) -> None:
    git = Git(repository)
    ids = git.history()
    assert ids == commits_of(repository)
    assert len(ids) == len(EVERYTHING) - 1
    assert replayed(git, ids, {}) == [tree_of(repository, id) for id in ids]


def test_changes_go_on_from_any_commit(repository: Path) -> None:
    git = Git(repository)
    ids = git.history()
    for at in (1, 5, 12):
        rest = replayed(git, ids[at:], tree_of(repository, ids[at - 1]), after=ids[at - 1])
        assert rest == [tree_of(repository, id) for id in ids[at:]]
    assert list(git.changes([], after=ids[-1])) == []


def test_a_commit_that_changed_nothing_is_one_of_the_history(repository: Path) -> None:
    git = Git(repository)
    ids = git.history()
    assert [id for id, changes in git.changes(ids) if not changes] == [ids[1]]


def test_what_the_repository_configures_is_not_obeyed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = Git(repository / "folder")
    git.folder.mkdir()
    for name, value in (("diff.renames", "copies"), ("diff.relative", "true"), ("diff.ignoreSubmodules", "all")):
        run_git(repository, "config", name, value)
    ids = commits_of(repository)
    run_git(repository, "replace", ids[3], ids[0])
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    try:
        assert replayed(git, git.history(), {}) == [tree_of(repository, id) for id in _unreplaced(repository, ids)]
    finally:
        git.folder.rmdir()


def _unreplaced(repository: Path, ids: list[str]) -> list[str]:
    run_git(repository, "replace", "--delete", ids[3])
    return ids


def test_a_repository_of_longer_object_ids(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", "long")
    repository = make_repository(tmp_path / "long", [Step({b"a": (REGULAR, b"1")}), Step({b"a": (REGULAR, b"2")})])
    git = Git(repository)
    assert [len(id) for id in git.history()] == [64, 64]
    assert replayed(git, git.history(), {}) == [{b"a": (REGULAR, b"1")}, {b"a": (REGULAR, b"2")}]


@pytest.mark.parametrize("made", ["nothing", "a folder", "a repository without commits"])
def test_no_history_is_said(tmp_path: Path, made: str) -> None:
    folder = tmp_path / "here"
    if made != "nothing":
        folder.mkdir()
        (folder / ".git").write_text("gitdir: /nowhere")
    if made == "a repository without commits":
        run_git(tmp_path, "init", "--quiet", "there")
        folder = tmp_path / "there"
    with pytest.raises(NoHistory, match=folder.name):
        Git(folder).history()


def test_a_missing_object_is_said(repository: Path) -> None:
    with Git(repository).objects() as objects:
        with pytest.raises(NoHistory, match="is missing"):
            objects.read("f" * 40)
        assert objects.read(run_git(repository, "rev-parse", "HEAD:last").decode().strip()) == b"last\n"


# --- commits ----------------------------------------------------------------------------------------------------------
def test_who_when_and_why(repository: Path) -> None:
    with Git(repository).objects() as objects:
        found = [parse_commit(objects.read(id, "commit")) for id in commits_of(repository)]
    assert found[0] == Commit("Ada <ada@example.org>", "2026-01-01T01:30:00+01:30", "first\n")
    assert found[-1].message == "m" * 5000
    assert found[-1].author == "\\xe9\\xff <>"
    assert found[-1].time.startswith("99999999999999 ")


@pytest.mark.parametrize(
    ("head", "message", "expected"),
    [
        (b"author A <a> 0 -0130\nencoding latin-1", b"caf\xe9", Commit("A <a>", "1969-12-31T22:30:00-01:30", "café")),
        (b"author A <a> 0 +0000\nencoding nope", b"x\xff", Commit("A <a>", "1970-01-01T00:00:00+00:00", "x\\xff")),
        (
            b"author A <a> 0 +0000\ngpgsig -\n author Z <z> 9 +0000",
            b"s",
            Commit("A <a>", "1970-01-01T00:00:00+00:00", "s"),
        ),
        (b"tree 123", b"", Commit("", "", "")),
    ],
)
def test_odd_commits(head: bytes, message: bytes, expected: Commit) -> None:
    assert parse_commit(head + b"\n\n" + message) == expected


# --- names ------------------------------------------------------------------------------------------------------------
@given(st.binary(min_size=1))
def test_a_path_comes_back_from_its_id(path: bytes) -> None:
    id = item_id(path)
    assert path_of(id) == path
    id.encode()


@pytest.mark.parametrize("id", ["100%", "%41", "%c3", "a\nb", "cafe\u0301"])
def test_an_id_that_no_path_has_is_refused(id: str) -> None:
    with pytest.raises(Invalid, match="escaped form"):
        path_of(id)


@pytest.mark.parametrize(
    ("path", "id"),
    [
        (b"src/caf\xc3\xa9.py", "src/café.py"),
        (b"100%", "100%25"),
        (b"old/na\xefve.txt", "old/na%EFve.txt"),
        (b"cafe\xcc\x81", "cafe%CC%81"),
        (b"a\nb", "a%0Ab"),
        ("\u202egnp.exe".encode(), "%E2%80%AEgnp.exe"),
        (b"with space", "with space"),
    ],
)
def test_ids_read_as_paths(path: bytes, id: str) -> None:
    assert item_id(path) == id


def test_odd_names_have_ids_of_their_own() -> None:
    assert len({item_id(name) for name in ODD_NAMES}) == len(set(ODD_NAMES)) == len(ODD_NAMES)
