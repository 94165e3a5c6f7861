"""What an engine can: known without a request, given, or found out by `require`; and what is refused for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singletable import AlreadyExists, Entity, InvalidRequest, Key, Table, attr, connect, connect_async, field
from singletable.errors import NotConfigured, NotSupported
from singletable.flow import CAPABILITIES, Capability, Traits
from tests.support.alternator import Settings, alternator
from tests.support.emulators import DYNALITE_SERVER
from tests.support.models import User, app
from tests.support.shells import KINDS, disguised

pytestmark = pytest.mark.embedded("engines of its own")
ALL: Any = tuple(each for each in CAPABILITIES if each != "whole indexes")
SCYLLA: frozenset[Capability] = frozenset({"transactions"})
NOT_IN_DYNALITE: Any = ("transactions", "streams", "expiry", "statements", "refused items")
tickets = Table("tickets")


class Ticket(Entity, table=tickets, type="ticket"):
    name: str
    code: str = field(unique=True)
    note: str = ""

    @tickets.key
    @staticmethod
    def by_name(name: str) -> Key:
        return f"ticket#{name}", "ticket"


@pytest.fixture(params=KINDS)
def open_at(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Opens a shell of either kind at a target."""
    kind = request.param
    return lambda target, **options: (
        connect_async(target, **options) if kind == "awaiting" else disguised(connect(target, **options))
    )


@pytest.fixture
def engine_url() -> Iterator[str]:
    with connect("local") as db:
        yield db.target.endpoint.url


async def test_the_embedded_engine_is_known(open_at: Callable[..., Any]) -> None:
    db = open_at("local")
    with db.meter() as meter:
        found = await db.require(*ALL, table=app)
    assert found.lacks == frozenset()
    assert meter.requests == 0
    await db.close()


async def test_aws_is_known(open_at: Callable[..., Any]) -> None:
    db = open_at("aws", environ={"AWS_REGION": "eu-central-1"})
    with db.meter() as meter:
        await db.require(*ALL, table=app)
    assert meter.requests == 0
    await db.close()


async def test_a_name_of_aws_is_known_too(open_at: Callable[..., Any]) -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1"}
    db = open_at("https://dynamodb.eu-central-1.amazonaws.com", environ=environ)
    assert db.port.traits.unknown == frozenset()
    await db.close()


async def test_each_capability_is_looked_for_once(open_at: Callable[..., Any], engine_url: str) -> None:
    with alternator(engine_url) as scylla:
        db = open_at(scylla.url)
        await db.create_table(app)
        await db.create(User(email="a@b", name="Ada"))
        scylla.faults.forget()
        with db.meter() as meter:
            for _ in range(2):
                await db.require("streams", "expiry", "refused items", table=app)
        seen = {"ListStreams": 1, "UpdateTimeToLive": 1, "Scan": 1, "DeleteItem": 1}
        assert dict(scylla.faults.seen) == seen
        assert meter.requests == 4
        assert db.port.traits.unknown == {"transactions", "statements", "isolated writes"}
        assert (await db.get(User.by_email("a@b"))) == User(email="a@b", name="Ada")
        await db.close()


async def test_what_is_missing_is_named_and_kept(open_at: Callable[..., Any], engine_url: str) -> None:
    with alternator(engine_url) as scylla:
        db = open_at(scylla.url)
        for _ in range(2):
            with pytest.raises(NotSupported, match=r"has no transactions.*Use DynamoDB or the embedded") as refused:
                await db.require("transactions")
            assert refused.value.capability == "transactions"
        assert dict(scylla.faults.seen) == {"TransactWriteItems": 1}
        assert db.port.traits.lacks == SCYLLA
        await db.close()


async def test_what_was_found_can_be_given(open_at: Callable[..., Any], engine_url: str) -> None:
    with alternator(engine_url) as scylla:
        db = open_at(scylla.url, traits=Traits(lacks=SCYLLA))
        with pytest.raises(NotSupported):
            await db.require("transactions")
        await db.require("streams", "isolated writes", table=app)
        assert not scylla.faults.seen
        await db.close()


def test_known_targets_take_no_traits() -> None:
    for target in ("local", "aws"):
        with pytest.raises(InvalidRequest, match="whose traits are known"):
            connect(target, traits=Traits())


