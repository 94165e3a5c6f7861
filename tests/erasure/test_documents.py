"""Erasing somebody who worked on documents of others: the documents stay, and hold nothing of theirs in any version."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, field
from singletable.documents import (
    AsyncDocuments,
    Document,
    Documents,
    Draft,
    Items,
    LocalBlobs,
    Mutation,
    Ref,
    belongings,
    collection,
)
from singletable.documents.belongings import DocumentBelongings
from singletable.documents.family_rewrite import FamilyRewrite
from singletable.erasure import AsyncErasure, Erasure, Receipt, SharedScans
from singletable.errors import TooLarge, TransactionConflict
from singletable.expressions import AttributeChange
from singletable.flow.driver import drive
from singletable.foundation import Subject, model_of, update_if
from tests.erasure.traces import without_random
from tests.migrations.test_apply_lease import Pace
from tests.migrations.watching import Killed, before_each
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items
from tests.sync.simulated import Client
from tests.sync.world import World

app = Table("notebook", indexes=["gsi1"])


class Person(Entity, table=app, type="person"):
    email: str
    id: str

    @app.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One."""
        return f"person#{email}", "person"


@dataclass(frozen=True)
class Cell:
    text: str = field(personal=True)
    author: str | None = field(default=None, mentions=Person.id)
    readers: list[str] = field(default_factory=list[str], mentions=Person.id)
    height: int = 1
    born: date | None = field(default=None, personal=True)


class Page(Document, table=app, index="gsi1", parent="Team", principal=Person.id):
    title: str = field(default="", personal=True)
    owner: str | None = field(default=None, mentions=Person.id)
    size: int = 0
    seal: bytes = field(default=b"no \xff seal", personal=True)
    cells: Items[Cell]
    remarks: Items[dict[str, Any]] = collection(mentions={"by": Person.id}, personal=["text"])
    pictures: Items[str] = collection(personal=[])


@Page.mutation
def put_cell(draft: Draft[Page], *, id: str, cell: Cell) -> None:
    draft.cells[id] = cell


@Page.mutation
def raise_cell(draft: Draft[Page], *, id: str, height: int) -> None:
    draft.cells[id] = replace(draft.cells[id], height=height)


@Page.mutation(personal=["text"])
def edit_cell(draft: Draft[Page], *, id: str, text: str) -> None:
    draft.cells[id] = replace(draft.cells[id], text=text)


@Page.mutation
def link_cell(draft: Draft[Page], *, id: str, cell: Ref[Cell]) -> None:
    draft.cells.refer(id, cell)


@Page.mutation
def drop_cell(draft: Draft[Page], *, id: str) -> None:
    del draft.cells[id]


@Page.mutation
def entitle(draft: Draft[Page], *, title: str) -> None:
    draft.title = title


@Page.mutation(mentions={"owner": Person.id})
def give(draft: Draft[Page], *, owner: str | None = None) -> None:
    draft.owner = owner


@Page.mutation(personal=["seal"])
def sealed(draft: Draft[Page], *, seal: bytes) -> None:
    draft.seal = seal


@Page.mutation
def put_picture(draft: Draft[Page], *, id: str, picture: str) -> None:
    draft.pictures[id] = picture


@Page.mutation
def remark(draft: Draft[Page], *, id: str, remark: dict[str, Any]) -> None:
    draft.remarks[id] = remark


ADA = Person.by_email("ada@example.org")
LONG = "ada has a lot to say " * 60


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(app)
        for name in ("ada", "bob"):
            made.create(Person(email=f"{name}@example.org", id=f"{name}-id"))
        yield made


@pytest.fixture
def pages(db: Database, tmp_path: Path) -> Documents[Page]:
    return Documents(db, Page, blobs=LocalBlobs(tmp_path))


class Writer:
    """Somebody's client of a document."""

    def __init__(self, pages: Documents[Page], name: str, page: str = "p1") -> None:
        self.pages, self.name, self.page, self.last = pages, name, page, 0

    def does(self, *mutations: Mutation) -> None:
        """Each in a version of its own."""
        for mutation in mutations:
            self.last += 1
            submission = mutation.by(f"tab-{self.name}-{self.page}", self.last, principal=f"{self.name}-id")
            (outcome,) = self.pages.apply(self.page, [submission])
            assert outcome.status == "applied", outcome


