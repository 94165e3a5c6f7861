"""Repairs of what a check finds: each kind, beside concurrent writers, with requests that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import pytest

from singletable import AsyncDatabase, Database, attr
from singletable.errors import Conflict, Throttled
from singletable.foundation import Finding
from singletable.graph import Graph
from singletable.migrations import AsyncMigrations, Migrations
from singletable.operations import TransactWriteItems, UpdateItem
from singletable.schema import model_of
from singletable.schema.guard_items import guards_of
from tests.graph.models import Goal, GoalMembership, Role, User, records
from tests.oracle import test_records
from tests.oracle.planting import delete, edit, put
from tests.oracle.test_records import Member, Person, Team, app, guard_of
from tests.support.engines import again, fresh
from tests.support.raw import all_items
from tests.support.shells import opened

Items = dict[tuple[str, str], dict[str, Any]]


def items_of(db: Database, table: Any) -> Items:
    """Every item, without the ids of writes, and with its sets as sets."""
    partition, sort = table.definition.key
    found = db.run(all_items(db.port, table.name))
    return {(item[partition]["S"], item[sort]["S"]): _comparable(item) for item in found}


def _comparable(item: dict[str, Any]) -> dict[str, Any]:
    return {n: sorted(v["SS"]) if "SS" in v else v for n, v in item.items() if n not in ("_w", "_copied_team")}


@contextmanager
def people() -> Iterator[Database]:
    with fresh() as made:
        for id in ("a", "b", "c"):
            made.create(Person(id=id, email=f"{id}@example.org", city="Oslo"))
        made.create(Team(id="t", name="Blue"))
        made.create(Member(id="t", person="a", team_name="Blue"))
        yield made


@contextmanager
def graph() -> Iterator[Database]:
    with fresh() as made:
        for node in (Goal(id="g1"), Goal(id="g2"), *(User(id=f"u{n}") for n in range(1, 5))):
            made.create(node)
        for n in (1, 2):
            Graph(made).link(GoalMembership(source=Goal.by_id("g1"), target=User.by_id(f"u{n}")))
        yield made


def no_members(db: Database) -> None:
    edit(db, Goal.by_id("g1"), edges0=None, edges1=None, n_GOALMEMBERSHIP={"N": "7"})


RECORDS = {
    "an index key of before": (3, 5, test_records.PLANTED["an index key of before"][1]),
    "no index key": (2, 5, test_records.PLANTED["no index key"][1]),
    "a value without its guard": (4, 6, test_records.PLANTED["a value without its guard"][1]),
    "a guard without an item": (4, 5, test_records.PLANTED["a guard without an item"][1]),
    "a second guard of an item": (4, 5, test_records.PLANTED["a second guard of an item"][1]),
    "a copy of before": (1, 6, test_records.PLANTED["a copy of before"][1]),
}
"""By fault: the write units and the round trips of its repair, and what plants it."""
SETS = {
    "a member that is missing": lambda db: edit(db, Goal.by_id("g1"), edges0=None, edges1=None),
    "a member without an edge": lambda db: edit(db, Goal.by_id("g2"), edges0={"SS": ["GOALMEMBERSHIP-USER-x-LEAD"]}),
    "a member in both halves": lambda db: edit(
        db, Goal.by_id("g1"), **{half: {"SS": both_halves(db)} for half in ("edges0", "edges1")}
    ),
    "a count that is too high": lambda db: edit(db, Goal.by_id("g1"), n_GOALMEMBERSHIP={"N": "7"}),
    "no count": lambda db: edit(db, Goal.by_id("g1"), n_GOALMEMBERSHIP=None),
    "no members and another count": no_members,
}


def both_halves(db: Database) -> list[str]:
    node = items_of(db, records)["GOAL-g1", "GOAL-g1"]
    return sorted({*node.get("edges0", ()), *node.get("edges1", ())})


def outcomes(made: list[Any]) -> set[str]:
    return {each.outcome for each in made}


@pytest.mark.parametrize("fault", RECORDS)
def test_a_fault_of_records_is_mended_and_nothing_else_is_changed(fault: str) -> None:
    units, trips, plant = RECORDS[fault]
    with people() as db:
        before = items_of(db, app)
        plant(db)
        planted = items_of(db, app)
        found = db.check(app)
        listed = Migrations(db, app).repair(found, dry_run=True)
        assert (outcomes(listed), items_of(db, app)) == ({"mendable"}, planted)
        assert all(each.what for each in listed)
        with db.meter() as meter:
            done = Migrations(db, app).repair(found)
        assert outcomes(done) == {"mended"}
        assert [each.finding for each in done] == found
        assert (meter.write_units, meter.round_trips) == (units, trips)
        assert (db.check(app), items_of(db, app)) == ([], before)
        assert outcomes(Migrations(db, app).repair(found)) == {"gone"}


@pytest.mark.parametrize("fault", SETS)
def test_an_edge_set_is_written_anew_from_its_edges(fault: str) -> None:
    with graph() as db:
        before = items_of(db, records)
        SETS[fault](db)
        found = db.check(records)
        assert found
        assert outcomes(Migrations(db, records).repair(found)) == {"mended"}
        after = items_of(db, records)
        after["GOAL-g2", "GOAL-g2"].pop("n_GOALMEMBERSHIP", None)
        assert (db.check(records), after) == ([], before)


def test_what_an_edge_set_costs() -> None:
    """The node and the two edges that it disagrees about, in one transaction: each twice its units and its indexes'."""
    with graph() as db:
        no_members(db)
        found = db.check(records)
        with db.meter() as meter:
            Migrations(db, records).repair(found)
        assert meter.by_operation["TransactWriteItems"].requests == 1
        assert meter.write_units == 6


