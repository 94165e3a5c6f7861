"""An erasure whose scans are jobs: it finds and deletes what it does alone, whoever scans, killed anywhere or not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import new_class
from typing import Any
from uuid import UUID

import msgspec
import pytest

from singletable import ANY, AsyncDatabase, Database, Entity, Key, Table, attr, field
from singletable.documents import Document, LocalBlobs
from singletable.erasure import AsyncErasure, Erasure, SharedScans, execution, scan_job
from singletable.erasure.scan_job import ErasureScanOptions, ErasureScanWork, ScanJobs
from singletable.erasure.wanted import StoredSubject, named_references
from singletable.errors import NotFound
from singletable.foundation import model_of, references_of
from singletable.jobs import JobPlace, JobRefused, Jobs, JobStatus, flows as job_flows
from singletable.migrations import document_of
from tests.erasure.killing import is_killed
from tests.erasure.models import Customer, Review, customer, shop, whole
from tests.erasure.test_erasure import ADA, CLEARED, WHOLE, fill, is_erased, items_of, remaining as remaining
from tests.migrations.test_apply_lease import Pace
from tests.migrations.watching import Killed, before_each
from tests.support.engines import fresh
from tests.support.raw import all_items
from tests.support.sampling import strides
from tests.support.shells import opened


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        yield made


def job_items(db: Database) -> list[dict[str, Any]]:
    return [item for item in db.run(all_items(db.port, "shop")) if item["_type"]["S"].startswith("_job")]


def test_it_does_what_it_does_alone(db: Database, remaining: Any) -> None:
    told = list[JobStatus]()
    plain = Erasure(db, shop).plan(ADA)
    plan = Erasure(db, shop).plan(ADA, shared=SharedScans(sections=3, tell=told.append))
    assert sorted(map(repr, plan.belongings)) == sorted(map(repr, plain.belongings))
    assert (plan.kept, plan.left_out) == (plain.kept, plain.left_out)
    assert told
    assert {job.sections for job in told} == {3}
    receipt = Erasure(db, shop).apply(ADA, shared=SharedScans(sections=3))
    assert (receipt.deleted, receipt.cleared, receipt.runs) == (WHOLE, CLEARED, 1)
    is_erased(db, remaining)
    assert job_items(db) == []


async def test_so_it_does_in_the_awaiting_shell() -> None:
    async with opened("awaiting") as shell:
        assert isinstance(shell, AsyncDatabase)
        await shell.create_table(shop)
        await shell.create(customer("ada"))
        await shell.write_many(puts=whole("ada", "bob"))
        receipt = await AsyncErasure(shell, shop).apply(ADA, shared=SharedScans(sections=2))
        assert receipt.deleted == WHOLE
        assert await shell.check(shop) == []


def test_others_do_the_scans(db: Database, remaining: Any) -> None:
    """Each is over before the process that erases takes a section."""
    told = list[str]()

    def work(job: JobStatus) -> None:
        told.append(job.id)
        assert Jobs(db, shop).run(job.id).state == "ended"

    receipt = Erasure(db, shop).apply(ADA, shared=SharedScans(sections=4, tell=work))
    assert (receipt.deleted, receipt.cleared) == (WHOLE, CLEARED)
    is_erased(db, remaining)
    assert len({*told}) == len(told) >= 3


def test_a_job_shows_nothing_of_the_subject(db: Database) -> None:
    shown, ids = list[str](), list[str]()

    def look(job: JobStatus) -> None:
        jobs = Jobs(db, shop)
        done = jobs.run(job.id)
        ids.append(job.id)
        shown.extend(repr(each).replace(job.id, "") for each in (job, done, jobs.all()))
        assert (job.options, done.options) == ({}, {})
        assert [line["type"] for line in jobs.lines(job.id)]

    for _ in range(2):  # the ids of the same scans are others
        Erasure(db, shop).plan(ADA, shared=SharedScans(tell=look))
    assert shown
    assert "ada" not in "".join(shown)
    assert len({*ids}) == len(ids) >= 2


@strides(25)
def test_killed_at_every_request_it_goes_on(remaining: Any, monkeypatch: pytest.MonkeyPatch, stride: int) -> None:
    shared, at = SharedScans(sections=2, at_once=1, lease_seconds=0.2), 0
    with fresh() as db:
        while True:
            at += stride
            fill(db)
            was_killed = is_killed(db, shop, ADA, at, monkeypatch, shared=shared)
            if was_killed:
                with monkeypatch.context() as patched, suppress(NotFound):  # it was all gone
                    Pace(db, patched)
                    Erasure(db, shop).apply(ADA, shared=shared)
            assert items_of(db) == remaining, at
            if not was_killed:
                break
            db.delete_table(shop)
    assert at > 100


def test_a_scan_that_a_killed_process_has_begun_is_gone_on_with(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[str]()
    shared = SharedScans(sections=4, at_once=1, lease_seconds=0.3, tell=lambda job: told.append(job.id))
    scans = 0

    def is_second_scan(operation: Any) -> None:
        nonlocal scans
        scans += type(operation).__name__ == "Scan"
        if scans == 2:
            scans += 1
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        before_each(db, patched, is_second_scan)
        with pytest.raises(KeyboardInterrupt):
            Erasure(db, shop).apply(ADA, shared=shared)
    (first,) = told
    Erasure(db, shop).apply(ADA, shared=shared)
    assert told[1] == first
    assert len({*told}) == len(told) - 1  # later searches begin their own
    assert job_items(db) == []


def test_a_scan_that_was_cancelled_ends_it(db: Database, remaining: Any) -> None:
    def cancel(job: JobStatus) -> None:
        Jobs(db, shop).cancel(job.id, by="bob")

    with pytest.raises(JobRefused, match=r"the scan erase-\w+ is cancelled: cancelled by bob.*Erase again"):
        Erasure(db, shop).apply(ADA, shared=SharedScans(tell=cancel))
    Erasure(db, shop).apply(ADA, shared=SharedScans())
    is_erased(db, remaining)


def test_a_scan_that_is_paused_ends_the_call_and_the_next_one_goes_on(db: Database, remaining: Any) -> None:
    """At its cap, or by a person: nobody waits under the lease of applies. A larger cap, or none, lets it go on."""
    ids = list[str]()
    for cap in (3, 3):
        with pytest.raises(JobRefused, match=r"is paused: 3 read units are used or needed.*Erase again.*a larger one"):
            Erasure(db, shop).apply(ADA, shared=SharedScans(2, read_cap=cap, tell=lambda job: ids.append(job.id)))
    assert len({*ids}) == 1

    def pause(job: JobStatus) -> None:
        ids.append(job.id)
        Jobs(db, shop).pause(job.id, by="bob")

    with pytest.raises(JobRefused, match=r"is paused: paused by bob"):
        Erasure(db, shop).apply(ADA, shared=SharedScans(2, tell=pause))
    assert len({*ids}) == 2  # without a cap it is another one
    Erasure(db, shop).apply(ADA, shared=SharedScans(2, read_cap=1e6))
    is_erased(db, remaining)
    assert job_items(db) == []


def test_a_signal_stops_it_and_the_next_call_goes_on(db: Database, remaining: Any) -> None:
    told = list[str]()

    def stop(status: JobStatus) -> None:
        handler = signal.getsignal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        while signal.getsignal(signal.SIGTERM) is handler:  # the main thread is where it is received
            os.sched_yield()

    shared = SharedScans(16, at_once=1, tell=lambda job: told.append(job.id))
    with pytest.raises(JobRefused, match=r"the scan erase-\w+ was stopped.*Erase again"):
        Erasure(db, shop).apply(ADA, shared=msgspec.structs.replace(shared, progress=stop))
    Erasure(db, shop).apply(ADA, shared=shared)
    assert told[0] == told[1]
    is_erased(db, remaining)


def test_later_searches_begin_their_own_scans(db: Database) -> None:
    """One that was begun before may have passed what came since."""
    place = JobPlace(shop, db.target.seal, db.target.place)
    jobs = ScanJobs(place, SharedScans(), is_apply=True)
    asked = ErasureScanOptions([], {}, {"order": {"": 1}}, is_apply=True)
    first = db.run(jobs._begun(db.port, asked))
    assert db.run(jobs._begun(db.port, asked)).id == first.id
    jobs.goes_on = False
    second = db.run(jobs._begun(db.port, asked))
    assert second.id != first.id
    assert [job.id for job in Jobs(db, shop).all()] == [second.id]
    db.run(execution.apply(db.port, shop, ADA, execution.parts_of(shop, (), db.target.seal), jobs=jobs))
    assert not jobs.goes_on
    fresh_jobs = ScanJobs(place, SharedScans(), is_apply=True)
    db.create(customer("ada"))
    db.run(execution.apply(db.port, shop, ADA, execution.parts_of(shop, (), db.target.seal), jobs=fresh_jobs))
    assert not fresh_jobs.goes_on  # after the first search


def test_a_worker_that_knows_other_references_takes_all_items_of_the_type(db: Database) -> None:
    """A layer with settings of its own may look for more than the worker's."""
    place, review = JobPlace(shop, db.target.seal, db.target.place), model_of(Review).type
    db.create(Review(product="rye", id="r-eve", author="eve@example.org"))
    items = [item for item in db.run(all_items(db.port, "shop")) if item["_type"]["S"] == review]
    ada = StoredSubject("customer", {"email": {"S": "ada@example.org"}, "id": {"S": "ada"}}, ("", ""))
    own: list[tuple[Any, dict[str, Any]]] = [
        (reference, {}) for reference in references_of(shop) if model_of(reference.holder) is model_of(Review)
    ]
    named = named_references({review: own})[review]
    found = []
    for names in (named, named | {"mentions other: author=id": 1}, dict.fromkeys(named, 2)):
        work = ErasureScanWork(place, ErasureScanOptions([ada], {review: names}, {}))
        found.append(sum(work._is_one(item) for item in items))
    assert 0 < found[0] < found[1] == found[2] == len(items)


