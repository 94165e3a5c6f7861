"""Kinds of steps: a new one is one class in one file; the way back is the plan of the former declaration."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from singletable import Database, Entity, Key, Table
from singletable.migrations import Migrations, step_kinds
from singletable.tables import describe
from tests.support.engines import fresh

NAMES = ("name", "city", "mail")


def declared(indexes: Sequence[str] = (), *, stream: bool = False, expires: str | None = None) -> Table:
    """The table with one class, listed by so many of its attributes."""
    table = Table(
        "changing",
        indexes=list(indexes),
        stream="new_and_old" if stream else None,
        ttl_attribute=expires,
    )

    class Person(Entity, table=table, type="person"):
        id: int
        name: str = ""
        city: str = ""
        mail: str = ""

        @table.key
        @staticmethod
        def by_id(id: int) -> Key:
            """One."""
            return f"person#{id}", "person"

        for index, name in zip(indexes, NAMES, strict=False):
            locals()[f"by_{name}"] = table.index(index)(staticmethod(_PATTERNS[name]))

    return table


def _by_name(name: str) -> Key:
    """By name."""
    return f"name#{name}", "person"


def _by_city(city: str) -> Key:
    """By city."""
    return f"city#{city}", "person"


_PATTERNS = {"name": _by_name, "city": _by_city}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


CHANGES = {
    "an index": (declared(), declared(["gsi1"])),
    "an index that goes": (declared(["gsi1", "gsi2"]), declared(["gsi1"])),
    "a stream": (declared(), declared(stream=True)),
    "expiry that goes": (declared(expires="until"), declared()),
    "another time of expiry": (declared(expires="until"), declared(expires="ends")),
    "several": (declared(["gsi1"], expires="until"), declared(["gsi2"], stream=True, expires="until")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_way_back_is_the_plan_of_the_former_declaration(db: Database, name: str) -> None:
    before, after = CHANGES[name]
    Migrations(db, before).apply()
    shape = described(db, before)
    Migrations(db, after).apply()
    assert described(db, after) != shape
    Migrations(db, before).apply(Migrations(db, before).plan())
    assert described(db, before) == shape
    assert Migrations(db, before).plan().is_empty


def described(db: Database, table: Table) -> object:
    """What a plan compares of the live table."""
    live = db.run(describe(db.port, table.definition))
    assert live is not None
    return sorted(live.indexes), live.ttl, live.raw.get("StreamSpecification")


def test_a_table_is_made_in_one_step(db: Database) -> None:
    made, record = Migrations(db, declared()).plan().steps
    assert (made.describe(), record.kind) == (("create the table",), "record")


GREETING = '''
from singletable.migrations.steps import Estimate, Step, StepPhase, StepPrediction


class Greeting(Step, frozen=True, tag="greet"):
    """Writes an item, before any index is made."""

    @classmethod
    def needed(cls, compared):
        if "greeted" not in GREETED:
            yield StepPhase.ROOM, cls(compared.table.name, "say hello", notes=("a program hears it",))

    async def predict(self, planning):
        return StepPrediction(Estimate(items=len(GREETED), requests=7), ("nobody was greeted before",))

    async def run(self, applying):
        applying.tell(said="hello", done=1, total=1)
        GREETED.append("greeted")


GREETED = []
'''


def test_a_kind_of_step_is_one_class_in_one_file(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "greeting_step.py").write_text(GREETING)
    table = declared(["gsi1"])
    Migrations(db, declared()).apply()
    monkeypatch.setattr(step_kinds, "__path__", [*step_kinds.__path__, str(tmp_path)])
    name = f"{step_kinds.__name__}.greeting_step"
    try:
        plan = Migrations(db, table).plan()
        assert [step.name for step in plan.steps] == [
            "greet changing",
            "add index gsi1",
            "record changing",
        ]
        greeting = plan.steps[0]
        assert (greeting.takes.requests, greeting.describe()) == (7, ("say hello", "a program hears it"))
        assert "nobody was greeted before" in plan.left
        told: list[str] = []
        outcome = Migrations(db, table).apply(plan, progress=lambda doing: told.append(doing.said))
        assert [done.step.name for done in outcome.done] == [step.name for step in plan.steps]
        assert told[:2] == ["", "hello"]
        assert Migrations(db, table).plan().is_empty
    finally:
        sys.modules.pop(name, None)
