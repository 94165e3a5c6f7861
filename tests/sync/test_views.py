"""Views: a client has what its user sees of the newest version it pulled, and was sent nothing else."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singletable import Meter
from singletable.documents import BlobStore, Documents, LocalBlobs, Mutation
from singletable.errors import DeclarationError, Unavailable
from singletable.sync import Shown, View as Sees, Worker
from tests.support.engines import fresh
from tests.sync.board import Notes, Project, Shape
from tests.sync.simulated import Client, View
from tests.sync.world import World

KINDS = ("rect", "note", "draft")


def kinds(*shown: str) -> Sees:
    """Shapes of some kinds, and all comments."""
    return Sees(f"kinds {shown}", [Shown(Project.shapes, lambda shape: shape.kind in shown), Shown(Project.comments)])


NO_COMMENTS = Sees("no comments", [Shown(Project.shapes)])
WITHOUT_DRAFTS = kinds("rect", "note")


class Seers(World):
    """What each user sees. Who is not in `views` sees everything."""

    def __init__(self, db: Any, blobs: BlobStore, **options: Any) -> None:
        self.views: dict[str, Sees | None] = {}
        super().__init__(db, blobs, view=self.view_of, **options)

    async def view_of(self, user: str, project: str) -> Sees | None:
        return self.views.get(user)

    async def seen_by(self, user: str, project: str = "p1") -> View:
        """The filter of the document, by the model and not by the library."""
        everything, view = await self.view(project), self.views.get(user)
        return everything if view is None else model_of(everything, view)


def model_of(everything: View, view: Sees) -> View:
    by_name: dict[str, Callable[[Any], bool] | None] = {
        "shapes" if shown.collection is Project.shapes else "comments": shown.where for shown in view.shown
    }

    def is_seen(key: str, value: Any) -> bool:
        name, slash, _ = key.partition("/")
        if not slash:
            return True
        if name not in by_name:
            return False
        where = by_name[name]
        return where is None or where(Shape(**value))

    return {key: value for key, value in everything.items() if is_seen(key, value)}


@pytest.fixture
def seers(world: World, blobs: BlobStore) -> Seers:
    return Seers(world.db, blobs)


def shape(kind: str, x: int = 0) -> dict[str, Any]:
    return {"kind": kind, "x": x, "y": 0, "text": ""}


async def test_an_item_enters_and_leaves_a_view(seers: Seers) -> None:
    seers.views["ben"] = WITHOUT_DRAFTS
    ada, ben = Client("ga", "ca"), Client("gb", "cb")

    async def after(name: str, **args: Any) -> list[dict[str, Any]]:
        """What the next patch does to ben's keys."""
        ada.mutate(name, **args)
        await seers.push(ada)
        asked = ben.pull()
        answer = (await (await seers.send("/pull", asked, user="ben")).done()).json
        ben.pulled(asked, answer)
        assert ben.base == await seers.seen_by("ben")
        assert (ben.version, ben.cookie["view"]) == (ada.made, WITHOUT_DRAFTS.name)
        patch: list[dict[str, Any]] = answer["patch"]
        return patch

    put = {"op": "put", "key": "shapes/s1"}
    await after("put_shape", id="s0", shape=shape("rect"))
    assert await after("put_shape", id="s1", shape=shape("draft")) == []
    assert await after("move_shape", id="s1", x=5, y=0) == []
    assert await after("put_shape", id="s1", shape=shape("rect")) == [{**put, "value": shape("rect")}]
    assert await after("put_shape", id="s1", shape=shape("note")) == [{**put, "value": shape("note")}]
    assert await after("put_shape", id="s1", shape=shape("draft")) == [{"op": "del", "key": "shapes/s1"}]
    assert await after("delete_shape", id="s1") == []
    await after("put_shape", id="s1", shape=shape("rect"))
    assert await after("delete_shape", id="s1") == [{"op": "del", "key": "shapes/s1"}]


async def test_a_changed_view_is_sent_whole_at_the_same_version(seers: Seers) -> None:
    ada = Client("ga", "ca")
    for number, kind in enumerate(KINDS):
        ada.mutate("put_shape", id=f"s{number}", shape=shape(kind))
    ada.mutate("put_comment", id="c", comment={"text": "hello", "shape": None})
    await seers.push(ada)
    for view in (None, WITHOUT_DRAFTS, None, NO_COMMENTS, kinds("draft"), kinds()):
        seers.views["ada"] = view
        await seers.pull(ada)
        assert ada.base == await seers.seen_by("ada")
        assert (ada.version, ada.cookie.get("view")) == (1, None if view is None else view.name)
        before = ada.cookie
        assert (await seers.pull(ada)).json == {"cookie": before, "lastMutationIDChanges": {}, "patch": []}


VIEWS = [None, NO_COMMENTS, *(kinds(*some) for count in range(1, 3) for some in itertools.combinations(KINDS, count))]
STEPS = 30