def version_of_program(bond: str, attribute: str) -> tuple[Table, Any, Any]:
    """Classes of one form: the declaration says of them all the same, but for whose a post is."""
    table = Table("press")

    class Writer(Entity, table=table, type="writer"):
        id: str
        name: str = ""

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"writer#{id}", "writer"

    reference: Any = field(default="", **{bond: getattr(Writer, attribute)})

    class Article(Entity, table=table, type="article"):
        number: int
        writer: str = reference

        @table.key
        @staticmethod
        def by_number(number: int) -> Key:
            return f"article#{number}", "article"

    return table, Writer, Article


@pytest.mark.parametrize(("bond", "attribute"), [("belongs_to", "name"), ("mentions", "name"), ("mentions", "id")])
def test_a_worker_of_another_version_of_the_program_leaves_nothing(bond: str, attribute: str) -> None:
    older, *_ = version_of_program(bond, attribute)
    table, Writer, Article = version_of_program("belongs_to", "id")
    assert document_of(older).digest == document_of(table).digest
    with fresh() as db:
        db.create_table(table)
        db.write_many(puts=[Writer(id="ada", name="Ada"), Article(number=1, writer="ada"), Article(number=2)])
        shared = SharedScans(sections=2, tell=lambda job: Jobs(db, older).run(job.id))
        receipt = Erasure(db, table).apply(Writer.by_id("ada"), shared=shared)
        assert receipt.deleted == {"Writer": 1, "Article": 1}
        assert db.get(Article.by_number(1)) is None


