"""Every contended verb, with another writer who is first: once, often, and each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import count
from typing import Any

import pytest
from msgspec import Struct
from obstore.store import MemoryStore

from singletable import ANY, Database, Entity, Key as Texts, Table, attr, field
from singletable.documents import Documents, ObjectBlobs
from singletable.documents.canonical_json import digest_of
from singletable.documents.contents import ARGUMENTS, Content
from singletable.errors import NotFound, TransactionConflict
from singletable.expressions import AttributeChange
from singletable.flow.contention import TRIES
from singletable.foundation import update_if
from singletable.graph import Graph
from tests.documents.models import Project, Shape as Box, put_shape, rename
from tests.graph.models import Goal, GoalMembership, Role, User, records
from tests.migrations.watching import before_each
from tests.support.engines import again, fresh

shop = Table("shop", indexes=["gsi1"])


class Order(Entity, table=shop, type="order"):
    """Its index key has two parts: an update of one needs the other."""

    number: int
    state: str = "open"
    region: str = "north"
    code: str | None = field(default=None, unique=True)
    seen: int = 0

    @shop.key
    @staticmethod
    def by_number(number: int) -> Texts:
        """An order."""
        return f"order#{number}", "order"

    @shop.index("gsi1")
    @staticmethod
    def by_state(state: str, region: str, number: int = ANY) -> Texts:
        """Orders by state."""
        return f"{state}#{region}", f"{number}"


class Ticket(Entity, table=shop, type="ticket"):
    """One that expires, and whose transactions read it first."""

    number: int
    ends: datetime = field(expires=True)
    code: str = field(unique=True)

    @shop.key
    @staticmethod
    def by_number(number: int) -> Texts:
        """A ticket."""
        return f"ticket#{number}", "ticket"


GOAL, ADA = Goal(id="g"), User(id="ada")
EDGE = GoalMembership.between(GOAL, ADA)
ROLES = list(Role)
LARGE = put_shape(id="s", shape=Box(text="x" * 1000))
"""A mutation whose arguments are a blob, which collections of garbage must not take."""


class Place:
    """Two programs at one place, each with its documents and its graph."""

    def __init__(self, db: Database, other: Database) -> None:
        self.db, self.other, self.slept = db, other, list[float]()
        store = ObjectBlobs(MemoryStore())
        self.docs, self.others = (Documents(each, Project, blobs=store) for each in (db, other))
        self.numbers = count(1)

    def begin(self) -> None:
        self.db.create_table(records)
        self.db.create_table(shop)
        self.db.create(Order(number=1, code="code 0"))
        self.db.create(GOAL)
        self.db.create(ADA)
        Graph(self.db).link(GoalMembership(source=GOAL, target=ADA))
        self.docs.create("o1", "p1")
        self.docs.branch("p1", "p2")
        self.docs.apply("p2", [rename(name="theirs").by("c", 1)])
        self.docs.context.contents("o1", "p1").write(Content(ARGUMENTS, digest_of(b"stray")), b"stray")

    # --- what the other program does ----------------------------------------------------------------------------------
    def change_region(self) -> None:
        self.other.update(Order.by_number(1), attr(Order.region).set(f"region {next(self.numbers)}"))

    def change_code(self) -> None:
        self.other.update(Order.by_number(1), attr(Order.code).set(f"code {next(self.numbers)}"))

    def delete_or_create(self) -> None:
        """The order is missing for an update, and there for a create."""
        if next(self.numbers) % 2:
            self.other.delete(Order.by_number(2))
        else:
            self.other.create(Order(number=2))

    def raise_epoch(self) -> None:
        """As a collection of garbage begins."""
        kind: Any = self.docs.context.model.rows.epoch
        change = AttributeChange("epoch", {"N": "0"}, plus={"N": "1"})
        self.other.run(self.other.port.send(update_if(kind.by_document("p1"), [change], None)))

    def edit(self) -> None:
        number = next(self.numbers)
        self.others.apply("p1", [rename(name=f"other {number}").by("other", number)])

    def submit(self) -> None:
        self.others.submit_next("p1", "c", rename(name="other"))

    def relink(self) -> None:
        Graph(self.other).relink(EDGE, attr(GoalMembership.role).set(ROLES[next(self.numbers) % len(ROLES)]))


class Use(Struct, frozen=True):
    """A contended verb, and what another program does before each of its conditional writes."""

    verb: str
    call: Callable[[Place], object]
    disturb: Callable[[Place], object]
    what: str
    table: str = "documents-test"
    action: str = "TransactWriteItems"
    part: bytes = b""
    """Of the body of the writes before which it is disturbed."""
    tries: int = TRIES
    disturbances: int = 1
    """For each loss."""


GARBAGE = "a garbage collection began"
COMMIT = "another processor committed, or a garbage collection began"
CHANGED = "another writer changed the edge"
ITEM = "another writer changed the item"
USES = {
    "update": Use(
        "update",
        lambda p: p.db.update(Order.by_number(1), attr(Order.state).set("paid")),
        Place.change_region,
        ITEM,
        "shop",
        action="UpdateItem",
    ),
    "upsert": Use(
        "upsert",
        lambda p: p.db.upsert(Order(number=2), attr(Order.seen).set(1)),
        Place.delete_or_create,
        ITEM,
        "shop",
        action="UpdateItem PutItem TransactWriteItems",
        disturbances=2,
    ),
    "put": Use(
        "transaction",
        lambda p: p.db.put(Order(number=1, code="mine")),
        Place.change_code,
        "another writer changed items of the transaction",
        "shop",
    ),
    "unlink": Use("unlink", lambda p: Graph(p.db).unlink(EDGE), Place.relink, CHANGED, "records"),
    "relink": Use(
        "relink",
        lambda p: Graph(p.db).relink(EDGE, attr(GoalMembership.role).set(Role.TEAM)),
        Place.relink,
        CHANGED,
        "records",
    ),
    "tag": Use("tag", lambda p: p.docs.tag("p1", "v1"), Place.raise_epoch, GARBAGE),
    "branch": Use("branch", lambda p: p.docs.branch("p1", "p3"), Place.raise_epoch, GARBAGE),
    "submit": Use("submit", lambda p: p.docs.submit("p1", [LARGE.by("c", 1)]), Place.raise_epoch, GARBAGE),
    "submit next": Use(
        "submit",
        lambda p: p.docs.submit_next("p1", "c", rename(name="x")),
        Place.submit,
        "another call took the client's next id",
        tries=50,
    ),
    "process": Use(
        "process",
        lambda p: p.docs.apply("p1", [rename(name="x").by("c", 1)]),
        Place.raise_epoch,
        COMMIT,
        tries=60,
    ),
    "merge": Use(
        "merge",
        lambda p: p.docs.merge("p2", onto="p1", prefer="theirs"),
        Place.edit,
        "a mutation changed what is merged",
        part=b"Inbox",
    ),
    "delete": Use("delete", lambda p: p.docs.delete("p1"), Place.edit, COMMIT, tries=50),
    "collect garbage": Use(
        "collect_garbage",
        lambda p: p.docs.collect_garbage("p1"),
        Place.raise_epoch,
        "another collection raised the document's epoch",
        action="UpdateItem",
    ),
}


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with fresh() as db, again(db) as other:
        place = Place(db, other)
        place.begin()

        async def sleep(seconds: float) -> None:
            place.slept.append(seconds)

        monkeypatch.setattr(db.port, "sleep", sleep)
        yield place


def disturb(place: Place, use: Use, times: int, patched: pytest.MonkeyPatch) -> None:
    """The other program is first, so many times."""
    left = times

    def happen(operation: Any) -> None:
        nonlocal left
        request = operation.request()
        if request.operation in use.action.split() and use.part in request.body and left > 0:
            left -= 1
            use.disturb(place)

    before_each(place.db, patched, happen)


@pytest.mark.parametrize("losses", [1, 4])
@pytest.mark.parametrize("name", USES)
def test_it_is_done_after_losses(place: Place, monkeypatch: pytest.MonkeyPatch, name: str, losses: int) -> None:
    """At once after the first loss, with pauses after the others."""
    use = USES[name]
    disturb(place, use, losses * use.disturbances, monkeypatch)
    use.call(place)
    assert len(place.slept) == losses - 1


@pytest.mark.parametrize("name", USES)
def test_what_follows_a_pause_is_read_after_it(place: Place, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What came with the refusal may be old then: of a writer that never pauses, nothing else is ever first."""
    use = USES[name]
    disturb(place, use, 2 * use.disturbances, monkeypatch)

    async def sleep(seconds: float) -> None:
        place.slept.append(seconds)
        use.disturb(place)

    monkeypatch.setattr(place.db.port, "sleep", sleep)
    use.call(place)
    assert len(place.slept) == 1


