"""The public API by example: no error in mypy --strict or pyright strict, each assert_type holds in both. It runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Literal, assert_never, assert_type

from singletable import (
    ANY,
    AsyncDatabase,
    Collection,
    Condition,
    Database,
    Entity,
    Key,
    KeyOf,
    Meter,
    Page,
    Query,
    Table,
    Update,
    at_least,
    attr,
    before,
    between,
    collect,
    connect,
    field,
    key_of,
    present,
    starting_with,
)
from singletable.documents import (
    AsyncDocuments,
    Document,
    Documents,
    Draft,
    Items,
    LocalBlobs,
    Mutation,
    Outcome,
    Ref,
    Submission,
)
from singletable.records import Finding
from singletable.streams import AsyncChangeWorker, Changes, ChangeWorker, Expired, Inserted, Modified, Removed
from singletable.tasks import AsyncTaskWorker, Tasks, TaskWorker

app = Table("app", indexes=["gsi1", "gsi2"])
NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


# --- 1. entities ------------------------------------------------------------------------------------------------------
@dataclass
class Address:
    city: str
    zip: str | None = None


class Role(Enum):
    LEAD = "lead"
    MEMBER = "member"


class Timestamped(Entity):
    """A mixin: an entity without a table."""

    created_at: datetime = field(default_factory=lambda: NOON)


class User(Timestamped, table=app, type="user"):
    email: str
    age: int
    score: Decimal = Decimal(0)
    weight: float = 0.0
    visits: int | None = None
    phone: str | None = None
    groups: set[str] = field(default_factory=set[str])
    tags: list[str] = field(default_factory=list[str])
    address: Address | None = None
    homes: list[Address] = field(default_factory=list[Address])
    active: bool = True
    kind: Literal["a", "b"] = "a"
    manager: User | None = None
    nickname: str = field(name="n", default="")
    marks: dict[str, int] = field(default_factory=dict[str, int])

    @app.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One user."""
        return f"user#{email}", "user"


class Membership(Timestamped, table=app, type="membership"):
    email: str
    org_id: str
    role: Role = Role.MEMBER

    @app.key
    @staticmethod
    def of_user(email: str, org_id: str = ANY) -> Key:
        """The memberships of a user, by organisation."""
        return f"user#{email}", f"member#{org_id}"

    @app.index("gsi1")
    @staticmethod
    def of_org(org_id: str, created_at: datetime = ANY, email: str = ANY) -> Key:
        """The members of an organisation, oldest first."""
        return f"org#{org_id}", f"{created_at}#{email}"

    @app.index("gsi2")
    @staticmethod
    def by_role(org_id: str, role: Role = ANY, email: str = ANY) -> Key:
        """The members of an organisation, by role."""
        return f"org#{org_id}", f"{role}#{email}"


def old_ticket(number: int) -> Key:
    return f"ticket#{number}", "ticket"


class Ticket(Entity, table=app, type="ticket", version=2, stored_as=1):
    number: int
    owner: str

    @app.key(was=old_ticket)
    @staticmethod
    def of_owner(owner: str, number: int) -> Key:
        """A ticket, whose key was another."""
        return f"tickets#{owner}", f"ticket#{number}"


@Ticket.downcast(2)
def ticket_one(item: dict[str, object]) -> dict[str, object]:
    return item


assert_type(Ticket.of_owner("ada", 1), KeyOf[Ticket])
user = User(email="ada@example.org", age=36)
assert_type(user.age, int)
assert_type(user.phone, str | None)
assert_type(User.age, int)  # a handle when it runs
assert_type(replace(user, age=37), User)
assert_type(key_of(user), KeyOf[User])
assert [f.name for f in fields(user)][:2] == ["created_at", "email"]
assert asdict(user)["age"] == 36

# --- 2. access patterns -----------------------------------------------------------------------------------------------
assert_type(User.by_email("ada@example.org"), KeyOf[User])
assert_type(user.by_email(email="x"), KeyOf[User])
assert_type(Membership.of_user("e"), KeyOf[Membership])
assert_type(Membership.of_org("o1"), Query[Membership])
assert_type(Membership.of_org("o1", created_at=NOON), Query[Membership])
assert_type(Membership.of_org("o1", NOON, "e"), Query[Membership])
assert_type(Membership.of_org("o1").newest_first(), Query[Membership])
assert_type(Membership.of_org("o1").keys(), Query[KeyOf[Membership]])
assert_type(Membership.of_org("o1").keys().newest_first(), Query[KeyOf[Membership]])
assert_type(Membership.of_org("o1").hydrated(), Query[Membership])
assert_type(Membership.of_org("o1").where(attr(Membership.email) == "e"), Query[Membership])
assert_type(User.by_email("e").consistent(), KeyOf[User])
assert_type(User.by_email("e").only(User.age), KeyOf[User])
assert User.by_email("a#b").partition == "user#a%23b"

