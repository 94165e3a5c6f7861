"""What is personal is shown nowhere: not in a repr, an error, a log line, nor in what the program prints."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from singletable import ANY, Database, Entity, Key, Table, attr, before, connect, copy_of, field
from singletable.cli.app import app as program
from singletable.erasure import Erasure
from singletable.errors import SingletableError
from singletable.foundation import COVERED, covered_place
from singletable.graph import Edge, Graph, GraphTable, Node
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.tasks import Tasks, TaskWorker
from tests.support.raw import put_raw

pytestmark = pytest.mark.embedded("the program runs on its file")
MARK = "c4n4ry"
LONG = f"name=starting-with:{MARK * 169}"
"""With the text around it longer than a sort key can be."""
EMAIL, NAME, PHONE = f"{MARK}@example.org", f"{MARK} name", f"{MARK} phone"

vault = Table("personal", indexes=["gsi1"], stream="new_and_old")
tasks, changes = Tasks(vault, index="gsi1"), Changes(vault, name="personal")
kin = GraphTable("personal-kin", indexes=["gsi0"])


class Person(Entity, table=vault, type="person"):
    email: str = field(personal=True)
    number: int
    name: str = field(default="", personal=True)
    phone: str | None = field(default=None, unique=True, personal=True)
    revision: int = field(version=True, default=0)

    @vault.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One person."""
        return f"person#{email}", "person"

    @vault.index("gsi1")
    @staticmethod
    def by_name(name: str, number: int = ANY) -> Key:
        """People of a name."""
        return f"name#{name}", f"{number}"


class Order(Entity, table=vault, type="order"):
    """Its owner and a copy are personal without a word, as what they are of is."""

    number: int
    email: str = field(belongs_to=Person.email)
    seen_by: str | None = field(default=None, mentions=Person.email)
    name: str = copy_of(Person.name, default="")

    @vault.key
    @staticmethod
    def of_person(email: str, number: int = ANY) -> Key:
        """The orders of a person."""
        return f"person#{email}", f"order#{number}"


moving = Table("personal-moving")


class Caller(Entity, table=moving, type="caller"):
    """Its key was another."""

    email: str = field(personal=True)
    name: str = field(default="", personal=True)

    @staticmethod
    def before(email: str, name: str) -> Key:
        return f"old#{email}", f"old#{name}"

    @moving.key(was=before)
    @staticmethod
    def by_email(email: str, name: str = ANY) -> Key:
        """The calls of a person."""
        return f"caller#{email}", f"caller#{name}"


class Relative(Node, table=kin, type="RELATIVE"):
    name: str = field(personal=True)


class Knows(Edge[Relative, Relative], table=kin, type="KNOWS"):
    since: str = field(default="", personal=True)

    @kin.index("gsi0")
    @staticmethod
    def by_since(since: str = ANY) -> str:
        """By date."""
        return f"AT-{since}"


members = GraphTable("personal-members", indexes=["gsi0"])


class Member(Node, table=members, type="MEMBER"):
    id: str = field(personal=True)


class Invites(Edge[Member, Member], table=members, type="INVITES"):
    """Its ends are personal, as the ids of its nodes are."""

    n: int = 0

    @members.index("gsi0")
    @staticmethod
    def by_number(n: int = ANY) -> str:
        """In order."""
        return f"{n:03}"


@tasks.task(tries=1)
def remind(email: str) -> None:
    raise RuntimeError("no answer")


@changes.on(Order).inserted
def told(change: Inserted[Order]) -> None:
    raise RuntimeError("nobody listens")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "personal.db"


@pytest.fixture
def db(file: Path) -> Iterator[Database]:
    with connect(f"local:{file}", cursor_keys=["a key for cursors"]) as made:
        made.create(Person(email=EMAIL, number=1, name=NAME, phone=PHONE))
        made.put(Order(number=1, email=EMAIL, seen_by=EMAIL, name=NAME))
        with made.transaction() as tx:
            tx.add(tasks.at(WHEN, remind(EMAIL), key="t"))
        yield made


WHEN = datetime(2020, 1, 1, tzinfo=timezone.utc)
KEY = Person.by_email(EMAIL)


