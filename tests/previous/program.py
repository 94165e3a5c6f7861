"""A program that runs on the library of any version that PYTHONPATH names: `python program.py FILE FOLDER`.

It reads calls as lines of JSON, `["step", arguments]`, and answers each with a line: what the step returned, or the
error. It uses public names that each release has, but for the size of an export's sections.
"""

from __future__ import annotations

import json
import sys
import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import singletable
from singletable import ANY, Entity, Key, NotUnique, Table, attr, connect, field
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs
from singletable.exchange import Exports, export
from singletable.graph import Edge, Graph, GraphTable, Node, link
from singletable.migrations import Migrations
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.tasks import Backoff, Tasks, TaskWorker

app = Table("app", indexes=["gsi1"], stream="new_and_old")
records = GraphTable("records", indexes=["gsi1"])
no_index = Table("people")
people = Table("people", indexes=["gsi1"])
MANY = 250
"""Three pages of a fill, and of an export."""
PAGE = 100


class User(Entity, table=app, type="user"):
    id: str
    email: str = field(unique=True)
    tags: set[str] = field(default_factory=set)
    ends: datetime | None = field(expires=True, default=None)
    writes: int = field(version=True, default=0)

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One user."""
        return f"user#{id}", "user"


class Old(Entity, table=no_index, type="person"):
    id: int
    city: str
    text: str = "x" * 6_000

    @no_index.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One person."""
        return f"person#{id:04}", "person"


