"""Who applies what was pushed: this process, others beside it, whoever comes after a crash. The same outcomes."""

from __future__ import annotations

import asyncio  # noqa: TID251
import logging
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import Meter, Table
from singletable.documents import BlobStore, Document, Documents, Draft, Items, Mutation, ObjectBlobs, Ref
from singletable.documents.service_async import AsyncDocuments
from singletable.errors import Corrupt, DeclarationError
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.sync import Access, Worker
from singletable.sync.worker import follow
from tests.support.engines import fresh
from tests.support.workers import change_worker
from tests.sync.board import Project
from tests.sync.simulated import Client
from tests.sync.world import World

drawings = Table("drawings")


@dataclass(frozen=True)
class Line:
    length: int


class Drawing(Document, table=drawings):
    lines: Items[Line]


@Drawing.mutation
def draw(draft: Draft[Drawing], *, id: str, line: Ref[Line]) -> None:
    draft.lines.refer(id, line)


SHAPE = {"kind": "rect", "x": 0, "y": 0, "text": ""}
CLIENTS = 6
EACH = 15


def anybody(user: str, project: str, access: Access) -> bool:
    return True


def busy_clients() -> list[Client]:
    """Clients that move one shape and put their own, each in the order of a counter that they write down."""
    clients = [Client(f"g{n}", f"c{n}") for n in range(CLIENTS)]
    for client in clients:
        for number in range(EACH):
            client.mutate("put_shape", id=client.client, shape={**SHAPE, "x": number})
            client.mutate("put_comment", id="last", comment={"text": f"{client.client} {number}", "shape": None})
    return clients


async def check_outcomes(world: World, clients: list[Client]) -> None:
    """Every mutation has one outcome, in its client's order, and everybody sees the same."""
    for client in clients:
        await world.pull(client)
    view = await world.view()
    assert all(client.base == view and client.pending == [] for client in clients)
    assert all(view[f"shapes/{client.client}"]["x"] == EACH - 1 for client in clients)
    history = await world.documents.history("p1", limit=1000)
    applied = [(m.client, m.id) for version in reversed(history.items) for m in version.mutations]
    assert len(applied) == len(set(applied)) == CLIENTS * EACH * 2
    for client in clients:
        assert [id for name, id in applied if name == client.client] == list(range(1, EACH * 2 + 1))


async def test_processors_of_one_project_are_only_slower(world: World) -> None:
    """Three processes that know nothing of each other, and a worker that is called all the time."""
    others = [World(world.db, world.documents.context.store) for _ in range(3)]
    clients = busy_clients()
    for client in clients:
        await world.pull(client)
    await asyncio.gather(
        *(others[n % 3].push(client) for n, client in enumerate(clients)), *(world.sync.process("p1") for _ in range(5))
    )
    await check_outcomes(world, clients)


async def test_what_a_crash_left_is_applied_by_the_next_pull(world: World) -> None:
    away = World(world.db, world.documents.context.store, processor="elsewhere")  # it takes pushes, and applies nothing
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("rename", name="left behind")
    await away.push(ada)
    await away.pull(ada)
    assert ada.pending, "nobody has applied it"
    await world.pull(ben, user="ben")  # who sees it waiting, and sees to it when he has his answer
    await world.pull(ben, user="ben")
    assert ben.base["project"]["name"] == "left behind"
    await world.pull(ada)
    assert ada.pending == []


async def test_what_a_crash_left_is_applied_by_the_next_push(world: World) -> None:
    away = World(world.db, world.documents.context.store, processor="elsewhere")
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("put_comment", id="a", comment={"text": "left", "shape": None})
    await away.push(ada)
    ben.mutate("put_comment", id="b", comment={"text": "next", "shape": None})
    await world.push(ben, user="ben")
    assert {"comments/a", "comments/b"} < (await world.view()).keys()


