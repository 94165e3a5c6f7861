"""A fill of what a class declares anew, and its items lack outside of themselves: guards, copies, edge sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singletable import Database, Entity, Key, NotUnique, Table, attr, field
from singletable.graph import Graph
from singletable.migrations import Migrations, PlanRefused
from singletable.schema import copy_of
from singletable.schema.personal import COVERED
from tests.graph.models import Goal, GoalMembership, User, records
from tests.migrations.watching import Killed, before_each
from tests.oracle.planting import edit
from tests.oracle.test_records import Member, Team, app
from tests.support.engines import again, fresh

before = Table("accounts", ttl_attribute="ends")
accounts = Table("accounts", ttl_attribute="ends")


class OldAccount(Entity, table=before, type="account"):
    id: int
    email: str | None = None
    nick: str = ""
    ends: datetime | None = field(expires=True, default=None)

    @before.key
    @staticmethod
    def by_id(id: int) -> Key:
        return f"account#{id}", "account"


class Account(Entity, table=accounts, type="account"):
    """Two of its attributes are unique from now on."""

    id: int
    email: str | None = field(unique=True, default=None)
    nick: str = field(unique=True, default="")
    ends: datetime | None = field(expires=True, default=None)

    @accounts.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"account#{id}", "account"


def old_account(id: int, **more: Any) -> OldAccount:
    return OldAccount(**{"id": id, "email": f"{id}@example.org" if id % 3 else None, "nick": f"nick {id}", **more})


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(before)
        Migrations(db, before).apply()
        db.write_many(puts=[old_account(n) for n in range(30)])
        yield db


def test_a_plan_says_what_guards_take(db: Database) -> None:
    db.create(old_account(30, nick="n" * 1500, email="30@example.org"))
    plan = Migrations(db, accounts).plan()
    assert [step.name for step in plan.steps] == ["fill accounts", "record accounts"]
    assert plan.steps[0].what == "rewrite items: account with unique email, unique nick"
    assert plan.steps[0].takes.items == 31
    filled, _ = Migrations(db, accounts).apply(plan).done
    takes = filled.step.takes
    assert (filled.requests, filled.read_units, filled.write_units) == (
        takes.requests,
        takes.read_units,
        takes.write_units,
    )
    assert db.check(accounts) == []
    with pytest.raises(NotUnique):
        db.create(Account(id=99, nick="nick 7"))
    with db.meter() as meter:
        assert Migrations(db, accounts).apply().done == ()
        filled_again = Migrations(db, accounts).fill()
    assert (filled_again.completed, filled_again.written) == (0, 0)
    assert meter.by_operation.keys().isdisjoint({"TransactWriteItems", "UpdateItem"})


def test_two_items_with_one_value_are_told(db: Database) -> None:
    db.create(old_account(40, email="1@example.org"))
    with pytest.raises(PlanRefused) as refused:
        Migrations(db, accounts).apply()
    assert refused.value.reason == "values not unique"
    filled = Migrations(db, accounts).fill()
    (finding,) = filled.unfilled
    assert (finding.code, finding.type) == ("guard.taken", "account")
    pair = {("account#b40", "account"), ("account#a1", "account")}
    assert finding.key in pair
    (other,) = pair - {finding.key}
    assert finding.what == f"another item has one of its unique values: {' / '.join(other)}"
    taken = 40 if finding.key[0].endswith("40") else 1
    db.update(OldAccount.by_id(taken), attr(OldAccount.email).set("other@example.org"))
    assert [done.step.name for done in Migrations(db, accounts).apply().done] == ["fill accounts", "record accounts"]
    assert db.check(accounts) == []


def test_what_has_expired_holds_no_value(db: Database) -> None:
    ends = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)
    db.create(old_account(50, nick="nick 7", ends=ends))
    db.create(old_account(51, ends=ends + timedelta(hours=2)))
    assert Migrations(db, accounts).fill().completed == 31
    assert db.check(accounts) == []


@pytest.mark.parametrize("dies_at", range(1, 50, 6))
def test_killed_it_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch, dies_at: int) -> None:
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 10)
    left = dies_at

    def happens(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    with db.meter() as meter:
        with monkeypatch.context() as patched, suppress(Killed):
            before_each(db, patched, happens)
            Migrations(db, accounts).fill()
        Migrations(db, accounts).fill()
    assert meter.by_operation["TransactWriteItems"].requests <= 33  # 1.1 for each item
    assert db.check(accounts) == []


def test_a_value_that_changes_meanwhile_is_guarded(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[int] = []

    def happens(operation: Any) -> None:
        if "TryGuards" in type(operation).__name__ and len(changed) < 5:
            changed.append(len(changed))
            with again(db) as other:
                other.update(OldAccount.by_id(changed[-1]), attr(OldAccount.nick).set(f"new {changed[-1]}"))

    before_each(db, monkeypatch, happens)
    filled = Migrations(db, accounts).fill()
    assert (filled.completed, filled.contended, filled.unfilled) == (30, 0, ())
    assert [db.get(Account.by_id(n)).nick for n in changed] == [f"new {n}" for n in range(5)]  # type: ignore[union-attr]
    assert db.check(accounts) == []


# --- copies and edge sets ---------------------------------------------------------------------------------------------
def test_copies_are_brought_up_to_date() -> None:
    with fresh() as db:
        db.create(Team(id="t", name="Blue"))
        for n in range(12):
            db.create(Member(id="t", person=f"p{n}", team_name="" if n % 2 else "Blue"))
        assert Migrations(db, app).fill(dry_run=True).completed == 6
        with db.meter() as meter:
            assert Migrations(db, app).fill().completed == 6
        assert meter.by_operation["UpdateItem"].requests == 6
        assert meter.by_operation["BatchGetItem"].requests == 2  # the source, twice; not once for each item
        assert {member.team_name for member in db.scan(Member)} == {"Blue"}
        assert Migrations(db, app).fill().completed == 0
        assert db.check(app) == []


def test_a_source_that_changes_meanwhile_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[str] = []
    with fresh() as db, again(db) as other:
        db.create(Team(id="t", name="Blue"))
        for n in range(5):
            db.create(Member(id="t", person=f"p{n}", team_name=""))

        def happens(operation: Any) -> None:
            if "TryCopy" in type(operation).__name__ and not changed:
                changed.append("Green")
                other.update(Team.by_team("t"), attr(Team.name).set("Green"))
                other.update(Member.of_team("t", "p0"), attr(Member.team_name).set("Green"))
                other.delete(Member.of_team("t", "p1"))

        with monkeypatch.context() as patched:
            before_each(db, patched, happens)
            Migrations(db, app).fill()
        assert changed
        Migrations(db, app).fill()
        assert {member.team_name for member in db.scan(Member)} == {"Green"}
        assert (db.check(app), sum(1 for _ in db.scan(Member))) == ([], 4)


def test_a_holder_that_names_another_source_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read of the source before is not written over what the holder has of the one that it names now."""
    table = Table("seats")

    class Hall(Entity, table=table, type="hall"):
        hall: str
        name: str
        revision: int = field(version=True, default=0)

        @table.key
        @staticmethod
        def by_hall(hall: str) -> Key:
            return f"hall#{hall}", "hall"

    class Seat(Entity, table=table, type="seat"):
        id: str
        hall: str
        hall_name: str = copy_of(Hall.name, default="")

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"seat#{id}", "seat"

    moved: list[int] = []
    with fresh() as db, again(db) as other:
        db.create(Hall(hall="a", name="A"))
        for _ in range(5):
            db.update(Hall.by_hall("a"), attr(Hall.name).set("A"))
        db.create(Hall(hall="b", name="B"))
        for n in range(2):
            db.create(Seat(id=f"s{n}", hall="a"))

        def happens(operation: Any) -> None:
            if "TryCopy" in type(operation).__name__ and len(moved) < 2:
                seat = Seat.by_id(f"s{len(moved)}")
                other.update(seat, attr(Seat.hall).set("b"), attr(Seat.hall_name).set("B"))
                moved.append(1)

        with monkeypatch.context() as patched:
            before_each(db, patched, happens)
            Migrations(db, table).fill()
        assert moved == [1, 1]
        assert [seat.hall_name for seat in db.scan(Seat)] == ["B", "B"]
        assert db.check(table) == []


