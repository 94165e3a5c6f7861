"""An index that another program made, and that holds less than the class: told, before a read of it takes what it lacks
for absent and a put writes that over the item."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singletable import ANY, Entity, Index, Key, Table, connect, connect_async
from singletable.errors import InvalidRequest, NotConfigured
from singletable.migrations import Migrations
from singletable.operations.table import TableCall
from tests.support.shells import KINDS, disguised

SMALLER = [
    {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type", "_v"]},
    {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type", "paid", "total"]},
    {"ProjectionType": "KEYS_ONLY"},
]
app = Table("app", indexes=["gsi1"])
some = Table("some", indexes={"gsi1": Index("gsi1pk", "gsi1sk", projection=("paid",))})


class Invoice(Entity, table=app, type="invoice"):
    id: str
    state: str = "open"
    paid: bool = False
    total: int = 0

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"invoice#{id}", "invoice"

    @app.index("gsi1")
    @staticmethod
    def by_state(state: str, id: str = ANY) -> Key:
        """Those of a state."""
        return f"state#{state}", f"{id}"


async def make(db: Any, table: Table, projection: Any) -> None:
    """The table, as another program would."""
    body = table.definition.creation()
    body["GlobalSecondaryIndexes"][0]["Projection"] = projection
    await db.port.send(TableCall("CreateTable", body))


@pytest.fixture(params=KINDS)
def open_at(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Opens a shell of either kind at a target."""
    if request.param == "awaiting":
        return connect_async
    return lambda target: disguised(connect(target))


@pytest.mark.embedded("its own engine, at its address and on its file")
@pytest.mark.parametrize("projection", SMALLER, ids=str)
async def test_it_is_told_at_an_address(projection: Any, open_at: Callable[..., Any]) -> None:
    with connect("local") as engine:
        db = open_at(engine.target.endpoint.url)
        await make(db, app, projection)
        with db.meter() as meter, pytest.raises(NotConfigured) as caught:
            await db.require("whole indexes", table=app)
        assert meter.requests == 1
        assert (caught.value.table, "gsi1" in str(caught.value)) == ("app", True)
        assert projection["ProjectionType"] in str(caught.value)
        (finding,) = await db.check(app)
        assert finding.code == "index.smaller"
        assert "index gsi1 projection: declared ALL" in str(finding)
        await db.close()


@pytest.mark.embedded("as above")
async def test_an_address_is_asked_for_nothing_unasked(open_at: Callable[..., Any]) -> None:
    """A first use is the request alone, as on AWS."""
    with connect("local") as engine:
        db = open_at(engine.target.endpoint.url)
        await make(db, app, SMALLER[0])
        sent: list[str] = []
        send = db.port.send

        async def recorded(operation: Any) -> Any:
            sent.append(operation.request().operation)
            return await send(operation)

        db.port.__dict__["send"] = recorded
        await db.create(Invoice(id="1"))
        assert await db.get(Invoice.by_id("1")) == Invoice(id="1")
        assert sent == ["PutItem", "GetItem"]
        await db.close()


@pytest.mark.embedded("as above")
async def test_what_is_whole_is_not_told(open_at: Callable[..., Any]) -> None:
    with connect("local") as engine:
        db = open_at(engine.target.endpoint.url)
        await make(db, app, {"ProjectionType": "ALL"})
        await make(db, some, {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type", "_v", "more", "paid"]})
        await db.require("whole indexes", table=app)
        await db.require("whole indexes", table=some)
        await db.require("whole indexes", table=Table("missing", indexes=["gsi1"]))
        assert await db.check(app) == []
        with pytest.raises(InvalidRequest, match="without a table"):
            await db.require("whole indexes")
        await db.delete_table(some)
        await make(db, some, {"ProjectionType": "ALL"})
        await db.require("whole indexes", table=some)
        await db.delete_table(some)
        await make(db, some, {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type", "_v"]})
        with pytest.raises(NotConfigured, match="paid"):
            await db.require("whole indexes", table=some)
        await db.close()


@pytest.mark.embedded("as above")
@pytest.mark.parametrize("projection", SMALLER, ids=str)
def test_a_local_engine_refuses_it_at_once_and_apply_makes_it_anew(projection: Any, tmp_path: Path) -> None:
    with connect(f"local:{tmp_path}/app.db") as db:
        body = app.definition.creation()
        body["GlobalSecondaryIndexes"][0]["Projection"] = projection
        db.run(db.port.send(TableCall("CreateTable", body)))
        with pytest.raises(NotConfigured, match="holds less than declared"):
            db.create(Invoice(id="1", paid=True, total=100))
        plan = Migrations(db, app).plan()
        assert [step.kind for step in plan.steps if step.subject == "gsi1"] == ["drop index", "add index"]
        Migrations(db, app).apply(by="a test")
        db.create(Invoice(id="1", paid=True, total=100))
        (found,) = db.all(Invoice.by_state("open"))
        db.put(found)
        assert db.get(Invoice.by_id("1")) == Invoice(id="1", paid=True, total=100)
