"""An erasure finds its candidates in an export; scans of the table end it, so that nothing written since is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, attr, field
from singletable.erasure import Erasure, SharedScans
from singletable.errors import Corrupt, NotFound
from singletable.exchange import ExportedItems, export_of
from tests.erasure.killing import is_killed
from tests.erasure.models import Address, Customer, Product, Review, customer, shop
from tests.erasure.test_erasure import ADA, CLEARED, WHOLE, fill, is_erased, items_of, remaining
from tests.exchange.table_export_layout import write_full
from tests.migrations.test_apply_lease import Pace
from tests.support.engines import fresh
from tests.support.raw import all_items

__all__ = ["remaining"]
chain = Table("chain")
NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        yield made


def exported(db: Database, folder: Path, items: Any = None) -> ExportedItems:
    items = db.run(all_items(db.port, shop.name)) if items is None else items
    return export_of(shop, str(write_full(folder, shop.name, items, at=NOON)))


def scans(db: Database, source: ExportedItems | None) -> int:
    with db.meter() as meter:
        Erasure(db, shop).apply(ADA, from_export=source)
    return meter.by_operation["Scan"].requests


def test_a_plan_takes_no_scan(db: Database, tmp_path: Path) -> None:
    live, source = Erasure(db, shop).plan(ADA), exported(db, tmp_path)
    with db.meter() as meter:
        plan = Erasure(db, shop).plan(ADA, from_export=source)
    assert (plan.deleted, plan.cleared, plan.as_of) == (WHOLE, CLEARED, NOON) == (live.deleted, live.cleared, NOON)
    assert "Scan" not in meter.by_operation
    assert plan.left_out[-1] == "what was written since 2026-11-20 12:00:00 UTC: the erasure scans the table for it"


def test_it_erases_the_same(db: Database, tmp_path: Path, remaining: Any) -> None:
    assert scans(db, exported(db, tmp_path)) == 3
    is_erased(db, remaining)


class Writer(Entity, table=chain, type="writer"):
    id: str

    @chain.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One writer."""
        return f"writer#{id}", "writer"


class Post(Entity, table=chain, type="post"):
    """Found by nothing but a scan, as what belongs to it."""

    id: str
    writer: str = field(belongs_to=Writer.id)

    @chain.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One post."""
        return f"post#{id}", "post"


class Reply(Entity, table=chain, type="reply"):
    id: str
    post: str = field(belongs_to=Post.id)

    @chain.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One reply."""
        return f"reply#{id}", "reply"


class Like(Entity, table=chain, type="like"):
    id: str
    reply: str = field(belongs_to=Reply.id)
    named: list[str] = field(default_factory=list[str], mentions=Post.id)

    @chain.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One like."""
        return f"like#{id}", "like"


CHAIN = [Writer(id="w"), Post(id="p", writer="w"), Reply(id="r", post="p"), Like(id="l", reply="r")]
OTHERS = [Reply(id="r2", post="p2"), Like(id="l2", reply="r2", named=["p", "p2"])]


def erased_chain(folder: Path, count: int | None, killing: Any = None, **options: Any) -> tuple[int, bool]:
    """The scans of an erasure by an export of the first items, and whether it ended before it was killed."""
    with fresh() as db:
        db.create_table(chain)
        db.write_many(puts=[*CHAIN, *OTHERS][:count])
        items = db.run(all_items(db.port, chain.name))
        if count is not None:
            options["from_export"] = export_of(chain, str(write_full(folder, chain.name, items, at=NOON)))
        db.write_many(puts=[*CHAIN, *OTHERS])
        writer, is_ended = Writer.by_id("w"), True
        with db.meter() as meter:
            if killing is None:
                Erasure(db, chain).apply(writer, **options)
            else:
                is_ended = not is_killed(db, chain, writer, *killing, **options)
        with suppress(NotFound), pytest.MonkeyPatch.context() as patched:
            if not is_ended:
                Pace(db, patched)
                Erasure(db, chain).apply(writer, **options)
        assert [len([*db.scan(kind)]) for kind in (Writer, Post, Reply, Like)] == [0, 0, 1, 1]
        (like,) = db.scan(Like)
        assert like.named == ["p2"]
        assert not [item for item in db.run(all_items(db.port, chain.name)) if item["_type"]["S"].startswith("_job")]
        return meter.by_operation["Scan"].requests if killing is None else 0, is_ended


def test_it_takes_fewer_scans_where_there_are_levels(tmp_path: Path) -> None:
    by_table, _ = erased_chain(tmp_path, None)
    by_export, _ = erased_chain(tmp_path, len(CHAIN + OTHERS))
    assert by_export <= by_table - 2


def test_what_belongs_to_an_exported_item_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply to a post that the export has: when the post is gone, nothing leads to it."""
    for count in range(len(CHAIN + OTHERS)):
        erased_chain(tmp_path / str(count), count)
    for at in range(1, 200, 3):
        _, is_ended = erased_chain(tmp_path / f"killed{at}", 2, (at, monkeypatch))
        if is_ended:
            break
    assert at > 20


