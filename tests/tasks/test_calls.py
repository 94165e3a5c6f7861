"""Calls are values: their arguments are checked when they are made, and read back as they were."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable import InvalidRequest, InvalidValue, Table
from singletable.errors import Corrupt, DeclarationError
from singletable.tasks import Backoff, Tasks
from singletable.values import from_attribute_value, to_attribute_value


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.0
    label: str | None = None


def new() -> Tasks:
    return Tasks(Table("calls", indexes=["gsi1"]), index="gsi1")


async def everything(
    text: str,
    whole: int,
    exact: Decimal,
    rough: float,
    yes: bool,
    raw: bytes,
    when: datetime,
    day: date,
    colour: Colour,
    maybe: str | None,
    names: set[str],
    numbers: list[int],
    by_name: dict[str, Point],
    point: Point,
    free: Any,
) -> None: ...


ARGUMENTS = st.fixed_dictionaries(
    {
        "text": st.text(st.characters(codec="utf-8")),
        "whole": st.integers(-(10**30), 10**30),
        "exact": st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**9), max_value=10**9),
        "rough": st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100).filter(
            lambda v: v == 0 or abs(v) > 1e-100
        ),
        "yes": st.booleans(),
        "raw": st.binary(),
        "when": st.datetimes(timezones=st.just(timezone.utc)),
        "day": st.dates(),
        "colour": st.sampled_from(Colour),
        "maybe": st.none() | st.text(st.characters(codec="utf-8")),
        "names": st.sets(st.text(st.characters(codec="utf-8")), max_size=4),
        "numbers": st.lists(st.integers(-(10**9), 10**9), max_size=4),
        "by_name": st.dictionaries(
            st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
            st.builds(Point, st.integers(0, 9), st.sampled_from((0.5, -1.0)), st.none() | st.just("l")),
            max_size=3,
        ),
        "point": st.builds(Point, st.integers(0, 9)),
        "free": st.sampled_from((None, 1, "a", [1, "b"], {"c": [True]})),
    }
)


@given(ARGUMENTS)
def test_arguments_are_read_back_as_they_were(arguments: dict[str, Any]) -> None:
    call = new().task(everything)(**arguments)
    stored = from_attribute_value(to_attribute_value(dict(call.arguments)))
    assert call.task.bind(stored).keywords == arguments  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", [{"number": "1"}, {"number": None}, {"number": 1, "names": ["a"]}, {"other": 1}, {}])
def test_an_argument_that_does_not_fit_is_refused_at_the_call(wrong: dict[str, Any]) -> None:
    def run(number: int, names: set[str] = frozenset()) -> None: ...  # type: ignore[assignment]

    task = new().task(run)
    with pytest.raises(InvalidValue) as refused:
        task(**wrong)
    assert "run" in str(refused.value)


def test_a_default_is_stored_as_it_was_at_the_call() -> None:
    def run(number: int = 4, names: set[str] = frozenset({"a"})) -> None: ...  # type: ignore[assignment]

    call = new().task(run)()
    assert dict(call.arguments) == {"number": 4, "names": {"a"}}
    emptied = new().task(run)(names=set())
    assert emptied.task.bind(emptied.arguments).keywords["names"] == set()  # type: ignore[attr-defined]


def test_a_parameter_that_came_later_has_its_default() -> None:
    def run(old: int, new: str = "later") -> tuple[int, str]:
        return old, new

    assert new().task(run)(1).task.bind({"old": 1})() == (1, "later")


def test_stored_arguments_that_no_longer_fit_are_named_without_their_value() -> None:
    def run(number: int) -> None: ...

    task = new().task(run)
    for stored in ({"number": "a secret"}, {}):
        with pytest.raises(Corrupt) as refused:
            task.bind(stored)
        assert "secret" not in str(refused.value)
        assert "run.number" in str(refused.value)


def test_a_bound_method_is_a_task() -> None:
    class Service:
        def step(self, number: int) -> int:
            return number + 1

    task = new().task(Service().step)
    assert task.name == "step"
    assert task(1).task.bind({"number": 1})() == 2


def test_a_call_shows_no_values() -> None:
    def run(number: int) -> None: ...

    assert repr(new().task(run)(12345)) == "<Call of run(number)>"


def test_names_are_taken_once() -> None:
    tasks = new()

    def run() -> None: ...

    def other() -> None: ...

    tasks.task(run)
    tasks.task(run)  # a reload
    with pytest.raises(DeclarationError, match="two tasks"):
        tasks.task(name="run")(other)
    with pytest.raises(DeclarationError, match="no name"):
        tasks.task(functools.partial(run))
    assert tasks.task(name="partial")(functools.partial(run)).name == "partial"


def test_functions_that_can_not_be_stored_are_refused() -> None:
    tasks = new()

    def many(*numbers: int) -> None: ...

    def named(**numbers: int) -> None: ...

    def placed(number: int, /) -> None: ...

    def odd(number: complex) -> None: ...

    for function in (many, named, placed):
        with pytest.raises(DeclarationError, match="no name"):
            tasks.task(function)
    with pytest.raises(DeclarationError, match="complex"):
        tasks.task(odd)(1j)
    with pytest.raises(DeclarationError, match="tries"):
        tasks.task(tries=0)(new)


def test_an_index_that_can_not_hold_tasks_is_refused() -> None:
    with pytest.raises(DeclarationError, match="no index 'gsi2'"):
        Tasks(Table("calls", indexes=["gsi1"]), index="gsi2")
    inverse = Table("calls", indexes={"inverse": ("sk", "pk")})
    with pytest.raises(DeclarationError, match="the table's own key"):
        Tasks(inverse, index="inverse")


def test_a_second_tasks_of_a_table_is_refused() -> None:
    """Each worker takes every task of the table that is due, so each of the two would meet the other's functions."""
    table = Table("calls", indexes=["gsi1", "gsi2"])
    first = Tasks(table, index="gsi1")
    for index in ("gsi1", "gsi2"):
        with pytest.raises(DeclarationError, match="has its Tasks already") as refused:
            Tasks(table, index=index)
        assert refused.value.table == "calls"
        assert "Import" in refused.value.hint
    assert first.task(_nothing).name == "_nothing"
    assert Tasks(Table("calls", indexes=["gsi1"]), index="gsi1").table is not table