# --- 3. ranges --------------------------------------------------------------------------------------------------------
assert_type(before(NOON), datetime)
assert_type(between(1, 2), int)
assert_type(at_least(Role.LEAD), Role)
Membership.of_org("o1", created_at=before(NOON))
Membership.of_user("ada@example.org", starting_with("A"))
Membership.of_user("ada@example.org", org_id=at_least("m"))
Membership.by_role("o1", role=at_least(Role.LEAD))

# --- 4. conditions and updates ----------------------------------------------------------------------------------------
adult: Condition = (attr(User.age) >= 18) & ~(attr(User.email) == "x") | attr(User.active).is_(True)
updates: list[Update] = [
    attr(User.age).set(37),
    attr(User.age).add(1),
    attr(User.visits).add(1),
    attr(User.score).add(Decimal("0.5")),
    attr(User.phone).set(None),
    attr(User.phone).remove(),
    attr(User.kind).set("b"),
    attr(User.tags).append("x", "y"),
    attr(User.groups).include({"admin"}),
    attr(User.groups).exclude(frozenset({"admin"})),
    attr(User.homes[0].city).set("London"),
    attr(present(User.address).city).set("London"),
    attr(present(User.address).zip).remove(),
    attr(User.tags).remove(0),
    attr(User.marks).remove("a"),
    attr(Membership.role).set(Role.LEAD),
]
conditions: list[Condition] = [
    attr(User.phone) != None,  # noqa: E711
    attr(User.email).starts_with("a"),
    attr(User.email).contains("7"),
    attr(User.groups).contains("admin"),
    attr(User.tags).contains("x"),
    attr(User.age).is_in(1, 2, 3),
    attr(User.age).between(18, 30),
    attr(User.phone).exists(),
    attr(User.tags).size() > 3,
    attr(Membership.role) == Role.LEAD,
]


# --- 5. a database, in both colours -----------------------------------------------------------------------------------
class UserDetails(Collection):
    """A user and their memberships: one query."""

    user: User
    memberships: list[Membership]

    by_email = collect(User.by_email)


def blocking(db: Database) -> None:
    assert_type(db.get(User.by_email("e")), User | None)
    assert_type(db.get(User.by_email("e").consistent()), User | None)
    assert_type(db.get(UserDetails.by_email("e")), UserDetails | None)
    assert_type(db.get(UserDetails.by_email("e").consistent(), max_pages=2), UserDetails | None)
    assert_type(UserDetails(user=user, memberships=[]).memberships, list[Membership])
    assert_type(db.page(Membership.of_org("o1"), limit=25), Page[Membership])
    assert_type(db.page(Membership.of_org("o1")).cursor, str | None)
    assert_type(db.iter(Membership.of_org("o1")), Iterator[Membership])
    assert_type(db.all(Membership.of_user("e")), list[Membership])
    assert_type(db.scan(User), Iterator[User])
    assert_type(db.get_many([User.by_email("a"), User.by_email("b")]), list[User])
    keys: list[KeyOf[User | Membership]] = [User.by_email("a"), Membership.of_user("b", "o1")]
    assert_type(db.get_many(keys), list[User | Membership])
    assert_type(db.get_many(User.by_email(text) for text in ("a", "b")), list[User])
    assert_type(db.get_many({User.by_email("a")}), list[User])
    assert_type(db.get_many(iter(keys)), list[User | Membership])
    db.explain(User.by_email(text) for text in ("a", "b"))
    db.create(user)
    db.put(user, where=attr(User.age) < 40)
    assert_type(db.update(User.by_email("ada@example.org"), attr(User.age).add(1), where=attr(User.age) < 40), User)
    assert_type(db.upsert(user, attr(User.age).add(1)), User)
    assert_type(db.delete(User.by_email("e")), User | None)
    db.write_many(
        puts=[user, Membership(email="e", org_id="o")], deletes=[User.by_email("f"), Membership(email="e", org_id="p")]
    )
    for item in db.iter(User.by_email("e").also(Membership)):
        assert_type(item, User | Membership)
        match item:
            case User():
                assert_type(item.age, int)
            case Membership():
                assert_type(item.org_id, str)
            case _:
                assert_never(item)
    with db.meter() as meter, db.transaction() as tx:
        assert_type(meter, Meter)
        tx.upsert(user)
        tx.check(Membership.of_user("e", "o"), where=attr(Membership.email) == "e")
    assert_type(db.explain(Membership.of_org("o1"))[0].cost, str)


