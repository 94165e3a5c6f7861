"""A class whose key was another: its verbs reach both keys, as the library's requests do while items move."""

from __future__ import annotations

import pytest

from singletable import Entity, Key, Table, attr, field
from singletable.migrations import Migrations
from singletable_deploy import Deployment, Role, creates, deletes, migration, puts, updates
from tests.migrations.splitting import Card, OldCard, OldOrder, Order, orders, shop, together
from tests.migrations.test_gaps import accounts, old_account
from tests.support.engines import fresh
from tests.support.roles import Program, Recorded, recording

before, app = Table("moving"), Table("moving")


class Old(Entity, table=before, type="user"):
    email: str
    login: str = field(unique=True)
    name: str = ""

    @before.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One user."""
        return f"person#{email}", "user"


class User(Entity, table=app, type="user"):
    email: str
    login: str = field(unique=True)
    name: str = ""

    @staticmethod
    def old_key(email: str) -> Key:
        return f"person#{email}", "user"

    @app.key(was=old_key)
    @staticmethod
    def by_email(email: str) -> Key:
        """One user."""
        return f"user#{email}", "user"


ROLE = Role("web", [User.by_email, creates(User), puts(User), updates(User), deletes(User)])
PROGRAM = Program("tests/deploy", {}, "Web")


def test_a_role_reaches_the_key_that_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as db:
        db.create_table(app)
        for name in "abcd":
            db.create(Old(email=name, login=f"login-{name}"))
        recorded = Recorded(Deployment("moving", [app], [ROLE], alarms=False), PROGRAM)
        recording(monkeypatch, recorded)
        assert db.get(User.by_email("a")) is not None
        assert len(db.get_many([User.by_email("a"), User.by_email("b")])) == 2
        db.update(User.by_email("a"), attr(User.name).set("A"))
        db.put(User(email="b", login="other"))
        db.delete(User.by_email("c"))
        db.create(User(email="e", login="login-e"))
        db.update(User.by_email("d"), attr(User.login).set("new"))
    assert recorded.refused == []
    judged, escaped = recorded.escaped()
    assert (judged > 100, escaped) == (True, [])


WRITES = [creates(Order, Card), puts(Order, Card), updates(Order, Card), deletes(Order, Card)]
SPLIT = Role("web", [Order.of_customer, Card.of_tenant, *WRITES])


def test_a_role_reaches_the_table_that_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as db:
        db.create_table(together)
        db.create_table(orders)
        for number in range(6):
            db.create(OldOrder(customer="ada", number=number))
            db.create(OldCard(id=f"c{number}", tenant="t", code=f"x{number}"))
        deployment = Deployment("moving", [shop, orders], [SPLIT], alarms=False)
        recorded = Recorded(deployment, PROGRAM)
        recording(monkeypatch, recorded)
        assert len(db.all(Order.of_customer("ada"))) == 6
        assert len(db.get_many([Order.of_customer("ada", 1), Card.of_tenant("t", "c1")])) == 2
        db.update(Card.of_tenant("t", "c1"), attr(Card.code).set("new"))
        db.update(Order.of_customer("ada", 1), attr(Order.total).set(1))
        db.delete(Card.of_tenant("t", "c2"))
        db.put(Order(customer="ada", number=3))
        db.create(Card(id="c9", tenant="t", code="x9"))
    assert recorded.refused == []
    judged, escaped = recorded.escaped()
    assert (judged > 100, escaped) == (True, [])


@pytest.mark.parametrize("moving", [(shop, orders), (app,)])
def test_the_role_of_a_migration_may_move_items(monkeypatch: pytest.MonkeyPatch, moving: tuple[Table, ...]) -> None:
    with fresh() as db:
        for table in (before, together, orders):
            db.create_table(table)
        for number in range(3):
            db.create(OldCard(id=f"c{number}", tenant="t", code=f"x{number}"))
            db.create(Old(email=f"{number}", login=f"login-{number}"))
        deployment = Deployment("moving", moving, [migration(*moving, name="web")], alarms=False)
        recorded = Recorded(deployment, PROGRAM)
        recording(monkeypatch, recorded)
        assert Migrations(db, moving[0]).fill().moved == 3
    assert recorded.refused == []


def test_the_role_of_a_migration_may_put_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as db:
        db.create_table(accounts)
        db.write_many(puts=[old_account(n) for n in range(3)])
        deployment = Deployment("accounts", [accounts], [migration(accounts, name="web")], alarms=False)
        recorded = Recorded(deployment, PROGRAM)
        recording(monkeypatch, recorded)
        assert Migrations(db, accounts).fill().completed == 3
    assert recorded.refused == []
