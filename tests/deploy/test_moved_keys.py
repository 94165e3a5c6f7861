"""A class whose key was another: its verbs reach both keys, as the library's requests do while items move."""

from __future__ import annotations

import pytest

from singletable import Entity, Key, Table, attr, field
from singletable.deploy import Deployment, Role, creates, deletes, puts, updates
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