async def test_a_push_that_is_cancelled_after_its_answer_loses_nothing(world: World) -> None:
    for attempt in range(10):
        ada = Client(f"g{attempt}", f"c{attempt}")
        for number in range(5):
            ada.mutate("put_shape", id=f"{attempt}-{number}", shape=SHAPE)
        answer = await world.send("/push", ada.push())
        assert answer.json == {}
        for _ in range(attempt):
            await asyncio.sleep(0)
        answer.task.cancel()
        await asyncio.gather(answer.task, return_exceptions=True)
        await world.pull(ada)
        assert ada.pending == []
    assert len(await world.view()) == 51


class Watched(Document, table=Table("watched", stream="new_and_old")):
    """A document whose table tells of its changes."""

    name: str = ""


@Watched.mutation(name="rename")
def rename_watched(draft: Draft[Watched], *, name: str) -> None:
    draft.name = name


async def test_changes_wake_a_processor_and_poke(world: World) -> None:
    """By the table's own stream. A change may come twice, or late."""
    away = World(world.db, world.documents.context.store, kind=Watched, processor="elsewhere", poll_seconds=1e9)
    changes = Changes(away.documents.context.model.table)
    changes.on(Watched.Inbox).inserted(away.sync.on_inbox)
    changes.on(Watched.Version).inserted(away.sync.on_version)
    ada = Client("ga", "ca")
    for number in range(3):
        ada.mutate("rename", name=f"name {number}")
        await away.push(ada)
    stream = away.listen()
    await stream.start()
    assert await stream.poke() == 0
    await change_worker(away.db, changes).drain(backoff_seconds=0.001)
    assert await stream.poke() == 1
    await stream.leave()
    await away.pull(ada)
    assert (ada.pending, ada.base) == ([], {"watched": {"name": "name 2"}})
    assert ada.version == 1, "the first change has applied all three, and those after it found nothing to do"


async def test_a_change_of_a_project_that_is_gone_leads_nowhere(world: World) -> None:
    class Change:
        new = Project.Inbox(document_id="nobody's", client="ca", id=1, name="rename")

    await world.pull(Client("ga", "ca"))
    await world.sync.on_inbox(Change())


def test_a_worker_of_the_blocking_shell(blobs: BlobStore) -> None:
    with fresh() as db:
        documents = Documents(db, Project, blobs=blobs)
        documents.create("o1", "p1")
        documents.submit("p1", [Mutation.of("rename", {"name": "x"}).by("c", 1, principal="ada")])
        worker = Worker(documents, authorise=lambda user, project, access: user == "ada")
        (outcome,) = worker.process("p1")
        assert (outcome.status, outcome.version) == ("applied", 1)
        documents.submit("p1", [Mutation.of("rename", {"name": "y"}).by("c", 2, principal="eve")])
        (outcome,) = worker.process("p1")
        assert (outcome.status, outcome.version) == ("rejected", 2)
        assert documents.head("p1").name == "x"


async def test_an_async_authorise_needs_an_event_loop(blobs: BlobStore) -> None:
    async def later(user: str, project: str, access: Access) -> bool:
        return True

    with fresh() as db, pytest.raises(DeclarationError, match="async"):
        Worker(Documents(db, Project, blobs=blobs), authorise=later)


def test_changes_wake_a_worker_of_the_blocking_shell(blobs: BlobStore) -> None:
    with fresh() as db:
        documents = Documents(db, Watched, blobs=blobs)
        documents.create("o1", "p1")
        changes = Changes(documents.context.model.table)
        changes.on(Watched.Inbox).inserted(Worker(documents, authorise=anybody).on_inbox)
        documents.submit("p1", [Mutation.of("rename", {"name": "x"}).by("c", 1, principal="ada")])
        ChangeWorker(db, changes).drain(backoff_seconds=0.001)
        assert documents.head("p1").name == "x"


EDITS = 120


