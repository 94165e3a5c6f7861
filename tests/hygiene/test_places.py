"""What the layers raise says where: table, region, endpoint, operation, and the key by its hash alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table
from singletable.documents import Documents, LocalBlobs
from singletable.errors import SingletableError
from singletable.events import Listeners
from singletable.exchange import Imports
from singletable.graph import Graph
from singletable.jobs import Jobs
from singletable.migrations import Backups
from singletable.raw import Raw
from singletable.schema import key_of
from singletable.streams import Changes, ChangeWorker
from singletable.tasks import AsyncTaskWorker, Tasks, TaskWorker
from tests.documents.models import Project
from tests.graph.models import Goal, GoalMembership, User
from tests.support.engines import fresh, fresh_async

SECRET = "canary-of-a-key"
shop = Table("shop", stream="new_and_old", indexes=["gsi1"])
tasks = Tasks(shop, index="gsi1")
changes = Changes(shop, name="mail")


class Order(Entity, table=shop, type="order"):
    id: str

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"order#{id}", "order"


def without_a_node(db: Database) -> None:
    db.create(Goal(id=SECRET))
    Graph(db).link(GoalMembership(source=Goal.by_id(SECRET), target=User.by_id(SECRET)))


def documents_of(db: Database, where: Path) -> Documents[Any]:
    return Documents(db, Project, blobs=LocalBlobs(where / "blobs"))


def in_utf_16(where: Path) -> Path:
    path = where / "orders.csv"
    path.write_text("id", encoding="utf-16")
    return path


BACKUP = "arn:aws:dynamodb:eu-west-1:123456789012:table/shop/backup/1"
KEYS = [{"pk": SECRET, "sk": f"{n}"} for n in range(101)]
LAYERS: dict[str, tuple[str, Callable[[Database, Path], Any]]] = {
    "graph": ("records", lambda db, where: without_a_node(db)),
    "documents": ("documents-test", lambda db, where: documents_of(db, where).head(SECRET)),
    "a mistake": ("documents-test", lambda db, where: documents_of(db, where).submit_next(SECRET, "c1", {})),  # type: ignore[arg-type]
    "tasks": ("shop", lambda db, where: TaskWorker(db, tasks).retry(SECRET)),
    "streams": ("shop-leases", lambda db, where: ChangeWorker(db, changes).release("shard-1")),
    "jobs": ("shop", lambda db, where: Jobs(db, shop).show("no-job")),
    "raw": (
        "shop",
        lambda db, where: Raw(db, shop).get_many(KEYS, at_once=True),
    ),
    "exchange": ("shop", lambda db, where: Imports(db, shop).run(in_utf_16(where), into=Order)),
    "migrations": (
        "shop",
        lambda db, where: Backups(db, shop).delete(f"arn:aws:dynamodb:eu-west-1:1:table/{'x' * 9}/backup/1"),
    ),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_an_error_of_a_layer_has_its_place(layer: str, tmp_path: Path) -> None:
    table, provoke = LAYERS[layer]
    with fresh() as db:
        db.create_table(shop)
        with pytest.raises(SingletableError) as caught:
            provoke(db, tmp_path)
        asked = db.target.endpoint
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert (error.table, error.region, error.endpoint) == (table, asked.region, asked.url)
            assert error.operation
            assert SECRET not in str(error)
            if error.key is not None:
                assert error.key_hash in str(error)


async def test_an_error_of_an_awaiting_layer_has_its_place() -> None:
    async with fresh_async() as db:
        with pytest.raises(SingletableError) as caught:
            await AsyncTaskWorker(db, tasks).drop(SECRET)
        asked = db.target.endpoint
        error = caught.value
        assert (error.table, error.region, error.endpoint, error.operation) == ("shop", asked.region, asked.url, "drop")


def test_the_hash_of_a_key_leads_to_it() -> None:
    with fresh() as db:
        db.create(Order(id=SECRET))
        with pytest.raises(SingletableError) as caught:
            db.create(Order(id=SECRET))
        keys = [key_of(order) for order in db.scan(Order)]
        hashes = [db.port.events.hash_of(*key.texts) for key in keys]
        assert hashes == [caught.value.key_hash]
        assert f"Order.by_id order#{{id}} / order, hash {hashes[0]})" in str(caught.value)
    with fresh(cursor_keys=["another" * 8]) as db:
        db.create(Order(id=SECRET))
        with pytest.raises(SingletableError) as other:
            db.create(Order(id=SECRET))
    assert other.value.key_hash != caught.value.key_hash


def test_a_hash_is_made_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[tuple[str, ...]] = []

    def hash_of(self: Listeners, *key: str) -> str:
        hashed.append(key)
        return "1f"

    monkeypatch.setattr(Listeners, "hash_of", hash_of)
    with fresh() as db:
        db.create(Order(id=SECRET))
        with pytest.raises(SingletableError) as caught:
            db.create(Order(id=SECRET))
        assert hashed == []
        assert "hash 1f" in str(caught.value)
        assert set(hashed) == {(f"order#{SECRET}", "order")}
