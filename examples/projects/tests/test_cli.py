"""The command line in processes of its own, over one data file and one folder: the interface that scripts rely on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.projects.tests.gitted import SUBMODULE, commits_of, tree_in, tree_of
from examples_shared.testing.commandline import CommandLine, Inside


def command_line(folder: Path) -> CommandLine:
    return CommandLine("projects", f"local:{folder}/projects.db", ("--blobs", str(folder / "blobs")))


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """The commands in processes of their own, on a board named Atlas; for tests that change nothing in it."""
    run = command_line(tmp_path_factory.mktemp("kept"))
    assert run("create", "b1", "--name", "Atlas", "--description", "The map").out == "created board b1, version 0\n"
    return run


@pytest.fixture(scope="module")
def kept(process: CommandLine) -> Iterator[Inside]:
    """The same, in this process."""
    with process.inside() as inside:
        yield inside


@pytest.fixture(scope="module")
def imported(kept: Inside, everything: Path) -> dict[str, Any]:
    found: dict[str, Any] = kept("import-git", str(everything), "--json").json
    return found


@pytest.mark.parametrize("arguments", [("show", "b1", "--json"), ("history", "b1"), ("show", "nope")])
def test_a_command_is_the_same_in_a_process_of_its_own(
    process: CommandLine, kept: Inside, arguments: tuple[str, ...]
) -> None:
    assert process(*arguments, check=False) == kept(*arguments, check=False)


def test_a_history_is_imported_by_a_process_of_its_own(process: CommandLine, everything: Path) -> None:
    assert process("import-git", str(everything), "--json", "--project", "apart", "--limit", "2").json["versions"] == 2


# --- histories --------------------------------------------------------------------------------------------------------
def test_what_an_import_says(imported: dict[str, Any], everything: Path) -> None:
    assert set(imported) == {"versions", "commits", "bytes_written", "bytes_if_copied", "seconds", "project"}
    assert imported["versions"] == imported["commits"] == len(commits_of(everything)) == 17
    assert imported["project"] == f"everything-{commits_of(everything)[0][:8]}"
    assert imported["bytes_written"] > 0
    assert imported["bytes_if_copied"] > 0
    assert 0 < imported["seconds"] < 60


def test_an_import_that_goes_on_says_what_is_its_own(kept: Inside, everything: Path) -> None:
    parts = [
        kept("import-git", str(everything), "--json", "--project", "parts", "--limit", n).json for n in ("4", "9", "9")
    ]
    assert [(part["versions"], part["commits"]) for part in parts] == [(4, 4), (9, 5), (9, 0)]
    assert [part["bytes_written"] > 0 for part in parts] == [True, True, False]


@pytest.mark.parametrize("version", [4, 12, 17])
def test_an_export_is_the_commits_tree(
    kept: Inside, imported: dict[str, Any], everything: Path, tmp_path: Path, version: int
) -> None:
    expected = tree_of(everything, commits_of(everything)[version - 1])
    ran = kept("export", imported["project"], "--version", str(version), "--to", str(tmp_path / "to"))
    assert ran.out == f"wrote {len(expected)} files into {tmp_path}/to\n"
    as_written = {path: (mode, b"" if mode == SUBMODULE else content) for path, (mode, content) in expected.items()}
    assert tree_in(tmp_path / "to") == as_written


def test_progress_and_summary_for_people(kept: Inside, everything: Path) -> None:
    ran = kept("import-git", str(everything), "--project", "for-people", "--limit", "5")
    assert "the heaviest of 5 commits" in ran.out
    assert "imported 5 commits in" in ran.out
    assert "copying every version whole would have written" in ran.out
    assert "0 commits wrote over 2,048 + 120 a file bytes" in ran.out
    assert "importing everything" in ran.err


def test_history_names_the_commits(kept: Inside, imported: dict[str, Any], everything: Path) -> None:
    first = kept("history", imported["project"], "--limit", "10", "--json").json
    rest = kept("history", imported["project"], "--limit", "10", "--after", first["after"], "--json").json
    versions = first["versions"] + rest["versions"]
    assert [each["version"] for each in versions] == list(range(17, -1, -1))
    assert [each["values"]["commit"] for each in versions] == [*reversed(commits_of(everything)), ""]
    assert versions[0]["mutations"] == [{"client": "git", "id": 17, "name": "commit", "rejected": False}]
    assert rest["after"] is None
    assert "a mode alone" in kept("history", imported["project"]).out


def test_versions_files_and_differences(kept: Inside, imported: dict[str, Any]) -> None:
    project = imported["project"]
    shown = kept("show", project, "--version", "3", "--json").json
    assert (shown["kind"], shown["version"], shown["organisation"]) == ("repository", 3, "demo")
    assert set(shown["items"]["files"]) == {"README", "run.sh"}
    assert kept("show", project, "files/run.sh", "--version", "3", "--json").json == {
        "mode": "100755",
        "text": "#!/bin/sh\n",
    }
    assert kept("show", project, "files/binary", "--version", "5", "--json").json["hex"].startswith("000102")
    assert kept("diff", project, "2", "3", "--json").json["items"] == {
        "files": {"added": [], "changed": ["run.sh"], "removed": []}
    }
    assert "run.sh" in kept("diff", project, "2", "3").out
    assert "README" in kept("show", project, "--version", "1").out
    assert kept("show", project, "files/README", "--version", "1").out == "hello\n\n"


def test_a_version_by_time(kept: Inside, imported: dict[str, Any]) -> None:
    project = imported["project"]
    third = kept("show", project, "--version", "3", "--json").json
    assert kept("show", project, "--time", third["time"], "--json").json == third
    assert kept("show", project, "--time", "2999-01-01", "--json").json["version"] == 17
    assert kept("show", project, "--time", "1999-01-01", check=False).code == 1


# --- boards -----------------------------------------------------------------------------------------------------------
def test_a_board(kept: Inside) -> None:
    shown = kept("show", "b1", "--json").json
    assert (shown["id"], shown["kind"], shown["version"]) == ("b1", "board", 0)
    assert shown["values"] == {"name": "Atlas", "description": "The map"}
    assert shown["items"] == {"shapes": {}, "comments": {}}
    assert "Atlas" in kept("show", "b1").out
    assert "Atlas" in kept("history", "b1").out


def test_projects_of_an_organisation(kept: Inside, imported: dict[str, Any]) -> None:
    kept("create", "of-another", "--organisation", "o2")
    found = kept("projects", "--json").json["projects"]
    kinds = {each["id"]: each["kind"] for each in found}
    assert kinds["b1"] == "board"
    assert kinds[imported["project"]] == "repository"
    assert "of-another" not in kinds
    assert [each["id"] for each in kept("projects", "--organisation", "o2", "--json").json["projects"]] == [
        "of-another"
    ]
    assert "b1" in kept("projects").out


def test_branch_and_restore(kept: Inside, everything: Path) -> None:
    kept("import-git", str(everything), "--project", "travels", "--limit", "4")
    assert kept("branch", "travels", "aside", "--version", "1").out == "branched travels into aside, version 0\n"
    assert kept("restore", "travels", "1").out == "travels is what it was in version 1, as version 5\n"
    first = kept("show", "travels", "--version", "1", "--json").json["items"]
    assert kept("show", "travels", "--json").json["items"] == first
    assert kept("show", "aside", "--json").json["items"] == first
    assert kept("diff", "travels", "1", "5", "--json").json["items"] == {}
    assert kept("branch", "b1", "b1-aside").out == "branched b1 into b1-aside, version 0\n"


def test_a_board_is_changed_replayed_checked_and_swept(kept: Inside) -> None:
    kept("create", "busy")
    kept("branch", "busy", "quiet")
    shape = '{"id": "s1", "shape": {"text": "\u202ehello"}}'
    assert kept("mutate", "busy", "put_shape", shape).out == "put_shape made version 1\n"
    assert kept("show", "busy", "shapes/s1").out == '{\n  "text": "\\u202ehello"\n}\n'
    replayed = kept("replay", "busy", "--since", "0", "--onto", "quiet", "--json").json
    assert (replayed["mutations"], replayed["rejected"], replayed["skipped"]) == (1, [], 0)
    assert replayed["items"] == {"shapes": {"added": ["s1"], "changed": [], "removed": []}}
    assert "replayed 1 mutations onto quiet" in kept("replay", "busy", "--since", "0", "--onto", "quiet").out
    assert kept("check", "quiet").out == "quiet is sound\n"
    assert kept("collect-garbage", "busy").out == "deleted 0 of 1 contents\n"


def test_a_content_that_is_lost_is_found(kept: Inside) -> None:
    kept("create", "broken")
    kept("mutate", "broken", "put_shape", '{"id": "s1", "shape": {}}')
    (blob,) = (Path(kept.options[1]) / "demo" / "projects" / "broken").rglob("*.gz")
    blob.unlink()
    ran = kept("check", "broken", check=False)
    assert ran.code == 1
    assert "1 findings in broken" in ran.err
    assert ran.out != ""


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nope"), "there is no project 'nope'"),
        (("history", "nope"), "there is no project 'nope'"),
        (("diff", "b1", "0", "9"), "version 9"),
        (("show", "b1", "--version", "9"), "project 'b1' has no version 9"),
        (("show", "b1", "shapes/none"), "has no item 'shapes/none'"),
        (("show", "b1", "name"), "has no item 'name'"),
        (("restore", "b1", "9"), "project 'b1' has no version 9"),
        (("branch", "b1", "b1"), "there is a project 'b1' already"),
        (("create", "b1"), "there is a board 'b1' already"),
        (("history", "b1", "--after", "bad"), "the cursor is not of this query"),
        (("mutate", "b1", "rename", "{"), "no JSON"),
        (("export", "b1", "--version", "0", "--to", "/tmp/never"), "it is a board"),
        (("import-git", "/"), "no git history"),
    ],
)
def test_what_is_refused_is_one_line_and_status_1(kept: Inside, arguments: tuple[str, ...], said: str) -> None:
    ran = kept(*arguments, check=False)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_an_export_into_a_folder_that_holds_something_is_refused(
    kept: Inside, imported: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("kept")
    ran = kept("export", imported["project"], "--version", "1", "--to", str(tmp_path), check=False)
    assert (ran.code, [path.name for path in tmp_path.iterdir()]) == (1, ["mine"])
    assert "not an empty folder" in ran.err


def test_init_says_the_table(tmp_path: Path) -> None:
    assert command_line(tmp_path)("init").out == "table projects is ready\n"


def test_what_is_printed_is_one_value(kept: Inside, imported: dict[str, Any]) -> None:
    """Progress and costs go beside it."""
    for arguments in (("projects",), ("show", imported["project"]), ("diff", imported["project"], "1", "2")):
        assert json.loads(kept(*arguments, "--json").out)


# --- branches, names, deletion ----------------------------------------------------------------------------------------
@pytest.fixture
def run(tmp_path: Path) -> Iterator[Inside]:
    """The commands in this process, on nothing."""
    with command_line(tmp_path).inside() as inside:
        yield inside


def test_a_branch_is_merged_named_traced_and_deleted(run: Inside) -> None:
    run("create", "b1", "--name", "Atlas")
    run("mutate", "b1", "put_shape", '{"id": "s1", "shape": {"x": 1}}')
    assert run("tag", "b1", "first").out == "version 1 of b1 is first\n"
    assert run("branch", "b1", "b2").out == "branched b1 into b2, version 0\n"
    run("mutate", "b2", "move_shape", '{"id": "s1", "x": 5, "y": 5}')
    run("mutate", "b2", "rename", '{"name": "Theirs"}')
    run("mutate", "b1", "rename", '{"name": "Ours"}')
    left = run("merge", "b2", "--onto", "b1", check=False)
    assert left.out == (
        "conflict in name: base 'Atlas', ours 'Ours', theirs 'Theirs'\n"
        "1 conflicts; nothing was written. Say --prefer ours or theirs, or --choose for each.\n"
    )
    merged = run("merge", "b2", "--onto", "b1", "--prefer", "ours", "--json").json
    assert (merged["merged"], merged["version"], merged["taken"]) == (True, 3, [{"collection": "shapes", "id": "s1"}])
    assert run("show", "b1", "shapes/s1", "--json").json == {"x": 5, "y": 5}
    assert run("show", "b1", "shapes/s1", "--tag", "first", "--json").json == {"x": 1}
    assert run("merge", "b2", "--onto", "b1").out == "b1 has all of it already\n"
    changes = run("history", "b1", "shapes/s1", "--json").json["changes"]
    assert [(each["version"], each["mutations"][0]["name"]) for each in changes] == [(3, "$merge"), (1, "put_shape")]
    assert "put_shape 1 of operator" in run("history", "b1", "shapes/s1").out
    assert run("tags", "b1", "--json").json == {"tags": [{"name": "first", "version": 1}]}
    assert run("untag", "b1", "first").out == "b1 has no tag first\n"
    assert run("delete", "b1", "--yes").out == "deleted b1\n"
    assert run("show", "b2", "shapes/s1", "--json").json == {"x": 5, "y": 5}
    assert run("check", "b2").out == "b2 is sound\n"
    assert "no project 'b1'" in run("delete", "b1", "--yes", check=False).err


def test_branches_are_listed_and_conflicts_chosen_one_by_one(run: Inside) -> None:
    run("create", "b1", "--name", "Atlas")
    run("mutate", "b1", "put_shape", '{"id": "s1", "shape": {"x": 1}}')
    run("branch", "b1", "b2")
    origin = {"document_id": "b1", "number": 1}
    assert run("branches", "b1", "--json").json == {"branches": [{"document_id": "b2", "origin": origin}]}
    assert "b1" in run("branches", "b2").out
    for board, x in (("b1", 7), ("b2", 9)):
        run("mutate", board, "move_shape", f'{{"id": "s1", "x": {x}, "y": 0}}')
        run("mutate", board, "rename", f'{{"name": "Name of {board}"}}')
    merge = ("merge", "b2", "--onto", "b1", "--choose", "shapes/s1=theirs")
    assert run(*merge, "--json", check=False).json["merged"] is False
    assert "ITEM=ours or ITEM=theirs" in run(*merge, "--choose", "name", check=False).err
    run(*merge, "--choose", "name=ours")
    assert run("show", "b1", "shapes/s1", "--json").json["x"] == 9
    assert "Name of b1" in run("show", "b1").out