def test_a_worker_whose_documents_name_people_otherwise_takes_all_of_their_rows(db: Database, tmp_path: Path) -> None:
    table, Writer, _ = version_of_program("belongs_to", "id")

    class Board(Document, table=table, principal=Writer.id, blobs=LocalBlobs(tmp_path)):
        pass

    rows = "BoardMutation", "BoardInbox"
    subject = StoredSubject("writer", {"id": {"S": "ada"}}, ("writer#ada", "writer"))
    place = JobPlace(table, db.target.seal, db.target.place)
    works = [
        ErasureScanWork(place, ErasureScanOptions([subject], {}, {row: {text: 1} for row in rows}))
        for text in ("writer.id", "writer.name")
    ]
    assert [{*work.watchers} for work in works] == [{*rows}, set()]
    item = {"pk": {"S": "x"}, "sk": {"S": "x"}, "_type": {"S": rows[0]}}
    assert [work._is_one(item) for work in works] == [False, True]


def test_a_value_of_any_type_is_looked_for() -> None:
    values: dict[str, tuple[Any, Any]] = {
        "raw": (bytes, b"\x00\xff\xfe"),
        "when": (datetime, datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))),
        "money": (Decimal, Decimal("1.50")),
        "real": (float, 0.1),
        "uid": (UUID, UUID(int=7)),
        "text": (str, "\ufeff\U0001f469\u200d\U0001f680"),
        "gap": (timedelta, timedelta(seconds=1.5)),
    }
    table = Table("of-values")
    owner = class_of(table, "owner", {name: (kind, {}) for name, (kind, _) in values.items()})
    holders = [
        class_of(table, f"by_{name}", {"held": (kind, {"belongs_to": getattr(owner, name)})})
        for name, (kind, _) in values.items()
    ]
    with fresh() as db:
        db.create(owner(number=1, **{name: value for name, (_, value) in values.items()}))
        for holder, (_, value) in zip(holders, values.values(), strict=True):
            db.create(holder(number=1, held=value))
        plan = Erasure(db, table).plan(owner.by_number(1), shared=SharedScans(sections=2))
    assert plan.deleted == {"owner": 1, **dict.fromkeys((f"by_{name}" for name in values), 1)}