def contents(path: Path) -> str:
    return "".join(gzip.decompress(file.read_bytes()).decode() for file in sorted(path.rglob("*.gz")))


def everything(db: Database, path: Path) -> str:
    items = db.run(all_items(db.port, "notebook"))
    text = repr([item for item in items if item.get("_type", {}).get("S") != "_apply"]) + contents(path)
    return without_random(text)


def erase(db: Database, pages: Documents[Page], shared: SharedScans | None = None) -> Receipt:
    return Erasure(db, app, pages).apply(ADA, shared=shared)


def fill(pages: Documents[Page]) -> None:
    pages.create("t1", "p1", title="Ours")
    ada, bob = Writer(pages, "ada"), Writer(pages, "bob")
    bob.does(put_cell(id="c1", cell=Cell("bob began", "bob-id")))
    ada.does(put_cell(id="c2", cell=Cell("ada wrote", "ada-id")), put_cell(id="c3", cell=Cell(LONG, "ada-id")))
    bob.does(raise_cell(id="c2", height=2), put_cell(id="c4", cell=Cell("bob saw", "bob-id", ["ada-id", "bob-id"])))
    ada.does(edit_cell(id="c1", text="ada amends"), entitle(title="ada's title"), give(owner="ada-id"))
    ada.does(remark(id="r1", remark={"by": "ada-id", "text": "ada remarks"}), drop_cell(id="c2"))
    bob.does(remark(id="r2", remark={"by": "bob-id", "text": "bob remarks"}))


@pytest.mark.parametrize("shared", [None, SharedScans(sections=3)], ids=["alone", "its scans are jobs"])
def test_documents_stay_and_hold_nothing_of_theirs(
    db: Database, pages: Documents[Page], tmp_path: Path, shared: SharedScans | None
) -> None:
    fill(pages)
    before = pages.head("p1")
    receipt = erase(db, pages, shared)
    assert (receipt.deleted, receipt.cleared, receipt.kept) == ({"Person": 1}, {"Page": 1}, ())
    left = everything(db, tmp_path).replace("tab-ada-p1", "")
    assert "ada" not in left
    head = pages.head("p1")
    assert head.version == before.version + 1
    assert (head.title, head.owner, head.size) == ("", None, 0)
    assert head.cells.all() == {
        "c1": Cell("(erased)", "bob-id"),
        "c3": Cell("(erased)"),
        "c4": Cell("(erased)", "bob-id", ["bob-id"]),
    }
    assert head.remarks.all() == {
        "r1": {"by": "(erased)", "text": "(erased)"},
        "r2": {"by": "bob-id", "text": "bob remarks"},
    }
    assert pages.at("p1", version=1).cells["c1"] == Cell("bob began", "bob-id")
    assert pages.at("p1", version=4).cells["c2"] == Cell("(erased)", height=2)
    assert [m.principal for change in pages.item_history("p1", Page.cells, "c1") for m in change.mutations] == [
        None,
        "bob-id",
    ]
    assert db.check(app, pages) == []


def test_bytes_and_days_of_theirs_go_too(db: Database, pages: Documents[Page]) -> None:
    """A scalar of bytes is stored as their text, as all writes do it; what others gave stays, byte for byte. Neither
    lies beside a mention: they are found by what ada's mutations gave."""
    pages.create("t1", "p1", title="Ours")
    ada, bob = Writer(pages, "ada"), Writer(pages, "bob")
    bob.does(sealed(seal=b"bob's \xfe"))
    ada.does(sealed(seal=b"ada's \xfe"))
    bob.does(put_cell(id="c1", cell=Cell("bob's", born=date(1815, 12, 9))))
    ada.does(put_cell(id="c2", cell=Cell("ada's", born=date(1815, 12, 10))))
    assert erase(db, pages).cleared == {"Page": 1}
    seals = [pages.at("p1", version=number).seal for number in range(pages.head("p1").version + 1)]
    assert seals[:3] == [b"no \xff seal", b"bob's \xfe", b"no \xff seal"]
    assert pages.head("p1").cells.all() == {
        "c1": Cell("bob's", born=date(1815, 12, 9)),
        "c2": Cell("(erased)", born=None),
    }
    assert db.check(app, pages) == []


