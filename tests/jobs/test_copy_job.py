"""A copy as a job: the target has what the source has, whoever copied which part, killed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from singletable import Database, InvalidRequest, Table
from singletable.errors import Incomplete, Throttled
from singletable.exchange import TableCopy, table_copy
from singletable.exchange.table_copy import CopyRun
from singletable.foundation import flows, place_in, put_items, tool_class, type_in
from singletable.graph import Graph
from singletable.holds.gate import TableGate
from singletable.jobs import Jobs, JobStatus, worker as workers
from singletable.jobs.store import JobStore
from singletable.operations import Item
from tests.erasure.models import Customer, shop
from tests.exchange.kin import Knows, Relative, kin
from tests.jobs.people import application_items, put_people
from tests.migrations.models import Place, new
from tests.migrations.watching import killed_at_every_request
from tests.support.engines import fresh
from tests.support.raw import all_items


@pytest.fixture
def target() -> Iterator[Database]:
    with fresh() as made:
        yield made


def test_the_target_has_what_the_source_has(db: Database, target: Database) -> None:
    jobs, before = Jobs(target, new, source=db), application_items(db)
    job = jobs.begin("copy", sections=4)
    assert (job.items, job.sections) == (120, 4)
    done = jobs.run(job.id)
    assert done.result == {"read": 120, "written": 120, "mended": 0, "left_out": {}, "is_held": False, "found": 0}
    assert (application_items(target), application_items(db)) == (before, before)
    assert not [item for item in db.run(all_items(db.port, "people")) if item["_type"]["S"].startswith("_")]
    with pytest.raises(InvalidRequest, match="the target has items"):
        jobs.begin("copy")
    assert jobs.run(jobs.begin("copy", {"add": True}).id).state == "ended"


def test_killed_at_every_request_it_ends_with_all_items(
    db: Database, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs, ended = Jobs(target, new, source=db), list[JobStatus]()

    def run(kills: int) -> None:
        known = jobs.all() or [jobs.begin("copy", sections=2)]
        ended.append(jobs.run(known[0].id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))

    assert killed_at_every_request(target, monkeypatch, run) > 10
    done = ended[-1]
    assert (done.state, done.seen) == ("ended", 120)
    assert application_items(target) == application_items(db)


def test_what_can_not_be_copied_so_is_refused(db: Database, target: Database) -> None:
    with pytest.raises(InvalidRequest, match="reads another database"):
        Jobs(target, new).begin("copy")
    with pytest.raises(InvalidRequest, match="are the same table"):
        Jobs(db, new, source=db).begin("copy", {"add": True})
    with pytest.raises(InvalidRequest, match="needs the key of the masks"):
        Jobs(target, shop, source=db).begin("copy")
    job = Jobs(target, new, source=db).begin("copy")
    with fresh() as another:
        put_people(another, 2)
        with pytest.raises(InvalidRequest, match="the given source is"):
            Jobs(target, new, source=another).run(job.id)
    assert application_items(target) == {}


def test_personal_values_are_copied_where_it_is_said(db: Database, target: Database) -> None:
    db.create(Customer(email="a@example.org", id="a"))
    jobs = Jobs(target, shop, source=db)
    jobs.run(jobs.begin("copy", {"keep_personal": True}).id)
    assert list(target.scan(Customer)) == list(db.scan(Customer))


def test_a_table_with_workers_is_held(db: Database, target: Database) -> None:
    jobs = Jobs(target, new, source=db)
    job = jobs.begin("copy", {"hold": True}, sections=2)
    assert target.run(TableGate(target.port, new).is_held())
    assert jobs.run(job.id).result == {
        "read": 120,
        "written": 120,
        "mended": 0,
        "left_out": {},
        "is_held": True,
        "found": 0,
    }
    assert target.run(TableGate(target.port, new).is_held())


def test_a_worker_that_stood_still_writes_no_old_items(
    db: Database, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read a page, and stands still. Another takes its section, and the target is in use when it goes on."""
    jobs, store, still = Jobs(target, new, source=db), JobStore(target.port, new), 0.0
    job = jobs.begin("copy", sections=1)
    put, monotonic = CopyRun.put, target.port.monotonic

    async def stand_still(self: Any, items: Any) -> Any:
        nonlocal still
        if not still:
            part = (await store.parts(job.id, [0]))[0]
            assert await store.take(job.id, 0, part, "another") is not None
            await flows.put(target.port, Place(id=1, kind="of who uses the target"))
            still = 100.0
        return await put(self, items)

    monkeypatch.setattr(target.port, "monotonic", lambda: monotonic() + still)
    monkeypatch.setattr(CopyRun, "put", stand_still)
    status = jobs.run(job.id, at_once=1, stop=lambda: still > 0)
    assert (status.state, status.seen, len(status.held)) == ("running", 0, 1)
    assert [place.kind for place in target.scan(Place)] == ["of who uses the target"]


