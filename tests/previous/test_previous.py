"""Programs of the release before this one and of this one work on one table at once: each goes on with what the other
began."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import connect
from tests.previous.program import MANY
from tests.previous.releases import Program, previous_sources
from tools.distributions import SOURCES

pytestmark = pytest.mark.embedded("both programs open one file")

Pair = tuple[Program, Program]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Program]]:
    """A program of each release, both open on one engine."""
    folder = tmp_path_factory.mktemp("previous")
    sources = previous_sources(folder / "sources")
    data = folder / "data.db"
    with connect(f"local:{data}"):
        programs: dict[str, Program] = {}
        try:
            programs["old"] = Program(sources, data, folder)
            programs["new"] = Program([*SOURCES], data, folder)
            yield programs
            for program in programs.values():
                assert program("check") == []
        finally:
            for program in programs.values():
                program.end()


@pytest.fixture(params=["old", "new"])
def own(request: pytest.FixtureRequest) -> str:
    """The program that begins."""
    name: str = request.param
    return name


@pytest.fixture
def first(both: dict[str, Program], own: str) -> Program:
    return both[own]


@pytest.fixture
def second(both: dict[str, Program], own: str) -> Program:
    return both["new" if own == "old" else "old"]


def test_records_with_guards_and_counts(first: Program, second: Program, own: str) -> None:
    first("write_user", own)
    assert second("change_user", own) == [2]
    assert first("end_user", own) == [f"{own}.moved@example.org", 3, ["a", "b", own]]
    assert second("end_user", f"{own} next") == [f"{own}@example.org", 1, []]


def test_a_graph(first: Program, second: Program, own: str) -> None:
    first("write_goals", own)
    changed = ["changed", [f"{own}.1"], [[f"{own}.1", "team"]], ["back"]]
    assert second("change_goals", own) == changed
    assert first("goals", own) == changed


def test_a_document_with_its_history(first: Program, second: Program, own: str) -> None:
    first("write_board", own)
    status, *board = second("change_board", own)
    assert status == "applied"
    states, tags, family = board
    whole = {"s1": 1, "s2": 2, "s3": 3}
    assert states == [
        [own, whole],  # restored
        ["waited", {**whole, "s1": 100, "s9": 9}],  # merged
        ["waited", {**whole, "s9": 9}],
        ["waited", whole],
        [own, whole],
        [own, {}],
    ]
    assert (tags, family) == (["first", "second"], [own, f"{own}-branch"])
    assert first("board", own) == board


def test_tasks_and_their_dead_letters(first: Program, second: Program, own: str) -> None:
    first("schedule", own)
    at = "2026-01-01T00:00:00+00:00"
    assert second("work") == [f"{own} 1 {at}", f"{own} 2 {at}", f"{own} free {at}"]
    first("schedule", f"{own}b")
    first("fail_tasks")
    names = [f"{own}b {name}" for name in ("1", "2", "free")]
    assert second("retry_tasks", own) == [f"ConnectionError: {n}" for n in names] + [f"{n} {at}" for n in names]
    assert first("retry_tasks", f"{own}b") == []


def test_a_consumer_with_its_leases_and_dead_letters(first: Program, second: Program, own: str) -> None:
    first("handle")
    first("write_user", f"{own} handled")
    assert second("handle") == [f"{own} handled"]
    first("write_user", f"{own} failed")
    first("fail_changes")
    assert second("retry_changes") == [f"ConnectionError: {own} failed", f"{own} failed"]
    assert first("handle") == second("handle") == []


def test_a_fill_a_record_and_an_export_that_the_other_ends(first: Program, second: Program, own: str) -> None:
    first("write_people")
    assert first("begin_fill") == "stopped"
    assert second("end_fill") == [0, MANY]
    first("apply")
    assert set(second("plan")) <= {"record people"}  # what the record of the release before lacks
    second("apply")
    assert first("plan") == second("plan") == []
    assert first("begin_export", own) == "stopped"
    assert second("end_export", own)[1] == MANY
    assert first("begin_export", f"{own} again") == "stopped"
    assert first("end_export", f"{own} again") == [True, MANY]
