"""The command line in processes of its own, over one data file: the interface that scripts rely on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from examples.goals.tests.file import FILE, NEEDS_FILE, expected
from examples.goals.tests.support import enhancement, write_lines
from examples_shared.testing.commandline import CommandLine, Inside
from examples_shared.testing.serving import serving

COST = {"requests", "round_trips", "read_units", "write_units"}
LINES = (
    enhancement("2-b", authors=["ada", "grace"], reviewers=["linus", "ada"], participating_sigs=["sig-two"]),
    enhancement("1-a", authors=["grace"], approvers=["ada"], see_also=["/x/2-b"], milestone={"alpha": "v1"}),
    enhancement("3-c", authors=["linus"], owning_sig="sig-two"),
)
A = {"id": "1-a", "title": "The title of 1-a", "leads": ["grace"], "contributors": ["ada"], "teams": ["sig-one"]}
B = {
    "id": "2-b",
    "title": "The title of 2-b",
    "leads": ["ada", "grace"],
    "contributors": ["linus"],
    "teams": ["sig-one", "sig-two"],
}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """The commands in processes of their own, on three goals; for tests that change nothing."""
    folder = tmp_path_factory.mktemp("kept")
    run = CommandLine("goals", f"local:{folder}/goals.db")
    imported = run("import", str(write_lines(folder / "lines.jsonl", *LINES)))
    said = r"imported 3 goals \(10 new nodes, 0 changed goals\) in \d+\.\d\d s\n"
    assert re.fullmatch(said, imported.out)
    return run


@pytest.fixture(scope="module")
def kept(process: CommandLine) -> Iterator[Inside]:
    """The same, in this process."""
    with process.inside() as inside:
        yield inside


@pytest.mark.parametrize("arguments", [("team", "sig-one", "--json"), ("goal", "1-a"), ("goal", "nope")])
def test_a_command_is_the_same_in_a_process_of_its_own(
    process: CommandLine, kept: Inside, arguments: tuple[str, ...]
) -> None:
    assert process(*arguments, check=False) == kept(*arguments, check=False)


def test_a_teams_goals(kept: Inside) -> None:
    found = kept("team", "sig-one", "--json").json
    assert found["goals"] == [A, B]
    assert found["after"] is None
    assert set(found["cost"]) == COST
    assert (found["cost"]["requests"], found["cost"]["round_trips"], found["cost"]["write_units"]) == (3, 3, 0)


def test_pages_hold_every_goal_once(kept: Inside) -> None:
    first = kept("team", "sig-two", "--json", "--limit", "1").json
    second = kept("team", "sig-two", "--json", "--limit", "1", "--after", first["after"]).json
    assert sorted(goal["id"] for goal in first["goals"] + second["goals"]) == ["2-b", "3-c"]
    assert len(first["goals"]) == 1


@pytest.mark.parametrize(
    ("user", "role", "ids"), [("ada", "lead", ["2-b"]), ("ada", "contributor", ["1-a"]), ("grace", "contributor", [])]
)
def test_a_users_goals_of_exactly_one_role(kept: Inside, user: str, role: str, ids: list[str]) -> None:
    found = kept("user", user, "--role", role, "--json").json
    assert [goal["id"] for goal in found["goals"]] == ids
    assert set(found) == {"goals", "after", "cost"}


def test_a_goal_with_its_links(kept: Inside) -> None:
    assert kept("goal", "1-a", "--json").json == {**A, "links": ["2-b"]}
    assert kept("goal", "2-b", "--json").json == {**B, "links": []}


def test_tables_for_people(kept: Inside) -> None:
    shown = kept("team", "sig-one", "--limit", "1")
    assert "The title of" in shown.out
    assert "--after" in shown.out
    assert "3 round trips" in shown.err
    assert "2-b" in kept("goal", "1-a").out
    assert "1-a" in kept("team", "sig-one", "--by", "date").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("team", "nope", "--json"), "there is no team 'nope'"),
        (("user", "nope", "--role", "lead"), "there is no user 'nope'"),
        (("goal", "nope"), "there is no goal 'nope'"),
        (("team", "sig-one", "--after", "bad"), "the cursor is not of this query"),
    ],
)
def test_what_is_not_there_is_one_line_and_status_1(kept: Inside, arguments: tuple[str, ...], said: str) -> None:
    ran = kept(*arguments, check=False)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_wrong_file_is_refused(kept: Inside, tmp_path: Path) -> None:
    (tmp_path / "wrong.jsonl").write_bytes(b"\xff")
    assert "not UTF-8" in kept("import", str(tmp_path / "wrong.jsonl"), check=False).err
    (tmp_path / "wrong.jsonl").write_text("{}")
    assert "wrong.jsonl:1: no object with an id" in kept("import", str(tmp_path / "wrong.jsonl"), check=False).err


def test_the_sample_is_served(tmp_path: Path) -> None:
    run = CommandLine("goals", f"local:{tmp_path}/sample.db")
    assert "team T1" in run("sample").out
    assert run("init").out == "table records is ready\n"
    with serving("goals", run.target, tmp_path / "log", "serve", "--insecure-user", "U1") as url:
        assert "Ships find the harbour" in httpx.get(f"{url}/teams/T1").text
        assert httpx.put(f"{url}/api/subscriptions/G1-K1").status_code == 204


@pytest.mark.parametrize(
    "arguments", [("serve", "--host", "0.0.0.0", "--insecure-user", "ada"), ("token", "ada", "--secret", "short")]
)
def test_unsafe_ways_to_serve_are_refused(kept: Inside, arguments: tuple[str, ...]) -> None:
    assert kept(*arguments, check=False).code in (1, 2)


@NEEDS_FILE
def test_the_real_file(tmp_path: Path) -> None:
    run = CommandLine("goals", f"local:{tmp_path}/goals.db")
    run("import", str(FILE))
    said = expected()
    ids: list[str] = []
    after: list[str] = []
    while True:
        page = run("team", "sig-scheduling", "--json", "--limit", "20", *after).json
        for goal in page["goals"]:
            assert goal == {name: value for name, value in said.goals[goal["id"]].items() if name != "links"}
        assert page["cost"]["round_trips"] == 3
        ids += [goal["id"] for goal in page["goals"]]
        if page["after"] is None:
            break
        after = ["--after", page["after"]]
    assert sorted(ids) == sorted(said.of_team["sig-scheduling"])
