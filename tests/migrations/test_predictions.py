"""A plan says what each of its steps takes: settings one by one, and what items lack outside of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import ANY, Database, Entity, Key, Table, field
from singletable.graph import Graph
from singletable.migrations import Migrations, Outcome
from singletable.schema import copy_of
from singletable.tables import Index, Provisioned, TableSettings
from tests.graph.models import Account as Payer, Goal, GoalMembership, Sponsor, Subgoal, User, records
from tests.migrations.test_plan import names, within_two_percent
from tests.oracle.planting import edit
from tests.support.engines import fresh

CHANGES: dict[str, list[dict[str, Any]]] = {
    "TTL": [{"ttl_attribute": "a"}, {}, {"ttl_attribute": "b"}, {"ttl_attribute": "c"}],
    "stream": [{"stream": "keys"}, {"stream": "new"}, {}],
    "deletion protection": [{}, {"deletion_protection": True}, {"deletion_protection": False}],
    "recovery": [{"settings": TableSettings(point_in_time_recovery=True)}],
    "class": [{"settings": TableSettings(table_class=name)} for name in ("infrequent_access", "standard")],
    "billing": [{}, *({"settings": TableSettings(billing=each)} for each in (Provisioned(5, 5), "on_demand"))],
    "tags": [{}, *({"settings": TableSettings(tags={"team": team})} for team in ("shop", "bank"))],
    "indexes": [{}, {"indexes": ["gsi1"]}, {"indexes": {"gsi1": Index("gsi1pk", "gsi1sk", "keys")}}, {}],
}


@pytest.mark.parametrize("declarations", CHANGES.values(), ids=CHANGES.keys())
def test_each_setting(declarations: list[dict[str, Any]]) -> None:
    with fresh() as db:
        for more in declarations:
            declared = Table("set", **more)
            plan = Migrations(db, declared).plan()
            assert names(plan), more
            assert within_two_percent(Migrations(db, declared).apply(plan))
            assert Migrations(db, declared).plan().is_empty


# --- what items lack outside of themselves ----------------------------------------------------------------------------
def as_planned(db: Database, table: Table) -> Outcome:
    """What an apply took, to the request and the unit: nobody else writes."""
    plan = Migrations(db, table).plan()
    with db.meter() as meter:
        Migrations(db, table).plan()
    assert meter.write_units == 0
    outcome = Migrations(db, table).apply(plan)
    for done in outcome.done:
        takes = done.step.takes
        assert (takes.requests, takes.read_units, takes.write_units) == (
            done.requests,
            done.read_units,
            done.write_units,
        ), done.step.name
    assert db.check(table) == []
    assert Migrations(db, table).plan().is_empty
    return outcome


def teams(version: int, *, indexed: bool = True) -> tuple[Table, Any, Any]:
    """Members and teams: without copies; then with two, beside a count of the member's writes, and in an index."""
    indexes = {"gsi1": Index("gsi1pk", "gsi1sk", ("person",))} if indexed else {}
    table = Table("teams", indexes=indexes)

    class Team(Entity, table=table, type="team"):
        team: str
        name: str
        motto: str = ""
        revision: int = field(version=True, default=0)

        @table.key
        @staticmethod
        def by_team(team: str) -> Key:
            return f"team#{team}", "team"

    class Bare(Entity, table=table, type="member"):
        team: str
        person: str
        text: str = ""

        @table.key
        @staticmethod
        def of_team(team: str, person: str) -> Key:
            return f"team#{team}", f"member#{person}"

    if version == 1:
        return table, Team, Bare
    table = Table("teams", indexes=indexes)

    class NewTeam(Entity, table=table, type="team"):
        team: str
        name: str
        motto: str = ""
        revision: int = field(version=True, default=0)

        @table.key
        @staticmethod
        def by_team(team: str) -> Key:
            return f"team#{team}", "team"

    class Member(Entity, table=table, type="member"):
        team: str
        person: str
        text: str = ""
        email: str | None = field(unique=True, default=None)
        team_name: str = copy_of(NewTeam.name, default="")
        team_motto: str = copy_of(NewTeam.motto, default="")
        written: int = field(version=True, default=0)

        @table.key
        @staticmethod
        def of_team(team: str, person: str) -> Key:
            return f"team#{team}", f"member#{person}"

        if indexed:

            @table.index("gsi1")
            @staticmethod
            def by_team_name(team_name: str, person: str = ANY) -> Key:
                return f"name#{team_name}", f"{person}"

    return table, NewTeam, Member


def test_copies_are_filled_as_planned() -> None:
    old, team, bare = teams(1)
    new, _, member = teams(2)
    with fresh() as db:
        Migrations(db, old).apply()
        for n in range(7):
            db.create(team(team=f"t{n}", name=f"Team {n}", motto="m" * 700 * n))
        for n in range(150):  # of some, the copy takes the item over a KB, or over four
            db.create(bare(team=f"t{n % 7}", person=f"p{n}", text="x" * (37 * n)))
        outcome = as_planned(db, new)
        assert names(outcome) == ["fill teams", "record teams"]
        assert outcome.done[0].step.takes.items >= 150
        assert {each.team_name for each in db.scan(member)} == {f"Team {n}" for n in range(7)}


def test_edge_sets_and_counters_are_filled_as_planned() -> None:
    with fresh() as db:
        nodes: list[Any] = [Goal(id=f"g{n}", text="x" * 400 * n) for n in range(12)]
        nodes += [User(id=f"u{n}") for n in range(9)]
        nodes += [Payer(id=f"a{n}", email=f"{n}@example.org") for n in range(3)]
        for node in nodes:
            db.create(node)
        for n in range(12):
            goal = Goal.by_id(f"g{n}")
            for user in range(n % 9):
                Graph(db).link(GoalMembership(source=goal, target=User.by_id(f"u{user}")))
            if n > 5:
                Graph(db).link(Subgoal(source=goal, target=Goal.by_id("g1"), n=n))
                Graph(db).link(Sponsor(source=goal, target=Payer.by_id(f"a{n % 3}"), amount=n))
        for n in range(0, 12, 2):
            edit(db, Goal.by_id(f"g{n}"), edges0=None, edges1=None, n_GOALMEMBERSHIP=None, n_SUBGOAL=None)
        edit(db, Goal.by_id("g3"), n_GOALMEMBERSHIP={"N": "7"})
        outcome = as_planned(db, records)
        assert outcome.done[0].step.takes.items == 6


def test_one_write_for_a_node_whose_set_and_numbers_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as db:
        for node in (*(Goal(id=f"g{n}") for n in range(10)), User(id="u")):
            db.create(node)
        for n in range(10):
            Graph(db).link(GoalMembership(source=Goal.by_id(f"g{n}"), target=User.by_id("u")))
            edit(db, Goal.by_id(f"g{n}"), edges0=None, edges1=None, n_GOALMEMBERSHIP=None)
        with db.meter() as meter:
            assert Migrations(db, records).fill().completed == 10
        assert meter.by_operation["TransactWriteItems"].requests == 10