def test_its_scans_of_the_table_may_be_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SharedScans(sections=2, at_once=1, lease_seconds=0.2)
    for count in range(0, len(CHAIN + OTHERS) + 1, 2):
        erased_chain(tmp_path / str(count), count, shared=shared)
    for at in range(3, 400, 23):
        _, is_ended = erased_chain(tmp_path / f"killed{at}", at % 7, (at, monkeypatch), shared=shared)
        if is_ended:
            break
    assert at > 60


def test_a_plan_with_jobs_reads_the_export_alone(db: Database, tmp_path: Path) -> None:
    told: list[Any] = []
    plan = Erasure(db, shop).plan(ADA, from_export=exported(db, tmp_path), shared=SharedScans(tell=told.append))
    assert (plan.deleted, told) == (WHOLE, [])


def test_what_was_written_since_is_not_left(db: Database, tmp_path: Path, remaining: Any) -> None:
    """An export from before all of it, and one in which everything mentions somebody else."""
    scans(db, exported(db, tmp_path, []))
    is_erased(db, remaining)
    with fresh() as other:
        fill(other)
        old = [{**item, "author": {"S": "nobody@example.org"}} for item in other.run(all_items(other.port, shop.name))]
        scans(other, exported(other, tmp_path / "old", old))
        is_erased(other, remaining)


def test_a_candidate_is_read_again(db: Database, tmp_path: Path) -> None:
    """What was hers when the export was made, and is somebody else's or gone, stays or is not missed."""
    source = exported(db, tmp_path)
    mine = next(each for each in db.scan(Review) if each.author == "ada@example.org")
    db.update(Review.of_product(mine.product, mine.id), attr(Review.author).set("bob@example.org"))
    before = items_of(db)[f"product#{mine.product}", f"review#{mine.id}"]
    receipt = Erasure(db, shop).apply(ADA, from_export=source)
    assert receipt.deleted["Review"] == WHOLE["Review"] - 1
    after = items_of(db)[f"product#{mine.product}", f"review#{mine.id}"]
    assert after["author"] == before["author"] == {"S": "bob@example.org"}


def test_killed_at_any_request_it_goes_on_and_counts_once(
    tmp_path: Path, remaining: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on looks in the table, as an item written since the export may be half erased."""
    kills = 0
    for at in range(5, 400, 11):
        with fresh() as db:
            fill(db)
            source = exported(db, tmp_path / str(at), [] if at % 2 else None)
            if not is_killed(db, shop, ADA, at, monkeypatch, from_export=source):
                break
            with suppress(NotFound):  # it was killed before its end was told
                receipt = Erasure(db, shop).apply(ADA, from_export=source)
                assert (receipt.deleted, receipt.cleared) == (WHOLE, CLEARED)
            is_erased(db, remaining)
            kills += 1
    assert kills > 3


def test_a_damaged_export_deletes_nothing(db: Database, tmp_path: Path) -> None:
    source, before = exported(db, tmp_path), items_of(db)
    file = sorted(Path(source.where).glob("data/*.gz"))[-1]
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(Corrupt):
        Erasure(db, shop).apply(ADA, from_export=source)
    assert items_of(db) == before
    with pytest.raises(NotFound):
        Erasure(db, shop).plan(Customer.by_email("nobody@example.org"), from_export=exported(db, tmp_path / "2", []))


def test_what_alone_was_written_since_goes_before_the_subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names a value that her item alone has: killed after the deletion of that item, nobody would find it again."""
    for at in range(1, 200):
        with fresh() as db:
            db.create_table(shop)
            source = exported(db, tmp_path / str(at))
            db.create(customer("ada"))
            db.create(Product(product="p", buyers=["ada", "bob"]))
            is_ended = not is_killed(db, shop, ADA, at, monkeypatch, from_export=source)
            if not is_ended:
                with suppress(NotFound):  # it was killed before its end was told
                    Erasure(db, shop).apply(ADA, from_export=source)
            assert db.get(ADA) is None
            product = db.get(Product.by_name("p"))
            assert product is not None
            assert product.buyers == ["bob"], f"killed before request {at}"
            if is_ended:
                break
    assert at > 10


def test_what_was_written_since_is_found_of_a_subject_that_is_gone(db: Database, tmp_path: Path) -> None:
    """An export from before all of it: the plan of it says where to look, the erasure looks there."""
    db.delete(ADA)
    for address in db.all(Address.of_customer("ada@example.org")):
        db.delete(address)
    source = exported(db, tmp_path, [])
    with pytest.raises(NotFound, match="as of 2026-11-20 12:00:00 UTC"):
        Erasure(db, shop).plan(ADA, from_export=source)
    receipt = Erasure(db, shop).apply(ADA, from_export=source)
    assert receipt.deleted["Review"] == WHOLE["Review"]
    assert not [each for each in db.scan(Review) if each.author == "ada@example.org"]