async def test_wrong_names_are_refused(open_at: Callable[..., Any]) -> None:
    db = open_at("http://127.0.0.1:9")
    with pytest.raises(InvalidRequest, match=r"'transaction' is not a capability.*'transactions', 'streams'"):
        await db.require("transaction")
    with pytest.raises(InvalidRequest, match="without a table"):
        await db.require("isolated writes")
    await db.close()


@pytest.mark.parametrize(
    ("default", "tag", "is_isolated"),
    [
        ("always_use_lwt", None, True),
        ("a", None, True),
        ("only_rmw_uses_lwt", None, False),
        ("forbid_rmw", None, False),
        ("unsafe_rmw", None, False),
        ("unsafe_rmw", "always", True),
        ("always_use_lwt", "unsafe_rmw", False),
        ("always_use_lwt", "", True),
    ],
)
def test_the_isolation_of_a_table(engine_url: str, default: str, tag: str | None, is_isolated: bool) -> None:
    settings = Settings(default, {} if tag is None else {app.name: tag})
    with alternator(engine_url, settings) as scylla, connect(scylla.url) as db:
        db.create_table(app)
        with db.meter() as meter:
            if is_isolated:
                db.require("isolated writes", table=app)
            else:
                with pytest.raises(NotSupported, match=r"is .*rmw.*system:write_isolation=always_use_lwt") as refused:
                    db.require("isolated writes", table=app)
                assert refused.value.table == app.name
        assert meter.requests == 3


async def test_isolation_of_another_engine_takes_one_request(open_at: Callable[..., Any], engine_url: str) -> None:
    db = open_at(engine_url, traits=Traits(unknown=frozenset(CAPABILITIES)))
    with db.meter() as meter:
        await db.require("isolated writes", table=app)
    assert meter.requests == 1
    await db.close()


async def test_a_table_that_is_missing_is_named(open_at: Callable[..., Any], engine_url: str) -> None:
    with alternator(engine_url) as scylla:
        db = open_at(scylla.url)
        with pytest.raises(NotConfigured, match="does not exist"):
            await db.require("isolated writes", table=app)
        await db.close()


async def test_refused_items_stay_unknown_without_an_item(open_at: Callable[..., Any], engine_url: str) -> None:
    with alternator(engine_url) as scylla:
        db = open_at(scylla.url)
        await db.create_table(app)
        assert "refused items" in (await db.require("refused items", table=app)).unknown
        await db.close()


async def test_dynalite(open_at: Callable[..., Any]) -> None:
    """A real engine without transactions, streams, TTL and refused items."""
    with DYNALITE_SERVER.running() as url:
        db = open_at(url)
        await db.create_table(app)
        assert (await db.describe_table(app)).ttl is None
        await db.create(User(email="a@b", name="Ada"))
        for capability in NOT_IN_DYNALITE:
            with pytest.raises(NotSupported, match=f"no {capability}"):
                await db.require(capability, table=app)
        assert (await db.require("isolated writes", table=app)).lacks == frozenset(NOT_IN_DYNALITE)
        with pytest.raises(AlreadyExists):
            await db.create(User(email="a@b"))
        await db.close()


async def test_unprobed_the_engines_refusal_is_named(open_at: Callable[..., Any], engine_url: str) -> None:
    with alternator(engine_url) as scylla:
        db = open_at(scylla.url, traits=Traits(creates_tables=True))
        with pytest.raises(NotSupported, match="it does not know TransactWriteItems") as refused:
            await db.create(Ticket(name="a", code="1"))
        assert refused.value.table == "tickets"
        assert await db.get(Ticket.by_name("a")) is None
        await db.close()


async def test_a_known_lack_sends_nothing(open_at: Callable[..., Any], engine_url: str) -> None:
    with alternator(engine_url) as scylla:
        db = open_at(scylla.url, traits=Traits(lacks=SCYLLA))
        with pytest.raises(NotSupported, match="no transactions, which a unique value needs"):
            await db.create(Ticket(name="a", code="1"))
        with pytest.raises(NotSupported, match="which a transaction needs"):
            async with db.transaction() as tx:
                tx.create(User(email="a@b"))
        with pytest.raises(NotSupported, match="which exactly_once needs"):
            await db.update(User.by_email("a@b"), attr(User.age).add(1), exactly_once=True)
        assert not scylla.faults.seen
        await db.close()