def class_of(table: Table, name: str, attributes: dict[str, tuple[Any, dict[str, Any]]]) -> Any:
    """An entity class with a number for its key, and attributes of some types with some options."""

    def by_number(number: int) -> Key:
        return f"{name}#{number}", name

    body = {attribute: field(**options) for attribute, (_, options) in attributes.items() if options}
    kinds = {"number": int, **{attribute: kind for attribute, (kind, _) in attributes.items()}}
    body |= {"__annotations__": kinds, "__module__": __name__, "by_number": table.key(staticmethod(by_number))}
    return new_class(name, (Entity,), {"table": table, "type": name}, lambda own: own.update(body))


def test_too_many_subjects_are_looked_for_without_a_job(
    db: Database, remaining: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_job, "_MOST_BYTES", 10)
    told, alone = list[JobStatus](), list[int]()
    with pytest.raises(JobRefused, match=r"too many for a job.*Erase again without a cap") as refused:
        Erasure(db, shop).apply(ADA, shared=SharedScans(read_cap=1e6))
    assert (refused.value.reason, refused.value.table) == ("too large", "shop")
    Erasure(db, shop).apply(ADA, shared=SharedScans(tell=told.append, alone=alone.append, read_rate=1e6))
    is_erased(db, remaining)
    assert told == []
    assert len(alone) >= 3
    assert min(alone) >= 1


def test_a_job_has_those_values_alone_that_are_looked_for(db: Database) -> None:
    def look(job: JobStatus) -> None:
        options = [item["options"]["S"] for item in job_items(db) if item["_type"]["S"] == "_job"]
        assert options
        assert not [text for text in options if "Ada" in text or "+44" in text]

    db.update(ADA, attr(Customer.name).set("Ada"), attr(Customer.phone).set("+44 20"))
    Erasure(db, shop).apply(ADA, shared=SharedScans(sections=2, tell=look))


