"""What goes to another process and back: errors, keys, queries, entities, and what is made of them."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from typing import Any
from uuid import UUID

import pytest

from singletable import Entity, Key, Table, attr, key_of
from singletable.errors import (
    AlreadyExists,
    ConditionFailed,
    Failure,
    Incomplete,
    NotFound,
    SingletableError,
    TransactionCancelled,
)
from singletable.graph import link
from singletable.migrations import ApplyRefused, PlanRefused
from singletable.queues import RetryLater
from singletable.schema import at_least
from singletable.schema.models import model_of
from singletable.streams import GapWarning
from singletable.tasks import NothingToDo
from tests.graph.models import Goal, GoalMembership, Role, User as Person
from tests.hygiene.provocations import every_class
from tests.support.models import EPOCH, Device, Everything, Invoice, Membership, User

ADA = User(email="ada@example.org", name="Ada", age=36, phone="12")
KEY = key_of(ADA)
LEAD = GoalMembership(source=Goal(id="g-1"), target=Person(id="ada"), role=Role.LEAD)


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("kind", sorted(every_class(), key=repr))
def test_every_error_comes_back_whole(kind: type[SingletableError]) -> None:
    error = kind.__new__(kind)
    SingletableError.__init__(error, "what", hint="hint", table="app", key=KEY, attribute="age", operation="get")
    more = dict.fromkeys(("rest", "failures", "stored", "item", "reasons"), (KEY, ADA))
    vars(error).update(more, failures=())
    error.add_note("a note")
    found = again(error)
    assert type(found) is kind
    assert vars(found) == vars(error)
    assert found.args == error.args
    assert str(found).startswith("what (operation get, table app, key User.by_email")


def test_errors_with_more_come_back_whole() -> None:
    error = TransactionCancelled(
        "no",
        failures=(Failure(2, "check", NotFound("nothing there", key=KEY), KEY, "User.age == ..."),),
        table="app",
    )
    found = again(error)
    assert (str(found), found.failures[0].key) == (str(error), KEY)
    assert type(found.failures[0].error) is NotFound
    assert again(AlreadyExists("x", of_another_type=True)).of_another_type
    assert again(Incomplete("x", rest=(KEY, ADA))).rest == (KEY, ADA)


def test_refusals_of_migrations_keep_their_reason() -> None:
    assert again(PlanRefused("x", reason="foreign table", table="app")).reason == "foreign table"
    assert again(ApplyRefused("x", reason="another apply")).reason == "another apply"


def test_what_can_not_go_leaves_the_error_whole() -> None:
    """An entity of a class within a function: the key shows its pattern, and the rest goes."""
    table = Table("local")

    class Local(Entity, table=table, type="local"):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"local#{id}", "local"

    key = Local.by_id("1")
    failed = ConditionFailed("x", stored=Local(id="1"), key=key, table="local", condition="Local.id == ...")
    error = TransactionCancelled("no", failures=(Failure(1, "put", failed, key),), key=key)
    found = again(error)
    assert str(found) == str(error)
    assert found.key.shown == "Local.by_id local#{id} / local"
    assert str(found.failures[0].error) == str(failed)
    assert found.failures[0].key.shown == key.shown
    assert again(Incomplete("x", rest=(KEY, key, 3))).rest[0::2] == (KEY, 3)


box = Table("boxes")


class Box(Entity, table=box, type="box"):
    id: str
    kinds: set[str]

    @box.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"box#{id}", "box"


def test_an_entity_may_have_an_attribute_of_any_name() -> None:
    """A query has `kinds`, too."""
    stored = Box(id="1", kinds={"a"})
    assert again(ConditionFailed("x", stored=stored)).stored == stored


QUERIES = [
    KEY,
    KEY.consistent().only(User.name),
    Membership.of_user("a"),
    Membership.of_user("a", "o").newest_first(),
    Membership.of_org("o", created_at=at_least(EPOCH)).where(
        (attr(Membership.role) == "owner") & ~attr(User.phone).exists()
    ),
    User.by_email("a").also(Membership),
    Invoice.of_user("a", 7),
    Device.of_user("a", UUID(int=1)),
    GoalMembership.by_rank(Person.by_id("ada"), Role.LEAD),
    GoalMembership.between(Goal.by_id("g"), Person.by_id("ada")),
    GoalMembership.of(Goal.by_id("g"), Person),
    Goal.by_id("g-1"),
    LEAD.source,
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.captured.shown)
def test_queries_and_keys_come_back(query: Any) -> None:
    found = again(query)
    assert repr(found) == repr(query)
    assert (found.partition, found.low, found.high, found.bound) == (
        query.partition,
        query.low,
        query.high,
        query.bound,
    )
    assert type(found) is type(query)
    assert found.captured.model is query.captured.model
    assert repr(found.filter) == repr(query.filter)
    if query.captured.name != "of":  # that one is made at each call
        assert (
            (found, hash(found)) == (query, hash(query)) if query.filter is None else found.captured is query.captured
        )


@pytest.mark.parametrize(
    "value",
    [
        ADA,
        Membership(org_id="o", email="a", created_at=EPOCH),
        Person(id="x"),
        LEAD,
        attr(User.age).add(1),
        timedelta(1),
        Everything.by_email("a"),
        link(LEAD),
    ],
    ids=lambda value: type(value).__name__,
)
def test_entities_and_values_come_back(value: Any) -> None:
    found = again(value)
    assert repr(found) == repr(value)
    if isinstance(value, Entity):
        assert found == value
        assert model_of(type(value)).item(found) == model_of(type(value)).item(value)


def test_signals_of_an_application_come_back() -> None:
    assert again(RetryLater(3)).seconds == 3
    assert str(again(RetryLater(3))) == "not for 3 s"
    for signal in (NothingToDo("done"), GapWarning("lost")):
        assert again(signal).args == signal.args


def fail(key: Any) -> Any:
    raise ConditionFailed("no", stored=ADA, key=key, operation="update")


def test_a_process_pool_hands_all_of_it_over() -> None:
    """An error that could not be read there would leave its caller waiting, or break the pool."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(ConditionFailed, match="no") as caught:
            pool.submit(fail, KEY).result(60)
        assert (caught.value.stored, caught.value.key) == (ADA, KEY)
        assert pool.submit(again, [ADA, KEY, LEAD]).result(60) == [ADA, KEY, LEAD]
