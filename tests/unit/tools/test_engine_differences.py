"""The table of the engine's differences: what it keeps from a run, and what a comparison says."""

from __future__ import annotations

from pathlib import Path

from tools.engine_differences.__main__ import TABLE
from tools.engine_differences.table import Difference, Table, changes, read, table_of, written

RUN = {"test_a.py::one": "passed", "test_a.py::two": "answers otherwise", "test_b.py::three[\\é]": "skipped"}
BEFORE = Table(
    "c0ffee",
    "engine 1",
    {"answers otherwise": 2},
    [
        Difference("it is slow", "nothing", {"test_a.py::two": "answers otherwise"}),
        Difference("it is gone", "nothing", {"test_a.py::one": "answers otherwise"}),
    ],
)


def test_a_run_keeps_the_causes_of_what_still_differs() -> None:
    after = table_of({**RUN, "test_c.py::new": "another error"}, "c1", "engine 2", BEFORE)
    assert [(each.cause, each.tests) for each in after.differences] == [
        ("it is slow", {"test_a.py::two": "answers otherwise"}),
        ("", {"test_c.py::new": "another error"}),
    ]
    assert after.counts == {"another error": 1, "answers otherwise": 1, "passed": 1, "skipped": 1}


def test_a_first_run_has_no_causes() -> None:
    [only] = table_of(RUN, "c1", "engine 2", None).differences
    assert (only.cause, only.tests) == ("", {"test_a.py::two": "answers otherwise"})


def test_a_table_is_read_as_it_was_written() -> None:
    odd = Table("c", 'e "1"', {"passed": 1}, [Difference('a "cause"\\', "m", {"test_x.py::y[\x00é\\]": "failed"})])
    for table in (BEFORE, odd):
        assert read(written(table)) == table


def test_changes_name_what_was_and_what_is() -> None:
    after = table_of({**RUN, "test_c.py::new": "another error"}, "c1", "engine 2", BEFORE)
    assert changes(BEFORE, after) == [
        "test_a.py::one: answers otherwise, now passed or is gone",
        "test_c.py::new: passed, now another error",
    ]
    assert changes(BEFORE, BEFORE) == []


def test_only_the_named_files_are_compared() -> None:
    after = table_of({"test_b.py::three": "passed"}, "c1", "engine 2", BEFORE)
    assert changes(BEFORE, after, ["test_b.py"]) == []


def test_each_difference_of_the_kept_table_has_a_cause_and_a_meaning() -> None:
    table = read(TABLE.read_text())
    assert [each.tests for each in table.differences if not (each.cause and each.means)] == []
    assert sum(table.counts.values()) > 1000
    assert written(table) == TABLE.read_text()


def test_the_tests_that_its_meanings_name_are_there() -> None:
    root = Path(__file__).parents[3]
    meanings = " ".join(each.means for each in read(TABLE.read_text()).differences)
    named = [word.rstrip(".:;,") for word in meanings.split() if word.startswith(("tests/", "docs/"))]
    assert named
    assert [name for name in named if not (root / name).exists()] == []