def any_step(dice: random.Random) -> tuple[str, dict[str, Any]]:
    """A mutation; or `see` and `pull` with a user."""
    id = dice.choice("abcd")
    match dice.choice(["put_shape"] * 4 + ["delete_shape", "put_comment", "delete_comment", "see", "pull", "pull"]):
        case "put_shape":
            return "put_shape", {"id": id, "shape": shape(dice.choice(KINDS), dice.randrange(3))}
        case "put_comment":
            return "put_comment", {"id": id, "comment": {"text": dice.choice("xy"), "shape": None}}
        case "see" | "pull" as what:
            return what, {"user": dice.choice(["ben", "cy"])}
        case what:
            return what, {"id": id}


@pytest.mark.parametrize("histories", [10, pytest.param(60, marks=pytest.mark.soak)])
async def test_a_client_has_the_filter_of_the_document_after_each_pull(world: World, histories: int) -> None:
    """Random histories and random views. That a patch deletes only what was there, the client asserts by itself."""
    pulls = filtered = 0
    for seed in range(histories):
        dice, project = random.Random(seed), f"random-{seed}"
        seers = Seers(world.db, Memory())
        ada = Client(f"ga-{seed}", f"ca-{seed}")
        others = {user: Client(f"g{user}-{seed}", f"c{user}-{seed}") for user in ("ben", "cy")}

        for what, args in [*(any_step(dice) for _ in range(STEPS)), *(("pull", {"user": user}) for user in others)]:
            if what == "see":
                seers.views[args["user"]] = dice.choice(VIEWS)
            elif what == "pull":
                user = args["user"]
                await seers.pull(others[user], user=user, project=project)
                seen, everything = await seers.seen_by(user, project), await seers.view(project)
                assert others[user].base == seen, (seed, user)
                pulls, filtered = pulls + 1, filtered + (seen != everything)
            else:
                ada.mutate(what, **args)
                if dice.random() < 0.7:
                    await seers.push(ada, project=project)
                    await seers.pull(ada, project=project)
                    assert ada.base == await seers.view(project)
    assert pulls > 4 * histories
    assert filtered > histories