def test_a_tasks_that_could_not_be_made_is_not_in_the_way() -> None:
    table = Table("calls", indexes=["gsi1"])
    with pytest.raises(DeclarationError, match="no index"):
        Tasks(table, index="gsi2")
    made = Tasks(table, index="gsi1")
    assert made.table is table
    del made
    assert Tasks(table, index="gsi1").table is table  # nobody can use the first any more


def _nothing() -> None: ...


def test_waits_grow_up_to_a_limit() -> None:
    backoff = Backoff(first_seconds=1.0, longest_seconds=100.0)
    assert [backoff.seconds(tries, 1.0) for tries in (1, 2, 3, 7, 8, 500)] == [1, 2, 4, 64, 100, 100]
    assert backoff.seconds(3, 0.0) == 2.0


def test_nothing_runs_outside_of_a_task() -> None:
    tasks = new()
    for ask in (tasks.running, tasks.done):
        with pytest.raises(InvalidRequest, match="no task is running"):
            ask()


def test_a_time_without_a_zone_is_refused() -> None:
    tasks = new()

    def run() -> None: ...

    scheduled = tasks.at(datetime(2030, 1, 1), tasks.task(run)())
    with pytest.raises(InvalidValue, match="time zone"):
        scheduled.writes()


def test_a_wrong_schedule_is_refused_with_an_example() -> None:
    tasks = new()
    after: Any = tasks.after
    at: Any = tasks.at

    @tasks.task
    def ring(times: int = 1) -> None: ...

    soon, then = timedelta(0), datetime(2030, 1, 1, tzinfo=timezone.utc)
    wrong: list[tuple[Any, Any, Any, str]] = [
        (after, 5, ring(), r"a timedelta is expected, not int.*tasks\.after\(timedelta"),
        (after, ring(), soon, r"a timedelta is expected, not Call.*tasks\.after\(timedelta"),
        (after, then, ring(), "a timedelta is expected, not datetime"),
        (after, soon, "ring", "a call of a task is expected, not str"),
        (after, soon, ring, r"task ring is given without having been called.*ring\(\.\.\.\)"),
        (at, soon, ring(), r"a datetime is expected, not timedelta.*tasks\.at\(datetime"),
        (at, then, ring, "without having been called"),
    ]
    for verb, when, call, said in wrong:
        with pytest.raises(InvalidRequest, match=said):
            verb(when, call)


def test_an_empty_key_is_none() -> None:
    tasks = new()

    @tasks.task
    def ring() -> None: ...

    for give in (
        lambda: tasks.after(timedelta(0), ring(), key=""),
        lambda: tasks.at(datetime(2030, 1, 1, tzinfo=timezone.utc), ring(), key=""),
        lambda: tasks.cancel(""),
    ):
        with pytest.raises(InvalidValue, match="the key of a task is empty"):
            give()


def test_what_joins_a_transaction_is_shown_short_and_without_values() -> None:
    tasks = new()

    @tasks.task
    def ring(whom: str) -> None: ...

    scheduled = tasks.after(timedelta(0), ring("Ada"), key="secret")
    assert repr(scheduled) == "<Scheduled ring in calls>"
    assert repr(tasks.cancel("secret")) == "<Cancelled task in calls>"