def test_what_waits_and_what_is_stored_apart(db: Database, pages: Documents[Page], tmp_path: Path) -> None:
    """The inbox, contents that nothing reaches, arguments that refer to a content, a restore."""
    fill(pages)
    bob = Writer(pages, "bob")
    bob.last = 4
    (ref, _) = pages.store("p1", Page.cells, [Cell("of ada", "ada-id"), Cell("never sent", "ada-id")])
    bob.does(link_cell(id="c5", cell=ref))
    pages.restore("p1", version=8, by="tab-restorer")
    waiting = [put_cell(id="c9", cell=Cell("ada waits")).by("tab-ada-p1", 99, principal="ada-id")]
    waiting += [give(owner="ada-id").by("tab-bob-p1", 98, principal="bob-id")]
    pages.submit("p1", waiting)
    failed = raise_cell(id="ada has no such cell", height=1).by("tab-ada-p1", 8, principal="ada-id")
    assert pages.apply("p1", [failed])[0].error == "KeyError: 'ada has no such cell'"
    receipt = erase(db, pages)
    assert receipt.kept == ()
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    inbox = db.all(Page.Inbox.by_id("p1"))
    assert [(row.id, row.name, row.principal, row.arguments) for row in inbox if row.id == 99] == [
        (99, "$erased", None, "{}")
    ]
    assert len(inbox) == 2
    assert {finding.code for finding in db.check(app, pages)} <= {"inbox.gap"}


def test_others_who_share_a_client_go_on(db: Database, pages: Documents[Page]) -> None:
    """Programs submit for their users under one client: what waits of theirs is rejected, and its id is consumed."""
    pages.create("t1", "p1")
    for name in ("bob", "ada", "bob"):
        cell = put_cell(id=name, cell=Cell(f"{name} wrote"))
        pages.submit_next("p1", "server", cell, principal=f"{name}-id")
    assert erase(db, pages).cleared == {"Page": 1}
    pages.process("p1")
    assert list(pages.head("p1").cells.all()) == ["bob"]
    (rejected,) = [row for row in db.all(Page.Record.by_id("p1")) if row.error is not None]
    assert (rejected.id, rejected.principal, rejected.arguments) == (2, None, "{}")
    third = pages.submit_next("p1", "server", put_cell(id="c", cell=Cell("on")), principal="bob-id")
    assert [outcome.status for outcome in pages.process("p1")] == ["applied"]
    assert (third.id, db.check(app, pages)) == (4, [])


def test_personal_values_of_others_stay(db: Database, pages: Documents[Page], tmp_path: Path) -> None:
    """Arguments of theirs name items and others, and say more than what is personal."""
    pages.create("t1", "p1")
    bob, ada = Writer(pages, "bob"), Writer(pages, "ada")
    cells = {"c1": Cell("todo", "bob-id"), "c2": Cell("Bob", "bob-id"), "c3": Cell("todo2", "bob-id")}
    bob.does(*(put_cell(id=id, cell=cell) for id, cell in cells.items()))
    bob.does(put_cell(id="c4", cell=Cell("c1", "bob-id")), put_cell(id="c5", cell=Cell("cy-id", "cy-id")))
    bob.does(put_picture(id="dot", picture="."), put_cell(id="c6", cell=Cell("dot", "bob-id")))
    Writer(pages, "eve").does(put_cell(id="c7", cell=Cell("eve-id")))
    ada.does(edit_cell(id="c3", text="ada amends"), raise_cell(id="c1", height=2))
    ada.does(put_cell(id="todo", cell=Cell("ada wrote", "bob-id", ["Bob"])))
    ada.does(
        remark(id="dot", remark={"to": "cy-id", "cc": "eve-id", "text": "ada remarks"}), entitle(title="ada's title")
    )
    pages.restore("p1", version=3, by="tab-ada-p1", principal="ada-id")
    pages.restore("p1", version=13, by="tab-bob-p1", principal="bob-id")
    erase(db, pages)
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    cells |= {"c1": replace(cells["c1"], height=2), "c3": Cell("(erased)", "bob-id"), "c4": Cell("c1", "bob-id")}
    cells |= {
        "c5": Cell("cy-id", "cy-id"),
        "c6": Cell("dot", "bob-id"),
        "c7": Cell("eve-id"),
        "todo": Cell("(erased)", "bob-id", ["Bob"]),
    }
    assert pages.head("p1").cells.all() == cells


