"""`db.check` of a foreign table names the index keys that writes leave behind, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singletable import Database, Entity, Index, Key, Table
from singletable.tables import add_index, create
from tests.oracle.planting import assert_command_finds, assert_found, edit
from tests.support.engines import fresh

_MORE = Table("oracle-foreign", indexes={"more": Index("morepk", "moresk")}, foreign=True)
app = Table("oracle-foreign", indexes={"gsi1": Index("gsi1pk", "gsi1sk")}, foreign=True)


class Item(Entity, table=app, type="item"):
    id: str
    name: str = ""

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"item#{id}", "item"


A = Item.by_id("a")


def more_indexes(db: Database) -> None:
    """As another program makes one, after the table was declared here."""
    db.run(add_index(db.port, _MORE.definition, "more"))


PLANTED: dict[str, tuple[list[str], Callable[[Database], Any]]] = {
    "an index of another program": (["index.undeclared"], more_indexes),
    "a key in an index that its class is not in": (
        ["index-key.undeclared"],
        lambda db: edit(db, A, gsi1pk={"S": "name#"}, gsi1sk={"S": "a"}),
    ),
}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.run(create(made.port, app.definition))
        made.create(Item(id="a"))
        yield made


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(db: Database, fault: str) -> None:
    assert_found(lambda: db.check(app), [])
    wanted, plant = PLANTED[fault]
    plant(db)
    assert_found(lambda: db.check(app), wanted)
    assert_command_finds(db, __name__, wanted)
