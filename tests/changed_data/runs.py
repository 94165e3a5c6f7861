"""Runs of a drawn change on data: the old program stores items, the new one plans and applies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random
from typing import cast

from singletable import Database
from singletable.errors import DeclarationError
from singletable.migrations import Migrations, Plan, PlanRefused
from tests.changed_data.stored import DrawnProgram, store
from tests.changed_data.verdicts import Seen, broken_after, seen_by, unlike_predicted, wrong_counts
from tests.changes.changes import (
    Change,
    changed,
    class_changed,
    converted,
    described,
    key_changed,
    mirrors_changed,
    pattern_changed,
    table_changed,
    unique_added,
    unique_removed,
    version_raised,
)
from tests.changes.declared import TableFacts, drawn
from tests.changes.laws import Case
from tests.changes.oracle import Program
from tests.support.engines import fresh

DECLARED = 5000
"""From this seed on, the changes are those that a class declares with what was before."""
WHOLE: list[Change] = [
    *[key_changed, pattern_changed, version_raised] * 2,
    *[class_changed, mirrors_changed, table_changed, unique_added, unique_removed],
]


def case_of(seed: int) -> Case:
    """A drawn declaration, and a change of it: every second one of keys, indexes, versions or classes."""
    random = Random(seed)
    while True:
        try:
            old = DrawnProgram(drawn(random), random)
            facts = _changed(old.facts, random, seed)
            if facts != old.facts:
                return Case(old, Program(facts))
        except DeclarationError:
            continue


def _changed(facts: TableFacts, random: Random, seed: int) -> TableFacts:
    if seed >= DECLARED:
        facts = (converted if seed % 3 == 0 else described)(facts, random)
        return changed(facts, random, random.randrange(2)) if seed % 4 == 0 else facts
    facts = random.choice(WHOLE)(facts, random) if seed % 2 else facts
    return changed(facts, random, random.randint(1 - seed % 2, 2 - seed % 2))


def broken(seed: int) -> list[str]:
    """The broken laws of one drawn change, each with what repeats it."""
    case = case_of(seed)
    with fresh() as db:
        return [f"python -m tests.changed_data.runs {seed}: {text}" for text in _broken(db, case)]


def _broken(db: Database, case: Case) -> Iterator[str]:
    seen = begun(db, case)
    try:
        plan = planned(db, case)
    except PlanRefused as refused:
        yield from wrong_counts(case, seen, refused)
        return
    yield from unlike_predicted(Migrations(db, case.new.table).apply(plan))
    yield from broken_after(db, case, seen)


def begun(db: Database, case: Case) -> list[Seen]:
    """The old program brings a table to its declaration, and stores items."""
    Migrations(db, case.old.table).apply()
    return seen_by(case, store(db, cast("DrawnProgram", case.old)))


def planned(db: Database, case: Case) -> Plan:
    """The new program's plan, which deletes guards of attributes that are not unique any more."""
    migrations = Migrations(db, case.new.table)
    plan = migrations.plan()
    remains = {one.type for one in plan.differences if one.rule == "beside.removed"}
    return migrations.plan(purge=sorted(remains)) if remains else plan


if __name__ == "__main__":
    one = case_of(int(sys.argv[1]))
    sys.stdout.write("\n".join(map(str, (one.old.facts, one.new.facts, *broken(int(sys.argv[1])), ""))))