def test_the_units_of_all_processes_are_told(db: Database) -> None:
    units = list[float]()
    with ThreadPoolExecutor(1) as pool:

        def work(job: JobStatus) -> None:
            units.append(pool.submit(Jobs(db, shop).run, job.id, signals=False).result(60).read_units)

        for shared in (SharedScans(sections=4), SharedScans(sections=4, tell=work)):
            with db.meter() as meter:
                plan = Erasure(db, shop).plan(ADA, shared=shared)
            assert plan.read_units == pytest.approx(meter.read_units + sum(units))
    assert sum(units) >= 4


def test_a_worker_takes_all_items_of_a_type_that_it_does_not_know(db: Database) -> None:
    """A layer's own class, or a subject of one, that only the erasing program has declared."""
    place = JobPlace(shop, db.target.seal, db.target.place)
    ada = StoredSubject("customer", {"email": {"S": "ada@example.org"}}, ("", ""))
    item = {"pk": {"S": "x"}, "sk": {"S": "x"}, "_type": {"S": "_unknown"}}
    assert "ada" not in repr(ErasureScanOptions([ada], {}, {}))
    for types, watched in ({"_unknown": {"": 1}}, {}), ({}, {"_unknown": {"": 1}}):
        assert ErasureScanWork(place, ErasureScanOptions([ada], types, watched))._is_one(item)
    assert not ErasureScanWork(place, ErasureScanOptions([ada], {}, {}))._is_one(item)
    items = [item for item in db.run(all_items(db.port, "shop")) if item["_type"]["S"] == "review"]
    for unknown in StoredSubject("_unknown", {}, ("", "")), StoredSubject("customer", {"later": {"S": "1"}}, ("", "")):
        work = ErasureScanWork(place, ErasureScanOptions([unknown], {"review": {"": 3}}, {}))
        assert items
        assert all(work._is_one(item) for item in items)


