"""A plan is of the table as it was: where that has changed, nothing of it is done. What nobody declared stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table
from singletable.migrations import ApplyRefused, Migrations, PlanRefused
from singletable.migrations.items import ApplyLease, ModelRecord
from singletable.migrations.model_document import document_of
from singletable.operations import PutItem
from tests.migrations.outdated import (
    CHANGES,
    SETTINGS,
    after,
    before,
    declared,
    index_by_hand,
    stream_by_hand,
    tag_by_hand,
    ttl_by_hand,
)
from tests.migrations.watching import before_each
from tests.support.engines import again, fresh
from tests.support.traits import LOCAL

ADDED = ["add index gsi2", "record notes"]


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        Migrations(made, before).apply()
        yield made


def names(made: Any) -> list[str]:
    return [step.name for step in made.steps]


# --- outdated plans ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", ["before the apply", "after its first look"])
def test_a_plan_of_a_table_that_has_changed_is_refused(
    db: Database, monkeypatch: pytest.MonkeyPatch, change: str, when: str
) -> None:
    plan = Migrations(db, after).plan()
    assert names(plan) == ADDED
    step, happens = CHANGES[change]
    sent: list[str] = []
    with again(db, traits=LOCAL) as console, monkeypatch.context() as patched:

        def at(operation: Any) -> None:
            sent.append(str(getattr(operation, "operation", "")))
            if isinstance(operation, PutItem) and "has happened" not in sent:  # it takes the lease
                sent.append("has happened")
                happens(console)

        if when == "before the apply":
            happens(console)
        else:
            before_each(db, patched, at)
        record = db.get(ModelRecord.of(after).only())
        with pytest.raises(ApplyRefused) as refused, db.meter() as meter:
            Migrations(db, after).apply(plan)
        assert (meter.write_units == 0) is (when == "before the apply")
    assert (refused.value.reason, step in refused.value.what) == ("table changed", True)
    assert not {"UpdateTable", "UpdateTimeToLive", "TagResource"} & {*sent}
    lease = db.get(ApplyLease.of(after).only())
    assert lease is not None
    assert lease.owner == ""
    if change != "another program applied":
        assert db.get(ModelRecord.of(after).only()) == record
    again_planned = Migrations(db, after).plan()
    assert [done.step.name for done in Migrations(db, after).apply(again_planned).done] == names(again_planned)
    assert db.diff_table(after) == []


def test_what_was_done_meanwhile_is_not_done_again(db: Database) -> None:
    plan = Migrations(db, after).plan()
    Migrations(db, after).apply()
    assert Migrations(db, after).apply(plan).done == ()


def test_a_plan_of_another_table_is_refused(db: Database) -> None:
    plan = Migrations(db, Table("others")).plan()
    with pytest.raises(ApplyRefused, match="out of date"):
        Migrations(db, after).apply(plan)


# --- what was never declared ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("happens", "declares"),
    [(index_by_hand, SETTINGS), (stream_by_hand, SETTINGS), (tag_by_hand, SETTINGS), (ttl_by_hand, {})],
)
def test_what_was_made_by_hand_stays_beside_what_is_dropped(
    happens: Callable[[Database], None], declares: dict[str, Any]
) -> None:
    """With a record: an index that was declared goes, one that was not stays, and so do settings."""
    one, two = declared("gsi1", **declares), declared("gsi1", "gsi2", **declares)
    with fresh() as db:
        Migrations(db, two).apply()
        happens(db)
        found = db.describe_table(two)
        assert found is not None
        outcome = Migrations(db, one).apply()
        assert [done.step.name for done in outcome.done] == ["drop index gsi2", "record notes"]
        left = db.describe_table(one)
        assert left is not None
        assert {*found.indexes} - {*left.indexes} == {"gsi2"}
        assert (left.ttl, left.has_stream) == (found.ttl, found.has_stream)
        told = ("index byhand: it was never declared",) if happens is index_by_hand else ()
        assert Migrations(db, one).plan().left == told


# --- keys -------------------------------------------------------------------------------------------------------------
def _one(first: str, second: str, third: str) -> Key:
    return f"place#{first}#{second}", f"{third}"


def _renamed(first: str, town: str, third: str) -> Key:
    return f"place#{first}#{town}", f"{third}"


def _swapped(first: str, second: str, third: str) -> Key:
    return f"place#{second}#{first}", f"{third}"


def _swapped_across(first: str, second: str, third: str) -> Key:
    return f"place#{third}#{second}", f"{first}"


def _moved_and_renamed(second: str, town: str, third: str) -> Key:
    return f"place#{second}#{town}", f"{third}"


def _turned(first: str, second: str, third: str) -> Key:
    return f"place#{third}#{first}", f"{second}"


def placed(key: Any) -> Table:
    table = Table("places")
    taken = key.__code__.co_varnames[:3]
    body = {"__annotations__": dict.fromkeys(taken, str), "__module__": __name__, "of": table.key(key)}
    type("Place", (Entity,), body, table=table, type="place")
    return table


@pytest.mark.parametrize("key", [_swapped, _swapped_across, _moved_and_renamed, _turned])
def test_names_that_changed_places_in_a_key_change_the_key(key: Any) -> None:
    with fresh() as db:
        table = placed(_one)
        Migrations(db, table).apply()
        db.create(table.models[0].kind(first="a", second="b", third="c"))
        with pytest.raises(PlanRefused, match="Place: the key was") as refused:
            Migrations(db, placed(key)).plan()
        assert refused.value.reason == "changed key"


def test_a_name_that_is_new_changes_no_key() -> None:
    with fresh() as db:
        Migrations(db, placed(_one)).apply()
        assert names(Migrations(db, placed(_renamed)).plan()) == ["record places"]
    forms = [document_of(placed(key)).entities["place"] for key in (_one, _renamed)]
    assert forms[0].has_key_of(forms[1])
    assert forms[1].has_key_of(forms[0])
