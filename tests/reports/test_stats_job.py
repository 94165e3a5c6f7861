"""Stats as a job tell what plain stats tell: however the table is divided, whoever worked on it, killed or not."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from singletable import Database, Table
from singletable.jobs import Gathered, Jobs, JobStatus, Round, worker as workers
from singletable.jobs.inspect import MOST_STATE_BYTES
from singletable.jobs.store import JobStore
from singletable.operations import Item
from singletable.reports import Stats, TableShape
from singletable.reports.stats_job import StatsWork, packed, unpacked
from singletable.reports.tally import OTHER_TYPES, Tally
from tests.migrations.watching import before_each, killed_at_every_request
from tests.reports.models import Customer, Order, shop
from tests.support.engines import fresh
from tests.support.raw import all_items


@pytest.fixture
def db() -> Iterator[Database]:
    """Collections of one item and of many, an index, two classes and a type that no class has."""
    with fresh() as made:
        made.create_table(shop)
        for n in range(30):
            made.create(Customer(email=f"c{n:02}@example.org", city=("Bern", "Oslo", None)[n % 3]))
        made.write_many(puts=[Order(email=f"c{n % 7:02}@example.org", number=n, note="y" * n) for n in range(101)])
        yield made


def told(status: JobStatus) -> TableShape:
    assert status.state == "ended"
    return msgspec.convert(status.result, TableShape)


def states(db: Database) -> list[Item]:
    return [item for item in db.run(all_items(db.port, shop.name)) if item["_type"]["S"] == "_job_state"]


@pytest.mark.parametrize("sections", [1, 2, 7])
def test_it_tells_what_plain_stats_tell(db: Database, sections: int) -> None:
    plain, jobs = Stats(db, shop).read(), Jobs(db, shop)
    done = jobs.run(jobs.begin("stats", sections=sections).id)
    assert told(done) == plain
    assert done == jobs.show(done.id)
    assert db.check(shop) == []
    assert len(states(db)) == sections


def test_killed_at_every_request_each_item_counts_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds are kept each for itself, or some together: what was not kept is read again."""
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(StatsWork, "page", 50)
    jobs, plain = Jobs(db, shop), Stats(db, shop).read(changes=0)
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(StatsWork, "keep_seconds", seconds)
        ended = list[JobStatus]()

        def run(kills: int) -> None:
            job = jobs.begin("stats", {"changes": 0}, sections=2)
            ended.append(jobs.run(job.id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))  # noqa: B023

        assert killed_at_every_request(db, monkeypatch, run) > 15
        assert [told(done) for done in ended] == [plain]
        assert len(states(db)) <= 2 * 2 * len(jobs.all())


def test_rounds_that_are_kept_together_cost_one_write(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatsWork, "page", 20)
    jobs, puts = Jobs(db, shop), list[str]()
    job = jobs.begin("stats", sections=1)

    def note(operation: Any) -> None:
        puts.append(type(operation).__name__)

    with db.meter() as meter, monkeypatch.context() as patched:
        before_each(db, patched, note)
        done = jobs.run(job.id, at_once=1)
    assert puts.count("Scan") > 6
    assert meter.by_operation["UpdateItem"].requests == 3  # the section, the job, the end
    assert done.read_units < 30


def test_stopped_it_keeps_its_rounds_and_another_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatsWork, "page", 20)
    jobs, plain = Jobs(db, shop), Stats(db, shop).read()
    job, rounds = jobs.begin("stats", sections=1), iter([False] * 4)
    halfway = jobs.run(job.id, at_once=1, stop=lambda: next(rounds, True))
    assert (halfway.state, halfway.held) == ("running", ())
    assert 0 < halfway.seen < 160
    scanned = list[Any]()
    with monkeypatch.context() as patched:
        before_each(db, patched, lambda operation: scanned.append(operation))
        done = jobs.run(job.id, at_once=1)
    assert told(done) == plain
    assert sum(type(one).__name__ == "Scan" for one in scanned) < 12