def test_a_scan_that_is_deleted_while_it_is_read_is_begun_again(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another plan of the same subject shares it, and is done with it."""
    plain, read, runs = Erasure(db, shop).plan(ADA), job_flows.lines, list[str]()

    async def lines(port: Any, table: Any, job: str, numbers: Any) -> Any:
        runs.append(job)
        if len(runs) == 1:
            await job_flows.forget(port, table, job)
        return await read(port, table, job, numbers)

    monkeypatch.setattr(job_flows, "lines", lines)
    plan = Erasure(db, shop).plan(ADA, shared=SharedScans(sections=2))
    assert plan.deleted == plain.deleted
    assert len({*runs}) == len(runs) > 1
    assert job_items(db) == []


def test_a_scan_that_is_deleted_while_it_runs_leaves_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker has written keys that it can't keep."""
    plain, scan, runs = Erasure(db, shop).plan(ADA), ErasureScanWork.round, list[str]()

    async def round(self: Any, port: Any, section: int, *rest: Any) -> Any:
        done = await scan(self, port, section, *rest)
        runs.append(self.job)
        if len(runs) == 1:
            await job_flows.forget(db.port, shop, self.job)
            done = msgspec.structs.replace(done, lines=[{"type": "review", "key": ["ada", "ada"]}])
        return done

    monkeypatch.setattr(ErasureScanWork, "round", round)
    plan = Erasure(db, shop).plan(ADA, shared=SharedScans(sections=2, at_once=1))
    assert plan.deleted == plain.deleted
    assert len({*runs}) > 1
    assert job_items(db) == []


def test_many_plans_at_once_find_the_same(db: Database) -> None:
    plain = Erasure(db, shop).plan(ADA)
    with ThreadPoolExecutor(4) as pool:
        shared = SharedScans(sections=3, at_once=1, lease_seconds=5)
        plans = [pool.submit(Erasure(db, shop).plan, ADA, shared=shared) for _ in range(4)]
        assert [plan.result(60).deleted for plan in plans] == [plain.deleted] * 4
    assert job_items(db) == []


def test_an_erasure_deletes_the_scan_of_a_killed_plan(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ErasureScanWork, "end", end_killed)
        with pytest.raises(Killed):
            Erasure(db, shop).plan(ADA, shared=SharedScans(sections=2))
    assert job_items(db)
    Erasure(db, shop).apply(ADA, shared=SharedScans(sections=2))
    assert job_items(db) == []


async def end_killed(self: Any, port: Any, told: Any) -> Any:
    raise Killed


def test_a_scan_that_nobody_works_on_goes_after_seven_days(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ErasureScanWork, "end", end_killed)
        with pytest.raises(Killed):
            Erasure(db, shop).plan(ADA, shared=SharedScans(sections=2))
    jobs = Jobs(db, shop)
    (left,) = jobs.all()
    assert left.state == "running"
    monkeypatch.setattr(job_flows, "KEPT", timedelta(seconds=-60))
    assert jobs.all() == []
    assert job_items(db) == []


team = Table("team", indexes=["gsi1"])


class Member(Entity, table=team, type="member"):
    id: str

    @team.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"member#{id}", "member"


class Post(Entity, table=team, type="post"):
    id: int
    member: str = field(belongs_to=Member.id)

    @team.key
    @staticmethod
    def by_id(id: int) -> Key:
        return f"post#{id}", "post"

    @team.index("gsi1")
    @staticmethod
    def of_member(member: str, id: int = ANY) -> Key:
        return f"posts#{member}", f"{id}"


class Comment(Entity, table=team, type="comment"):
    """It is found by its post alone."""

    id: int
    post: int = field(belongs_to=Post.id)

    @team.key
    @staticmethod
    def by_id(id: int) -> Key:
        return f"comment#{id}", "comment"


def test_what_was_written_since_an_old_scan_goes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan that is gone on with may have passed it days ago; what it belongs to is deleted first otherwise."""
    with fresh() as db:
        db.create_table(team)
        db.write_many(puts=[Member(id="ada"), Post(id=1, member="ada"), Comment(id=1, post=1)])
        with monkeypatch.context() as patched:
            patched.setattr(ErasureScanWork, "end", end_killed)
            with pytest.raises(Killed):
                Erasure(db, team).apply(Member.by_id("ada"), shared=SharedScans(sections=2))
        db.create(Comment(id=2, post=1))
        with monkeypatch.context() as patched:
            Pace(db, patched)
            receipt = Erasure(db, team).apply(Member.by_id("ada"), shared=SharedScans(sections=2, lease_seconds=0.2))
        left = [item["_type"]["S"] for item in db.run(all_items(db.port, "team"))]
    assert receipt.deleted == {"Member": 1, "Post": 1, "Comment": 2}
    assert "comment" not in left


def test_what_a_killed_one_left_goes_with_any_later_erasure(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes no jobs, or is of another version of the program."""
    later = msgspec.structs.replace(document_of(shop), table="later")
    for version in (None, later):
        for verb in (Erasure(db, shop).plan, Erasure(db, shop).apply):
            with monkeypatch.context() as patched:
                patched.setattr(ErasureScanWork, "end", end_killed)
                with pytest.raises(Killed):
                    verb(ADA, shared=SharedScans(sections=2))
        assert len(Jobs(db, shop).all()) == 2
        with monkeypatch.context() as patched:
            Pace(db, patched)
            if version is not None:
                patched.setattr(job_flows, "document_of", lambda table: later)
            Erasure(db, shop).apply(ADA, shared=None if version is None else SharedScans(sections=2))
        assert job_items(db) == []
        db.create(customer("ada"))


def test_another_persons_plan_goes_on(db: Database) -> None:
    """An erasure deletes the scans of its own subject alone."""
    begun = list[str]()

    def erase_ada(job: JobStatus) -> None:
        if not begun:
            Erasure(db, shop).apply(ADA, shared=SharedScans(sections=2))
        begun.append(job.id)

    plan = Erasure(db, shop).plan(Customer.by_email("bob@example.org"), shared=SharedScans(sections=2, tell=erase_ada))
    assert plan.deleted["Customer"] == 1
    assert len({*begun}) == len(begun)
    assert job_items(db) == []
