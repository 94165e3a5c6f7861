"""Tables: made at first use on a local engine, elsewhere only when told; described and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from singletable import ANY, Entity, Index, Key, NotFound, Table, connect, connect_async
from singletable.errors import NotConfigured, SingletableError
from singletable.operations import TableCall
from singletable.records import flows
from singletable.tables import add_index
from singletable.wire import Credentials, StaticCredentials
from tests.faults.actions import ApplyThenCut, Refuse
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh
from tests.support.raw import put_raw
from tests.support.shells import KINDS, Shell, disguised, opened


def shop(indexes: Any = (), **options: Any) -> Table:
    return Table("shop", indexes=indexes, **options)


def entity_of(table: Table, *, indexed: bool = False) -> Any:
    class Order(Entity, table=table, type="order"):
        id: str
        state: str = "new"

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"order#{id}", "order"

    if not indexed:
        return Order

    class Indexed(Entity, table=table, type="order2"):
        id: str
        state: str = "new"

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"order2#{id}", "order"

        @table.index("gsi1")
        @staticmethod
        def by_state(state: str, id: str = ANY) -> Key:
            return f"state#{state}", f"{id}"

    return Indexed


async def test_a_table_is_made_at_first_use_and_looked_at_once(shell: Shell) -> None:
    order = entity_of(shop())
    assert await shell.get(order.by_id("1")) is None
    with shell.meter() as meter:
        await shell.put(order(id="1"))
        assert await shell.get(order.by_id("1")) == order(id="1")
    assert meter.requests == 2


async def test_create_describe_diff_delete(shell: Shell) -> None:
    table = shop(
        {"gsi1": ("a", "b"), "gsi2": Index("c", "d", "keys"), "gsi3": Index("e", "f", ("x", "y"))},
        ttl_attribute="ttl",
        stream="new_and_old",
    )
    assert await shell.describe_table(table) is None
    with pytest.raises(NotFound, match="table is missing"):
        await shell.diff_table(table)
    made = await shell.create_table(table)
    assert (made.name, made.status, made.ttl, made.items) == ("shop", "ACTIVE", "ttl", 0)
    assert made.indexes.keys() == {"gsi1", "gsi2", "gsi3"}
    assert made.raw["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert await shell.diff_table(table) == []
    assert (await shell.create_table(table)).status == "ACTIVE"
    assert await shell.delete_table(table) is True
    assert await shell.delete_table(table) is False
    assert await shell.describe_table(table) is None


class StillCreating:
    """A port to which a table is being created the first two times it is looked at."""

    def __init__(self, port: Any) -> None:
        self.port, self.looks, self.slept = port, 0, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds

    async def send(self, operation: Any) -> Any:
        answer = await self.port.send(operation)
        if isinstance(operation, TableCall) and operation.operation == "DescribeTable":
            self.looks += 1
            if self.looks <= 2:
                answer["Table"]["TableStatus"] = "CREATING"
        return answer


async def test_a_table_that_is_still_being_created_is_waited_for(shell: Shell) -> None:
    await shell.create_table(table := shop())
    port = StillCreating(shell.port)
    made = await shell.run(flows.create_table(port, table))
    assert (made.status, port.looks, port.slept) == ("ACTIVE", 4, 1.0)


async def test_an_interrupted_create_is_completed(shell: Shell) -> None:
    await shell.create_table(shop(ttl_attribute=None))
    order = entity_of(table := shop(ttl_attribute="ttl"))
    assert (await shell.create_table(table)).ttl == "ttl"
    assert await shell.diff_table(table) == []
    await shell.put(order(id="1"))
    assert (await shell.create_table(table)).ttl == "ttl"


@pytest.mark.embedded("its port is made faulty")
def test_an_index_whose_answer_is_lost_is_there() -> None:
    """The request is repeated, and refused, as the index is there. One that another error keeps away is told."""
    with fresh() as db:
        db.create_table(shop())
        more, faults = shop(["gsi1", "gsi2"]).definition, Faults()
        make_faulty(db.port, faults)
        faults.add(Rule(Match("UpdateTable", nth=1), ApplyThenCut()))
        faults.add(Rule(Match("UpdateTable", nth=2), Refuse("AccessDeniedException", "not yours")))
        db.run(add_index(db.port, more, "gsi1"))
        assert len(faults.actions) == 1
        described = db.describe_table(shop())
        assert described is not None
        assert {*described.indexes} == {"gsi1"}
        with pytest.raises(SingletableError, match="not yours"):
            db.run(add_index(db.port, more, "gsi2"))


async def test_a_table_with_items_never_gets_an_expiry_by_create(shell: Shell) -> None:
    order = entity_of(table := shop(ttl_attribute=None))
    await shell.create_table(table)
    await shell.put(order(id="1"))
    with pytest.raises(NotConfigured, match="TTL attribute: declared ttl, found none"):
        await shell.create_table(shop(ttl_attribute="ttl"))


async def test_an_index_of_keys_holds_type_and_schema_version_too(shell: Shell) -> None:
    table = shop({"gsi1": Index("gsi1pk", "gsi1sk", ("id", "state"))})
    made = await shell.create_table(table)
    projection = made.indexes["gsi1"]["Projection"]
    assert projection["ProjectionType"] == "INCLUDE"
    assert set(projection["NonKeyAttributes"]) == {"_type", "_v", "id", "state"}
    order = entity_of(table, indexed=True)
    await shell.put(order(id="1", state="open"))
    assert await shell.all(order.by_state("open")) == [order(id="1", state="open")]


async def test_what_is_not_as_declared_is_named(shell: Shell) -> None:
    await shell.create_table(shop(["gsi1"], stream="keys"))
    other = shop({"gsi1": ("x", "y"), "gsi2": ("c", "d")}, key=("id", "rng"), ttl_attribute="ttl")
    told = {d.what: (d.declared, d.found) for d in await shell.diff_table(other)}
    assert told == {
        "key": ("id + rng", "pk + sk"),
        "index gsi1 key": ("x + y", "gsi1pk + gsi1sk"),
        "index gsi2": ("present", "missing"),
        "stream": ("off", "KEYS_ONLY"),
        "TTL attribute": ("ttl", "none"),
    }
    with pytest.raises(NotConfigured, match=r"key: declared id \+ rng, found pk \+ sk"):
        await shell.create_table(other)


@pytest.mark.parametrize("kind", KINDS)
async def test_at_an_address_nothing_is_made_unasked(kind: str) -> None:
    table = shop()
    order = entity_of(table)
    known = StaticCredentials(Credentials("AKIDEXAMPLE", "secret"))
    with fresh() as engine:
        url = engine.target.endpoint.url
        shell = (
            connect_async(url, credentials=known) if kind == "awaiting" else disguised(connect(url, credentials=known))
        )
        for call in (shell.get(order.by_id("1")), shell.put(order(id="1")), shell.all(order.by_id("1"))):
            with pytest.raises(NotConfigured, match=r"does not exist.*create_table"):
                await call
        await shell.create_table(table)
        await shell.put(order(id="1"))
        assert await shell.get(order.by_id("1")) == order(id="1")
        await shell.close()


@pytest.mark.embedded("it opens a file again")
@pytest.mark.parametrize("kind", KINDS)
async def test_an_index_added_later_to_a_file_finds_what_was_there(kind: str, tmp_path: Path) -> None:
    target = f"local:{tmp_path / 'app.db'}"
    before = entity_of(shop())
    async with opened(kind, target) as shell:
        await shell.put(before(id="1"))
    table = shop(["gsi1"])
    after = entity_of(table, indexed=True)
    async with opened(kind, target) as shell:
        await shell.put(after(id="2", state="open"))
        assert await shell.all(after.by_state("open")) == [after(id="2", state="open")]
        assert await shell.diff_table(table) == []


LEFT_OUT: dict[str, Any] = {
    "absent": None,
    "empty": {"S": ""},
    "a number": {"N": "1"},
    "too long": {"S": "x" * 1025},
    "another order's": {"S": "2"},
}


@pytest.mark.embedded("it opens a file again")
@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_new_index_leaves_out_is_told_and_written_again(kind: str, tmp_path: Path) -> None:
    """Items from before the index: of one the index has a row under a wrong key, the others are not in it at all."""
    target = f"local:{tmp_path / 'app.db'}"
    unindexed = entity_of(shop())
    order = entity_of(shop(["gsi1"]), indexed=True)
    model = order.__model__
    _, sort = model.table.definition.index_keys("gsi1")
    async with opened(kind, target) as shell:
        for name, value in LEFT_OUT.items():
            item = dict(model.item(order(id=name, state="open")))
            del item[sort]
            await put_raw(shell.port, unindexed, item | ({sort: value} if value is not None else {}))
    async with opened(kind, target) as shell:
        await shell.put(order(id="new", state="open"))
        shown = {each.id for each in await shell.all(order.by_state("open"))}
        assert "new" in shown
        assert "absent" not in shown
        findings = await shell.check(model.table)
        assert {finding.code for finding in findings} == {"index-key.stale"}
        assert {finding.key[0] for finding in findings} == {f"order2#{name}" for name in LEFT_OUT}
        for name in LEFT_OUT:
            found = await shell.get(order.by_id(name))
            assert found is not None
            await shell.put(found)
        assert {each.id for each in await shell.all(order.by_state("open"))} == {"new", *LEFT_OUT}
        assert await shell.check(model.table) == []


@pytest.mark.embedded("it opens a file again")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_file_with_other_keys_is_refused(kind: str, tmp_path: Path) -> None:
    target = f"local:{tmp_path / 'app.db'}"
    async with opened(kind, target) as shell:
        await shell.put(entity_of(shop())(id="1"))
    other = entity_of(shop(key=("id_", "rng")))
    async with opened(kind, target) as shell:
        with pytest.raises(NotConfigured, match="different keys"):
            await shell.put(other(id="1"))
