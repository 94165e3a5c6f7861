"""A fill of a table that another program writes, with the library's own items in another table, of other keys."""

from __future__ import annotations

from typing import Any

from singletable import ANY, Entity, Key, Table
from singletable.migrations import Migrations
from singletable.tables import N
from tests.support.engines import fresh

tools = Table("tools")
whose: dict[str, Any] = {"foreign": True, "own_items": tools, "version_attribute": "version"}
old = Table("readings", key=("device", N("at")), **whose)
new = Table("readings", key=("device", N("at")), indexes={"by_level": ("place", N("level"))}, **whose)
KEPT = 30


class OldReading(Entity, table=old, type="reading"):
    device: str
    at: int

    @old.key
    @staticmethod
    def of(device: str, at: int = ANY) -> Key:
        return f"{device}", f"{at}"


class Reading(Entity, table=new, type="reading", version=2):
    device: str
    at: int
    level: int

    @new.key
    @staticmethod
    def of(device: str, at: int = ANY) -> Key:
        return f"{device}", f"{at}"

    @new.index("by_level")
    @staticmethod
    def by_level(device: str, level: int = ANY) -> Key:
        return f"of#{device}", f"{level}"


@Reading.upcast(1)
def level_of(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "level": item["at"] * 2}


def test_an_index_and_an_attribute_are_filled() -> None:
    with fresh() as db:
        db.create_table(tools)
        Migrations(db, old).apply(by="Ada")
        with db.transaction() as tx:
            for n in range(KEPT):
                tx.put(OldReading(device="d", at=n - 10))
        plan = Migrations(db, new).plan()
        assert [step.name for step in plan.steps] == ["add index by_level", "fill readings", "record readings"]
        outcome = Migrations(db, new).apply(plan, by="Ada")
        assert [done.write_units for done in outcome.done] == [step.takes.write_units for step in plan.steps]
        assert [each.at for each in db.all(Reading.by_level("d"))] == [n - 10 for n in range(KEPT)]
        assert db.check(new) == []
        assert Migrations(db, new).plan().is_empty
