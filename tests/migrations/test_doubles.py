"""Two items under both keys of a class, because an old program goes on writing: `doubles=` says which one stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from random import Random
from typing import Any

import pytest

from singletable import Database, Entity, Key, NotFound, Table, attr, field
from singletable.errors import DeclarationError
from singletable.foundation import delete_if
from singletable.migrations import ApplyRefused, Migrations
from tests.migrations.changing import by_number, order
from tests.migrations.watching import before_each, killed_at_every_request
from tests.support.engines import again, fresh
from tests.support.raw import all_items, put_raw
from tests.support.sampling import sampled

old, new = Table("desk", indexes=["gsi1"]), Table("desk", indexes=["gsi1"])


class OldTicket(Entity, table=old, type="ticket"):
    number: int
    text: str = ""
    changed: int = 0

    @old.key
    @staticmethod
    def by_number(number: int) -> Key:
        return f"t#{number}", "ticket"


class OldUser(Entity, table=old, type="user"):
    id: str
    email: str | None = field(unique=True, default=None)
    seen: datetime | None = None
    revision: int = field(version=True, default=0)

    @old.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"u#{id}", "user"


def under_t(number: int) -> Key:
    return f"t#{number}", "ticket"


def under_u(id: str) -> Key:
    return f"u#{id}", "user"


class Ticket(Entity, table=new, type="ticket"):
    number: int
    text: str = ""
    changed: int = 0

    @new.key(was=under_t, doubles=("newest", "changed"))
    @staticmethod
    def by_number(number: int) -> Key:
        return f"ticket#{number}", "ticket"


class User(Entity, table=new, type="user"):
    id: str
    email: str | None = field(unique=True, default=None)
    seen: datetime | None = None
    revision: int = field(version=True, default=0)

    @new.key(was=under_u, doubles="by version")
    @staticmethod
    def by_id(id: str) -> Key:
        return f"user#{id}", "user"


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        Migrations(made, old).apply()
        yield made


class Programs:
    """Programs of both versions that write tickets; `stored` is what each number was written with last."""

    def __init__(self, db: Database, seed: int) -> None:
        self.db, self.random, self.tick = db, Random(seed), 0
        self.stored: dict[int, int] = {}

    def write(self, operation: Any = None) -> None:
        """One write, of which the old program, which is the busier one, knows no other key."""
        self.tick += 1
        number, by_new = self.random.randrange(4), self.random.random()
        values = {"text": f"written at {self.tick}", "changed": self.tick}
        if by_new > 0.4:
            self.db.put(OldTicket(number=number, **values))  # type: ignore[arg-type]
        elif by_new < 0.1:
            self.db.delete(Ticket.by_number(number))
            self.stored.pop(number, None)
            return
        else:
            try:
                self.db.update(Ticket.by_number(number), *(attr(getattr(Ticket, n)).set(v) for n, v in values.items()))
            except NotFound:
                return
        self.stored[number] = self.tick

    def end(self, db: Database) -> None:
        """The old program has ended: a fill takes what it wrote last, and the next one finds nothing."""
        filled = Migrations(db, new).fill()
        assert (filled.twice, filled.unreadable, filled.contended) == ((), (), 0)
        tickets = {ticket.number: ticket for ticket in db.scan(Ticket)}
        assert {number: ticket.changed for number, ticket in tickets.items()} == self.stored
        assert all(ticket.text == f"written at {ticket.changed}" for ticket in tickets.values())
        assert db.check(new) == []
        second = Migrations(db, new).fill()
        assert (second.written, len(second.obsolete)) == (0, 2)


@pytest.mark.parametrize("seed", sampled(range(6), 2))
def test_an_apply_ends_under_a_busy_old_program(db: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    with again(db) as other:
        programs = Programs(other, seed)
        for _ in range(12):
            programs.write()
        with monkeypatch.context() as patched:
            before_each(db, patched, programs.write)
            Migrations(db, new).apply()
        programs.end(db)


@pytest.mark.parametrize("seed", sampled(range(2), 1))
def test_killed_at_every_request(db: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    with again(db) as other:
        programs = Programs(other, seed)

        def run(kills: int) -> None:
            for _ in range(4):
                programs.write()
            Migrations(db, new).apply()

        assert killed_at_every_request(db, monkeypatch, run) > 12
        programs.end(db)


def test_without_a_rule_an_apply_is_refused() -> None:
    attributes: Any = {"number": int, "n": (int, 0)}
    (was, Was), (now, Now) = order(attributes), order(attributes, key=by_bill, was=by_number)
    with fresh() as made:
        Migrations(made, was).apply()
        made.put(Now(number=1))
        made.put(Was(number=1, n=2))
        with pytest.raises(ApplyRefused, match="another item, which differs"):
            Migrations(made, now).apply()
        assert len(made.run(all_items(made.port, "shop"))) == 4  # with the record and the lease


def by_bill(number: int) -> Key:
    return f"bill#{number}", "bill"


@pytest.mark.parametrize(("new_at", "old_at", "stays"), [(1, 2, 2), (3, 2, 3), (2, 2, 2)])
def test_the_newest_stays(db: Database, new_at: int, old_at: int, stays: int) -> None:
    """Two requests more than of a move, one of which is refused. The units are those of a transaction of two items."""
    db.put(Ticket(number=1, text="new", changed=new_at))
    db.put(OldTicket(number=1, text="old", changed=old_at))
    with db.meter() as meter:
        filled = Migrations(db, new).fill(segments=1)
    assert (filled.written, filled.moved, filled.twice) == (1, 1, ())
    assert db.get(Ticket.by_number(1)) == Ticket(number=1, text="new" if new_at > old_at else "old", changed=stays)
    assert db.get(OldTicket.by_number(1)) is None
    transactions = meter.by_operation["TransactWriteItems"]
    assert (transactions.requests, transactions.write_units) == (2, 4)
    assert (meter.by_operation["GetItem"].requests, meter.by_operation["GetItem"].read_units) == (1, 1)


def user(kind: Any, email: str, writes: int, db: Database) -> None:
    """A user who was written so many times."""
    db.create(kind(id="1", email=email))
    for n in range(writes - 1):
        db.update(kind.by_id("1"), attr(kind.seen).set(datetime(2026, 1, 1 + n, tzinfo=timezone.utc)))


@pytest.mark.parametrize(("new_writes", "old_writes"), [(1, 3), (3, 1), (2, 2)])
def test_by_version_with_the_guards_of_both(db: Database, new_writes: int, old_writes: int) -> None:
    user(User, "new@example.org", new_writes, db)
    user(OldUser, "old@example.org", old_writes, db)
    stale = db.get(User.by_id("1"))
    assert stale is not None
    Migrations(db, new).fill()
    only = db.get(User.by_id("1"))
    assert only is not None
    is_old = old_writes >= new_writes
    assert only.email == ("old@example.org" if is_old else "new@example.org")
    assert only.revision == max(new_writes, old_writes) + is_old  # what was read before is stale now
    assert db.check(new) == []
    db.create(User(id="2", email="new@example.org" if is_old else "old@example.org"))


def test_the_same_value_of_both_keeps_its_guard(db: Database) -> None:
    """As of an item that an import wrote: the old program is refused the value."""
    user(User, "a@example.org", 1, db)
    (item,) = [item for item in db.run(all_items(db.port, "desk")) if item["pk"]["S"] == "user#1"]
    db.run(put_raw(db.port, OldUser, {**item, "pk": {"S": "u#1"}, "revision": {"N": "3"}}))
    Migrations(db, new).fill()
    only = db.get(User.by_id("1"))
    assert only is not None
    assert (only.email, only.revision) == ("a@example.org", 4)
    assert db.check(new) == []


def test_between_two_tables() -> None:
    here, there = Table("people"), Table("accounts")

    class Account(Entity, table=there, type="user"):
        id: str
        email: str | None = field(unique=True, default=None)
        seen: datetime | None = None
        revision: int = field(version=True, default=0)

        @there.key(was=here.key(under_u), doubles=("newest", "seen"))
        @staticmethod
        def by_id(id: str) -> Key:
            return f"u#{id}", "user"

    people = Table("people")

    class Person(Entity, table=people, type="user"):
        id: str
        email: str | None = field(unique=True, default=None)
        seen: datetime | None = None
        revision: int = field(version=True, default=0)

        @people.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"u#{id}", "user"

    with fresh() as made:
        made.create_table(people)
        made.create_table(there)
        user(Account, "new@example.org", 1, made)
        user(Person, "old@example.org", 2, made)
        Migrations(made, here).fill()
        only = made.get(Account.by_id("1"))
        assert only is not None
        assert (only.email, only.revision) == ("old@example.org", 3)
        assert (made.check(here), made.check(there), made.run(all_items(made.port, "people"))) == ([], [], [])
        made.create(Account(id="2", email="new@example.org"))


@pytest.mark.parametrize("act", ["update", "put", "delete", "old put"])
@pytest.mark.parametrize("at", range(3, 8, 2))
def test_another_writer_is_first(db: Database, monkeypatch: pytest.MonkeyPatch, act: str, at: int) -> None:
    """One of the two changes, or both are deleted, before a request of the fill that decides between them."""
    left = at
    db.put(Ticket(number=1, text="new", changed=1))
    db.put(OldTicket(number=1, text="old", changed=2))
    key = Ticket.by_number(1)
    with again(db) as other:

        def write(operation: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                match act:
                    case "update":
                        other.update(key, attr(Ticket.changed).set(3))
                    case "put":
                        other.put(Ticket(number=1, changed=3))
                    case "delete":
                        other.delete(key)
                    case _:
                        other.put(OldTicket(number=1, changed=3))

        with monkeypatch.context() as patched:
            before_each(db, patched, write)
            Migrations(db, new).fill(segments=1)
        assert left <= 0
        Migrations(db, new).fill()  # what was written after the decision
        ticket = db.get(key)
        assert (None if ticket is None else ticket.changed) == (None if act == "delete" else 3)


def test_the_other_item_is_gone_when_it_is_read(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.put(Ticket(number=1, text="new", changed=3))
    db.put(OldTicket(number=1, text="old", changed=2))
    with again(db) as other:

        def delete(operation: Any) -> None:
            if type(operation).__name__ == "GetItem":
                other.run(other.port.send(delete_if(Ticket.by_number(1), None)))

        with monkeypatch.context() as patched:
            before_each(db, patched, delete)
            Migrations(db, new).fill(segments=1)
    assert db.get(OldTicket.by_number(1)) is None
    assert db.get(Ticket.by_number(1)) == Ticket(number=1, text="old", changed=2)


def declared(doubles: Any) -> type[Entity]:
    table = Table("refused")

    class Thing(Entity, table=table, type="thing"):
        number: int
        text: str = ""

        @table.key(was=under_t, doubles=doubles)
        @staticmethod
        def by_number(number: int) -> Key:
            return f"thing#{number}", "thing"

    return Thing


@pytest.mark.parametrize(
    ("doubles", "why"),
    [
        ("by version", "no attribute counts the writes"),
        (("newest", "text"), "names no attribute that is a time or a number"),
        (("newest", "absent"), "names no attribute that is a time or a number"),
        (("oldest", "number"), "names no attribute that is a time or a number"),
        ("newest", "names no attribute that is a time or a number"),
    ],
)
def test_what_is_refused_by_name(doubles: Any, why: str) -> None:
    with pytest.raises(DeclarationError, match=rf"Thing\.by_number: doubles= .*{why}"):
        declared(doubles)
