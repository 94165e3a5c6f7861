"""A plan and its apply: what they compare, what they predict, in which order; a second apply writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import ANY, AsyncDatabase, Database, Entity, InvalidRequest, Key, Table, field
from singletable.flow import Meter, Rate
from singletable.migrations import (
    ApplyRefused,
    AsyncMigrations,
    Doing,
    Estimate,
    Migrations,
    Outcome,
    Plan,
    PlanRefused,
    prices_of,
)
from singletable.migrations.items import ModelRecord
from singletable.migrations.model_document import document_of, read_document
from singletable.migrations.step_kinds.setting_steps import SetSetting
from singletable.migrations.steps import Compared, Live
from singletable.operations.table import TableCall
from singletable.tables import Description, Index, Local, Provisioned, TableSettings
from singletable.tables.live import settings_of
from tests.migrations.models import OldPerson, Place, new, old, written
from tests.migrations.test_fill import is_filled, people, places
from tests.migrations.watching import killed_at_every_request
from tests.support.engines import fresh
from tests.support.raw import all_items, put_raw
from tests.support.shells import opened
from tests.support.waiting import Waited


@pytest.fixture
def db() -> Iterator[Database]:
    """The table as the older program's apply left it, with 120 items."""
    with fresh() as made:
        Migrations(made, old).apply(by="the first")
        made.write_many(puts=places(60))
        for person in people(60):
            made.create(person)
        yield made


def names(plan: Plan | Outcome) -> list[str]:
    return [step.name for step in plan.steps] if isinstance(plan, Plan) else [done.step.name for done in plan.done]


def changes_nothing(db: Database, table: Table) -> bool:
    """Whether a plan is empty, and an apply writes nothing and changes no table."""
    with db.meter() as meter:
        plan, outcome = Migrations(db, table).plan(), Migrations(db, table).apply(by="again")
    assert set(meter.by_operation) <= {"DescribeTable", "DescribeTimeToLive", "GetItem", "Scan"}
    return plan.is_empty and outcome.done == () and meter.write_units == 0


def test_a_new_index_and_a_raised_version(db: Database) -> None:
    expected = sorted((written(person) for person in db.scan(OldPerson)), key=lambda p: p.id)
    before = db.run(all_items(db.port, "people"))
    with db.meter() as meter:
        plan = Migrations(db, new).plan(rate=Rate(write_units=100), prices=prices_of("us-east-1"))
    assert (meter.write_units, db.run(all_items(db.port, "people"))) == (0, before)
    assert names(plan) == ["add index gsi1", "fill people", "record people"]
    add, fill, _ = plan.steps
    assert add.notes == ("Person.by_city is complete after the fill", "Place.by_kind is complete after the fill")
    assert fill.what == "rewrite items: person to version 2, place with its index keys"
    assert fill.takes.items == 120
    assert fill.takes.seconds == fill.takes.write_units / 100
    assert fill.takes.dollars == pytest.approx(
        fill.takes.read_units * 0.125e-6 + fill.takes.write_units * 0.625e-6, rel=1e-9
    )
    told: list[Doing] = []
    outcome = Migrations(db, new).apply(plan, by="ada", progress=told.append)
    assert names(outcome) == names(plan)
    assert {(doing.number, doing.of) for doing in told} == {(1, 3), (2, 3), (3, 3)}
    record: Any = db.get(ModelRecord.of(new).only())
    assert (record.by, record.fence, read_document(record.model)) == ("ada", 2, document_of(new))
    assert changes_nothing(db, new)
    is_filled(db, expected)


@pytest.mark.parametrize(("size", "sample", "units"), [(0, None, 0), (100, None, 1), (8192, None, 2), (81920, 0.1, 2)])
def test_what_it_takes_is_told_before_it_reads(
    db: Database, monkeypatch: pytest.MonkeyPatch, size: int, sample: float | None, units: int
) -> None:
    class Enough(Exception):
        """No more than that."""

    def begins(takes: Estimate) -> None:
        raise Enough(int(takes.read_units))

    send: Any = db.port.send

    async def sized(operation: Any) -> Any:
        answer = await send(operation)
        if isinstance(operation, TableCall) and "Table" in answer:
            answer["Table"]["TableSizeBytes"] = size  # the embedded engine gives none
        return answer

    monkeypatch.setattr(db.port, "send", sized)
    with db.meter() as meter, pytest.raises(Enough, match=rf"^{units}$"):
        Migrations(db, new).plan(begins=begins, sample=sample)
    assert set(meter.by_operation) == {"DescribeTable", "DescribeTimeToLive", "GetItem"}


