"""The commands that change something: the README's first five minutes as they stand there, then each of the others."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.goals.tests.support import run
from goals.cli_actions import COMMANDS

README = Path(__file__).parents[1] / "README.md"
SERVE = "serve --insecure-user grace"


def five_minutes() -> Iterator[tuple[list[str], list[str]]]:
    """Each command of the README's first steps, and the lines that it shows."""
    text = README.read_text("utf-8").partition("in five minutes")[2]
    block = text.partition("```console\n")[2].partition("```")[0]
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield shlex.split(command), shown


def test_the_first_five_minutes_of_the_readme(tmp_path: Path) -> None:
    target = f"local:{tmp_path}/goals.db"
    ran = 0
    for words, shown in five_minutes():
        if words[0] == "export":
            continue
        assert words[:3] == ["python", "-m", "goals"]
        if words[3:] == SERVE.split():  # which the browser's tests do
            continue
        result = run(target, *words[3:])
        assert result.exit_code == 0, result.output
        assert all(line in result.stdout.splitlines() for line in shown), words
        ran += 1
    assert ran == 9
    tree = run(target, "tree", "night").stdout.splitlines()
    assert tree[1].startswith("    0 %  Two lamps are lit")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    """ada manages team t and leads goal g; grace is a user."""
    found = f"local:{tmp_path_factory.mktemp('commands')}/goals.db"
    for command in (
        ("create-user", "ada", "Ada"),
        ("create-user", "grace", "Grace"),
        ("create-team", "t", "Team", "--manager", "ada"),
        ("create-goal", "Fly", "--team", "t", "--lead", "ada", "--id", "g"),
    ):
        assert run(found, *command).exit_code == 0
    return found


def test_every_action_has_a_command(target: str) -> None:
    said = "20 to 30 %"
    steps: list[tuple[tuple[str, ...], int, str]] = [
        (("rename-user", "ada", "Ada L", "--was", "Ada"), 0, ""),
        (("rename-user", "ada", "Ada K", "--was", "Ada"), 1, "name is 'Ada L', you wanted 'Ada K'"),
        (("--as", "grace", "rename-team", "t", "Mine"), 1, "'grace' may not manage team 't'"),
        (("--as", "ada", "rename-team", "t", "Engines"), 0, ""),
        (("set-team-role", "t", "grace", "observer"), 0, ""),
        (("set-team-role", "t", "grace", "member", "--was", "manager"), 1, "role is 'observer'"),
        (("team-people", "t"), 0, "observer"),
        (("teams",), 0, "Engines"),
        (("teams", "--json", "--limit", "1"), 0, '"name": "Engines"'),
        (("--as", "grace", "leave-team", "t", "grace"), 0, ""),
        (("leave-team", "t", "grace"), 1, "there is no part in team 't' of 'grace'"),
        (("change-goal", "g", "--status", "late", "--progress", "20"), 0, ""),
        (("change-goal", "g", "--status", "early", "--was", "status="), 1, "status is 'late', you wanted 'early'"),
        (("change-goal", "g", "--status", "x", "--was", "colour=red"), 1, "it is title=, status=, progress= or due="),
        (("create-sub-goal", "g", "Land", "--lead", "grace", "--team", "t"), 0, ""),
        (("create-sub-goal", "g", "Land"), 2, "say who leads it"),
        (("set-role", "g", "grace", "contributor"), 0, ""),
        (("set-role", "g", "grace", "team"), 1, "a user is a lead or a contributor"),
        (("goal-people", "g"), 0, "contributor"),
        (("--as", "grace", "check-in", "g", "Slowly", "--progress", "30"), 0, ""),
        (("check-in", "g", "Slowly", "--progress", "30"), 2, "say whose it is"),
        (("activity", "g"), 0, said),
        (("activity", "g", "--json"), 0, '"check_ins": 1'),
        (("--as", "grace", "subscribe", "g"), 0, ""),
        (("--as", "grace", "unsubscribe", "g"), 0, ""),
        (("leave", "g", "grace"), 0, ""),
        (("leave", "g", "t", "--kind", "team"), 0, ""),
        (("user", "ada", "--at-least", "lead"), 0, "Fly"),
        (("tree", "g", "--json"), 0, '"title": "Land"'),
        (("--as", "grace", "delete-goal", "g"), 1, "it takes a lead of it or a manager of one of its teams"),
        (("delete-goal", "g"), 0, ""),
        (("delete-goal", "g"), 1, "there is no goal 'g'"),
        (("--as", "grace", "delete-team", "t"), 1, "'grace' may not manage team 't'"),
        (("delete-team", "t"), 0, ""),
        (("delete-team", "t"), 1, "there is no team 't'"),
        (("--as", "ada", "delete-user", "grace"), 1, "everybody changes themselves alone"),
        (("--as", "grace", "delete-user", "grace"), 0, ""),
        (("delete-user", "grace"), 1, "there is no user 'grace'"),
    ]
    for arguments, code, text in steps:
        result = run(target, *arguments)
        assert (result.exit_code, text in result.output) == (code, True), (arguments, result.output)
    used = {word for arguments, _, _ in steps for word in arguments}
    of_readme = {"create-user", "create-team", "create-goal", "create-key-result", "comment"}
    assert {command.name for command in COMMANDS} - used - of_readme == {"delete-entry"}


def test_an_entry_is_deleted_by_who_wrote_it(tmp_path: Path) -> None:
    target = f"local:{tmp_path}/goals.db"
    assert run(target, "sample").exit_code == 0
    entry = run(target, "--as", "U3", "comment", "G1", "A slip").stdout.strip()
    refused = run(target, "--as", "U4", "delete-entry", "G1", entry)
    assert (refused.exit_code, "'U4' may not manage goal 'G1'" in refused.output) == (1, True)
    assert run(target, "--as", "U3", "delete-entry", "G1", entry).exit_code == 0
    assert run(target, "delete-entry", "G1", entry).exit_code == 1