def test_branches_of_others_are_of_the_same_family(db: Database, pages: Documents[Page], tmp_path: Path) -> None:
    fill(pages)
    pages.branch("p1", "p2", parent="t2")
    pages.branch("p2", "p3", parent="t2")
    Writer(pages, "bob", "p2").does(raise_cell(id="c3", height=3))
    pages.delete("p1")
    assert erase(db, pages).cleared == {"Page": 1}
    left = everything(db, tmp_path)
    assert left.count("ada") == left.count("ada amends") == 1, (
        "in a cell of bob: with p1 went what said that it is hers"
    )
    assert pages.head("p2").cells["c3"] == Cell("(erased)", height=3)
    assert pages.head("p3").cells["c3"] == Cell("(erased)")
    assert db.check(app, pages) == []


def test_only_a_mention_in_a_document_of_others(db: Database, pages: Documents[Page], tmp_path: Path) -> None:
    """No mutation of theirs leads there."""
    pages.create("t1", "p1")
    pages.create("t1", "p2")
    Writer(pages, "bob").does(put_cell(id="c", cell=Cell("about ada", "ada-id")), give(owner="ada-id"))
    Writer(pages, "bob", "p2").does(put_cell(id="c", cell=Cell("about bob", "bob-id")))
    plan = Erasure(db, app, pages).plan(ADA)
    assert (plan.cleared, [each.what for each in plan.belongings if each.does == "clear"]) == (
        {"Page": 1},
        ["2 mutations, 1 versions, 1 contents"],
    )
    assert plan.write_units == 1 + 6
    erase(db, pages)
    assert "ada" not in everything(db, tmp_path)
    assert pages.head("p2").version == 1