def test_edge_sets_and_counters_are_made_from_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repair is read again, but nobody else was first: no pause."""

    async def sleep(seconds: float) -> None:
        raise AssertionError(seconds)

    with fresh() as db:
        monkeypatch.setattr(db.port, "sleep", sleep)
        for node in (Goal(id="g1"), Goal(id="g2"), *(User(id=f"u{n}") for n in range(4))):
            db.create(node)
        for n in range(4):
            for goal in ("g1", "g2")[: 1 + n % 2]:
                Graph(db).link(GoalMembership(source=Goal.by_id(goal), target=User.by_id(f"u{n}")))
        edit(db, Goal.by_id("g1"), edges0=None, edges1=None, n_GOALMEMBERSHIP=None)
        edit(db, Goal.by_id("g2"), n_GOALMEMBERSHIP={"N": "7"})
        assert Migrations(db, records).fill().completed == 2
        assert db.check(records) == []
        assert Migrations(db, records).fill().completed == 0


def test_a_throttled_table_is_waited_for(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    from singletable.errors import Throttled

    waited: list[float] = []
    left = 3

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    def refuse(operation: Any) -> None:
        nonlocal left
        if left and "TryGuards" in type(operation).__name__:
            left -= 1
            raise Throttled("slow down")

    monkeypatch.setattr(db.port, "sleep", sleep)
    before_each(db, monkeypatch, refuse)
    assert Migrations(db, accounts).fill().completed == 30
    assert len(waited) == 3


def test_whose_value_it_is_is_told_without_what_is_personal() -> None:
    old, new = Table("people"), Table("people")

    class OldPerson(Entity, table=old, type="person"):
        email: str
        phone: str

        @old.key
        @staticmethod
        def by_email(email: str) -> Key:
            return f"person#{email}", "person"

    class Person(Entity, table=new, type="person"):
        email: str = field(personal=True)
        phone: str = field(unique=True, personal=True)

        @new.key
        @staticmethod
        def by_email(email: str) -> Key:
            return f"person#{email}", "person"

    with fresh() as db:
        db.write_many(puts=[OldPerson(email=f"{name}@example.org", phone="+1") for name in ("ada", "bob")])
        (finding,) = Migrations(db, new).fill().unfilled
    assert finding.what == f"another item has one of its unique values: person#{COVERED} / person"


def test_an_item_that_lacks_two_things_gets_both() -> None:
    """Its guard and its copy are written one after the other."""
    old, new = Table("seats"), Table("seats")

    def seat(table: Table, **fields: Any) -> tuple[type[Any], type[Any]]:
        class Hall(Entity, table=table, type="hall"):
            hall: str
            name: str
            revision: int = field(version=True, default=0)

            @table.key
            @staticmethod
            def by_hall(hall: str) -> Key:
                return f"hall#{hall}", "hall"

        class Seat(Entity, table=table, type="seat"):
            id: str
            hall: str
            label: str = fields["label"]
            hall_name: str = copy_of(Hall.name, default="") if "copied" in fields else ""

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"seat#{id}", "seat"

        return Hall, Seat

    hall, bare = seat(old, label=field(default=""))
    _, whole = seat(new, label=field(unique=True, default=""), copied=True)
    with fresh() as db:
        db.create_table(old)
        Migrations(db, old).apply()
        db.create(hall(hall="a", name="Aula"))
        db.write_many(puts=[bare(id=f"s{n}", hall="a", label=f"label {n}") for n in range(3)])
        Migrations(db, new).apply()
        assert db.check(new) == []
        assert [found.hall_name for found in db.scan(whole)] == ["Aula"] * 3
