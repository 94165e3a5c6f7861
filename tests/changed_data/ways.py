"""An apply that is not left alone: it is killed at each request, another one takes it over, or it is taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from singletable import Database
from singletable.migrations import ApplyRefused, Doing, Migrations, Plan, PlanRefused, two_versions
from singletable.migrations.apply_lease import LEASE_SECONDS
from tests.changed_data.runs import begun, case_of, planned
from tests.changed_data.stored import stored_by
from tests.changed_data.verdicts import Seen, broken_after, seen_by, unread, wrong_counts
from tests.changes.laws import Case
from tests.migrations.test_apply_lease import Pace
from tests.migrations.watching import Killed, before_each, killed_at_every_request
from tests.support.engines import again, fresh


def goes_on(seed: int) -> bool:
    """Whether a change has items to rewrite, and no plan refuses it."""
    case = case_of(seed)
    with fresh() as db:
        begun(db, case)
        try:
            return any(step.kind == "fill" for step in planned(db, case).steps)
        except PlanRefused:
            return False


def broken_by_kills(seed: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The broken laws after an apply that was killed before each of its requests, and gone on with."""
    case = case_of(seed)
    with fresh() as db:
        seen, plan = begun(db, case), planned(db, case)

        def run(_: int) -> object:
            return Migrations(db, case.new.table).apply(purge=plan.purge)

        assert killed_at_every_request(db, monkeypatch, run) > len(plan.steps)
        return [f"{seed}: killed: {text}" for text in broken_after(db, case, seen)]


def broken_by_another(seed: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The broken laws after an apply that stands still at a request, while another one takes over and ends. Each of its
    requests in turn."""
    at, texts, is_reached = 0, list[str](), True
    while is_reached:
        at += 3
        with fresh() as db, again(db) as other:
            case = case_of(seed)  # with the same values each time
            seen, plan = begun(db, case), planned(db, case)
            is_reached = _taken_over(db, other, case, plan, at, monkeypatch)
            texts += [f"{seed}: taken over at {at}: {text}" for text in broken_after(other, case, seen)]
    return texts


def _taken_over(
    db: Database, other: Database, case: Case, plan: Plan, at: int, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Whether the apply had so many requests."""
    left = at

    def stand_still(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            with monkeypatch.context() as clock:
                Pace(other, clock)
                Migrations(other, case.new.table).apply(purge=plan.purge)
            mine.now += LEASE_SECONDS

    with monkeypatch.context() as patched:
        mine = Pace(db, patched)
        before_each(db, patched, stand_still)
        ended = _how_it_ends(db, case, plan)
    assert ended in ("whole", "lease lost", "table changed")
    assert ended == "whole" or left <= 0
    return left <= 0


def _how_it_ends(db: Database, case: Case, plan: Plan) -> str:
    try:
        Migrations(db, case.new.table).apply(plan)
    except ApplyRefused as refused:
        return refused.reason
    return "whole"


def broken_on_the_way_back(seed: int) -> list[str]:
    """The broken laws after the old declaration is applied again, from each step of the apply."""
    case, texts = case_of(seed), list[str]()
    with fresh() as db:
        begun(db, case)
        steps = planned(db, case).steps
    for number in range(1, len(steps) + 1):
        with fresh() as db:
            case = case_of(seed)
            seen = begun(db, case)
            _apply_until(db, case, number + 1)
            name = steps[number - 1].name
            texts += [f"{seed}: back after {name}: {text}" for text in _broken_back(db, case, seen)]
    return texts


def _apply_until(db: Database, case: Case, number: int) -> None:
    """The process ends before a step; after the last one there is none."""

    def kill(doing: Doing) -> None:
        if doing.number == number:
            raise Killed

    plan = planned(db, case)
    try:
        Migrations(db, case.new.table).apply(plan, progress=kill)
    except Killed:
        return


def _broken_back(db: Database, case: Case, seen: Sequence[Seen]) -> Iterator[str]:
    back = Case(case.new, case.old)
    there = seen_by(back, list(stored_by(db, case.new)))
    versions = two_versions(case.old.table, case.new.table)
    try:
        plan = planned(db, back)
    except PlanRefused as refused:
        if refused.reason != "older program":
            yield from wrong_counts(back, there, refused)
        if not versions.lost:
            yield f"nothing is said to be lost, and it is refused: {refused}"
        return
    done = {step.name.replace(" shop", "") for step in plan.steps if step.kind not in ("set", "unset", "purge")}
    if not done <= {*versions.back, "record"}:
        yield f"the way back has {done}, and is said to have {versions.back}"
    Migrations(db, case.old.table).apply(plan)
    yield from broken_after(db, back, there)
    for type_name, kind in case.old.kinds.items():
        own = [item for item in seen if item.stored.type == type_name]
        yield from unread(Case(case.old, case.old), own, list(db.scan(kind)), kind)
