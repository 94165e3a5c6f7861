"""What calls cost, as their docstrings say: requests, round trips and units; and explain, which costs nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, Key, Table, at_least, attr, field, key_of
from singletable.expressions import first_name
from singletable.schema.catalogue import catalogue
from tests.support.capacity import page_cost
from tests.support.engines import engine
from tests.support.models import EPOCH, Everything, Membership, Note, User, membership
from tests.support.raw import all_items
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", age=36)
KEY = key_of(ADA)


players = Table("players", indexes=["gsi1", "gsi2"])


class Player(Entity, table=players, type="player"):
    """Two indexes: in one each part is its own text, in the other a text has two parts, and may be None."""

    id: str
    team: str = "a"
    rank: int = 1
    score: int = 0
    color: str = "blue"
    place: str | None = None
    nick: str = field(unique=True, default="n")

    @players.key
    @staticmethod
    def of(id: str) -> Key:
        return f"player#{id}", "player"

    @players.index("gsi1")
    @staticmethod
    def by_team(team: str = ANY, rank: int = ANY) -> Key:
        """By team and rank."""
        return "teams", f"{team}#{rank}"

    @players.index("gsi2")
    @staticmethod
    def by_place(place: str, score: int = ANY) -> Key:
        """By place and score."""
        return f"place#{place}", f"{score}"


@pytest.fixture
async def filled(shell: Shell) -> Shell:
    await shell.put(ADA)
    await shell.write_many(puts=[membership(n) for n in range(20)])
    return shell


async def test_reads(filled: Shell) -> None:
    for read, units in (
        (filled.get(KEY), 0.5),
        (filled.get(KEY.consistent()), 1),
        (filled.get(User.by_email("nobody")), 0.5),
        (filled.page(Membership.of_user(ADA.email), limit=10), 0.5),
        (filled.all(Membership.of_user(ADA.email).consistent()), 1),  # 20 small items, rounded up once
        (filled.all(Membership.of_org("o0001")), 0.5),
        (filled.get_many([KEY, key_of(membership(1))]), 1),
        (filled.get(Everything.by_email(ADA.email)), 0.5),
    ):
        with filled.meter() as meter:
            await read
        assert (meter.requests, meter.round_trips, meter.retries) == (1, 1, 0)
        assert (meter.read_units, meter.write_units) == (units, 0)
        assert meter.bytes_in > 0
        assert meter.bytes_out > 0


LARGE = replace(ADA, email="large@example.org", tags=["x" * 9_000])


async def test_a_part_costs_what_the_whole_does(filled: Shell) -> None:
    """As AWS counts it: `only` saves bytes on the wire, never units."""
    await filled.put(LARGE)
    key = key_of(LARGE)
    for whole, part, units in (
        (filled.get(key), filled.get(key.only(User.name)), 1.5),
        (filled.get(key.consistent()), filled.get(key.consistent().only(User.name)), 3),
        (filled.all(key), filled.all(key.only(User.name)), 1.5),
    ):
        for read in (whole, part):
            with filled.meter() as meter:
                assert await read
            assert (meter.requests, meter.read_units, meter.estimated) == (1, units, {})
    part_ = await filled.get(key.only(User.name, User.groups))
    assert part_ is not None
    assert (part_.name, part_.groups, hasattr(part_, "tags")) == (ADA.name, set(), False)


async def test_a_scan_in_small_pages_says_that_it_is_not_awss_account(shell: Shell) -> None:
    """The embedded engine is scanned 1,000 items a page; AWS rounds up once for each page of 1 MB."""
    await shell.write_many(puts=[membership(n) for n in range(2_300)])
    with shell.meter() as meter:
        assert len([each async for each in shell.scan(Membership)]) == 2_300
    items = await shell.run(all_items(shell.port, "app"))
    on_aws = page_cost(items).read_units
    if not engine().is_embedded:
        assert (meter.read_units, meter.estimated) == (on_aws, {})
        return
    assert on_aws <= meter.read_units <= on_aws + 0.5 * (meter.requests - 1)
    assert list(meter.estimated) == ["Scan"]
    assert "1000 items" in meter.estimated["Scan"]
    assert "estimated=" in repr(meter)
    with shell.meter() as other:
        await shell.get(KEY)
    assert other.estimated == {}
    assert "estimated" not in repr(other)


async def test_writes(filled: Shell) -> None:
    eve = User(email="eve@example.org")
    for write, units in (
        (filled.create(eve), 1),
        (filled.put(replace(eve, name="Eve")), 1),
        (filled.put(replace(eve, phone="1")), 2),  # and into the index
        (filled.update(key_of(eve), attr(User.name).set("E")), 2),  # and its copy in the index
        (filled.update(key_of(eve), attr(User.phone).set(None)), 2),  # and out of it
        (filled.update(KEY, attr(User.name).set("x")), 1),
        (filled.upsert(replace(eve, name="Eve 2")), 1),
        (filled.delete(key_of(eve)), 1),
        (filled.write_many(puts=[eve], deletes=[key_of(membership(3))]), 3),
    ):
        with filled.meter() as meter:
            await write
        assert (meter.requests, meter.round_trips) == (1, 1)
        assert (meter.read_units, meter.write_units) == (0, units)


async def test_large_items_cost_by_the_kilobyte(shell: Shell) -> None:
    note = Note(email=ADA.email, written_at=EPOCH, text="x" * 9_000)
    with shell.meter() as meter:
        await shell.put(note)
    assert meter.write_units == 9
    with shell.meter() as meter:
        assert await shell.get(key_of(note)) == note
    assert meter.read_units == 1.5


async def test_exactly_once_costs_a_transaction_and_a_read(filled: Shell) -> None:
    with filled.meter() as meter:
        await filled.update(KEY, attr(User.name).set("x"), exactly_once=True)
    assert (meter.requests, meter.write_units) == (2, 2)
    assert meter.read_units == 1


async def test_a_failed_condition_is_a_request_like_any_other(filled: Shell) -> None:
    with filled.meter() as meter, pytest.raises(Exception, match="exists already"):
        await filled.create(ADA)
    assert (meter.requests, meter.retries) == (1, 0)


async def test_meters_nest_and_name_the_operations(filled: Shell) -> None:
    with filled.meter() as outer:
        await filled.get(KEY)
        with filled.meter() as inner:
            await filled.update(KEY, attr(User.age).add(1))
    assert (outer.requests, inner.requests) == (3, 2)
    assert {name: count.requests for name, count in outer.by_operation.items()} == {"GetItem": 2, "UpdateItem": 1}


async def test_explain_sends_nothing(filled: Shell) -> None:
    with filled.meter() as meter:
        for asked in (
            KEY,
            KEY.consistent(),
            KEY.only(User.name),
            Membership.of_user(ADA.email),
            Membership.of_org("o", created_at=at_least(EPOCH)).newest_first(),
            Membership.of_user(ADA.email).where(attr(Membership.role) == "owner"),
            User.by_email(ADA.email).also(Membership),
            Everything.by_email(ADA.email).consistent(),
        ):
            assert len(filled.explain(asked)) == 1
        assert len(filled.explain([key_of(membership(n)) for n in range(101)])) == 2
        assert filled.explain([]) == []
    assert meter.requests == 0


async def test_explain_shows_the_request_that_is_sent(filled: Shell) -> None:
    (get,) = filled.explain(KEY)
    assert (get.operation, get.table, get.index) == ("GetItem", "app", None)
    assert get.body["Key"] == {"pk": {"S": "user#ada@example.org"}, "sk": {"S": "user"}}
    assert "0.5 read unit" in get.cost
    (query,) = filled.explain(Membership.of_org("o1", created_at=EPOCH))
    assert (query.operation, query.index) == ("Query", "gsi1")
    assert query.body["IndexName"] == "gsi1"
    values = [next(iter(v.values())) for v in query.body["ExpressionAttributeValues"].values()]
    assert "org#o1" in values
    assert any(v.startswith("2026-01-01T00:00:00.000000Z#") for v in values)
    assert str(query).startswith("Query app/gsi1")
    (whole,) = filled.explain(Everything.by_email(ADA.email).consistent())
    assert whole.body["ConsistentRead"] is True
    assert whole.cost.startswith("1 read unit")


MEMBER = Membership.of_user(ADA.email, "o1")
CHANGES: list[tuple[Any, Any, list[str]]] = [
    (MEMBER, attr(Membership.role).set("owner"), ["UpdateItem"]),
    (MEMBER, attr(Membership.created_at).set(EPOCH), ["UpdateItem"]),
    (KEY, attr(User.name).set("x"), ["UpdateItem"]),
    (Player.of("p"), attr(Player.score).add(1), ["GetItem", "UpdateItem"]),
    (Player.of("p"), attr(Player.color).set("red"), ["UpdateItem"]),
    (Player.of("p"), attr(Player.team).set("b"), ["GetItem", "UpdateItem"]),
    (Player.of("p"), attr(Player.place).set("x"), ["GetItem", "UpdateItem"]),
    (Player.of("p"), attr(Player.nick).set("new"), ["GetItem", "TransactWriteItems"]),
]


@pytest.mark.parametrize("case", range(len(CHANGES)))
async def test_explain_says_what_an_update_reads_first(filled: Shell, case: int) -> None:
    """What it says is what is sent; `patterns` says the same of the attribute."""
    key, change, operations = CHANGES[case]
    await filled.put(Player(id="p"))
    await filled.put(Membership(email=ADA.email, org_id="o1"))
    with filled.meter() as explaining:
        explained = filled.explain(key, change)
    assert explaining.requests == 0
    assert [each.operation for each in explained] == operations
    with filled.meter() as meter:
        await filled.update(key, change)
    after = ["GetItem"] if operations[-1] == "TransactWriteItems" else []
    assert [name for name, count in meter.by_operation.items() for _ in range(count.requests)] == sorted(
        [*operations, *after]
    )
    first = {name for p in catalogue(key.model.table) if p.entity == key.model.kind.__name__ for name in p.reads_first}
    assert (first_name(change.path) in first) is ("GetItem" in operations)
    if "GetItem" in operations:
        assert "sent first, for" in explained[0].cost
        assert "1 read unit" in explained[0].cost


async def test_explain_of_an_update_takes_a_whole_key(filled: Shell) -> None:
    with pytest.raises(InvalidRequest, match="does not name one item"):
        filled.explain(Membership.of_user("a"), attr(Membership.role).set("x"))
    with pytest.raises(InvalidRequest, match="not an attribute of Membership"):
        filled.explain(MEMBER, attr(User.age).add(1))


def test_an_index_is_never_consistent() -> None:
    with pytest.raises(InvalidRequest, match="never consistent"):
        Membership.of_org("o1").consistent()