def test_killed_at_any_request_it_goes_on(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(pages)
    kills = 0
    for at in (3, 7, 12, 18, 25, 33, 42, 52):
        left = at

        def kill(operation: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed

        with monkeypatch.context() as patched:
            Pace(db, patched)
            before_each(db, patched, kill)
            try:
                erase(db, pages)
            except Killed:
                kills += 1
            else:
                break
    assert kills > 4
    with monkeypatch.context() as patched:
        Pace(db, patched)
        receipt = erase(db, pages)
    assert (receipt.deleted, receipt.cleared) == ({"Person": 1}, {"Page": 1})
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    assert db.check(app, pages) == []


async def test_clients_are_sent_the_document_without_them(tmp_path: Path) -> None:
    """One of an old version, one of the newest, and one that comes later see the same."""
    async with fresh_async() as db:
        await db.create_table(app)
        await db.create(Person(email="ada@example.org", id="ada-id"))
        world = World(db, LocalBlobs(tmp_path), kind=Page)
        pages = AsyncDocuments(db, Page, blobs=LocalBlobs(tmp_path))
        await pages.create("t1", "p1", title="Ours")
        clients = [Client(f"g{n}", f"tab-{n}") for n in range(3)]
        cells = [put_cell(id="c1", cell=Cell("ada wrote", "ada-id")), entitle(title="ada's"), entitle(title="ours")]
        for n, mutation in enumerate(cells, 1):
            await pages.apply("p1", [mutation.by("ada-tab", n, principal="ada-id")])
            if n != 2:
                assert (await world.pull(clients[n // 2])).status == 200
        assert clients[0].base["cells/c1"]["text"] == clients[1].base["cells/c1"]["text"] == "ada wrote"
        await AsyncErasure(db, app, pages).apply(ADA)
        for client in clients:
            assert (await world.pull(client)).status == 200
            assert client.base["cells/c1"] == {
                "text": "(erased)",
                "author": None,
                "readers": [],
                "height": 1,
                "born": None,
            }
            assert client.base["page"].items() >= {"title": "", "owner": None, "size": 0}.items()


def test_others_go_on_meanwhile(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each transaction of the erasure somebody carries their contents into one more version."""
    fill(pages)
    bob = Writer(pages, "bob")
    bob.last, is_busy = 4, False

    def work(operation: Any) -> None:
        nonlocal is_busy
        if type(operation).__name__ == "TransactWriteItems" and not is_busy and bob.last < 12:
            is_busy = True
            bob.does(raise_cell(id="c3", height=bob.last))
            is_busy = False

    with monkeypatch.context() as patched:
        before_each(db, patched, work)
        receipt = erase(db, pages)
    assert receipt.kept == ()
    assert bob.last == 12
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    assert pages.head("p1").cells["c3"] == Cell("(erased)", height=11)
    assert db.check(app, pages) == []


@pytest.mark.parametrize("what", ["branch", "process"])
def test_what_was_older_is_taken_over_meanwhile(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Cells of bob that say what ada wrote: only her mutations tell that it is hers."""
    pages.create("t1", "p1")
    bob, done = Writer(pages, "bob"), False
    bob.does(put_cell(id="c1", cell=Cell("bob began", "bob-id")))
    Writer(pages, "ada").does(edit_cell(id="c1", text="ada amends"))
    bob.does(drop_cell(id="c1"))
    pages.submit("p1", [put_cell(id="c1", cell=Cell("ada waits", "bob-id")).by("tab-ada-p1", 2, principal="ada-id")])

    def work(operation: Any) -> None:
        nonlocal done
        if type(operation).__name__ == "TransactWriteItems" and not done:
            done = True
            if what == "branch":
                pages.branch("p1", "p2", version=2)
                Writer(pages, "bob", "p2").does(put_cell(id="c2", cell=Cell("bob goes on", "bob-id")))
            else:
                pages.process("p1")

    with monkeypatch.context() as patched:
        before_each(db, patched, work)
        assert erase(db, pages).cleared == {"Page": 1}
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    assert pages.head("p2" if what == "branch" else "p1").cells["c1"] == Cell("(erased)", "bob-id")
    assert db.check(app, pages) == []


@pytest.mark.parametrize("is_applied", [True, False])
def test_what_they_write_before_their_records_are_cleared_is_erased_too(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_applied: bool
) -> None:
    """Only her mutation says that a cell of bob's has a text of hers, and it comes after the last look."""
    pages.create("t1", "p1")
    ada, is_late = Writer(pages, "ada"), False
    Writer(pages, "bob").does(put_cell(id="c1", cell=Cell("bob began", "bob-id")))
    ada.does(edit_cell(id="c1", text="ada amends"))
    write_records = FamilyRewrite._write_records

    async def late(rewrite: Any, rows: Any, texts: Any, *, own: bool) -> None:
        nonlocal is_late
        if not is_late:
            is_late = True
            if is_applied:
                ada.does(edit_cell(id="c1", text="ada was late"))
            else:
                ada.pages.submit("p1", [edit_cell(id="c1", text="ada waits").by("tab-ada-p1", 2, principal="ada-id")])
        await write_records(rewrite, rows, texts, own=own)

    with monkeypatch.context() as patched:
        patched.setattr(FamilyRewrite, "_write_records", late)
        receipt = erase(db, pages)
    assert receipt.kept == ()
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    pages.process("p1")
    assert pages.head("p1").cells["c1"].author == "bob-id"
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    assert db.check(app, pages) == []


def test_an_erasure_that_loses_each_time_does_not_deny_what_it_wrote(
    db: Database, pages: Documents[Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a collection of garbage began before each of its transactions."""
    fill(pages)
    epoch: Any = pages.context.model.rows.epoch.by_document("p1")
    raised: Any = update_if(epoch, [AttributeChange("epoch", {"N": "0"}, plus={"N": "1"})], None)
    send = db.port.send

    def work(operation: Any) -> None:
        if type(operation).__name__ == "TransactWriteItems":
            drive(send(raised))

    with monkeypatch.context() as patched:
        patched.setattr(db.port, "sleep", nobody_waits)
        patched.setattr("singletable.documents.family_rewrite._TRIES", 3)
        before_each(db, patched, work)
        with pytest.raises(TransactionConflict, match="A part may be erased already"):
            erase(db, pages)
    assert erase(db, pages).kept == ()


async def nobody_waits(seconds: float) -> None: ...


def test_collections_that_fit_into_no_one_version(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(pages)
    before = pages.head("p1").version
    with monkeypatch.context() as patched:
        patched.setattr("singletable.operations.limits.MAX_TRANSACTION_BYTES", 600)
        patched.setattr("singletable.operations.transact.MAX_ITEM_BYTES", 600)
        with pytest.raises(TooLarge) as refused:
            erase(db, pages)
    assert (refused.value.operation, refused.value.key.partition) == ("erase", "Page#p1")
    with monkeypatch.context() as patched:
        patched.setattr("singletable.documents.batches.MAX_TRANSACTION_BYTES", 6000)
        erase(db, pages)
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    assert pages.head("p1").version == before + 2


def test_killed_between_records_it_knows_what_was_theirs(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only their own mutations say that a text of somebody else's mutation is theirs: they change last."""
    pages.create("t1", "p1")
    bob, kills, left = Writer(pages, "bob"), 0, 0
    bob.does(put_cell(id="c1", cell=Cell("bob began", "bob-id")))
    Writer(pages, "ada").does(*(edit_cell(id="c1", text=f"ada {n}") for n in range(9)))
    bob.does(edit_cell(id="c1", text="ada 3"), edit_cell(id="c1", text="bob ends"))

    def kill(operation: Any) -> None:
        nonlocal left
        if type(operation).__name__ == "TransactWriteItems" and b"tab-" in operation.request().body:
            left -= 1
            if left == 0:
                raise Killed

    for at in range(1, 9):
        left = at
        with monkeypatch.context() as patched:
            Pace(db, patched)
            before_each(db, patched, kill)
            try:
                erase(db, pages)
            except Killed:
                kills += 1
            else:
                break
    assert kills == 2
    assert "ada" not in everything(db, tmp_path).replace("tab-ada-p1", "")
    assert pages.head("p1").cells.all() == {"c1": Cell("bob ends", "bob-id")}


def test_contents_are_put_once_in_an_epoch(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.create("t1", "p1")
    Writer(pages, "ada").does(*(put_cell(id=f"c{n}", cell=Cell("ada's", "ada-id", height=n)) for n in range(30)))
    real, puts = LocalBlobs.put, 0

    def put(self: LocalBlobs, path: str, data: bytes) -> bool:
        nonlocal puts
        puts += "/cells/" in path
        return real(self, path, data)

    monkeypatch.setattr(LocalBlobs, "put", put)
    erase(db, pages)
    assert puts == 30 + 30, "for the new version of the page, and for its older ones"


def test_a_content_that_cant_be_read_is_kept(db: Database, pages: Documents[Page], tmp_path: Path) -> None:
    fill(pages)
    (lost, *_) = sorted(tmp_path.rglob("cells/*.gz"))
    lost.write_bytes(b"no gzip")
    receipt = erase(db, pages)
    assert [(kept.kind, kept.count) for kept in receipt.kept] == [("content of Page", 1)]


def test_killed_before_its_collection_it_collects(
    db: Database, pages: Documents[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in the documents leads to these contents any more: the record of the erasure does."""
    fill(pages)

    async def kill(*args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        Pace(db, patched)
        patched.setattr(belongings, "collect_family", kill)
        with pytest.raises(Killed):
            erase(db, pages)
    assert "ada" in contents(tmp_path)
    with monkeypatch.context() as patched:
        Pace(db, patched)
        erase(db, pages)
    assert "ada" not in contents(tmp_path)


def test_a_row_that_cant_be_read_names_nobody(db: Database, pages: Documents[Page]) -> None:
    """As one in a dead letter: it is told, and stays."""
    fill(pages)
    model, ada = model_of(Page.Record), Subject(Person, {"id": "ada-id"}, ("person#ada@example.org", "person"))
    layer = DocumentBelongings(pages.context)
    records = [item for item in db.run(all_items(db.port, "notebook")) if item["_type"]["S"] == model.type]
    assert any(layer.names(model, item, [ada]) for item in records)
    assert not any(layer.names(model, {**item, "version": {"S": "one"}}, [ada]) for item in records)


diaries = Table("diaries", indexes=["gsi1"])


class Keeper(Entity, table=diaries, type="keeper"):
    id: str

    @diaries.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"keeper#{id}", "keeper"


class Diary(Document, table=diaries, index="gsi1", parent="Keeper", belongs_to=Keeper.id, principal=Keeper.id):
    title: str = field(default="", personal=True)


@Diary.mutation
def call_it(draft: Draft[Diary], *, title: str) -> None:
    draft.title = title


def test_a_document_that_goes_whole_is_not_rewritten_before(tmp_path: Path) -> None:
    """A branch whose root is deleted."""
    with fresh() as db:
        db.create_table(diaries)
        db.create(Keeper(id="ada"))
        documents = Documents(db, Diary, blobs=LocalBlobs(tmp_path))
        documents.create("ada", "d1")
        documents.branch("d1", "d2")
        documents.delete("d1")
        documents.apply("d2", [call_it(title="ada's").by("tab", 1, principal="ada")])
        plan = Erasure(db, diaries, documents).plan(Keeper.by_id("ada"))
        assert (plan.deleted, plan.cleared) == ({"Keeper": 1, "Diary": 1}, {})
