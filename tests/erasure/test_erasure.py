"""Erasing a customer: what was listed goes, everybody else's stays as it was, killed anywhere or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from singletable import AsyncDatabase, Database, InvalidRequest, attr, key_of
from singletable.erasure import AsyncErasure, Erasure, Receipt
from singletable.erasure.items import ErasureRecord
from singletable.erasure.journal import Journal, open_journal
from singletable.errors import NotFound
from singletable.migrations import ApplyRefused
from singletable.migrations.apply_lease import beat, take
from singletable.schema import model_of
from tests.erasure.killing import is_killed
from tests.erasure.models import (
    Address,
    Customer,
    CustomerDetails,
    Line,
    Order,
    Parcel,
    Product,
    Review,
    Stranger,
    common,
    customer,
    shop,
    whole,
)
from tests.erasure.traces import without_random
from tests.migrations.test_apply_lease import Pace
from tests.migrations.test_fill import before_each
from tests.support.engines import again, fresh
from tests.support.raw import all_items, put_raw, stored
from tests.support.sampling import strides
from tests.support.shells import opened

ADA = Customer.by_email("ada@example.org")
WHOLE = {"Customer": 1, "Address": 2, "Order": 5, "Line": 15, "Review": 2}
CLEARED = {"Product": 2, "Parcel": 1, "Review": 2}


def fill(db: Database) -> None:
    db.create_table(shop)
    for id in ("ada", "bob"):
        db.create(customer(id))
    db.write_many(puts=[*whole("ada", "bob"), *whole("bob", "ada", 100), *common("ada", "bob")])


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        yield made


def items_of(db: Database) -> dict[tuple[str, str], dict[str, Any]]:
    """Every item but the library's own, without the ids of writes."""
    found = db.run(all_items(db.port, "shop"))
    kept = [item for item in found if item["pk"]["S"] != "_migration"]
    return {(i["pk"]["S"], i["sk"]["S"]): {n: with_sorted_sets(v) for n, v in i.items() if n != "_w"} for i in kept}


def with_sorted_sets(value: dict[str, Any]) -> Any:
    return {"SS": sorted(value["SS"])} if "SS" in value else value


@pytest.fixture(scope="module")
def remaining() -> dict[tuple[str, str], dict[str, Any]]:
    """What must remain without ada: a table that was made without her, and where nobody mentions her."""
    with fresh() as made:
        made.create_table(shop)
        made.create(customer("bob"))
        made.write_many(puts=whole("bob", "ada", 100))
        made.write_many(
            puts=[
                Review(product="tea", id="r-bob", author="bob@example.org", helped={"bob@example.org"}),
                Review(product="jam", id="r-bob", author="bob@example.org"),
                Product(product="tea", buyers=["bob"]),
                common("ada", "bob")[1].__class__(**{**vars(common("ada", "bob")[1]), "first": ""}),
                Parcel(id=1, email="ada@example.org", name=""),
                common("ada", "bob")[3],
            ]
        )
        return items_of(made)


def is_erased(db: Database, remaining: Any) -> None:
    assert items_of(db) == remaining
    assert db.check(shop) == []
    (record,) = db.all(ErasureRecord.of(shop).by_id())
    assert (record.salt, record.digest, record.doing, record.ended_at is not None) == (None, None, {}, True)
    own = [item for item in db.run(all_items(db.port, "shop")) if item["pk"]["S"] == "_migration"]
    assert own
    assert "ada" not in without_random(repr(own))


def test_what_is_listed_is_what_goes(db: Database, remaining: Any) -> None:
    before = items_of(db)
    with db.meter() as meter:
        plan = Erasure(db, shop).plan(ADA)
    assert (plan.deleted, plan.cleared, plan.kept) == (WHOLE, CLEARED, ())
    assert meter.write_units == 0
    assert items_of(db) == before
    receipt = Erasure(db, shop).apply(ADA, by="operator")
    assert (receipt.deleted, receipt.cleared, receipt.kept, receipt.runs) == (WHOLE, CLEARED, (), 1)
    after = items_of(db)
    gone = {place for place in before if place not in after}
    listed = {each.place for each in plan.belongings if each.does == "delete"}
    assert gone - listed == {("_unique#customer#phone#+47 ada", "_unique")}
    assert listed <= gone
    assert {p for p in after if after[p] != before[p]} == {e.place for e in plan.belongings if e.does == "clear"}
    is_erased(db, remaining)
    assert "ada" not in without_random(repr(receipt))


