"""The collection of all documents as a job: what nothing reaches goes, what is reached stays, whoever collects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from singletable import Database, connect
from singletable.cli.app import app as program
from singletable.documents import Documents, LocalBlobs, flows as document_flows, table_garbage
from singletable.documents.collectors import Collector
from singletable.documents.contents import Content, Contents
from singletable.documents.deletion import collect_family
from singletable.errors import NotConfigured, Throttled, Unavailable
from singletable.jobs import Jobs, JobStatus, worker as workers
from singletable.jobs.collect_job import CollectWork
from singletable.jobs.store import JobStore
from tests.documents.models import Project, Shape, app, put_shape
from tests.migrations import models as new_module
from tests.migrations.models import new
from tests.migrations.watching import before_each, killed_at_every_request
from tests.support.engines import fresh

GARBAGE = [Shape(n, n, "garbage") for n in range(3)]


@pytest.fixture
def blobs(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


def documents(db: Database, blobs: str, *ids: str) -> Documents[Project]:
    """Documents, each with a content that is reached and three that are not."""
    docs = Documents(db, Project, blobs=LocalBlobs(blobs))
    for id in ids:
        docs.create("o1", id)
        docs.store(id, Project.shapes, GARBAGE)
        docs.apply(id, [put_shape(id="s", shape=Shape(1, 1, f"of {id}")).by("c", 1)])
    return docs


def is_clean(docs: Documents[Project], *ids: str) -> bool:
    """Whether each document is sound, has its content, and its store nothing else."""
    return all(docs.check(id) == [] and docs.head(id).shapes["s"].text for id in ids)


def result(done: JobStatus) -> dict[str, Any]:
    assert done.state == "ended"
    return dict(done.result or {})


def test_it_collects_every_document_as_one_call_each_does(
    db: Database, blobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CollectWork, "page", 5)
    ids = [f"p{n}" for n in range(5)]
    docs, jobs = documents(db, blobs, *ids), Jobs(db, app)
    docs.branch("p0", "b0")
    docs.delete("p4")
    with db.meter() as meter:
        done = jobs.run(jobs.begin("collect", {"blobs": blobs}, sections=3).id)
    wanted = {"families": 4, "stored": 16, "deleted": 12, "kept": 0, "left": 0, "dropped": 0, "kept_for_backups": 0}
    assert result(done) == {"seen": done.seen, **wanted, "found": 0, "left_out": []}
    assert meter.write_units > 12
    assert is_clean(docs, "p0", "b0", "p1", "p2", "p3")
    again = result(jobs.run(jobs.begin("collect", {"blobs": blobs}).id))
    assert (again["families"], again["stored"], again["deleted"]) == (4, 4, 0)


def test_the_family_of_a_deleted_root_is_collected_by_a_branch(db: Database, blobs: str) -> None:
    docs, jobs = documents(db, blobs, "p0"), Jobs(db, app)
    docs.branch("p0", "b0")
    docs.delete("p0")
    docs.store("b0", Project.shapes, GARBAGE)
    told = result(jobs.run(jobs.begin("collect", {"blobs": blobs}).id))
    assert (told["families"], told["deleted"]) == (1, 3)
    assert is_clean(docs, "b0")


def test_killed_at_every_request_it_deletes_nothing_that_is_reached(
    db: Database, blobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a kill left at `deleting`, a content of a family at the most, is told, and taken by `take_over` alone."""
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    ids = ["p0", "p1"]
    docs, jobs, ended = documents(db, blobs, *ids), Jobs(db, app), list[JobStatus]()
    for id in ids:
        docs.store(id, Project.shapes, [Shape(n, 0, "more") for n in range(20)])

    def run(kills: int) -> None:
        job = jobs.begin("collect", {"blobs": blobs}, sections=2)
        ended.append(jobs.run(job.id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))

    assert killed_at_every_request(db, monkeypatch, run) > 15
    told, lines = result(ended[0]), list(jobs.lines(ended[0].id))
    assert told["found"] == len(lines)
    assert {line["code"] for line in lines} <= {"document.left"}
    for id in ids:
        assert docs.head(id).shapes["s"].text == f"of {id}"
        docs.collect_garbage(id, take_over=True)
    assert is_clean(docs, *ids)