def test_paused_resumed_cancelled(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(StatsWork, "page", 20)
    jobs, plain = Jobs(db, shop), Stats(db, shop).read()
    job, pauses = jobs.begin("stats", sections=2), [jobs.pause]

    def pause(operation: Any) -> None:
        if type(operation).__name__ == "Scan" and operation.selection.after and pauses:
            pauses.pop()(job.id)

    async def sleep(seconds: float) -> None:
        shown = jobs.show(job.id)
        if shown.state == "paused" and shown.seen and not shown.held:  # it has kept what it had read, and left
            jobs.resume(job.id)

    monkeypatch.setattr(db.port, "sleep", sleep)
    with monkeypatch.context() as patched:
        before_each(db, patched, pause)
        done = jobs.run(job.id, at_once=1)
    assert not pauses
    assert told(done) == plain
    other = jobs.begin("stats", sections=2)
    jobs.cancel(other.id)
    assert jobs.run(other.id).state == "cancelled"


def test_a_cap_is_kept(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs, plain = Jobs(db, shop), Stats(db, shop).read()
    job = jobs.begin("stats", sections=4, read_cap=20.0)
    with db.meter() as meter:
        paused = jobs.run(job.id, at_once=1, stop=lambda: jobs.show(job.id).state == "paused")
    assert paused.state == "paused"
    assert meter.by_operation["Scan"].read_units <= 20.0
    jobs.resume(job.id, read_cap=10_000.0)
    assert told(jobs.run(job.id)) == plain


def test_a_cap_of_writes_has_room_for_what_is_kept(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section's state of 20 units: the third would pass the cap."""
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs = Jobs(db, shop)
    job = jobs.begin("stats", sections=4, write_cap=60.0)

    async def gather(self: Any, port: Any, section: int) -> Gathered:
        return Gathered(state=b"x" * 20_000)

    monkeypatch.setattr(StatsWork, "gather", gather)
    with db.meter() as meter:
        paused = jobs.run(job.id, at_once=1, stop=lambda: jobs.show(job.id).state == "paused")
    assert (paused.state, paused.over) == ("paused", 2)
    assert meter.write_units <= 60.0


def test_a_worker_that_was_taken_over_changes_no_state(db: Database) -> None:
    """Its late write comes after the new owner has kept one, in either item."""
    store, job = JobStore(db.port, shop), Jobs(db, shop).begin("stats", sections=1)
    first: Any = db.run(store.take(job.id, 0, None, "first"))
    first = db.run(store.keep(first, Round({"pk": "a"}, False), 0.0, 0.0, b"of the first"))
    owner: Any = db.run(store.take(job.id, 0, first, "second"))
    assert db.run(store.state(owner)) == b"of the first"
    for state in (b"one", b"two", b"three"):
        owner = db.run(store.keep(owner, Round({"pk": "b"}, False), 0.0, 0.0, state))
        assert db.run(store.keep(first, Round({"pk": "late"}, False), 0.0, 0.0, b"late")) is None
        assert db.run(store.state(owner)) == state
    assert len(states(db)) == 2
    stored: Any = db.run(store.read(job.id))
    db.run(store.forget(stored))
    assert states(db) == []


# --- the tally --------------------------------------------------------------------------------------------------------
_BY_INDEX = Table("bounded", indexes=["gsi1"])
_ITEMS = st.lists(st.tuples(st.integers(0, 9), st.text(max_size=3), st.integers(0, 40)), max_size=60)


def _items(drawn: Sequence[tuple[int, str, int]]) -> list[Item]:
    """Items in the order of a scan: of one collection, one after the other."""
    return [
        {
            "pk": {"S": f"p{partition}"},
            "sk": {"S": f"{number}"},
            "_type": {"S": f"t{partition % 3}{text}"},
            "gsi1pk": {"S": f"g{text}"},
            "gsi1sk": {"S": "x"},
            "note": {"S": "n" * size},
        }
        for number, (partition, text, size) in enumerate(sorted(drawn))
    ]


@settings(max_examples=40)
@given(_ITEMS, st.lists(st.integers(0, 60), max_size=5), st.lists(st.integers(0, 60), max_size=5))
def test_any_division_has_the_same_shape(drawn: list[Any], cuts: list[int], kills: list[int]) -> None:
    """Divided into parts, also within a collection, and each kept anywhere within it, in the form that an item has."""
    items = _items(drawn)
    plain = Tally(_BY_INDEX)
    plain.add(items)
    parts = list[bytes]()
    ends = sorted({0, len(items), *(cut for cut in cuts if cut < len(items))})
    for begin, end in pairwise(ends):
        part = Tally(_BY_INDEX, most=5_000)
        for number in range(begin, end):
            part.add([items[number]])
            if number in kills:
                kept, part = packed(part), Tally(_BY_INDEX, most=5_000)
                part.add_kept(unpacked(kept))
        parts.append(packed(part))
    shape = plain.shape(None, 1.0)
    assert [together(parts), together(parts[::-1])] == [shape, shape]


def together(parts: Sequence[bytes]) -> TableShape:
    whole = Tally(_BY_INDEX)
    for part in parts:
        whole.add_kept(unpacked(part))
    return whole.shape(None, 1.0)


def test_a_collection_that_two_sections_share_is_one() -> None:
    """The second section goes on with many others, so that it keeps a few alone as unfinished."""
    items = [
        {"pk": {"S": f"p{max(0, n - 10)}"}, "sk": {"S": f"{n}"}, "_type": {"S": "t"}, "note": {"S": "x" * 99}}
        for n in range(400)
    ]
    plain = Tally(_BY_INDEX)
    plain.add(items)
    parts = list[bytes]()
    for part_items in (items[:5], items[5:]):
        part = Tally(_BY_INDEX, most=5_000)
        part.add(part_items)
        parts.append(packed(part))
    assert together(parts) == plain.shape(None, 1.0)


def test_a_section_of_any_table_fits_into_an_item() -> None:
    """Twenty indexes with keys of 2 KB that no compression makes smaller, and types without end."""
    random = Random(7)
    table = Table("large", indexes=[f"gsi{n}" for n in range(1, 21)])

    def text(size: int) -> str:
        return b64encode(random.randbytes(size * 3 // 4)).decode()

    tally = Tally(table, most=60)
    for _ in range(80):
        item = {"pk": {"S": text(2000)}, "sk": {"S": text(1000)}, "_type": {"S": text(9000)}}
        for n in range(1, 21):
            item |= {f"gsi{n}pk": {"S": text(2000)}, f"gsi{n}sk": {"S": "x"}}
        tally.add([item])
    state = packed(tally)
    assert len(state) <= MOST_STATE_BYTES
    whole = Tally(table)
    whole.add_kept(unpacked(state))
    shape = whole.shape(None, 1.0)
    assert (shape.items, shape.partitions, shape.is_least) == (80, 80, False)
    assert all(index.items == 80 and index.is_least for index in shape.indexes)
    assert sum(each.items for each in shape.classes) == 80
    assert [each.items for each in shape.indexes[0].largest] == [1] * len(shape.indexes[0].largest)
    assert [text.split(":")[0] for text in shape.left_out] == ["some of the largest"]


def test_types_without_end_are_counted_together() -> None:
    tally = Tally(_BY_INDEX)
    for n in range(2_000):
        tally.add([{"pk": {"S": "p"}, "sk": {"S": f"{n}"}, "_type": {"S": f"type{n * 7919}"}}])
    state, whole = packed(tally, 4_000), Tally(_BY_INDEX)
    whole.add_kept(unpacked(state))
    shape = whole.shape(None, 1.0)
    assert len(state) <= 4_000
    assert shape.classes[0].type == OTHER_TYPES
    assert sum(each.items for each in shape.classes) == 2_000
    assert [text.split(":")[0] for text in shape.left_out] == ["some of the largest", "some types that no class has"]


def test_a_hundred_and_one_types_are_told_one_by_one() -> None:
    plain, whole = Tally(_BY_INDEX), Tally(_BY_INDEX)
    for n in range(101):
        item = {"pk": {"S": f"p{n}"}, "sk": {"S": "x"}, "_type": {"S": f"type{n}"}}
        part = Tally(_BY_INDEX)
        for tally in (plain, part):
            tally.add([item])
        whole.add_kept(unpacked(packed(part)))
    assert whole.shape(None, 1.0) == plain.shape(None, 1.0)
    assert len(whole.shape(None, 1.0).classes) == 101