def test_it_costs_what_is_listed_and_its_record(db: Database) -> None:
    plan = Erasure(db, shop).plan(ADA)
    with db.meter() as meter:
        receipt = Erasure(db, shop).apply(ADA)
    assert (meter.write_units, meter.read_units) == (receipt.write_units, receipt.read_units)
    lease = 2.0
    records = 5.0  # clears, lines, what is in the partition and what refers to it, the subject, the end
    assert meter.write_units == plan.write_units + lease + records
    assert plan.read_units < meter.read_units <= plan.read_units * 3  # it looks three times, at less each time


@pytest.mark.parametrize("subject", [ADA, CustomerDetails.by_email("ada@example.org")], ids=["key", "collection"])
def test_a_partition_is_named_by_its_key_or_as_a_collection(db: Database, subject: Any) -> None:
    assert Erasure(db, shop).plan(subject).deleted == WHOLE


def test_a_query_names_its_items_only(db: Database, remaining: Any) -> None:
    assert Erasure(db, shop).plan(Address.of_customer("ada@example.org", "home")).deleted == {"Address": 1}
    receipt = Erasure(db, shop).apply(Order.of_customer("ada"))
    assert receipt.deleted == {"Order": 5, "Line": 15}
    assert db.get(ADA) is not None
    Erasure(db, shop).apply(ADA)
    assert items_of(db) == remaining


async def test_in_both_shells() -> None:
    async with opened("awaiting") as shell:
        assert isinstance(shell, AsyncDatabase)
        await shell.create_table(shop)
        await shell.create(customer("ada"))
        await shell.write_many(puts=whole("ada", "bob"))
        erasure = AsyncErasure(shell, shop)
        assert (await erasure.plan(ADA)).deleted == (await erasure.apply(ADA)).deleted == WHOLE
        assert await shell.check(shop) == []