@pytest.mark.parametrize("name", USES)
def test_it_gives_up(place: Place, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With what won each time, and where. Nothing of it was written."""
    use = USES[name]
    with monkeypatch.context() as patched:
        disturb(place, use, 1000, patched)
        with pytest.raises(TransactionConflict) as raised:
            use.call(place)
    error = raised.value
    assert error.what == f"{use.what} meanwhile, at each of {use.tries} tries"
    assert (error.operation, error.table) == (use.verb, use.table)
    assert error.hint
    assert ("Nothing was merged" in error.hint) == (name == "merge")  # a rejected mutation was written
    assert len(place.slept) == use.tries - 2
    use.call(place)


def test_what_a_part_of_a_submission_has_written_is_not_denied(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutation without contents is put into the inbox whatever garbage is collected."""
    both = [rename(name="small").by("ada", 1), LARGE.by("bob", 1)]
    with monkeypatch.context() as patched:
        disturb(place, USES["submit"], 1000, patched)
        with pytest.raises(TransactionConflict, match="not put there twice") as raised:
            place.docs.submit("p1", both)
    assert "Nothing was written" not in str(raised.value)
    assert [outcome.id for outcome in place.docs.process("p1")] == [1]
    assert [outcome.status for outcome in place.docs.submit("p1", both)] == ["applied", "waiting"]


def test_each_try_of_a_transaction_has_its_own_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What expired between two tries has expired for the second one."""
    ticket = Ticket(number=1, ends=datetime.now(timezone.utc) + timedelta(minutes=1), code="a")
    place.db.create(ticket)
    now, late = place.db.port.now, list[float]()

    def lose_once(operation: Any) -> None:
        if type(operation).__name__ == "TransactWriteItems" and not late:
            place.other.update(Ticket.by_number(1), attr(Ticket.code).set("b"))
            late.append(120.0)

    monkeypatch.setattr(place.db.port, "now", lambda: now() + sum(late))
    before_each(place.db, monkeypatch, lose_once)
    with pytest.raises(NotFound):
        place.db.update(Ticket.by_number(1), attr(Ticket.code).set("c"))
    assert late