def everything(db: Database) -> Iterator[tuple[str, Any]]:
    """All that a program can get of a person, as values."""
    person, order = db.get(KEY), db.get(Order.of_person(EMAIL, 1))
    yield "entity", person
    yield "an entity that refers to one", order
    yield "a part of an entity", db.get(KEY.only(Person.email, Person.number))
    yield "page", db.page(Person.by_name(NAME))
    yield "key", KEY
    yield "query", Person.by_name(NAME).where(attr(Person.phone) == PHONE)
    yield "range", before(NAME)
    yield "condition", (attr(Person.name) == NAME) & attr(Person.phone).is_in(PHONE)
    yield "update", attr(Person.name).set(NAME)
    yield "explained", [*db.explain(KEY), *db.explain(Person.by_name(NAME))]
    yield "plan of an erasure", Erasure(db, vault, tasks, changes).plan(KEY)
    yield "call", remind(EMAIL)
    yield "scheduled", tasks.at(WHEN, remind(EMAIL), key=EMAIL)
    yield "task", list(db.scan(tasks.entity))
    TaskWorker(db, tasks).drain()
    ChangeWorker(db, changes).drain(tries=1)
    yield "dead task", TaskWorker(db, tasks).dead_letters()
    letters = ChangeWorker(db, changes).dead_letters()
    assert letters
    yield "dead letter", [letters, [letter.record for letter in letters]]
    graph = Graph(db)
    db.create(Relative(id="a", name=NAME))
    db.create(Relative(id="b", name=NAME))
    graph.link(Knows(source=Relative.by_id("a"), target=Relative.by_id("b"), since=MARK))
    yield "nodes", [db.get(Relative.by_id("a")), db.all(Knows.of(Relative.by_id("a")))]


def test_no_repr_shows_it(db: Database) -> None:
    for name, value in everything(db):
        assert MARK not in repr(value), name
    assert repr(db.get(KEY)).count(COVERED) == 3


REFUSED: dict[str, Callable[[Database], object]] = {
    "create": lambda db: db.create(Person(email=EMAIL, number=2)),
    "not unique": lambda db: db.create(Person(email="other", number=2, phone=PHONE)),
    "condition": lambda db: db.update(KEY, attr(Person.name).set(NAME), where=attr(Person.phone) == f"{MARK}-2"),
    "version": lambda db: db.update(KEY, attr(Person.name).set(NAME), expected=77),
    "missing": lambda db: db.update(Person.by_email(f"{MARK}-2"), attr(Person.name).set(NAME)),
    "too long": lambda db: db.create(Person(email=MARK * 500, number=2)),
    "no form C": lambda db: db.create(Person(email=f"{MARK}e\u0301", number=2)),
    "wrong type": lambda db: db.create(Person(email=EMAIL, number=MARK)),  # type: ignore[arg-type]
    "transaction": lambda db: _twice(db),
    "cursor": lambda db: db.page(Person.by_name(NAME), after=f"{MARK}"),
    "task": lambda db: TaskWorker(db, tasks).retry(EMAIL),
    "erasure": lambda db: Erasure(db, vault).plan(Person.by_email(f"{MARK}-2")),
}


def _twice(db: Database) -> None:
    with db.transaction() as tx:
        tx.create(Person(email=EMAIL, number=2))
        tx.update(Order.of_person(EMAIL, 9), attr(Order.seen_by).set(EMAIL))