# --- killed anywhere --------------------------------------------------------------------------------------------------
@strides(6)
def test_killed_at_every_request_it_goes_on_and_counts_each_once(
    remaining: Any, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    monkeypatch.setattr("singletable.erasure.execution.BATCH", 4)
    at = 0
    with fresh() as db:
        while True:
            at += stride
            fill(db)
            if not is_killed(db, shop, ADA, at, monkeypatch):
                break
            with monkeypatch.context() as patched:
                Pace(db, patched)
                receipt = _again(db)
            if receipt is not None:
                assert (receipt.deleted, receipt.cleared) == (WHOLE, CLEARED), at
            is_erased(db, remaining)
            db.delete_table(shop)
    assert at > 60


def _again(db: Database) -> Receipt | None:
    try:
        return Erasure(db, shop).apply(ADA)
    except NotFound:
        (record,) = db.all(ErasureRecord.of(shop).by_id())
        assert (record.deleted, record.cleared) == (WHOLE, CLEARED)  # it had ended
        return None


# --- beside writers ---------------------------------------------------------------------------------------------------
def test_what_is_added_meanwhile_goes_too(db: Database, remaining: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An order at each of the first forty requests, some of which are sent at once, and lines of orders that are being
    deleted."""
    numbers = iter(range(501, 541))

    def add(operation: Any) -> None:
        if number := next(numbers, None):
            with again(db) as other:
                other.write_many(puts=[Order(number=number, customer="ada"), Line(number=number, line=1, text="new")])

    with monkeypatch.context() as patched:
        before_each(db, patched, add)
        receipt = Erasure(db, shop).apply(ADA)
    assert receipt.deleted == {**WHOLE, "Order": 45, "Line": 55}
    is_erased(db, remaining)


def test_what_leaves_the_subject_meanwhile_stays(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """An order that is given to another customer between the search and its deletion."""
    moved = False

    def move(operation: Any) -> None:
        nonlocal moved
        if not moved and type(operation).__name__ == "DeleteItem":
            moved = True
            with again(db) as other:
                other.update(Order.by_number(3), attr(Order.customer).set("bob"))

    with monkeypatch.context() as patched:
        before_each(db, patched, move)
        receipt = Erasure(db, shop).apply(ADA)
    assert db.get(Order.by_number(3)) == Order(number=3, customer="bob")
    assert receipt.deleted["Order"] == 4
    assert db.check(shop) == []


def test_writers_that_never_end_are_told_of(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    added = 0

    def add(operation: Any) -> None:
        nonlocal added
        added += 1
        with again(db) as other:
            other.put(Address(email="ada@example.org", label=f"{added}", street="new"))

    monkeypatch.setattr("singletable.erasure.execution.SEARCHES", 3)
    with monkeypatch.context() as patched:
        before_each(db, patched, add)
        receipt = Erasure(db, shop).apply(ADA)
    assert [kept.why for kept in receipt.kept] == ["writers go on adding to it: end them, and erase again"]


# --- refused ----------------------------------------------------------------------------------------------------------
def test_a_pattern_of_another_table_is_refused(db: Database) -> None:
    with pytest.raises(InvalidRequest, match=r"Stranger\.by_id reads table elsewhere"):
        Erasure(db, shop).plan(Stranger.by_id("s"))


def test_nothing_is_refused_and_leaves_no_record(db: Database) -> None:
    for verb in (Erasure(db, shop).plan, Erasure(db, shop).apply):
        with pytest.raises(NotFound, match=r"nothing belongs to what Customer\.by_email names"):
            verb(Customer.by_email("nobody@example.org"))
    assert db.all(ErasureRecord.of(shop).by_id()) == []


def test_an_erasure_under_way_is_not_disturbed(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with again(db) as other:
        held, beats, pace = db.run(take(db.port, shop, "ann")), 0, Pace(other, monkeypatch)

        def work() -> None:
            nonlocal beats
            beats += 1
            db.run(beat(db.port, shop, held, beats, "erase Customer.by_email"))

        pace.then = work
        with pytest.raises(ApplyRefused, match=r"ann changes the table .* it is at: erase Customer\.by_email"):
            Erasure(other, shop).apply(ADA)
    assert Counter(type(item).__name__ for item in db.scan(Order)) == {"Order": 10}


def test_what_cant_be_read_is_told_and_the_rest_goes(db: Database) -> None:
    """By the partition, by a key, and by a pattern that meets it."""
    item = model_of(Address).item(Address(email="ada@example.org", label="odd", street="s"))
    db.run(put_raw(db.port, Address, item | {"_v": {"N": "99"}}))
    told = "its class can't read it: db.check(table) says why"
    for root in (CustomerDetails.by_email("ada@example.org"), ADA):
        plan = Erasure(db, shop).plan(root)
        assert [(kept.kind, kept.why, kept.count) for kept in plan.kept] == [("Address", told, 1)]
    receipt = Erasure(db, shop).apply(ADA)
    assert [(kept.kind, kept.count) for kept in receipt.kept] == [("Address", 1)]
    assert receipt.deleted == WHOLE


def test_an_item_of_an_unknown_type_stays_and_is_told(db: Database) -> None:
    item = model_of(Address).item(Address(email="ada@example.org", label="odd", street="s"))
    db.run(put_raw(db.port, Address, item | {"_type": {"S": "ghost"}}))
    receipt = Erasure(db, shop).apply(CustomerDetails.by_email("ada@example.org"))
    assert [(kept.kind, kept.why, kept.count) for kept in receipt.kept] == [
        ("ghost", "no class of this program has the type", 1)
    ]


def test_a_pattern_goes_past_what_cant_be_read(db: Database) -> None:
    order = next(each for each in whole("ada", "bob") if isinstance(each, Order))
    stored_order = db.run(stored(db.port, key_of(order)))
    assert stored_order is not None
    db.run(put_raw(db.port, Order, stored_order | {"_v": {"N": "99"}}))
    plan = Erasure(db, shop).plan(Order.of_customer(order.customer))
    assert [(kept.kind, kept.count) for kept in plan.kept] == [("Order", 1)]
    assert plan.deleted["Order"] == WHOLE["Order"] - 1


def test_the_journal_of_another_process_is_not_overwritten(db: Database) -> None:
    """Where only the answer to a write was lost, the same write is repeated and the process goes on."""
    mine = db.run(open_journal(db.port, shop, "Customer.by_email", "ada", "ann"))
    db.run(mine.begin([]))
    unaware, other = (Journal(db.port, shop, mine.record) for _ in range(2))
    db.run(mine.begin([]))
    db.run(unaware.begin([]))
    assert unaware.record == mine.record
    with pytest.raises(ApplyRefused, match="another process has gone on with this erasure"):
        db.run(other.close())
    assert db.all(ErasureRecord.of(shop).by_id()) == [mine.record]
