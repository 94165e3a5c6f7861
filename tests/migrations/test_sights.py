"""Sights that are not the outcome of one verb: requests, what other items hold, a role, what waits, and the unknown.

Each is what `two_versions` says, beside what happens on an engine. `test_two_versions` has the other sights.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from singletable import Database, NotFound, Table, attr, field
from singletable.documents import Documents, Mutation
from singletable.documents.blobs import NoBlobs
from singletable.errors import VersionMoved
from singletable.migrations import Migrations, PlanRefused, two_versions
from tests.migrations.changing import order
from tests.migrations.test_changed_layers import boards, rename_in
from tests.migrations.test_predictions import teams
from tests.migrations.test_two_versions import State, version
from tests.support.engines import fresh


def said(
    old: Table, new: Table, program: Any, verb: str, subject: str = "", phase: str = "before any step"
) -> set[str]:
    """The outcomes of a verb at one time, without the items that have them."""
    cells = two_versions(old, new).of(program, phase, verb, subject)
    return {sees.partition(" (")[0] for cell in cells for sees in cell.sees}


def requests(db: Database, act: Any) -> int:
    with db.meter() as meter:
        act()
    return meter.requests


def test_older_takes_two_requests_more_once() -> None:
    (old, Old), (new, New) = version(), version(version=2)
    New.upcast(1)(dict)
    assert said(old, new, "new", "update") == {"two requests more, once"}
    with fresh() as db:
        db.create_table(old)
        db.put(Old(number=1, state=State.OPEN, city="Bern"))
        db.put(New(number=2, state=State.OPEN, city="Bern"))
        usual = requests(db, lambda: db.update(New.by_key(2), attr(New.note).set("a")))
        first, second = (requests(db, lambda n=n: db.update(New.by_key(1), attr(New.note).set(n))) for n in "ab")
        assert (first, second) == (usual + 2, usual)


def upcast(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "note": "upcast"}


def test_older_is_not_found_by_a_filter_of_what_is_upcast() -> None:
    (old, Old), (new, New) = version(), version(version=2)
    New.upcast(1)(upcast)
    assert said(old, new, "new", "query an index") == {"as ever, upcast; a filter sees what is stored"}
    with fresh() as db:
        db.create_table(old)
        db.put(Old(number=1, state=State.OPEN, city="Bern"))
        assert [found.note for found in db.all(New.in_gsi1("Bern"))] == ["upcast"]
        assert db.all(New.in_gsi1("Bern").where(attr(New.note) == "upcast")) == []


def test_behind_until_a_fill() -> None:
    """Copies are new in a class: what the old program writes lacks them."""
    old, team, bare = teams(1)
    new, _, member = teams(2)
    behind = "what other items hold for it is missing or behind"
    key, late = member.of_team("t", "p"), member.of_team("t", "late")
    with fresh() as db:
        Migrations(db, old).apply()
        db.create(team(team="t", name="Red"))
        db.create(bare(team="t", person="p"))
        assert behind in said(old, new, "new", "get", "Member")
        assert names_of(db, key) == [""]
        Migrations(db, new).apply()
        assert names_of(db, key) == ["Red"]
        db.create(bare(team="t", person="late"))
        assert behind in said(old, new, "new", "get", "Member", "after fill")
        assert names_of(db, key, late) == ["Red", ""]
        Migrations(db, new).fill()
        assert names_of(db, key, late) == ["Red", "Red"]


def names_of(db: Database, *keys: Any) -> list[str]:
    """The copied names in the items of some keys."""
    return [member.team_name for member in db.get_many(keys)]


def counting(version_role: bool) -> tuple[Table, Any]:
    return version({"count": (int, field(default=0, version=True) if version_role else 0)})


@pytest.mark.parametrize("verb", ["put", "update"])
def test_a_role_that_the_old_program_does_not_keep(verb: str) -> None:
    (old, Old), (new, New) = counting(False), counting(True)
    assert said(old, new, "old", verb) == {"as ever; the old version keeps no role: version, expiry"}
    with fresh() as db:
        Migrations(db, new).apply()
        db.create(New(number=1, state=State.OPEN, city="Bern"))
        read: Any = db.get(New.by_key(1))
        acts: dict[str, Any] = {
            "put": lambda: db.put(Old(number=1, state=State.OPEN, city="Bern", note="old", count=1)),
            "update": lambda: db.update(Old.by_key(1), attr(Old.note).set("old")),
        }
        acts[verb]()
        changed = db.update(read, attr(New.note).set("new"))  # no VersionMoved: nothing counted the old one's write
        assert (changed.note, changed.count) == ("new", 2)
        with pytest.raises(VersionMoved):
            db.update(read, attr(New.note).set("newer"))


def test_a_mutation_waits_for_the_program_that_knows_it() -> None:
    old, new = boards(), boards(mutation=rename_in)
    assert said(old[0], new[0], "old", "handle") == {"waits for a program that knows it"}
    with fresh() as db:
        Migrations(db, old[0]).apply()
        its, theirs = (Documents(db, kept[1], blobs=NoBlobs()) for kept in (old, new))
        its.create("o1", "b1")
        theirs.submit("b1", [Mutation.of("rename", {"title": "a", "language": "de"}).by("c", 1)])
        assert its.process("b1") == []
        assert its.head("b1").title == ""
        assert [outcome.status for outcome in theirs.process("b1")] == ["applied"]
        assert its.head("b1").title == "a (de)"


@pytest.mark.parametrize(("options", "is_read"), [({"separator": "/"}, True), ({"type_attribute": "kind"}, False)])
def test_what_no_rule_knows_is_said_to_be_unknown(options: Any, is_read: bool) -> None:
    """A fact of the whole table is another: what a verb meets is not judged. A plan reads the items, and knows."""
    tables = Table("shop"), Table("shop", **options)
    Old, New = (order({"number": int, "note": (str, "")}, table=table)[1] for table in tables)
    for program in ("old", "new"):
        for verb in ("get", "query", "create", "put", "update", "delete"):
            assert "unknown: no rule says what it meets" in said(*tables, program, verb)
    with fresh() as db:
        Migrations(db, tables[0]).apply()
        db.put(Old(number=1))
        with nullcontext() if is_read else pytest.raises(PlanRefused):
            Migrations(db, tables[1]).plan()
        with nullcontext() if is_read else pytest.raises(NotFound):
            db.update(New.by_key(1), attr(New.note).set("a"))