def test_unlisted_edges_are_noted_and_orphans_deleted() -> None:
    with graph() as db:
        edit(db, GoalMembership.between(Goal.by_id("g1"), User.by_id("u1")), listed={"BOOL": False})
        delete(db, User.by_id("u2"))
        found = db.check(records)
        assert {each.code for each in found} == {
            "edge-set.incomplete",
            "edge-set.wrong",
            "edge-set.count",
            "edge.orphan",
        }
        assert outcomes(Migrations(db, records).repair(found)) <= {"mended", "gone"}
        assert db.check(records) == []
        assert [edge.target for edge in db.all(GoalMembership.of(Goal.by_id("g1")))] == [User.by_id("u1")]


def of_two(db: Database) -> None:
    """Two items have one value, and its guard names the second."""
    delete(db, guard_of("b@example.org"))
    edit(db, guard_of("a@example.org"), owner={"S": "person#b"})
    edit(db, Person.by_id("b"), email={"S": "a@example.org"})


KEPT: dict[str, Callable[[Database], None]] = {
    "a guard that another item holds": of_two,
    "a type of no class": test_records.PLANTED["a type of no class"][1],
    "an attribute of another type": test_records.PLANTED["an attribute of another type"][1],
    "another key than the attributes make": test_records.PLANTED["another key than the attributes make"][1],
    "a guard of a class of another program": lambda db: put(
        db, Person, {**test_records.GUARD_OF_NOBODY, "pk": {"S": "_unique#planet#email#z@example.org"}}
    ),
    "a guard of an owner of a version to come": lambda db: edit(
        db, Person.by_id("a"), _v={"N": "2"}, email={"S": "new@example.org"}
    ),
}


@pytest.mark.parametrize("fault", KEPT)
def test_what_a_person_has_to_decide_is_left(fault: str) -> None:
    with people() as db:
        KEPT[fault](db)
        planted = items_of(db, app)
        found = db.check(app)
        assert found
        done = Migrations(db, app).repair(found)
        assert outcomes(done) <= {"kept", "gone"}
        assert "kept" in outcomes(done)
        assert items_of(db, app) == planted


def test_a_member_of_no_edge_type_is_left() -> None:
    with graph() as db:
        edit(db, Goal.by_id("g1"), edges0={"SS": ["PLANET-USER-u1-LEAD"]})
        planted = items_of(db, records)
        assert "kept" in outcomes(Migrations(db, records).repair(db.check(records)))
        assert items_of(db, records) == planted


def test_a_member_in_the_form_that_mirrors_had_before_is_rewritten() -> None:
    with graph() as db:
        edit(db, Goal.by_id("g1"), edges0={"SS": ["GOALMEMBERSHIP-USER-u1"]})
        assert outcomes(Migrations(db, records).repair(db.check(records))) == {"mended"}
        assert db.check(records) == []


