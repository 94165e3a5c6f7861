"""Trees written into a folder: what git would check out, and nothing outside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from examples.projects.tests.gitted import REGULAR, SYMLINK, make_repository, run_git, tree_in
from examples.projects.tests.histories import EVERYTHING
from projects.errors import Invalid, Refused, UnsafeName
from projects.files import File
from projects.names import item_id
from projects.tree import paths_of, write_tree


@pytest.mark.parametrize("at", [4, 7, 11, 12, 13, 17])
def test_a_tree_is_what_git_checks_out(tmp_path: Path, at: int) -> None:
    steps = [step for step in EVERYTHING[:at] if step.branch == b"refs/heads/main" and not step.merges]
    repository = make_repository(tmp_path / "git", steps)
    run_git(repository, "checkout", "--quiet", "--force", "main")
    (repository / ".git").rename(tmp_path / "git.git")
    files = {path: File.of(*entry) for path, entry in tree_in(repository).items()}
    write_tree(tmp_path / "written", files)
    assert tree_in(tmp_path / "written") == tree_in(repository) != {}


def test_modes_are_exact_whatever_the_mask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_tree(tmp_path / "a", {b"x": File("100755"), b"y": File(REGULAR)})
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / "a" / name).stat().st_mode) for name in ("x", "y")] == [0o755, 0o644]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (b"../out", "leaves the folder"),
        (b"a/../../out", "leaves the folder"),
        (b"/etc/passwd", "leaves the folder"),
        (b"a//b", "leaves the folder"),
        (b"./a", "leaves the folder"),
        (b"a/", "leaves the folder"),
        (b".git/config", "git would act on"),
        (b"sub/.GIT/hooks/post-checkout", "git would act on"),
        (b"a\0b", "holds a NUL"),
    ],
)
def test_names_that_leave_the_folder_are_refused(path: bytes, said: str) -> None:
    with pytest.raises(UnsafeName, match=said):
        paths_of([item_id(b"fine"), item_id(path)])


def test_a_name_through_another_file_is_refused() -> None:
    with pytest.raises(UnsafeName, match="goes through another file"):
        paths_of(["link", "link/passwd"])
    assert paths_of(["link", "link-2/passwd", "linked"]) != {}


def test_an_id_that_is_no_path_is_refused() -> None:
    with pytest.raises(Invalid, match="escaped form"):
        paths_of(["100%"])


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(Invalid, match="not an empty folder"):
        write_tree(tmp_path, {b"x": File(REGULAR)})
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_name_the_file_system_refuses_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="a part of the files only"):
        write_tree(tmp_path / "to", {b"n" * 300: File(REGULAR)})


def test_symlinks_are_written_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    files = {b"a": File(SYMLINK, str(outside)), b"z": File(REGULAR, "z")}
    write_tree(tmp_path / "to", files)
    assert os.readlink(tmp_path / "to" / "a") == str(outside)
    assert outside.read_text() == "mine"