@pytest.mark.parametrize("name", REFUSED)
def test_no_error_or_log_shows_it(
    name: str, db: Database, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(SingletableError) as caught:
        REFUSED[name](db)
    error = caught.value
    notes = getattr(error, "__notes__", ()), getattr(error, "failures", ()), getattr(error, "stored", None)
    said = f"{error} {error!r} {error.args} {error.hint} {error.attribute} {notes!r} {caplog.text} {capfd.readouterr()}"
    assert MARK not in said


COMMANDS = {
    "get": ["get", __name__, "Person.by_email", EMAIL],
    "get --json": ["get", __name__, "Person.by_email", EMAIL, "--json"],
    "query": ["query", __name__, "Person.by_name", NAME],
    "query that fails": ["query", __name__, "Order.of_person", EMAIL],
    "query --json": ["query", __name__, "Person.by_name", NAME, "--json"],
    "explain": ["explain", __name__, "Person.by_email", EMAIL],
    "explain a key that was another": ["explain", f"{__name__}:moving", "Caller.by_email", EMAIL, NAME],
    "explain a page of keys that were others": ["explain", f"{__name__}:moving", "Caller.by_email", EMAIL],
    "explain a bound that is cut": ["explain", f"{__name__}:moving", "Caller.by_email", EMAIL, LONG],
    "explain a query": ["explain", __name__, "Person.by_name", NAME, "--json"],
    "tasks": ["query", f"{__name__}:vault", "Task.by_id", "t", "--json"],
    "stream": ["stream", "tail", f"{__name__}:vault", "--from", "horizon", "--once"],
    "stream --json": ["stream", "tail", f"{__name__}:vault", "--from", "horizon", "--once", "--json"],
    "check": ["check", f"{__name__}:vault"],
    "check --json": ["check", f"{__name__}:vault", "--json"],
    "fill": ["fill", f"{__name__}:vault", "--dry-run"],
    "fill --json": ["fill", f"{__name__}:vault", "--dry-run", "--json"],
    "erase": ["erase", f"{__name__}:vault", "Person.by_email", EMAIL, "--dry-run"],
    "erase --json": ["erase", f"{__name__}:vault", "Person.by_email", EMAIL, "--dry-run", "--json"],
}
CAN_SHOW = ("get", "get --json", "query", "explain", "stream", "check", "check --json", "erase")


def printed(command: list[str], file: Path) -> str:
    ran = CliRunner().invoke(program, [*command, *([] if command[0] == "explain" else ["--db", f"local:{file}"])])
    assert ran.exit_code in (0, 1), ran.output
    return ran.output


def damage(db: Database) -> None:
    """An order and a person that their classes can't read, a guard of nobody, and a stale index key."""
    order = dict(Order.__model__.item(Order(number=3, email=EMAIL)))  # type: ignore[union-attr]
    db.run(put_raw(db.port, Order, {**order, "number": {"S": "three"}}))
    person = dict(Person.__model__.item(Person(email=f"{EMAIL}2", number=3, phone=f"{PHONE}3")))  # type: ignore[union-attr]
    db.run(put_raw(db.port, Person, {**person, "gsi1pk": {"S": f"name#{MARK}"}}))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_program_prints_it_only_if_asked(name: str, db: Database, file: Path) -> None:
    damage(db)
    said = printed(COMMANDS[name], file)
    assert said.strip()
    assert MARK not in said
    if name in CAN_SHOW:
        assert MARK in printed([*COMMANDS[name], "--personal"], file)


def test_json_has_the_mark_and_stays_json(db: Database, file: Path) -> None:
    ran = CliRunner().invoke(program, [*COMMANDS["get --json"], "--db", f"local:{file}"])
    found = json.loads(ran.stdout)
    assert found == {"email": COVERED, "number": 1, "name": COVERED, "phone": COVERED, "revision": 1}


def test_keys_are_covered_where_they_are_personal() -> None:
    assert covered_place(vault, "order", (f"person#{EMAIL}", "order#a7")) == (f"person#{COVERED}", "order#a7")
    assert covered_place(vault, "_unique", (f"_unique#person#phone#{PHONE}", "_unique")) == (COVERED, COVERED)
    assert covered_place(vault, "person", (MARK, MARK)) == (COVERED, COVERED)
    assert covered_place(vault, "unheard", (MARK, MARK)) == (COVERED, COVERED)
    assert covered_place(kin, "RELATIVE", ("RELATIVE-a", "RELATIVE-a")) == ("RELATIVE-a", "RELATIVE-a")


def test_the_ends_of_edges_are_what_the_ids_of_nodes_are(db: Database, file: Path) -> None:
    ada, bob = f"{MARK}a", f"{MARK}b"
    for id in (ada, bob):
        db.create(Member(id=id))
    edge = Invites(source=Member.by_id(ada), target=Member.by_id(bob))
    Graph(db).link(edge)
    item = dict(Invites.__model__.item(edge))  # type: ignore[union-attr]
    db.run(put_raw(db.port, Invites, {**item, "source": {"S": f"MEMBER-{MARK}z"}}))
    assert MARK not in repr([edge, db.get(Member.by_id(ada)), db.check(members)])
    place = (f"MEMBER-{ada}", f"INVITES-MEMBER-{bob}")
    assert MARK not in str(covered_place(members, "INVITES", place))
    here = f"{__name__}:members"
    for command in (
        ["get", here, "Member.by_id", ada],
        ["query", here, "Invites.of", ada, "--json"],
        ["check", here, "--json"],
        ["stats", here],
        ["erase", here, "Member.by_id", ada, "--dry-run"],
    ):
        said = printed(command, file)
        assert said.strip()
        assert MARK not in said