async def test_in_both_shells() -> None:
    async with opened("awaiting") as shell:
        assert isinstance(shell, AsyncDatabase)
        await shell.create(Person(id="a", email="a@example.org", city="Oslo"))
        await shell.update(Person.by_id("a"), attr(Person.city).set("Rome"))
        found = [Finding("index-key.stale", "", "person", ("person#a", "person"))]
        assert [each.outcome for each in await AsyncMigrations(shell, app).repair(found)] == ["gone"]
        assert await shell.check(app, segments=3) == []


# --- beside writers, with requests that fail --------------------------------------------------------------------------
class Interrupted:
    """Calls a function before each request of a database's repairs, and fails some of them before or after."""

    def __init__(self, db: Database, patch: pytest.MonkeyPatch, random: Random, write: Callable[[], None]) -> None:
        self.random, self.write, self.failed = random, write, 0
        for verb in ("send", "send_all"):
            patch.setattr(db.port, verb, self._watched(getattr(db.port, verb)))

        async def sleep(_: float) -> None:
            return None

        patch.setattr(db.port, "sleep", sleep)

    def _watched(self, send: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def watched(sent: Any) -> Any:
            self.write()
            chance = self.random.random()
            if chance < 0.04:
                self.failed += 1
                raise Throttled("refused")
            answer = await send(sent)
            if chance > 0.96:
                self.failed += 1
                raise Throttled("its answer is lost")
            return answer

        return watched


def before_the_write(db: Database, patch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Call a function once, when a repair is decided and its write is about to be sent."""
    is_done = False

    def watched(send: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def sent(given: Any) -> Any:
            nonlocal is_done
            one = given[0] if isinstance(given, list) else given
            if not is_done and isinstance(one, (UpdateItem, TransactWriteItems)):
                is_done = True
                write()
            return await send(given)

        return sent

    for verb in ("send", "send_all"):
        patch.setattr(db.port, verb, watched(getattr(db.port, verb)))


Z = "z@example.org"


def z_for_a(db: Database) -> None:
    """Another program changes the value, and writes its guard."""
    guards = model_of(guards_of(app))
    made = {"type": "person", "attribute": "email", "value": Z, "owner": "person#a", "owner_sort": "person"}
    put(db, Person, guards.item(guards.kind(**made)))
    edit(db, Person.by_id("a"), email={"S": Z})


def z_for_b(db: Database) -> None:
    """Another program gives the value, and its guard, to another item."""
    delete(db, guard_of("b@example.org"))
    edit(db, guard_of(Z), owner={"S": "person#b"})
    edit(db, Person.by_id("b"), email={"S": Z})


BETWEEN: dict[str, tuple[str, Callable[[Database], object]]] = {
    "the city changes": ("no index key", lambda db: db.update(Person.by_id("a"), attr(Person.city).set("Rome"))),
    "the value changes": (
        "a value without its guard",
        z_for_a,
    ),
    "the owner comes": ("a guard without an item", lambda db: db.create(Person(id="z", email=Z, city="Oslo"))),
    "the owner takes the value": (
        "a second guard of an item",
        lambda db: db.update(Person.by_id("a"), attr(Person.email).set(Z)),
    ),
    "the guard gets another owner": ("a guard without an item", z_for_b),
    "the source changes": ("a copy of before", lambda db: db.update(Team.by_team("t"), attr(Team.name).set("Green"))),
}


@pytest.mark.parametrize("happens", BETWEEN)
def test_a_write_after_the_decision_is_kept(happens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault, write = BETWEEN[happens]
    with people() as db, again(db) as other:
        RECORDS[fault][2](db)
        found = db.check(app)
        with monkeypatch.context() as patch:
            before_the_write(db, patch, lambda: write(other))
            assert outcomes(Migrations(db, app).repair(found)) <= {"mended", "gone"}
        write_again = Migrations(db, app).repair(db.check(app))
        assert {each.finding.code for each in write_again} <= {"copy.behind"}  # of the source's last write
        assert db.check(app) == []


def test_a_link_after_the_decision_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the set is read after the link, it has the link's member."""
    goal, linked = Goal.by_id("g1"), list[bool]()
    with graph() as db, again(db) as other:
        no_members(db)
        found = db.check(records)

        def link() -> None:
            Graph(other).link(GoalMembership(source=goal, target=User.by_id("u3")))
            linked.append(True)

        with monkeypatch.context() as patch:
            before_the_write(db, patch, link)
            send_all = db.port.send_all

            async def watched(operations: Any) -> list[Any]:
                if linked:
                    assert "u3" in str(items_of(other, records)["GOAL-g1", "GOAL-g1"])
                return await send_all(operations)

            patch.setattr(db.port, "send_all", watched)
            assert outcomes(Migrations(db, records).repair(found)) == {"mended"}
        assert linked
        assert db.check(records) == []


@pytest.mark.parametrize("seed", range(6))
def test_no_write_of_a_person_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fault of records at once, and a writer before each request; the model is what its writes add up to."""
    random = Random(seed)
    with people() as db, again(db) as other:
        for _, _, plant in RECORDS.values():
            plant(db)
        model = {person.id: (person.email, person.city) for person in db.scan(Person)}
        names = ["Blue"]

        def write() -> None:
            for _ in range(random.randint(0, 2)):
                id, city = random.choice("abc"), random.choice(("Bern", "Oslo", "Rome"))
                email = f"{random.choice('abcz')}{random.randint(0, 1)}@example.org"
                what = random.randrange(4)
                with suppress(Conflict):  # its value may be another's, and a guard may be missing or of nobody
                    if what == 0:
                        other.update(Person.by_id(id), attr(Person.city).set(city))
                        model[id] = model[id][0], city
                    elif what == 1:
                        other.update(Person.by_id(id), attr(Person.email).set(email))
                        model[id] = email, model[id][1]
                    elif what == 2:
                        other.update(Team.by_team("t"), attr(Team.name).set(city))
                        names.append(city)
                    elif other.delete(Person.by_id("c")) is not None:
                        model.pop("c")
                    elif id == "c":
                        other.create(Person(id="c", email=email, city=city))
                        model["c"] = email, city

        for _ in range(20):
            with monkeypatch.context() as patch:
                watch = Interrupted(db, patch, random, write)
                Migrations(db, app).repair(db.check(app))
            assert {person.id: (person.email, person.city) for person in db.scan(Person)} == model
            if not db.check(app):
                break
        Migrations(db, app).repair(db.check(app))  # with nobody beside it
        assert watch.failed
        assert db.check(app) == []
        assert {person.id: (person.email, person.city) for person in db.scan(Person)} == model
        (member,) = db.scan(Member)
        assert member.team_name == names[-1]
        assert sorted(email for email, _ in model.values()) == sorted({email for email, _ in model.values()})


@pytest.mark.parametrize("seed", range(6))
def test_no_write_of_a_link_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    goal = Goal.by_id("g1")
    with graph() as db, again(db) as other:
        model = dict.fromkeys(("u1", "u2"), Role.LEAD)
        edit(db, goal, edges0={"SS": ["GOALMEMBERSHIP-USER-u3-LEAD"]}, edges1=None, n_GOALMEMBERSHIP={"N": "5"})

        def write() -> None:
            for _ in range(random.randint(0, 2)):
                id = f"u{random.randint(1, 4)}"
                edge = other.get(GoalMembership.between(goal, User.by_id(id)).consistent())
                if edge is None:
                    role = random.choice(list(Role))
                    Graph(other).link(GoalMembership(source=goal, target=User.by_id(id), role=role))
                    model[id] = role
                elif random.random() < 0.5:
                    Graph(other).unlink(edge)
                    model.pop(id)
                else:
                    role = random.choice(list(Role))
                    Graph(other).relink(edge, attr(GoalMembership.role).set(role))
                    model[id] = role

        counted: Counter[str] = Counter()
        for _ in range(10):
            with monkeypatch.context() as patch:
                Interrupted(db, patch, random, write)
                counted.update(each.outcome for each in Migrations(db, records).repair(db.check(records)))
        Migrations(db, records).repair(db.check(records))
        assert db.check(records) == []
        edges = db.all(GoalMembership.of(goal).consistent())
        assert {edge.target.partition.removeprefix("USER-"): edge.role for edge in edges} == model
        assert counted["contended"] < sum(counted.values())
