"""Tests with budgets: a test fails when an access pattern takes a request more than it should.

A loop that reads one item at a time passes every test of its result, and is slow on the day the data has grown. Tests
run against the embedded engine, whose requests and units are those of DynamoDB; `budget` comes with the library.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from singletable import ANY, Database, Entity, Key, Table, connect
from singletable.pytest_plugin import Budget

app = Table("app")


class Task(Entity, table=app, type="task"):
    board: str
    number: int
    title: str = ""

    @app.key
    @staticmethod
    def of_board(board: str, number: int = ANY) -> Key:
        """The tasks of a board, by number."""
        return f"board#{board}", f"task#{number}"


def titles(db: Database, board: str, numbers: list[int]) -> list[str]:
    """The application's own code: some tasks at once, 100 a request."""
    return [task.title for task in db.get_many([Task.of_board(board, number) for number in numbers])]


def titles_in_a_loop(db: Database, board: str, numbers: list[int]) -> list[str]:
    """The same with a request for each task."""
    found = (db.get(Task.of_board(board, number)) for number in numbers)
    return [task.title for task in found if task is not None]


# --- tests ------------------------------------------------------------------------------------------------------------
@pytest.fixture
def db() -> Iterator[Database]:
    """An engine of its own in memory, with a board; and the table is sound when the test has ended."""
    with connect("local") as made:
        made.write_many(puts=[Task(board="b", number=n, title=f"task {n}") for n in range(50)])
        yield made
        assert made.check(app) == []


def test_a_board_is_one_query(db: Database, budget: Budget) -> None:
    with budget(requests=1, read_units=0.5):
        assert len(db.all(Task.of_board("b"))) == 50


def test_tasks_are_read_together(db: Database, budget: Budget) -> None:
    with budget(round_trips=1):
        assert len(titles(db, "b", list(range(50)))) == 50


def test_a_loop_is_over_budget(db: Database, budget: Budget) -> None:
    """What a test says whose code reads in a loop."""
    with pytest.raises(AssertionError, match="over budget: 50 round trips, 1 allowed"), budget(round_trips=1):
        titles_in_a_loop(db, "b", list(range(50)))


@pytest.mark.budget(requests=10)
def test_a_whole_test_has_a_budget(db: Database) -> None:
    db.create(Task(board="new", number=1))


def test_a_query_is_looked_at_without_being_sent(db: Database) -> None:
    (request,) = db.explain(Task.of_board("b"))
    assert (request.operation, request.index) == ("Query", None)


# --- shown by this file itself: your own tests just run under pytest --------------------------------------------------
class Names:
    """Prints what became of each test."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            print(f"{report.nodeid.rpartition('::')[2]}: {report.outcome}")


def main() -> None:
    options = [
        "-p",
        "no:terminal",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "-c",
        "/dev/null",
        f"--rootdir={Path(__file__).parent}",
    ]
    code = pytest.main([*options, __file__], plugins=[Names()])
    print("pytest ends with", int(code))
    with connect("local") as db:
        db.write_many(puts=[Task(board="b", number=n) for n in range(50)])
        with db.meter() as together:
            titles(db, "b", list(range(50)))
        with db.meter() as one_by_one:
            titles_in_a_loop(db, "b", list(range(50)))
        print("costs")
        print("  50 tasks together:  ", together)
        print("  50 tasks in a loop: ", one_by_one)


if __name__ == "__main__":
    main()
