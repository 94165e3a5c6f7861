"""Git repositories broken in every way that we know: each is imported, or refused with its commit or object and file,
and then nothing of it is written, into the table or the blob store."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples.projects.tests.gitted import (
    FAR_COMMIT,
    REGULAR,
    SUBMODULE,
    SYMLINK,
    Step,
    commits_of,
    make_repository,
    run_git,
)
from examples_shared.testing.refused_commands import Told, check_refused, run
from projects.cli import main
from projects.model import projects
from singletable import Database, connect
from tests.support.raw import all_items

SECOND = b"the second content\n"
STEPS = (
    Step({b"a.txt": (REGULAR, b"first\n"), b"folder/b.txt": (REGULAR, b"inner\n")}),
    Step({b"folder/b.txt": (REGULAR, SECOND)}, message=b"second\n"),
    Step({b"c.txt": (REGULAR, b"third\n")}, message=b"third\n"),
)
Break = Callable[[Path], object]
BROKEN: dict[str, tuple[Break, str]] = {}
ODD: dict[str, tuple[Step, ...]] = {}


def broken(where: str) -> Callable[[Break], Break]:
    """A way to break a good repository, and what the refusal says."""

    def add(how: Break) -> Break:
        BROKEN[how.__name__] = how, where
        return how

    return add


# --- ways to break a repository ---------------------------------------------------------------------------------------
def id_of(repository: Path, name: str) -> str:
    return run_git(repository, "rev-parse", name).decode().strip()


def object_file(repository: Path, name: str) -> Path:
    """The file of a loose object."""
    id = id_of(repository, name)
    return repository / ".git" / "objects" / id[:2] / id[2:]


def overwrite(path: Path, content: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(content)


def put_object(repository: Path, kind: str, content: bytes) -> str:
    """An object that git itself would not make, loose."""
    whole = f"{kind} {len(content)}\0".encode() + content
    id = hashlib.sha1(whole).hexdigest()
    path = repository / ".git" / "objects" / id[:2] / id[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(whole))
    return id


def commit_of(repository: Path, tree: str, *, head: str = "") -> None:
    """One commit more, of a tree, made by hand."""
    parent = f"parent {id_of(repository, 'HEAD')}\n"
    said = head or f"tree {tree}\n{parent}author A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n"
    id = put_object(repository, "commit", f"{said}\nby hand\n".encode())
    (repository / ".git" / "refs" / "heads" / "main").write_text(f"{id}\n")


@broken("object")
def a_missing_content(repository: Path) -> None:
    object_file(repository, "HEAD~1:folder/b.txt").unlink()


@broken("file 'folder/b.txt'")
def a_corrupt_content(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD~1:folder/b.txt"), b"this is not an object")


@broken("file 'folder/b.txt'")
def a_truncated_content(repository: Path) -> None:
    path = object_file(repository, "HEAD~1:folder/b.txt")
    overwrite(path, path.read_bytes()[:-6])


@broken("file 'folder/b.txt'")
def an_empty_content(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD~1:folder/b.txt"), b"")


@broken("is corrupt")
def another_content_under_its_name(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD~1:folder/b.txt"), zlib.compress(b"blob 5\0other"))


@broken("file 'folder/b.txt'")
def a_content_of_another_length(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD~1:folder/b.txt"), zlib.compress(b"blob 99\0" + SECOND))


@broken("after commit")
def a_missing_tree(repository: Path) -> None:
    object_file(repository, "HEAD~1^{tree}").unlink()


@broken("after commit")
def a_corrupt_tree(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD~1:folder"), b"\x00" * 20)


@broken("no git history")
def a_missing_commit(repository: Path) -> None:
    object_file(repository, "HEAD~1").unlink()


@broken("no git history")
def a_corrupt_commit(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD~1"), b"x" * 50)


@broken("no git history")
def a_corrupt_newest_commit(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD"), b"")


@broken("no git history")
def another_commit_under_its_name(repository: Path) -> None:
    overwrite(object_file(repository, "HEAD~1"), zlib.compress(b"commit 3\0abc"))


@broken("no git history")
def a_truncated_pack(repository: Path) -> None:
    run_git(repository, "repack", "-a", "-d", "-q")
    (pack,) = (repository / ".git" / "objects" / "pack").glob("*.pack")
    overwrite(pack, pack.read_bytes()[:-60])


@broken("no git history")
def a_pack_with_other_bytes(repository: Path) -> None:
    run_git(repository, "repack", "-a", "-d", "-q")
    (pack,) = (repository / ".git" / "objects" / "pack").glob("*.pack")
    content = bytearray(pack.read_bytes())
    for at in range(40, len(content) - 30, 7):
        content[at] ^= 0xFF
    overwrite(pack, bytes(content))


@broken("no git history")
def a_pack_without_its_index(repository: Path) -> None:
    run_git(repository, "repack", "-a", "-d", "-q")
    (index,) = (repository / ".git" / "objects" / "pack").glob("*.idx")
    index.unlink()


@broken("git fetch --unshallow")
def a_shallow_clone(repository: Path) -> None:
    clone = repository.with_name("clone")
    run_git(repository.parent, "clone", "--quiet", "--depth", "2", f"file://{repository}", str(clone))
    shutil.rmtree(repository)
    clone.rename(repository)


@broken("could not fetch")
def a_clone_without_contents(repository: Path) -> None:
    run_git(repository, "config", "uploadpack.allowFilter", "true")
    clone = repository.with_name("clone")
    run_git(
        repository.parent, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{repository}", str(clone)
    )
    shutil.rmtree(repository)
    clone.rename(repository)


@broken("does not follow on")
def a_history_with_a_graft(repository: Path) -> None:
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "grafts").write_text(f"{id_of(repository, 'HEAD')} {id_of(repository, 'HEAD~2')}\n")


@broken("no git history")
def no_commits(repository: Path) -> None:
    shutil.rmtree(repository)
    run_git(repository.parent, "init", "--quiet", str(repository))


@broken("no git history")
def no_repository(repository: Path) -> None:
    shutil.rmtree(repository / ".git")
    (repository / ".git").write_text("gitdir: /nowhere\n")


@broken("no git history")
def no_head(repository: Path) -> None:
    (repository / ".git" / "HEAD").unlink()
    (repository / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n")


@broken("no git history")
def a_head_that_is_no_text(repository: Path) -> None:
    (repository / ".git" / "HEAD").write_bytes(bytes(range(256)))


@broken("no git history")
def a_head_that_names_nothing(repository: Path) -> None:
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/elsewhere\n")


@broken("no git history")
def a_head_that_is_a_content(repository: Path) -> None:
    content = id_of(repository, "HEAD:a.txt")
    (repository / ".git" / "HEAD").write_text(f"{content}\n")


@broken("no git history")
def a_branch_that_is_no_commit(repository: Path) -> None:
    (repository / ".git" / "refs" / "heads" / "main").write_text("f" * 40 + "\n")


@broken("no git history")
def a_configuration_that_can_not_be_read(repository: Path) -> None:
    (repository / ".git" / "config").write_bytes(b"[core\nx = \x00\n")


@broken("no git history")
def a_format_of_the_future(repository: Path) -> None:
    run_git(repository, "config", "core.repositoryFormatVersion", "99")


@broken("after commit")
def a_commit_without_its_tree(repository: Path) -> None:
    commit_of(repository, "e" * 40)


@broken("no git history")
def a_commit_that_says_nothing(repository: Path) -> None:
    commit_of(repository, "", head="nothing\n")


@broken("no git history")
def a_commit_whose_parent_is_a_content(repository: Path) -> None:
    tree, content = id_of(repository, "HEAD^{tree}"), id_of(repository, "HEAD:a.txt")
    commit_of(repository, "", head=f"tree {tree}\nparent {content}\nauthor A <a> 0 +0000\ncommitter A <a> 0 +0000\n")


@broken("no git history")
def a_tree_cut_off(repository: Path) -> None:
    commit_of(repository, put_object(repository, "tree", b"100644 a.txt\0" + b"\x01" * 9))


@broken("has a path twice")
def a_tree_with_a_path_twice(repository: Path) -> None:
    one, other = (bytes.fromhex(id_of(repository, f"HEAD:{name}")) for name in ("a.txt", "c.txt"))
    commit_of(repository, put_object(repository, "tree", b"100644 x\0" + one + b"100644 x\0" + other))


@broken("is missing")
def a_tree_of_what_is_not_there(repository: Path) -> None:
    commit_of(repository, put_object(repository, "tree", b"100644 x\0" + b"\x01" * 20))


@broken("file 'x'")
def a_tree_that_is_said_to_be_a_file(repository: Path) -> None:
    tree = bytes.fromhex(id_of(repository, "HEAD:folder"))
    commit_of(repository, put_object(repository, "tree", b"100644 x\0" + tree))


@broken("is too long")
def a_path_that_is_too_long(repository: Path) -> None:
    content = bytes.fromhex(id_of(repository, "HEAD:a.txt"))
    commit_of(repository, put_object(repository, "tree", b"100644 " + b"\xff" * 400 + b"\0" + content))


# --- odd ones that are taken ------------------------------------------------------------------------------------------
ODD["a submodule"] = (Step({b"sub": (SUBMODULE, FAR_COMMIT.encode())}),)
ODD["symlinks that lead anywhere"] = (Step({b"l": (SYMLINK, b"../../etc/passwd"), b"m": (SYMLINK, b"\xff\xfe")}),)
ODD["names that are not UTF-8"] = (
    Step({b"\xff\xfe": (REGULAR, b"x"), b"a\nb": (REGULAR, b"y"), b"%": (REGULAR, b"")}),
)
ODD["names that turn the text around"] = (Step({"\u202egnp.exe\u200f".encode(): (REGULAR, b"x")}),)
ODD["binary contents"] = (
    Step({b"b": (REGULAR, bytes(range(256)) * 99), b"n": (REGULAR, b"\x00"), b"e": (REGULAR, b"")}),
)
ODD["a file that becomes a folder"] = (
    Step({b"a": (REGULAR, b"x")}),
    Step({b"a/b": (REGULAR, b"y")}, deletes=[b"a"]),
    Step({b"a": (REGULAR, b"z")}, deletes=[b"a/b"]),
)
ODD["a file that becomes a link"] = (Step({b"a": (REGULAR, b"x")}), Step({b"a": (SYMLINK, b"b")}))
ODD["empty commits"] = (Step(), Step(message=b""), Step(message=b"\n\n"))
ODD["a merge"] = (
    Step({b"a": (REGULAR, b"x")}),
    Step({b"b": (REGULAR, b"y")}, branch=b"refs/heads/other", start=1),
    Step({b"c": (REGULAR, b"z")}, start=1, merges=[2]),
)
ODD["nobody, at no time"] = (Step(author=b"<> 99999999999999 +9999", message=b"\xff\x00\xfe\n"),)
ODD["a large file"] = (Step({b"large": (REGULAR, os.urandom(3 << 20))}),)


# --- tests ------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def db(stores: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """With the first commit of the repository that is broken afterwards."""
    with connect(f"local:{stores}/projects.db") as db:
        db.create_table(projects)
        good = make_repository(tmp_path_factory.mktemp("good") / "good", STEPS)
        assert take(stores, good, "--project", "there", "--limit", "1").code == 0
        yield db


def take(stores: Path, repository: Path, *options: str) -> Told:
    given = ("--db", f"local:{stores}/projects.db", "--blobs", str(stores / "blobs"))
    return run(main, *given, "import-git", str(repository), *options)


def dump(db: Database, stores: Path) -> tuple[list[str], list[Path]]:
    """Every item of the table, and every file of the blob store."""
    items = db.run(all_items(db.port, projects.name))
    return sorted(json.dumps(item, sort_keys=True) for item in items), sorted((stores / "blobs").rglob("*"))


@pytest.mark.parametrize("project", ["new", "there"])
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_repository_is_refused_whole(
    how: str, project: str, db: Database, stores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "a_content_of_another_length":
        monkeypatch.setattr("projects.git.SILENCE_SECONDS", 5.0)
    repository = make_repository(tmp_path / "repository", STEPS)
    spoil, where = BROKEN[how]
    spoil(repository)
    before = dump(db, stores)
    told = take(stores, repository, "--project", project)
    other = "which is not number 1 of this history"  # what is there already tells it first
    check_refused(told, other if project == "there" and other in told.error else where)
    assert dump(db, stores) == before


@pytest.mark.parametrize("how", ODD)
def test_an_odd_repository_is_imported_whole(how: str, db: Database, stores: Path, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / f"odd-{list(ODD).index(how)}", ODD[how])
    told = take(stores, repository)
    assert told.code == 0, told.error
    project = f"{repository.name}-{commits_of(repository)[0][:8]}"
    sound = run(main, "--db", f"local:{stores}/projects.db", "--blobs", str(stores / "blobs"), "check", project)
    assert sound.code == 0, sound.error


def test_a_bare_repository_and_a_folder_whose_name_is_no_text(db: Database, stores: Path, tmp_path: Path) -> None:
    good = make_repository(tmp_path / "good", STEPS)
    run_git(tmp_path, "clone", "--quiet", "--bare", str(good), str(tmp_path / "bare.git"))
    odd = Path(f"{tmp_path}/{os.fsdecode(b'odd-name-' + bytes([255]))}")
    good.rename(odd)
    for repository in (tmp_path / "bare.git", odd):
        told = take(stores, repository)
        assert told.code == 0, told.error