def test_what_is_written_while_it_collects_stays(db: Database, blobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer comes between every two requests of the job, with contents that lie in the store as garbage."""
    docs, jobs, numbers = documents(db, blobs, "p0"), Jobs(db, app), iter(range(2, 1000))
    is_writing = False

    def write(operation: Any) -> None:
        nonlocal is_writing
        if is_writing or (number := next(numbers)) > 40:
            return
        is_writing = True
        docs.apply("p0", [put_shape(id=f"w{number}", shape=GARBAGE[number % 3]).by("c", number)])
        is_writing = False

    job = jobs.begin("collect", {"blobs": blobs})
    with monkeypatch.context() as patched:
        before_each(db, patched, write)
        assert jobs.run(job.id, at_once=1).state == "ended"
    head = docs.head("p0")
    assert len(head.shapes.all()) > 10
    assert {shape.text for shape in head.shapes.all().values()} == {"garbage", "of p0"}
    docs.collect_garbage("p0")
    assert docs.check("p0") == []


def test_another_run_goes_on_after_a_stop_and_a_pause(db: Database, blobs: str) -> None:
    ids = [f"p{n}" for n in range(6)]
    docs, jobs = documents(db, blobs, *ids), Jobs(db, app)
    job = jobs.begin("collect", {"blobs": blobs}, sections=6)
    jobs.run(job.id, at_once=1, stop=lambda: jobs.show(job.id).over >= 2)
    jobs.pause(job.id)
    assert jobs.begin("collect", {"blobs": blobs}).state == "paused"
    jobs.resume(job.id)
    done = jobs.run(job.id)
    assert (result(done)["deleted"], done.over) == (18, 6)
    assert is_clean(docs, *ids)
    another = jobs.begin("collect", {"blobs": blobs})
    jobs.cancel(another.id)
    assert jobs.run(another.id).state == "cancelled"


def test_a_family_that_another_table_collects_is_told_and_the_rest_goes_on(
    db: Database, blobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, jobs = documents(db, blobs, "p0", "p1"), Jobs(db, app)
    is_same = Collector.is_same
    docs.collect_garbage("p0")
    docs.store("p0", Project.shapes, GARBAGE)
    with monkeypatch.context() as patched:
        patched.setattr(Collector, "is_same", lambda self, other: False)
        done = jobs.run(jobs.begin("collect", {"blobs": blobs}).id)
    assert Collector.is_same is is_same
    (line,) = [line for line in jobs.lines(done.id) if "p0" in " ".join(line["key"])]
    assert (line["code"], result(done)["found"] >= 1) == ("document.not-collected", True)
    assert sum(1 for _ in docs.context.contents("o1", "p0").list()) == 4


def test_a_content_that_can_not_be_deleted_is_told(db: Database, blobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, jobs = documents(db, blobs, "p0", "p1"), Jobs(db, app)

    def refused(self: Contents, content: Content) -> None:
        raise Unavailable("the store does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(Contents, "delete", refused)
        done = jobs.run(jobs.begin("collect", {"blobs": blobs}).id)
    told, lines = result(done), list(jobs.lines(done.id))
    assert (told["deleted"], told["left"], told["found"]) == (0, 6, 2)
    assert [line["code"] for line in lines] == ["document.left"] * 2
    assert all(line["what"].startswith("3 contents are left") for line in lines)
    for id in ("p0", "p1"):
        docs.collect_garbage(id, take_over=True)
    assert is_clean(docs, "p0", "p1")


def test_what_the_table_throttles_is_collected_later(db: Database, blobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, jobs, tried = documents(db, blobs, "p0"), Jobs(db, app), list[str]()
    collect = collect_family

    async def throttled(port: Any, context: Any, family: Any) -> Any:
        tried.append(family.root.document_id)
        if len(tried) < 3:
            raise Throttled("too much", table=app.name)
        return await collect(port, context, family)

    async def sleep(seconds: float) -> None: ...

    monkeypatch.setattr(table_garbage, "collect_family", throttled)
    monkeypatch.setattr(db.port, "sleep", sleep)
    assert result(jobs.run(jobs.begin("collect", {"blobs": blobs}).id, at_once=1))["deleted"] == 3
    assert tried == ["p0"] * 3
    (job,) = jobs.all()
    assert db.run(JobStore(db.port, app).parts(job.id, [0]))[0].fence == 1  # it stayed with its worker
    assert is_clean(docs, "p0")


def test_it_is_refused_where_nothing_can_be_collected(db: Database) -> None:
    with pytest.raises(NotConfigured, match="no class of documents has a blob store"):
        Jobs(db, app).begin("collect")
    with pytest.raises(NotConfigured, match="no class of documents is declared"):
        Jobs(db, new).begin("collect")
    assert document_flows.TableGarbage is table_garbage.TableGarbage


@pytest.mark.embedded("the program runs on its file")
def test_by_the_program(tmp_path: Path) -> None:
    """It collects the tables that have documents, and its exit code is 1 for what needs a person."""
    folder, file = tmp_path / "blobs", tmp_path / "app.db"
    folder.mkdir()
    with connect(f"local:{file}") as db:
        docs = documents(db, str(folder), "p0")
        command = ["collect", Project.__module__, "--blobs", str(folder), "--db", f"local:{file}"]
        ran = CliRunner().invoke(program, command)
        assert (ran.exit_code, "deleted: 3" in ran.output, "left: 0" in ran.output) == (0, True, True), ran.output
        assert is_clean(docs, "p0")
        docs.store("p0", Project.shapes, GARBAGE)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Collector, "is_same", lambda self, other: False)
            ran = CliRunner().invoke(program, command)
        assert (ran.exit_code, "document.not-collected" in ran.output) == (1, True), ran.output
    ran = CliRunner().invoke(program, ["collect", new_module.__name__, "--db", f"local:{file}"])
    assert (ran.exit_code, "declares no documents" in ran.output) == (2, True), ran.output
