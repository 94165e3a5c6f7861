"""Whatever place holds a text of an erased person is named by the receipt: over the applications, and with gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from examples.manhunt.tests.support import DOMAIN, Clock, Outbox, make_world
from goals import Service as Goals, records
from goals.model import Team, User as GoalsUser
from manhunt import Service as Manhunt, manhunt
from manhunt.model import ContactDetails, Kind
from organisations import Service as Organisations, organisations
from organisations.groups import OWNERS
from organisations.jobs import LATER
from organisations.model import UserDetails, tasks as mails
from projects.model import Project, projects, put_comment, put_shape, rename
from singletable import Database, Table, connect
from singletable.documents import Documents, LocalBlobs, belongings, family_rewrite
from singletable.documents.erased_arguments import record_values
from singletable.documents.inspect import documents_of
from singletable.erasure import Erasure, Receipt
from singletable.exchange import Exports
from singletable.foundation import LayerBelongings
from singletable.sync.client_groups import SyncBelongings, declare_items, group_keys
from tests.erasure.test_documents import Cell, Page, Person, app as notebook, entitle, give, put_cell, remark
from tests.erasure.traces import Hits, hits, unnamed

pytestmark = pytest.mark.embedded("the bytes of its data file are read")
RECORD_VALUES = record_values
LATER_AT = datetime(2030, 1, 1, tzinfo=timezone.utc)


async def nobody_collects(*args: Any) -> None:
    """A collection of garbage that is left out."""


@dataclass
class Scene:
    """An application with a person in it, whose texts are all of one shape: `zq` and a number."""

    db: Database
    folder: Path
    table: Table
    subject: Any = None
    count: int = 0
    tables: list[str] = field(default_factory=list[str])

    @property
    def blobs(self) -> LocalBlobs:
        return LocalBlobs(self.folder / "blobs")

    def text(self) -> str:
        """A new text of the person, with what JSON escapes in it."""
        self.count += 1
        return f'zq{self.count}é"<q>'

    def erased(self) -> tuple[Receipt, Hits]:
        """Export, erase, and look for the texts: for what is the same in each form, and each as it is."""
        exports, has_contents = Exports(self.db, self.table, blobs=self.blobs), bool(documents_of(self.table))
        exports.export(self.folder / "exports", format="jsonl", contents=has_contents)
        receipt = Erasure(self.db, self.table, blobs=self.blobs).apply(self.subject)
        exports.export(self.folder / "again", format="jsonl", contents=has_contents)
        return receipt, self.hits()

    def hits(self) -> Hits:
        texts = [f"zq{n}é" for n in range(1, self.count + 1)]
        return hits(self.db, self.folder, [self.table.name, *self.tables], texts)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Callable[[Table], Scene]]:
    scenes: list[Scene] = []

    def make(table: Table, **options: Any) -> Scene:
        (tmp_path / "data").mkdir()
        db = connect(f"local:{tmp_path / 'data' / 'it.db'}", **options)
        db.create_table(table)
        scenes.append(Scene(db, tmp_path, table))
        return scenes[0]

    yield make
    for each in scenes:
        each.db.close()


def fill_organisations(scene: Scene) -> None:
    app, me = Organisations(scene.db), "zq1é@example.org"
    scene.count = 1
    for email in (me, "owner@example.org"):
        app.put_user(email, first_name="Owner")
    app.put_user(me, first_name=scene.text(), last_name=scene.text(), phone=scene.text())
    org = app.create_organisation("Acme", owner="owner@example.org").organisation_id
    app.invite(org, me)
    app.accept(org, me)
    app.add_to_groups(org, me, [OWNERS])
    app.put_service(org, "web", "The site", by=me)
    app.invite(org, "new@example.org", by=me)
    with scene.db.transaction() as tx:
        tx.add(mails.at(LATER_AT, LATER.message_mail("job", me)))
    scene.subject = UserDetails.by_email(me)


def fill_goals(scene: Scene) -> None:
    app, me = Goals(scene.db), "zq1é"
    scene.count = 1
    app.create(GoalsUser(id=me, name=scene.text()))
    app.create(Team(id="t", name="Team"))
    goal = app.create_goal("A goal", lead=GoalsUser.by_id(me), holder=Team.by_id("t"))
    app.comment(goal.id, me, scene.text())
    app.check_in(goal.id, me, progress=10, text=scene.text())
    scene.subject = GoalsUser.by_id(me)


def fill_manhunt(scene: Scene) -> None:
    world = make_world(Manhunt(scene.db), Clock(), Outbox())
    contact = world.app.create_contact(DOMAIN, scene.text())
    scene.count += 1
    world.app.add_method(DOMAIN, contact.contact_id, Kind.EMAIL, f"zq{scene.count}é@example.org")
    world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    world.drain()
    scene.subject = ContactDetails.by_id(contact.contact_id)


def fill_projects(scene: Scene) -> None:
    boards = Documents(scene.db, Project, blobs=scene.blobs)
    boards.create("o1", "p1", name=scene.text(), description=scene.text())
    mine = [
        put_shape(id="s", shape={"text": scene.text()}),
        put_comment(id="c", comment={"text": scene.text(), "author": scene.text()}),
        put_comment(id="d", comment=scene.text() * 200),
        rename(name=scene.text()),
    ]
    who = scene.text()
    boards.apply("p1", [each.by("tab", n, principal=who) for n, each in enumerate(mine, 1)])
    boards.submit("p1", [rename(name=scene.text()).by("tab", 9, principal=who)])
    boards.store("p1", Project.shapes, [{"text": scene.text()}])
    boards.branch("p1", "p2", parent="o1")
    scene.db.create(group_keys(projects).group(group="g", user=who, document="Project", project="p1"))
    scene.subject = Project.Version.__rows__.listing.by_parent("o1")


@pytest.mark.parametrize(
    ("table", "fill"),
    [
        (organisations, fill_organisations),
        (projects, fill_projects),
        pytest.param(records, fill_goals, marks=pytest.mark.soak),
        pytest.param(manhunt, fill_manhunt, marks=pytest.mark.soak),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_every_place_is_named(table: Table, fill: Callable[[Scene], None], scene: Callable[[Table], Scene]) -> None:
    here = scene(table)
    fill(here)
    before = here.hits()
    assert set().union(*before.values()) == {f"zq{n}é" for n in range(1, here.count + 1)}, "each text is somewhere"
    receipt, after = here.erased()
    assert unnamed(after, receipt) == {}
    if table is projects:
        assert "contents of Project.shapes: nothing in them is declared mentions= or personal=" in receipt.left_out
    assert {place for place in after if place != "export"} <= {"data file", "item of _sync_group", "item of ENTRY"}


def fill_notebook(scene: Scene) -> None:
    """A page of somebody else, on which the person has worked."""
    me, scene.count = "zq1é-id", 1
    scene.db.create(Person(email="zq1é@example.org", id=me))
    pages = Documents(scene.db, Page, blobs=scene.blobs)
    pages.create("t1", "p1", title="Ours")
    mine = [
        put_cell(id="c1", cell=Cell(scene.text(), me)),
        put_cell(id="c1", cell=Cell(scene.text() * 300, me)),
        entitle(title=scene.text()),
        remark(id="r1", remark={"by": me, "text": scene.text()}),
    ]
    pages.apply("p1", [each.by("tab", n, principal=me) for n, each in enumerate(mine, 1)])
    pages.apply("p1", [give(owner=me).by("other", 1, principal="bob")])
    pages.submit("p1", [remark(id="r2", remark={"text": scene.text()}).by("tab", 9, principal=me)])
    scene.db.create(group_keys(notebook).group(group="g", user=me, document="Page", project="p1"))
    scene.subject = Person.by_email("zq1é@example.org")


GAPS: dict[str, tuple[Any, str, Any]] = {
    "principals": (family_rewrite, "record_values", lambda *args, own: RECORD_VALUES(*args, own=False)),
    "arguments": (family_rewrite, "arguments_without", lambda context, erased, name, text, own: text),
    "contents": (family_rewrite, "content_without", lambda *args: None),
    "scalars": (family_rewrite, "scalars_without", lambda context, erased, stored: stored),
    "garbage": (belongings, "collect_family", nobody_collects),
    "groups": (SyncBelongings, "belongings", lambda self: LayerBelongings()),
}
"""The places where an erasure could forget something, each with what it does then."""


@pytest.mark.parametrize("gap", ["", *GAPS])
def test_a_gap_is_found(gap: str, scene: Callable[[Table], Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    declare_items(notebook, belongs_to=Person.id)
    here = scene(notebook)
    fill_notebook(here)
    if gap:
        monkeypatch.setattr(*GAPS[gap])
    receipt = Erasure(here.db, notebook, blobs=here.blobs).apply(here.subject)
    found = unnamed(here.hits(), receipt)
    assert bool(found) == bool(gap), found