async def awaiting(db: AsyncDatabase) -> None:
    assert_type(await db.get(User.by_email("e")), User | None)
    assert_type(await db.get(UserDetails.by_email("e")), UserDetails | None)
    assert_type(await db.page(Membership.of_org("o1")), Page[Membership])
    user, members, mine, details, newest = await db.together(
        User.by_email("e"),
        Membership.of_org("o1"),
        Membership.of_user("e").every(),
        UserDetails.by_email("e"),
        Membership.of_org("o1").newest_first(),
    )
    assert_type(user, User | None)
    assert_type(members, list[Membership])
    assert_type(mine, list[Membership])
    assert_type(details, UserDetails | None)
    assert_type(newest, list[Membership])
    assert_type(await db.together(User.by_email("e"), User.by_email("f")), tuple[User | None, User | None])
    assert_type(await db.together(*[User.by_email("e")]), tuple[User | None, ...])
    assert_type(db.iter(Membership.of_org("o1")), AsyncIterator[Membership])
    assert_type(db.scan(User), AsyncIterator[User])
    async for member in db.iter(Membership.of_org("o1")):
        assert_type(member, Membership)
    assert_type(await db.update(User.by_email("e"), attr(User.age).add(1)), User)
    async with db.transaction() as tx:
        tx.upsert(user)


# --- 9. changes and tasks ---------------------------------------------------------------------------------------------
watched = Table("watched", indexes=["gsi1"], stream="new_and_old")
changes, tasks = Changes(watched), Tasks(watched, index="gsi1")


class Search(Entity, table=watched, type="search"):
    search_id: str
    status: str = "active"
    ends: datetime | None = field(expires=True, default=None)

    @watched.key
    @staticmethod
    def by_id(search_id: str) -> Key:
        return f"search#{search_id}", "search"


@changes.on(Search).inserted
def started(change: Inserted[Search]) -> None:
    assert_type(change.new, Search)


@changes.on(Search).modified(Search.status)
def moved(change: Modified[Search]) -> None:
    assert_type(change.old.status, str)
    assert_type(change.new, Search)


@changes.on(Search).removed
def removed(change: Removed[Search]) -> None:
    assert_type(change.old, Search)


awaited_changes = Changes(watched, name="awaited")


@awaited_changes.on(Search).removed
async def awaited_removed(change: Removed[Search]) -> None:
    assert_type(change.old, Search)


@changes.on(Search).expired
def expired(change: Expired[Search]) -> None:
    assert_type(change.old, Search)


@tasks.task
def next_attempt(search_id: str, index: int = 0) -> None: ...


@tasks.task(tries=3)
async def fetch(search_id: str) -> None: ...


def later(db: Database) -> None:
    with db.transaction() as tx:
        tx.create(Search(search_id="s"))
        tx.add(tasks.after(timedelta(minutes=10), next_attempt("s", 1), key="s", order="s"))
        tx.add(tasks.at(NOON, next_attempt("s", index=2)))
    with db.transaction() as tx:
        tx.add(tasks.cancel("s"))
    ChangeWorker(db, changes).drain()
    assert_type(ChangeWorker(db, changes).check(), list[Finding])
    assert_type(TaskWorker(db, tasks).check(), list[Finding])


async def awaited_later(db: AsyncDatabase) -> None:
    await AsyncChangeWorker(db, awaited_changes).drain()
    assert_type(await AsyncChangeWorker(db, awaited_changes).check(), list[Finding])
    assert_type(await AsyncTaskWorker(db, tasks).check(), list[Finding])


# --- 10. documents ----------------------------------------------------------------------------------------------------
@dataclass
class Shape:
    x: int = 0
    y: int = 0


class Project(Document, table=watched, index="gsi1"):
    name: str = ""
    shapes: Items[Shape]


@Project.mutation
def put_shape(draft: Draft[Project], *, id: str, x: int = 0) -> None:
    draft.shapes[id] = Shape(x=x)


@Project.mutation(name="move")
def move_shape(draft: Draft[Project], *, id: str, x: int) -> None:
    draft.shapes[id] = replace(draft.shapes[id], x=x)


def documents(db: Database, blobs: LocalBlobs) -> None:
    projects = Documents(db, Project, blobs=blobs)
    assert_type(projects.create("o", "p", name="Atlas"), Project)
    assert_type(put_shape(id="s1", x=3), Mutation)
    assert_type(put_shape(id="s1").by("c", 1), Submission)
    assert_type(projects.apply("p", [put_shape(id="s1").by("c", 1)]), list[Outcome])
    assert_type(projects.head("p").shapes["s1"], Shape)
    assert_type(projects.at("p", version=1), Project)
    assert_type(projects.at("p", time=projects.head("p").time).name, str)
    assert_type(projects.store("p", Project.shapes, [Shape()]), list[Ref[Shape]])


async def awaited_documents(db: AsyncDatabase, blobs: LocalBlobs) -> None:
    projects = AsyncDocuments(db, Project, blobs=blobs)
    head = await projects.head("p")
    assert_type(head, Project)
    assert_type(await projects.load(head.shapes), dict[str, Shape])


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with connect("local") as database, TemporaryDirectory() as folder:
        blocking(database)
        later(database)
        documents(database, LocalBlobs(folder))