class Memory:
    """A blob store for properties: a dictionary."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}
        self.gets = 0

    def put(self, path: str, data: bytes) -> bool:
        is_new = path not in self._blobs
        self._blobs[path] = data
        return is_new

    def get(self, path: str, most: int | None = None) -> bytes | None:
        self.gets += 1
        return self._blobs.get(path)

    def has(self, path: str) -> bool:
        return path in self._blobs

    def list(self, prefix: str) -> Any:
        return iter([path for path in self._blobs if path.startswith(prefix)])

    def delete(self, path: str) -> None:
        self._blobs.pop(path, None)


# --- what it costs ----------------------------------------------------------------------------------------------------
async def test_a_view_costs_a_content_for_each_item_that_was_hidden_or_deleted(seers: Seers) -> None:
    store = Memory()
    own = Seers(seers.db, store)
    own.views["ben"] = WITHOUT_DRAFTS
    ada, ben, cy = Client("ga", "ca"), Client("gb", "cb"), Client("gc", "cc")

    async def costs(client: Client, user: str) -> tuple[int, int, float, int]:
        before = store.gets
        with Meter() as meter:
            await own.pull(client, user=user)
        return meter.requests, meter.round_trips, meter.read_units, store.gets - before

    async def both(*mutations: tuple[str, dict[str, Any]]) -> list[tuple[int, int, float, int]]:
        for name, args in mutations:
            ada.mutate(name, **args)
        await own.push(ada)
        return [await costs(cy, "cy"), await costs(ben, "ben")]

    made = [("put_shape", {"id": f"s{n}", "shape": shape("draft" if n % 2 else "rect", n)}) for n in range(10)]
    await both(*made)
    assert await both() == [(2, 1, 2, 0), (2, 1, 2, 0)], "nothing has changed"
    whole, shown = await both(("move_shape", {"id": "s0", "x": 50, "y": 0}))
    assert whole == shown
    assert shown[3] == 1, "the new content decides"
    whole, shown = await both(("move_shape", {"id": "s1", "x": 50, "y": 0}))
    assert whole[:3] == shown[:3], "the table is read as without a view"
    assert (whole[3], shown[3]) == (1, 2), "and the content that it had"
    whole, shown = await both(("delete_shape", {"id": "s2"}))
    assert whole[:3] == shown[:3]
    assert (whole[3], shown[3]) == (0, 1)
    whole, shown = await both(("put_comment", {"id": "c", "comment": {"text": "x", "shape": None}}))
    assert whole == shown, "a collection that is shown whole costs nothing more"


async def test_a_collection_that_is_hidden_is_not_read(seers: Seers) -> None:
    store = Memory()
    own = Seers(seers.db, store)
    own.views["ben"] = Sees("comments", [Shown(Project.comments)])
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    await own.pull(ben, user="ben")
    ada.mutate("put_shape", id="s", shape=shape("rect"))
    await own.push(ada)
    before = store.gets
    with Meter() as meter:
        await own.pull(ben, user="ben")
    assert (meter.round_trips, meter.read_units, store.gets - before) == (2, 3, 0)


# --- mutations --------------------------------------------------------------------------------------------------------
async def test_a_hidden_item_is_missing_for_a_mutation_and_is_not_overwritten(seers: Seers) -> None:
    seers.views["ben"] = WITHOUT_DRAFTS
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("put_shape", id="hidden", shape=shape("draft"))
    await seers.push(ada)
    for name, args in (
        ("put_shape", {"id": "hidden", "shape": shape("rect")}),
        ("move_shape", {"id": "hidden", "x": 9, "y": 9}),
        ("delete_shape", {"id": "hidden"}),
        ("put_shape", {"id": "own", "shape": shape("rect")}),
        ("put_shape", {"id": "own", "shape": shape("draft")}),
        ("move_shape", {"id": "own", "x": 1, "y": 1}),
    ):
        ben.mutate(name, **args)
        await seers.push(ben, user="ben")
        await seers.pull(ben, user="ben")
        assert ben.base == await seers.seen_by("ben")
        assert ben.pending == []
    everything = await seers.view()
    assert everything["shapes/hidden"] == shape("draft")
    assert everything["shapes/own"] == shape("draft"), "he may put what he then does not see, and not change it again"
    outcomes = await seers.documents.outcomes("p1", [("cb", number) for number in range(1, 7)])
    errors = [each.error for each in outcomes if each is not None]
    assert errors[0] is not None
    assert "may not see" in errors[0]
    assert errors[1:] == [None] * 5


async def test_a_worker_has_the_same_rule(tmp_path: Path) -> None:
    with fresh() as db:
        documents = Documents(db, Project, blobs=LocalBlobs(tmp_path))
        documents.create("o1", "p1")
        documents.apply("p1", [Mutation.of("put_shape", {"id": "s", "shape": shape("draft")}).by("own", 1)])
        worker = Worker(documents, authorise=lambda *_: True, view=lambda user, project: WITHOUT_DRAFTS)
        overwrite = Mutation.of("put_shape", {"id": "s", "shape": shape("rect")})
        documents.submit("p1", [overwrite.by("ben", 1, principal="ben"), overwrite.by("own", 2)])
        outcomes = {(each.client, each.status) for each in worker.process("p1")}
        assert outcomes == {("ben", "rejected"), ("own", "applied")}, "the application's own mutations see everything"

        async def later(user: str, project: str) -> Sees | None:
            return None

        with pytest.raises(DeclarationError, match="blocking shell"):
            Worker(documents, authorise=lambda *_: True, view=later)


async def test_where_the_view_is_unavailable_a_mutation_waits(world: World, blobs: BlobStore) -> None:
    class Busy(Seers):
        async def view_of(self, user: str, project: str) -> Sees | None:
            raise ConnectionError("busy")

    busy = Busy(world.db, blobs, processor="elsewhere")
    ben = Client("gb", "cb")
    ben.mutate("rename", name="y")
    assert (await busy.push(ben, user="ben")).status == 200
    with pytest.raises(Unavailable, match="view failed: ConnectionError"):
        await busy.sync.process("p1")
    assert await busy.documents.outcomes("p1", [("cb", 1)]) == [None]
    fine = Seers(world.db, blobs)
    assert [each.status for each in await fine.sync.process("p1")] == ["applied"]


# --- what goes wrong --------------------------------------------------------------------------------------------------
async def test_an_item_at_which_the_predicate_fails_is_hidden(seers: Seers, caplog: Any) -> None:
    seers.views["ben"] = Sees("odd", [Shown(Project.shapes, lambda shape: 1 / shape.x > 0)])
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("put_shape", id="secret-name", shape=shape("rect", 0))
    ada.mutate("put_shape", id="s1", shape=shape("rect", 1))
    await seers.push(ada)
    await seers.pull(ben, user="ben")
    assert [key for key in ben.base if key.startswith("shapes/")] == ["shapes/s1"]
    assert "predicate failed" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    "cookie",
    [
        None,
        1,
        {"order": 1},
        {"order": 1, "view": "other"},
        {"order": 1, "version": 1, "view": "other"},
    ],
    ids=str,
)
async def test_a_cookie_of_another_view_is_sent_everything_that_is_shown(seers: Seers, cookie: Any) -> None:
    seers.views["ada"] = WITHOUT_DRAFTS
    ada = Client("ga", "ca")
    ada.mutate("put_shape", id="s", shape=shape("draft"))
    await seers.push(ada)
    answer = await seers.send("/pull", ada.pull() | {"cookie": cookie})
    assert answer.json["patch"][0] == {"op": "clear"}
    assert "draft" not in json.dumps(answer.json)


def test_a_view_s_declaration_is_checked() -> None:
    for name in ("", "x" * 501):
        with pytest.raises(DeclarationError):
            Sees(name, [])


async def test_a_view_of_another_class_is_refused(seers: Seers) -> None:
    seers.views["ada"] = Sees("wrong", [Shown(Notes.name)])  # type: ignore[arg-type]
    ada = Client("ga", "ca")
    with pytest.raises(DeclarationError, match="not one of its collections"):
        await seers.pull(ada)