def test_it_reads_at_its_rate(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The items are small: pages of a few units, each waited for but the first. No read of the lease is waited for."""
    waited = Waited(db, monkeypatch)
    with db.meter() as meter:
        Migrations(db, new).plan(rate=Rate(read_units=1))
    assert meter.read_units - 8 <= waited.seconds <= meter.read_units
    assert waited.seconds > 2
    before = waited.seconds
    with db.meter() as meter:
        Migrations(db, new).apply(rate=Rate(read_units=1))  # it counts first, and then fills
    assert waited.seconds - before >= meter.read_units - 5


def within_two_percent(outcome: Outcome) -> bool:
    """Whether each step took what was predicted."""
    for done in outcome.done:
        takes = done.step.takes
        predicted = takes.requests, takes.read_units, takes.write_units
        for said, was in zip(predicted, (done.requests, done.read_units, done.write_units), strict=True):
            assert said == pytest.approx(was, rel=0.02), (done.step.name, takes, done)
    return bool(outcome.done)


def test_what_is_predicted_is_what_it_takes(db: Database) -> None:
    """Requests and units, with items of over a KB, beside an index that goes and one that comes."""
    unindexed = [("unwritable", "person"), ("unreadable", "person")]  # the fill leaves their former version, too
    for n in range(100, 140):
        db.create(OldPerson(id=n, name=f"Ada {'x' * 37 * n}", city="Bern"))
    with pytest.raises(PlanRefused, match=r"40 items.* a key of 3705 bytes; DynamoDB allows 1024"):
        Migrations(db, new).plan()
    plan = Migrations(db, new).plan(accept=unindexed)
    with db.meter() as meter:
        outcome = Migrations(db, new).apply(plan)
    assert within_two_percent(outcome)
    steps = sum(done.requests + done.looks for done in outcome.done)
    assert steps + outcome.lease_requests <= meter.requests <= steps + outcome.lease_requests + 8  # the comparisons
    assert sum(done.write_units for done in outcome.done) + outcome.lease_units == meter.write_units
    plan = Migrations(db, other_index).plan(accept=unindexed)
    assert names(plan) == ["add index gsi2", "fill people", "drop index gsi1", "record people"]
    assert within_two_percent(Migrations(db, other_index).apply(plan))
    assert {p.id for p in db.iter(NamedPerson.by_last("L1").only(NamedPerson.id))} == {1}
    assert changes_nothing(db, other_index)


def test_a_sample_stands_for_the_whole() -> None:
    """About a quarter of the table is read."""
    with fresh() as db:
        Migrations(db, old).apply()
        db.write_many(puts=places(2000))
        whole = Migrations(db, new).plan().steps[1].takes
        with db.meter() as meter:
            part = Migrations(db, new).plan(sample=0.25).steps[1].takes
        assert meter.read_units < whole.read_units / 2
        assert part.items == pytest.approx(2000, rel=0.1)
        assert part.write_units == pytest.approx(whole.write_units, rel=0.1)
        assert part.requests == pytest.approx(whole.requests, rel=0.1)
        with pytest.raises(InvalidRequest, match="a sample is a share"):
            Migrations(db, new).plan(sample=2)


other_index = Table("people", indexes={"gsi2": Index("gsi2pk", "gsi2sk", ("id",))})


class NamedPerson(Entity, table=other_index, type="person", version=2):
    """Listed by name instead of by city."""

    id: int
    first: str
    last: str
    city: str | None = None
    visits: int = 0
    revision: int = 0

    @other_index.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"person#{id}", "person"

    @other_index.index("gsi2")
    @staticmethod
    def by_last(last: str, id: int = ANY) -> Key:
        """By name."""
        return f"last#{last}", f"{id}"


class OnlyPlace(Entity, table=other_index, type="place"):
    """No longer listed."""

    id: int
    kind: str = "park"

    @other_index.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"place#{id}", "place"


def listing(projection: Any, key: tuple[str, str] = ("gsi1pk", "gsi1sk")) -> tuple[Table, Any]:
    """A table whose index has a projection, and an entity in it."""
    table = Table("lists", indexes={"gsi1": Index(*key, projection)})

    class Entry(Entity, table=table, type="entry"):
        id: int
        group: str = "a"
        text: str = ""

        @table.key
        @staticmethod
        def by_id(id: int) -> Key:
            """One."""
            return f"entry#{id}", "entry"

        @table.index("gsi1")
        @staticmethod
        def by_group(group: str, id: int = ANY) -> Key:
            """A group's."""
            return f"group#{group}", f"{id}"

    return table, Entry


def test_an_index_that_changes_is_made_anew() -> None:
    """Its projection needs no fill, as the keys are there; other attributes of its key do."""
    with fresh() as db:
        table, entry = listing("all")
        Migrations(db, table).apply()
        db.write_many(puts=[entry(id=n, text="x" * 2000) for n in range(30)])
        for projection, key, steps in (
            (("id",), ("gsi1pk", "gsi1sk"), []),
            (("id",), ("apk", "ask"), ["fill lists"]),
        ):
            table, entry = listing(projection, key)
            plan = Migrations(db, table).plan()
            assert names(plan) == ["drop index gsi1", "add index gsi1", *steps, "record lists"]
            assert [step.online for step in plan.steps[:2]] == [False, False]
            assert plan.steps[0].notes == ("Entry.by_group fails until the index is there again",)
            assert within_two_percent(Migrations(db, table).apply(plan))
            assert len(db.all(entry.by_group("a").only(entry.id))) == 30
            assert changes_nothing(db, table)


async def test_in_both_shells() -> None:
    async with opened("awaiting") as shell:
        assert isinstance(shell, AsyncDatabase)
        migrations = AsyncMigrations(shell, new)
        plan = await migrations.plan()
        assert names(plan) == ["create table people", "record people"]
        outcome = await migrations.apply(plan)
        assert within_two_percent(outcome)
        assert (await migrations.plan()).is_empty


def test_what_was_never_declared_stays(db: Database) -> None:
    """An index that no record has, and the items of another program, are told of and left."""
    Migrations(db, new).apply()
    db.delete(ModelRecord.of(new).only())
    db.run(put_raw(db.port, Place, {"pk": {"S": "z"}, "sk": {"S": "z"}, "_type": {"S": "unheard"}}))
    plan = Migrations(db, other_index).plan()
    assert names(plan) == ["add index gsi2", "fill people", "record people"]
    assert plan.left == ("index gsi1: it was never declared", "1 items of a type that no class here has")
    outcome = Migrations(db, other_index).apply(plan)
    assert (outcome.unknown, within_two_percent(outcome)) == (1, True)
    found = db.describe_table(other_index)
    assert found is not None
    assert found.indexes.keys() == {"gsi1", "gsi2"}


@pytest.mark.embedded("it says what that engine lacks")
def test_settings_of_the_embedded_engine() -> None:
    settings = TableSettings(point_in_time_recovery=True, tags={"team": "shop"})
    declared = Table("set", stream="keys", deletion_protection=True, encryption_key="1234abcd", settings=settings)
    with fresh() as db:
        db.create_table(Table("set"))
        plan = Migrations(db, declared).plan()
        assert names(plan) == ["set tags", "set deletion protection", "set stream", "record set"]
        lacks = ("point-in-time recovery", "encryption key")
        assert plan.unsupported == tuple(f"{setting}: the engine has none" for setting in lacks)
        assert within_two_percent(Migrations(db, declared).apply(plan))
        again = Migrations(db, declared).plan()
        assert (again.is_empty, again.unsupported) == (True, plan.unsupported)
        assert db.diff_table(declared) == []
        undeclared = Migrations(db, Table("set", deletion_protection=False)).plan()
        assert names(undeclared) == ["set deletion protection", "unset stream", "record set"]
        Migrations(db, Table("set", deletion_protection=False)).apply(undeclared)
        found = db.describe_table(Table("set"))
        assert found is not None
        assert not found.has_stream


@pytest.mark.parametrize(
    ("arn", "wanted"),
    [
        ("", ["1234abcd; it was owned by AWS"]),
        ("arn:aws:kms:eu-west-1:1:key/1234abcd", []),
        ("arn:aws:kms:eu-west-1:1:key/other", ["1234abcd; it was arn:aws:kms:eu-west-1:1:key/other"]),
    ],
)
def test_a_key_is_declared_by_its_id_or_its_arn(arn: str, wanted: list[str]) -> None:
    declared, found = Table("set", encryption_key="1234abcd"), Description("set", "ACTIVE", 0, 0, {})
    live = Live(found, replace(settings_of(found, None, None), encryption_key=arn))
    compared = Compared(declared, document_of(declared), None, live)
    assert [step.what for _, step in SetSetting.needed(compared)] == wanted


def test_a_document_says_of_an_index_that_it_is_local() -> None:
    """And nothing of a global one: its document is that of a version that knew no others."""
    table = Table("set", indexes={"near": Local("n"), "far": Index("a", "b")})
    indexes = json.loads(document_of(table).text)["indexes"]
    assert indexes == {
        "near": {"key": ["pk", "n"], "projection": "all", "local": True},
        "far": {"key": ["a", "b"], "projection": "all"},
    }
    assert read_document(document_of(table).text) == document_of(table)


def test_provisioned_capacity_is_priced_by_the_hour() -> None:
    prices = prices_of("us-east-1")
    assert prices is not None
    assert prices.of(3600, 7200, Provisioned(1, 1)) == pytest.approx(0.00013 + 2 * 0.00065)
    assert prices.of(1e6, 1e6, "on_demand") == pytest.approx(0.125 + 0.625)
    assert prices_of("mars-north-1") is None


# --- refusals ---------------------------------------------------------------------------------------------------------
def test_the_table_of_another_model(db: Database) -> None:
    stranger = Table("people")

    class Car(Entity, table=stranger, type="car"):
        id: int

        @stranger.key
        @staticmethod
        def by_id(id: int) -> Key:
            """One."""
            return f"car#{id}", "car"

    for attempt in (Migrations(db, stranger).plan, Migrations(db, stranger).apply):
        with pytest.raises(PlanRefused, match="was brought to a model with the types person, place") as refused:
            attempt()
        assert refused.value.reason == "foreign table"
    db.delete(ModelRecord.of(old).only())
    with db.meter() as meter:
        for attempt in (Migrations(db, stranger).plan, Migrations(db, stranger).apply):
            with pytest.raises(PlanRefused, match="has items of the types person, place"):
                attempt()
    assert meter.write_units == 0


def test_a_changed_key(db: Database) -> None:
    with pytest.raises(PlanRefused, match="the table's key is pk \\+ sk, declared is a \\+ b") as refused:
        Migrations(db, Table("people", key=("a", "b"))).plan()
    assert refused.value.reason == "changed key"
    moved, renamed = Table("people"), Table("people")

    class Moved(OldPerson, table=moved, type="person"):
        @moved.key
        @staticmethod
        def by_id(id: int) -> Key:
            """One."""
            return f"human#{id}", "person"

    class Renamed(Entity, table=renamed, type="person"):
        number: int
        name: str
        city: str | None = None
        visits: int = 0
        revision: int = field(version=True, default=0)

        @renamed.key
        @staticmethod
        def by_number(number: int) -> Key:
            """One."""
            return f"person#{number}", "person"

    leaving = ("class.removed", "place")
    with pytest.raises(PlanRefused, match=r"was person#\{id\} / person, and is human#\{id\} / person") as refused:
        Migrations(db, moved).plan(accept=[leaving])
    assert refused.value.reason == "changed key"
    accept = [leaving, ("attribute.removed", "Renamed.id")]
    assert names(Migrations(db, renamed).plan(accept=accept)) == ["record people"]  # the keys of its items are the same


def test_an_older_program(db: Database) -> None:
    Migrations(db, new).apply()
    with pytest.raises(PlanRefused, match="brought to schema version 2; this program has 1") as refused:
        Migrations(db, old).plan()
    assert refused.value.reason == "older program"


def test_a_plan_of_another_declaration(db: Database) -> None:
    plan = Migrations(db, new).plan()
    with pytest.raises(ApplyRefused, match="out of date") as refused:
        Migrations(db, old).apply(plan)
    assert refused.value.reason == "table changed"


# --- kills ------------------------------------------------------------------------------------------------------------
def test_killed_at_every_request(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sorted((written(person) for person in db.scan(OldPerson)), key=lambda p: p.id)
    with Meter() as meter:
        kills = killed_at_every_request(db, monkeypatch, lambda n: Migrations(db, new).apply(by=f"number {n}"))
    updates = meter.count_of("UpdateItem").requests
    assert kills > 20
    assert updates <= 120 * 1.1 + kills * 2  # beats and releases
    assert meter.count_of("UpdateTable").requests == 1
    assert changes_nothing(db, new)
    is_filled(db, expected)


def test_an_estimate_says_nothing_by_default() -> None:
    assert Estimate() == Estimate(0, 0, 0.0, 0.0, None, None)