# --- masks ------------------------------------------------------------------------------------------------------------
KEY = b"the key of the masks"


def put_customers(db: Database, count: int) -> None:
    db.create_table(shop)
    for n in range(count):
        db.create(Customer(email=f"c{n}@example.org", id=f"c{n}", name=f"Ada {n}", phone=f"+44 20 7946 {n:04}"))


def shown(db: Database, table: Table = shop) -> list[Item]:
    """All items, those of tools left out, without the random ids of their writes."""
    items = db.run(all_items(db.port, table.name))
    own = [item for item in items if tool_class(type_in(table, item)) is None]
    whole = ({name: value for name, value in item.items() if name != "_w"} for item in own)
    return sorted(whole, key=lambda item: place_in(table, item))


def masked_copy(db: Database, table: Table = shop) -> list[Item]:
    """The items of a masked copy by one process."""
    with fresh() as other:
        TableCopy(db, other, table).run(mask_key=KEY)
        return shown(other, table)


def test_masked_it_has_what_a_masked_copy_has(db: Database, target: Database) -> None:
    """The same masks in values and guards, by any number of sections; and the job holds no key."""
    put_customers(db, 101)
    jobs = Jobs(target, shop, source=db, mask_key=KEY)
    done = jobs.run(jobs.begin("copy", sections=5).id)
    assert (done.state, done.result and done.result["written"]) == ("ended", 202)  # a guard for each
    assert shown(target) == masked_copy(db)
    stored = repr(target.run(all_items(target.port, "shop")))
    assert not any(text in stored for text in ("Ada", "7946", KEY.decode(), "_transfer"))
    assert target.check(shop) == []


def test_masked_a_graph_is_whole_again(db: Database, target: Database) -> None:
    """Its edge sets, with masked keys, are made by the end of the job."""
    with fresh() as source:
        relatives = [Relative(id=f"ada-{n}") for n in range(6)]
        Graph(source).load(
            relatives, [Knows(source=Relative.by_id("ada-0"), target=Relative.by_id(r.id)) for r in relatives[1:]]
        )
        jobs = Jobs(target, kin, source=source, mask_key=KEY)
        result = jobs.run(jobs.begin("copy", sections=3).id).result
        assert result is not None
        assert shown(target, kin) == masked_copy(source, kin)
        assert result["mended"] > 0
    assert target.check(kin) == []


def test_masked_and_killed_at_every_request_it_ends_as_if_it_had_not_been(
    db: Database, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    put_customers(db, 7)
    jobs, ended = Jobs(target, shop, source=db, mask_key=KEY), list[JobStatus]()
    target.create_table(shop)

    def run(kills: int) -> None:
        known = jobs.all() or [jobs.begin("copy", sections=2)]
        ended.append(jobs.run(known[0].id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))

    assert killed_at_every_request(target, monkeypatch, run) > 10
    assert (ended[-1].state, shown(target)) == ("ended", masked_copy(db))


def test_a_page_that_was_refused_is_put_again(db: Database, target: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of one process remembers what it put: a worker goes on after an error, and must not."""
    put_customers(db, 5)
    jobs, refused, put = Jobs(target, shop, source=db, mask_key=KEY), list[int](), put_items

    async def refuse(port: Any, table: Any, items: Any) -> None:
        if len(refused) < 40:
            refused.append(len(items))
            raise Incomplete("refused") from Throttled("too much", table="shop")
        await put(port, table, items)

    async def sleep(seconds: float) -> None: ...

    monkeypatch.setattr(table_copy, "put_items", refuse)
    monkeypatch.setattr(target.port, "sleep", sleep)
    assert jobs.run(jobs.begin("copy", sections=1).id, at_once=1).state == "ended"
    assert (set(refused), shown(target)) == ({10}, masked_copy(db))


def test_a_worker_with_another_key_or_none_is_refused(db: Database, target: Database) -> None:
    put_customers(db, 2)
    jobs = Jobs(target, shop, source=db, mask_key=KEY)
    with pytest.raises(InvalidRequest, match="16"):
        Jobs(target, shop, source=db, mask_key=b"short").begin("copy")
    job = jobs.begin("copy")
    assert jobs.begin("copy").id == job.id
    with pytest.raises(InvalidRequest, match="masks by another key"):
        Jobs(target, shop, source=db, mask_key=b"another key of masks").run(job.id)
    with pytest.raises(InvalidRequest, match="needs the key of the masks"):
        Jobs(target, shop, source=db).run(job.id)
    assert list(target.scan(Customer)) == []
    assert "key of the masks" not in repr(jobs._place)  # pyright: ignore[reportPrivateUsage]
    assert jobs.run(job.id).state == "ended"
    assert len(list(target.scan(Customer))) == 2
