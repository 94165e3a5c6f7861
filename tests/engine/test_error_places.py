"""An error says which place was asked, and which request it was."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, attr, field
from singletable.errors import NotConfigured, SingletableError, Throttled
from singletable.flow import drive
from singletable.operations import RAW, GetItem
from singletable.operations.answers import named
from singletable.wire import BlockingPort, Fault, PortOptions, RetryPolicy, StaticCredentials, endpoint_for
from singletable.wire.credentials import Credentials
from tests.fakes.scripted_server import ScriptedServer, fails
from tests.support.engines import fresh

REGION = "eu-west-3"
people = Table("people")


class Person(Entity, table=people, type="person"):
    name: str
    city: str = ""

    @people.key
    @staticmethod
    def by_name(name: str) -> Key:
        return f"person#{name}", "person"


class Member(Entity, table=people, type="member"):
    name: str
    email: str = field(unique=True)

    @people.key
    @staticmethod
    def by_name(name: str) -> Key:
        return f"member#{name}", "member"


def in_transaction(db: Database) -> None:
    with db.transaction() as tx:
        tx.create(Person(name="ada"))
        tx.put(Person(name="bob"))


REFUSED: dict[str, Callable[[Database], Any]] = {
    "create": lambda db: db.create(Person(name="ada")),
    "a missing item": lambda db: db.update(Person.by_name("bob"), attr(Person.city).set("x")),
    "a condition": lambda db: db.delete(Person.by_name("ada"), where=attr(Person.city) == "x"),
    "a unique value": lambda db: db.create(Member(name="bob", email="a@b")),
    "a transaction": in_transaction,
}


def error_of(code: str) -> SingletableError:
    with ScriptedServer() as server:
        server.always(fails(code))
        endpoint = endpoint_for(server.url, environ={}, region=REGION)
        options = PortOptions(policy=RetryPolicy(attempts=1))
        with BlockingPort(endpoint, StaticCredentials(Credentials("a", "b")), options) as port:
            with pytest.raises(SingletableError) as caught:
                drive(port.send(GetItem("orders", {"pk": {"S": "order#1"}}, RAW)))
            assert (caught.value.region, caught.value.endpoint) == (REGION, server.url)
            assert caught.value.request_id == "REQUEST-ID"
    return caught.value


def test_a_table_that_is_missing_is_missing_in_a_region() -> None:
    error = error_of("ResourceNotFoundException")
    assert isinstance(error, NotConfigured)
    assert f"region {REGION}, endpoint {error.endpoint}" in str(error)
    assert "Ask the region and account that have it" in error.hint


def test_an_error_of_retries_has_its_place() -> None:
    assert isinstance(error_of("ThrottlingException"), Throttled)


def test_an_index_that_is_missing_is_added_by_apply() -> None:
    error = named(Fault("ValidationException", "The table does not have the specified index: gsi1"), "Query", "orders")
    assert isinstance(error, NotConfigured)
    assert str(error).startswith(
        "the table has no index gsi1 (operation Query, table orders). Add it: `singletable plan`"
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_write_has_the_place_of_its_request(name: str) -> None:
    with fresh() as db:
        db.create_table(people)
        db.create(Person(name="ada"))
        db.create(Member(name="ada", email="a@b"))
        with pytest.raises(SingletableError) as caught:
            REFUSED[name](db)
        asked = db.target.endpoint
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        parts = [error, *(failure.error for failure in getattr(error, "failures", ()))]
        assert {(part.region, part.endpoint) for part in parts} == {(asked.region, asked.url)}
        assert all(part.request_id for part in parts)