def backlog(documents: Documents[Watched], ids: Sequence[str]) -> None:
    """The same number of edits in each document, by four clients."""
    for id in ids:
        documents.create("o1", id)
        for client in range(4):
            edits = [Mutation.of("rename", {"name": f"{client} {n}"}) for n in range(EDITS // 4)]
            documents.submit(id, [edit.by(f"c{client}", n + 1, principal="ada") for n, edit in enumerate(edits)])


def test_a_backlog_is_applied_one_version_of_a_document_at_a_time(blobs: BlobStore) -> None:
    """By as many handlers as run at once: none loses a race against another, and none looks for what is applied."""
    with fresh() as db:
        documents = Documents(db, Watched, blobs=blobs)
        changes = Changes(documents.context.model.table)
        changes.on(Watched.Inbox).inserted(Worker(documents, authorise=anybody).on_inbox)
        backlog(documents, ["p1", "p2"])
        with Meter() as meter:
            ChangeWorker(db, changes).drain(backoff_seconds=0.001)
        assert [documents.head(id).version for id in ("p1", "p2")] == [EDITS // 40, EDITS // 40]
        commits = meter.by_operation["TransactWriteItems"]
        assert commits.requests == 2 * EDITS // 40
        assert meter.by_operation["Query"].requests < 2 * EDITS


@dataclass
class Arrived:
    """The change of a row that arrived."""

    new: Any


def test_a_row_is_done_with_its_version_and_the_next_document_has_its_turn(blobs: BlobStore) -> None:
    """However much waits in the inbox: no document waits for the whole backlog of another."""
    with fresh() as db:
        documents = Documents(db, Watched, blobs=blobs)
        worker = Worker(documents, authorise=anybody)
        backlog(documents, ["p1"])
        rows = sorted(db.scan(Watched.Inbox), key=lambda row: (row.client, row.id))
        worker.on_inbox(Arrived(rows[0]))
        assert documents.head("p1").version == 1


async def test_a_backlog_is_applied_one_version_at_a_time_in_an_event_loop(world: World) -> None:
    away = World(world.db, world.documents.context.store, kind=Watched, processor="elsewhere", poll_seconds=1e9)
    changes = Changes(away.documents.context.model.table)
    changes.on(Watched.Inbox).inserted(away.sync.on_inbox)
    clients = [Client(f"g{n}", f"c{n}") for n in range(4)]
    for client in clients:
        for number in range(EDITS // 4):
            client.mutate("rename", name=f"name {number}")
        await away.push(client)
    with Meter() as meter:
        await change_worker(away.db, changes).drain(backoff_seconds=0.001)
    assert meter.by_operation["TransactWriteItems"].requests == EDITS // 40
    await away.pull(clients[0])
    assert clients[0].version == EDITS // 40


def test_a_worker_stops_before_the_next_version_and_leaves_the_rest_to_the_next_worker(blobs: BlobStore) -> None:
    with fresh() as db:
        documents = Documents(db, Watched, blobs=blobs)
        changes = Changes(documents.context.model.table)
        worker = Worker(documents, authorise=anybody)
        changes.on(Watched.Inbox).inserted(worker.on_inbox)
        backlog(documents, ["p1"])
        ChangeWorker(db, changes).run(stop=lambda: documents.head("p1").version >= 1, signals=False, tries=1)
        assert documents.head("p1").version == 1
        ChangeWorker(db, changes).drain(backoff_seconds=0.001)
        assert documents.head("p1").version == EDITS // 40
        assert ChangeWorker(db, changes).dead_letters() == []


async def test_in_an_event_loop_a_worker_stops_before_the_next_version(world: World) -> None:
    away = World(world.db, world.documents.context.store, kind=Watched, processor="elsewhere", poll_seconds=1e9)
    changes = Changes(away.documents.context.model.table)
    changes.on(Watched.Inbox).inserted(away.sync.on_inbox)
    ada, versions = Client("ga", "ca"), list[int]()
    for number in range(EDITS):
        ada.mutate("rename", name=f"name {number}")
    await away.push(ada)
    away.sync.notify = lambda document_id, version: versions.append(version)  # type: ignore[method-assign]
    await change_worker(away.db, changes).run(stop=lambda: bool(versions), signals=False)
    assert versions == [1]
    await change_worker(away.db, changes).drain(backoff_seconds=0.001)
    await away.pull(ada)
    assert ada.version == EDITS // 40


def test_a_handler_of_records_sees_who_made_each_mutation(blobs: BlobStore) -> None:
    with fresh() as db:
        documents = Documents(db, Watched, blobs=blobs)
        changes, told = Changes(documents.context.model.table), list[Any]()

        @changes.on(Watched.Record).inserted
        def audit(change: Inserted[Watched.Record]) -> None:
            record = change.new
            told.append((record.document_id, record.name, record.principal, record.version, record.error is None))

        documents.create("o1", "p1")
        for number, user in enumerate(("ada", "eve")):
            documents.submit("p1", [Mutation.of("rename", {"name": user}).by(user, 1, principal=user)])
            Worker(documents, authorise=lambda user, project, access: user == "ada").process("p1")
            ChangeWorker(db, changes).drain()
            assert len(told) == number + 1
        assert told == [("p1", "rename", "ada", 1, True), ("p1", "rename", "eve", 2, False)]


class Filed(Document, table=Table("filed")):
    """A document with attachments."""

    files: Items[bytes]


@Filed.mutation
def attach(draft: Draft[Filed], *, id: str, file: Ref[bytes]) -> None:
    draft.files.refer(id, file)


async def test_an_attachment_over_a_push_comes_in_by_the_servers_own_door(world: World) -> None:
    """As `docs/how-to/sync.md` says: a client may not name a blob, the server stores it and makes the mutation."""
    away = World(world.db, world.documents.context.store, kind=Filed)
    documents: AsyncDocuments[Any] = away.documents
    ada, ben, large = Client("ga", "ca"), Client("gb", "cb"), bytes(3 << 20)
    await away.pull(ada)
    (ref,) = await documents.store("p1", Filed.files, [large])
    await documents.submit("p1", [attach(id="f", file=ref).by("upload-1", 1, principal="ada")])
    (outcome,) = await away.sync.process("p1")
    assert outcome.status == "applied"
    ben.mutate("attach", id="g", file={"$blob": ref.blob})
    await away.push(ben)
    for client in (ada, ben):
        await away.pull(client)
        assert list(client.base) == ["filed", "files/f"]
        assert b64decode(str(client.base["files/f"])) == large


class Forgetful(ObjectBlobs):
    """A store that loses a content right after it was asked whether it has it."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.loses = False

    def has(self, path: str) -> bool:
        is_there = super().has(path)
        if self.loses:
            self.delete(path)
        return is_there


def test_a_content_that_goes_missing_while_it_is_applied_is_told_and_settled() -> None:
    store = Forgetful()
    with fresh() as db:
        documents: Documents[Drawing] = Documents(db, Drawing, blobs=store)
        documents.create("o1", "p1")
        worker = Worker(documents, authorise=anybody)
        (ref,) = documents.store("p1", Drawing.lines, [Line(1)])
        documents.submit("p1", [draw(id="a", line=ref).by("c", 1)])
        store.loses = True
        with pytest.raises(Corrupt, match="is not in the blob store"):
            db.run(follow(db.port, worker._process, "p1"))
        assert documents.head("p1").version == 0
        (outcome,) = worker.process("p1")
        assert outcome.status == "rejected", "without its content it can never be applied"


async def test_a_pointer_that_leads_nowhere_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "singletable.queues"):
        await follow(world.sync._db.port, world.sync.process, "nobody's")
        await follow(world.sync._db.port, world.sync.process, "p" * 3000)
    missing, invalid = caplog.records
    assert (missing.levelname, invalid.levelname) == ("INFO", "WARNING")
    assert "missing" in missing.getMessage()
    assert "can't name a document" in invalid.getMessage()
    assert "nobody" not in caplog.text, "a pointer's text may come from anybody"