class Person(Entity, table=people, type="person"):
    id: int
    city: str
    text: str = ""

    @people.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One person."""
        return f"person#{id:04}", "person"

    @people.index("gsi1")
    @staticmethod
    def by_city(city: str, id: int = ANY) -> Key:
        """Who lives in a city."""
        return f"city#{city}", f"{id:04}"


class Goal(Node, table=records, type="GOAL"):
    title: str


class Part(Edge[Goal, Goal], table=records, type="PART", mirrors=("role",)):
    role: str

    @records.index("gsi1")
    @staticmethod
    def by_role(role: str = ANY) -> str:
        """Goals that a goal is a part of."""
        return f"{role}"


@dataclass(frozen=True)
class Shape:
    x: int


class Board(Document, table=app, index="gsi1"):
    name: str = ""
    shapes: Items[Shape]


@Board.mutation
def put_shape(draft: Draft[Board], *, id: str, x: int) -> None:
    draft.shapes[id] = Shape(x)


@Board.mutation
def rename(draft: Draft[Board], *, name: str) -> None:
    draft.name = name


tasks = Tasks(app, index="gsi1")
changes = Changes(app, name="feed", leases="same")
done: list[str] = []
failing: list[str] = []


@tasks.task(tries=1, backoff=Backoff(first_seconds=1))
def note(text: str, at: datetime) -> None:
    if failing:
        raise ConnectionError(text)
    done.append(f"{text} {at.isoformat()}")


@changes.on(User).inserted
def arrived(change: Inserted[User]) -> None:
    if failing:
        raise ConnectionError(change.new.id)
    done.append(change.new.id)


class Stopped(Exception):
    """A run that ends as if it was killed between two rounds."""


def stop(*args: Any) -> None:
    raise Stopped


def taken() -> list[str]:
    texts = sorted(done)
    done.clear()
    return texts


class Steps:
    """What a program does, by name. `own` begins what it names itself, `its` what the other program did."""

    def __init__(self, file: str, folder: Path) -> None:
        self.db = connect(f"local:{file}")
        self.folder = folder
        self.graph = Graph(self.db)
        self.documents = Documents(self.db, Board, blobs=LocalBlobs(folder / "blobs"))

    def where(self) -> str:
        return str(singletable.__file__)

    # --- records
    def write_user(self, own: str) -> None:
        user = User(id=own, email=f"{own}@example.org", tags={"a", own}, ends=datetime(2100, 1, 1, tzinfo=timezone.utc))
        self.db.create(user)

    def change_user(self, its: str) -> list[Any]:
        user = self.db.get(User.by_id(its))
        assert user is not None
        assert (user.email, user.tags, user.writes) == (f"{its}@example.org", {"a", its}, 1)
        try:
            self.db.create(User(id=f"{its} twice", email=user.email))
        except NotUnique:
            user.email = f"{its}.moved@example.org"
        self.db.put(user)
        self.db.update(User.by_id(its), attr(User.tags).include({"b"}))
        self.db.create(User(id=f"{its} next", email=f"{its}@example.org"))
        return [user.writes]

    def end_user(self, its: str) -> list[Any]:
        user = self.db.get(User.by_id(its))
        assert user is not None
        self.db.delete(User.by_id(its))
        self.db.create(User(id=f"{its} last", email=user.email))
        return [user.email, user.writes, sorted(user.tags)]

    # --- graph
    def write_goals(self, own: str) -> None:
        for name in (own, f"{own}.1", f"{own}.2", f"{own}.3"):
            self.db.create(Goal(id=name, title=name))
        for n, role in enumerate(("lead", "team", "lead"), 1):
            self.graph.link(Part(source=Goal.by_id(own), target=Goal.by_id(f"{own}.{n}"), role=role))

    def change_goals(self, its: str) -> list[Any]:
        self.graph.relink(Part.between(Goal.by_id(its), Goal.by_id(f"{its}.1")), attr(Part.role).set("team"))
        self.graph.unlink(Part.between(Goal.by_id(its), Goal.by_id(f"{its}.2")))
        self.graph.delete_node(Goal.by_id(f"{its}.3"))
        self.db.update(Goal.by_id(its), attr(Goal.title).set("changed"))
        with self.db.transaction() as tx:
            tx.add(link(Part(source=Goal.by_id(f"{its}.1"), target=Goal.by_id(its), role="back")))
        return self.goals(its)

    def goals(self, its: str) -> list[Any]:
        node = self.db.get(Goal.by_id(its))
        assert node is not None
        listed = self.graph.including([node], Part.to(Goal))
        near = sorted(goal.id for row in listed for goal in row.linked(Goal))
        edges = sorted((edge.target.id, edge.role) for edge in self.db.all(Part.of(node)))
        return [node.title, near, edges, sorted(e.role for e in self.db.all(Part.by_role(Goal.by_id(its))))]

    # --- documents
    def write_board(self, own: str) -> None:
        self.documents.create("o1", own, name=own)
        self.documents.apply(own, [put_shape(id=f"s{n}", x=n).by("ada", n) for n in (1, 2, 3)])
        self.documents.tag(own, "first")
        self.documents.branch(own, f"{own}-branch")
        self.documents.submit(own, [rename(name="waited").by("ben", 1)])

    def change_board(self, its: str) -> list[Any]:
        self.documents.process(its)
        again = self.documents.submit(its, [put_shape(id="s1", x=1).by("ada", 1)])
        self.documents.apply(its, [put_shape(id="s9", x=9).by("ada", 4)])
        self.documents.apply(f"{its}-branch", [put_shape(id="s1", x=100).by("eve", 1)])
        self.documents.merge(f"{its}-branch", onto=its)
        self.documents.restore(its, version=1, by="ada")
        self.documents.collect_garbage(its)
        self.documents.tag(its, "second")
        return [again[0].status, *self.board(its)]

    def board(self, its: str) -> list[Any]:
        states = []
        for line in self.documents.history(its):
            was = self.documents.at(its, version=line.number)
            states.append([was.name, {id: shape.x for id, shape in was.shapes.all().items()}])
        tags = sorted(tag.name for tag in self.documents.tags(its))
        return [states, tags, [each.document_id for each in self.documents.family(its)]]

    # --- tasks
    def schedule(self, own: str) -> None:
        at = datetime(2026, 1, 1, tzinfo=timezone.utc)
        with self.db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), note(f"{own} free", at), key=f"{own}-free"))
            for n in (1, 2):
                tx.add(tasks.after(timedelta(0), note(f"{own} {n}", at), key=f"{own}-{n}", order=own))
            tx.add(tasks.after(timedelta(days=1), note(f"{own} later", at), key=f"{own}-later"))

    def work(self) -> list[str]:
        TaskWorker(self.db, tasks).drain()
        return taken()

    def fail_tasks(self) -> None:
        failing.append("yes")
        TaskWorker(self.db, tasks).drain()
        failing.clear()

    def retry_tasks(self, its: str) -> list[str]:
        worker = TaskWorker(self.db, tasks)
        letters = worker.dead_letters()
        for letter in letters:
            worker.retry(letter.key)
        worker.drain()
        with self.db.transaction() as tx:
            tx.add(tasks.cancel(f"{its}-later"))
        return [*sorted(letter.error for letter in letters), *taken()]

    # --- streams
    def handle(self) -> list[str]:
        ChangeWorker(self.db, changes).drain()
        return taken()

    def fail_changes(self) -> None:
        failing.append("yes")
        ChangeWorker(self.db, changes).drain(tries=2, backoff_seconds=0.001)
        failing.clear()

    def retry_changes(self) -> list[str]:
        worker = ChangeWorker(self.db, changes)
        letters = worker.dead_letters()
        for letter in letters:
            worker.retry(letter)
        return [*sorted(letter.error for letter in letters), *taken()]

    # --- runs that are gone on with, and what applies write down
    def write_people(self) -> None:
        self.db.create_table(people)
        self.db.write_many(puts=[Old(id=n, city="Bern") for n in range(MANY)])

    def begin_fill(self) -> str:
        try:
            Migrations(self.db, people).fill(segments=1, progress=stop)
        except Stopped:
            return "stopped"
        return "ended"

    def end_fill(self) -> list[int]:
        Migrations(self.db, people).fill(segments=1)
        left = Migrations(self.db, people).fill(segments=1, dry_run=True)
        return [left.written, len(self.db.all(Person.by_city("Bern")))]

    def plan(self) -> list[str]:
        return [step.name for step in Migrations(self.db, people).plan().steps]

    def apply(self) -> list[str]:
        plans = Migrations(self.db, people)
        return [outcome.step.name for outcome in plans.apply(plans.plan()).done]

    def begin_export(self, to: str) -> str:
        try:
            Exports(self.db, people).export(self.folder / to, segments=1, progress=stop)
        except Stopped:
            return "stopped"
        return "ended"

    def end_export(self, to: str) -> list[Any]:
        exported = Exports(self.db, people).export(self.folder / to, segments=1)
        assert exported.manifest is not None
        return [exported.resumed, exported.manifest.dataset("person").rows]

    def check(self) -> list[str]:
        findings = [
            *self.db.check(app, tasks, changes, self.documents),
            *self.db.check(records),
            *self.db.check(people),
        ]
        return [str(finding) for finding in findings]


def main(file: str, folder: str) -> None:
    export.PAGE_ITEMS = export.SECTION_ITEMS = PAGE
    steps = Steps(file, Path(folder))
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = {"returned": getattr(steps, name)(*arguments)}
        except Exception:
            answer = {"failed": traceback.format_exc()}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    steps.db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
