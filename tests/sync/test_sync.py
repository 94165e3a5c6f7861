"""Push and pull over the engine: what one client does, the others see, and nothing twice."""

from __future__ import annotations

import asyncio  # noqa: TID251
import json
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import pytest

from singletable import Table
from singletable.documents import BlobStore, Document, Items, Mutation, collection
from singletable.flow import Port
from singletable.operations import batch_write
from singletable.schema import model_of
from singletable.sync import Limits
from singletable.sync.event_loop import DocumentLocks
from singletable.sync.protocol import Pull, read_push
from singletable.sync.pull import Puller, PullStart
from singletable.sync.push import PushResult
from tests.faults.actions import NotThereYet
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh_async
from tests.sync.interrupted import Interrupted
from tests.sync.simulated import Client
from tests.sync.world import World

LOST = {"error": "ClientStateNotFound"}
SHAPE = {"kind": "rect", "x": 1, "y": 2, "text": "é"}


async def test_a_push_comes_back_in_everybodys_pull(world: World) -> None:
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("put_shape", id="s1", shape=SHAPE)
    ada.mutate("rename", name="Plan")
    assert (await world.push(ada)).json == {}
    for client, user in ((ada, "ada"), (ben, "ben")):
        await world.pull(client, user=user)
        assert client.base == await world.view()
    assert ada.pending == []
    assert ada.base["shapes/s1"] == SHAPE
    assert ada.base["project"] == {"name": "Plan", "description": ""}
    assert (ada.last_ids, ben.last_ids) == ({"ca": 2}, {}), "nobody is told of the clients of others"


async def test_a_patch_is_the_difference(world: World) -> None:
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    for number in range(5):
        ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
    await world.push(ada)
    await world.pull(ben, user="ben")
    for mutation, args in (
        ("put_shape", {"id": "new", "shape": SHAPE}),
        ("move_shape", {"id": "s1", "x": 9, "y": 9}),
        ("delete_shape", {"id": "s2"}),
        ("move_shape", {"id": "s3", "x": 8, "y": 8}),
        ("move_shape", {"id": "s3", "x": 1, "y": 2}),
        ("put_comment", {"id": "c1", "comment": {"text": "hello", "shape": "s1"}}),
    ):
        ada.mutate(mutation, **args)
        await world.push(ada)
    answer = (await world.pull(ben, user="ben")).json
    assert sorted((each["op"], each["key"]) for each in answer["patch"]) == [
        ("del", "shapes/s2"),
        ("put", "comments/c1"),
        ("put", "shapes/new"),
        ("put", "shapes/s1"),
    ], "what was changed and changed back is not sent"
    assert ben.base == await world.view()


async def test_a_pull_with_nothing_new_says_so(world: World) -> None:
    ada = Client("ga", "ca")
    answer = (await world.pull(ada)).json
    assert (ada.version, [each["op"] for each in answer["patch"]]) == (0, ["clear", "put"])
    assert (await world.pull(ada)).json == {"cookie": ada.cookie, "lastMutationIDChanges": {}, "patch": []}


async def test_what_has_no_effect_raises_the_cookie(world: World) -> None:
    """A client drops last mutation ids that come without a new cookie."""
    ada = Client("ga", "ca")
    await world.pull(ada)
    ada.mutate("delete_shape", id="never was")
    ada.mutate("explode")
    await world.push(ada)
    answer = (await world.pull(ada)).json
    assert (ada.version, answer["patch"], answer["lastMutationIDChanges"]) == (1, [], {"ca": 2})
    assert ada.pending == []


NEVER_OURS: list[Any] = [999, 3, -1, "2", "", 1.5, True, [], {"order": "1"}, {"order": 1, "version": 2}, 10**30]


@pytest.mark.parametrize("cookie", NEVER_OURS, ids=str)
async def test_a_cookie_that_is_none_of_ours_begins_anew(world: World, cookie: Any) -> None:
    """A group with clients is told to. A new one is sent everything, in an order above that of its cookie."""
    ada = Client("ga", "ca")
    ada.mutate("put_shape", id="s1", shape=SHAPE)
    await world.push(ada)
    ada.mutate("rename", name="Plan")
    await world.push(ada)
    assert (await world.send("/pull", {**ada.pull(), "cookie": cookie})).json == LOST
    answer = (await world.send("/pull", {**Client("new", "c").pull(), "cookie": cookie})).json
    assert answer["cookie"]["version"] == 2
    assert answer["cookie"]["order"] == (2 + cookie + 1 if cookie in (999, 3) else 2)
    assert answer["patch"][0] == {"op": "clear"}
    assert {each["key"]: each["value"] for each in answer["patch"][1:]} == await world.view()
    assert answer["lastMutationIDChanges"] == {}


async def test_a_cookie_of_a_version_that_is_kept_no_more_begins_anew(world: World) -> None:
    """What history it is of can't be said any more."""
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    await world.pull(ada)
    for number in range(4):
        ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
        await world.push(ada)
        await world.pull(ben, user="ben")
    rows = world.documents.context.model.rows.version
    keys = [model_of(rows).key_item(rows.by_number("p1", number)) for number in range(4)]
    await world.db.port.send(batch_write(model_of(rows).table.name, deletes=keys))
    assert (await world.pull(ada)).json == LOST
    assert (await world.pull(ben, user="ben")).json["cookie"] == ben.cookie, "its version is there"
    forked = Client("g2", "c2", cookie=ada.cookie, base=ada.base)
    await world.pull(forked)
    assert forked.base == await world.view()


async def test_from_every_cookie_to_the_head(world: World) -> None:
    """Each version's view, patched from what its cookie stands for, is the head's."""
    ada = Client("ga", "ca")
    views: list[Any] = []
    for number in range(12):
        views.append(await world.view() if number else {"project": {"name": "", "description": ""}})
        ada.mutate("put_shape", id=f"s{number % 4}", shape={**SHAPE, "x": number})
        if number % 3 == 2:
            ada.mutate("delete_shape", id=f"s{(number + 2) % 4}")
        await world.push(ada)
    for cookie, view in enumerate(views):
        late = Client("ga", "ca", cookie=cookie, base=view)
        await world.pull(late)
        assert late.base == await world.view()
        assert late.last_ids == {"ca": 16}


async def test_from_too_far_back_the_client_records_answer(blobs: BlobStore, world: World) -> None:
    small = World(world.db, blobs, limits=Limits(versions=3))
    ada, tab, ben = Client("ga", "ca"), Client("ga", "tab"), Client("gb", "cb")
    await small.pull(ada)
    tab.mutate("rename", name="tab's")
    ben.mutate("rename", name="ben's")
    await small.push(tab)
    await small.push(ben, user="ben")
    for number in range(5):
        ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
        await small.push(ada)
    answer = (await small.pull(ada)).json
    assert answer["lastMutationIDChanges"] == {"ca": 5, "tab": 1}
    assert "clear" not in [each["op"] for each in answer["patch"]]
    assert ada.base == await small.view()


async def test_pushes_that_come_again_or_out_of_order_have_one_effect(world: World) -> None:
    ada = Client("ga", "ca")
    for number in range(6):
        ada.mutate("put_shape", id="s", shape={**SHAPE, "x": number})
    whole = ada.push()
    for begin, end, answer in ((0, 1, {}), (3, 6, LOST), (1, 4, {}), (0, 6, {}), (5, 6, {})):
        body = {**whole, "mutations": whole["mutations"][begin:end]}
        assert (await (await world.send("/push", body)).done()).json == answer
    await world.pull(ada)
    assert (ada.pending, ada.last_ids) == ([], {"ca": 6})
    assert ada.base["shapes/s"]["x"] == 5
    outcomes = await world.documents.outcomes("p1", [("ca", number) for number in range(1, 7)])
    assert [outcome.status for outcome in outcomes if outcome] == ["applied"] * 6


async def test_the_same_mutation_twice_in_one_push(world: World) -> None:
    ada = Client("ga", "ca")
    ada.mutate("rename", name="first")
    body = ada.push()
    body["mutations"] *= 2
    assert (await (await world.send("/push", body)).done()).json == {}
    await world.pull(ada)
    assert ada.last_ids == {"ca": 1}


async def test_a_push_of_too_many_is_taken_in_parts(blobs: BlobStore, world: World) -> None:
    small = World(world.db, blobs, limits=Limits(mutations=7))
    ada = Client("ga", "ca")
    for number in range(20):
        ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
    for expected in (7, 14, 20):
        await small.push(ada)
        await small.pull(ada)
        assert ada.last_ids == {"ca": expected}


async def test_pushes_at_once_share_versions(world: World) -> None:
    clients = [Client(f"g{n}", f"c{n}") for n in range(12)]
    for client in clients:
        for number in range(5):
            client.mutate("put_shape", id=f"{client.client}-{number}", shape=SHAPE)
    await asyncio.gather(*(world.push(client) for client in clients))
    await asyncio.gather(*(world.pull(client) for client in clients))
    view = await world.view()
    assert len(view) == 61
    assert all(client.base == view and not client.pending for client in clients)
    assert clients[0].version < 12, "arrivals during a commit gather for the next"


async def test_a_pull_shows_what_its_own_group_pushed_before(world: World) -> None:
    """Even when the pull comes while the push is still being applied."""
    ada = Client("ga", "ca")
    for number in range(10):
        ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
        pushed = await world.send("/push", ada.push())
        await world.pull(ada)
        assert ada.pending == []
        await pushed.done()


async def test_a_pull_shows_it_where_its_two_reads_are_of_two_moments(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version is read before the push is applied, the inbox after it."""
    ada, apply_next, read_start = Client("ga", "ca"), world.sync._apply_next, Puller.read_start
    reading = asyncio.Event()

    async def held(document_id: str) -> bool:
        await reading.wait()
        return await apply_next(document_id)

    async def torn(puller: Puller, port: Any, document_id: str) -> PullStart:
        monkeypatch.undo()
        start = await read_start(puller, port, document_id)
        reading.set()
        await pushed.done()
        return PullStart(start.head, set())

    await world.pull(ada)
    monkeypatch.setattr(world.sync, "_apply_next", held)
    monkeypatch.setattr(Puller, "read_start", torn)
    ada.mutate("put_shape", id="s1", shape=SHAPE)
    pushed = await world.send("/push", ada.push())
    await world.pull(ada)
    assert ada.pending == []


async def test_large_arguments_and_large_items(world: World) -> None:
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("put_comment", id="long", comment={"text": "é" * 200_000, "shape": None})
    await world.push(ada)
    for client, user in ((ada, "ada"), (ben, "ben")):
        await world.pull(client, user=user)
        assert len(client.base["comments/long"]["text"]) == 200_000


@pytest.mark.parametrize("id", ["a/b", "a#b", "", "é", "e\u0301", "😀", "../x", "%2F", "\0", "\ufdd0", "a" * 1024])
async def test_ids_of_items_come_through_as_they_are(world: World, id: str) -> None:
    ada = Client("ga", "ca")
    ada.mutate("put_comment", id=id, comment={"text": "x", "shape": None})
    await world.push(ada)
    await world.pull(ada)
    assert ada.pending == []
    assert (f"comments/{id}" in ada.base) == bool(id), "an item has an id"


async def test_mutations_made_elsewhere_reach_clients(world: World) -> None:
    """An application that applies its own mutations, or restores a version, is just another client."""
    ada = Client("ga", "ca")
    await world.pull(ada)
    await world.documents.apply("p1", [Mutation.of("rename", {"name": "from the API"}).by("api", 1)])
    answer = (await world.pull(ada)).json
    assert ada.base["project"]["name"] == "from the API"
    assert answer["lastMutationIDChanges"] == {}


@pytest.mark.parametrize("limit", [500, 1])
async def test_a_head_that_is_outdated_meanwhile_is_read_again(blobs: BlobStore, world: World, limit: int) -> None:
    """Last ids of a version whose effects are not in the patch would make the client drop its own mutations."""
    small = World(world.db, blobs, limits=Limits(versions=limit))
    ada = Client("ga", "ca")
    await small.pull(ada)
    port, puller = world.db.port, small.sync._puller
    for number in range(3):
        ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
        await small.push(ada)
    outdated = (await puller.read_start(port, "p1")).head
    ada.mutate("put_shape", id="s3", shape=SHAPE)
    await small.push(ada)
    for cookie in (None, 0, 1, 2):
        late = Client("ga", "ca", cookie=cookie)
        late.base = {} if cookie is None else {f"shapes/s{n}": SHAPE for n in range(cookie)}
        asked = late.pull()
        answer = await puller.pull(port, Pull("ga", "1", cookie), outdated)
        assert late.pulled(asked, json.loads(msgspec.json.encode(answer)))
        assert late.last_ids["ca"] == late.version == sum(key.startswith("shapes/") for key in late.base)


async def test_a_cookie_never_goes_back_whatever_a_slow_replica_lacks(world: World, faults: Faults) -> None:
    """Neither a head nor last ids come from a replica that has not got them: a client refuses a smaller cookie."""
    ada, ben, late = Client("ga", "ca"), Client("gb", "cb"), Client("gc", "cc")
    faults.add(Rule(Match(), NotThereYet()))
    make_faulty(world.db.port, faults)
    for number in range(3):
        for client, user in ((ada, "ada"), (ben, "ben")):
            client.mutate("put_shape", id=f"{user}{number}", shape=SHAPE)
            assert (await world.push(client, user=user)).status == 200
        seen = ben.cookie and ben.version
        for client, user in ((ada, "ada"), (ben, "ben")):
            answer = await world.pull(client, user=user)
            assert (answer.json["patch"][0] == {"op": "clear"}) == (number == 0), "only at first is it the whole"
        assert ada.version == ben.version == 2 * (number + 1)
        assert seen is None or ben.version > seen
        assert (ada.last_ids, ben.last_ids) == ({"ca": number + 1}, {"cb": number + 1})
    await world.pull(late, user="cyd")
    assert late.base == ada.base == await world.view()


@pytest.mark.parametrize("limit", [500, 1])
@pytest.mark.parametrize("cookie", [None, 0, 2])
async def test_whatever_is_committed_during_a_pull(
    blobs: BlobStore, world: World, cookie: int | None, limit: int
) -> None:
    """At each of its round trips: mutations of the client itself, of a new tab of its group, and of others."""
    small = World(world.db, blobs, limits=Limits(versions=limit))
    for at in range(1, 12):
        project = f"p{at}"
        ada, tab, ben = Client(f"ga{at}", f"ca{at}"), Client(f"ga{at}", f"tab{at}"), Client(f"gb{at}", f"cb{at}")
        for number in range(3):
            ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
            await small.push(ada, project=project)
        seen = Client(ada.group, ada.client, cookie=cookie, pending=list(ada.pending))
        seen.base = {} if cookie is None else {f"shapes/s{n}": SHAPE for n in range(cookie)}
        seen.last_ids = {ada.client: cookie or 0}

        async def commit(project: str = project, own: Client = ada, tab: Client = tab, ben: Client = ben) -> None:
            own.mutate("put_shape", id="own", shape=SHAPE)
            tab.mutate("rename", name="by a new tab")
            ben.mutate("delete_shape", id="s1")
            for client, user in ((own, "ada"), (tab, "ada"), (ben, "ben")):
                await small.push(client, user=user, project=project)

        port = Interrupted(world.db.port, at, commit)
        puller = small.sync._puller
        start = await puller.read_start(cast("Port", port), project)
        asked = seen.pull()
        answer = await puller.pull(cast("Port", port), Pull(seen.group, "1", cookie), start.head)
        assert seen.pulled(asked, json.loads(msgspec.json.encode(answer)))
        if not port.has_happened:
            assert at > 4
            return
        version = seen.version
        assert seen.last_ids == dict.fromkeys(seen.last_ids, 0) | last_ids_at(
            await small.documents.history(project, limit=100), version, {ada.client, tab.client}
        )
        await small.pull(seen, project=project)
        assert seen.base == await small.view(project)
        assert seen.last_ids == {ada.client: 4, tab.client: 1}
    raise AssertionError("a pull ends")


async def test_the_same_push_during_a_push(world: World) -> None:
    """A client that had no answer pushes again while its first push is under way, in another process."""
    for at in range(1, 12):
        project = f"p{at}"
        ada = Client(f"ga{at}", f"ca{at}")
        await world.pull(ada, project=project)
        ada.mutate("rename", name="once")
        body = json.dumps(ada.push()).encode()
        other = World(world.db, world.documents.context.store)

        async def again(project: str = project, other: World = other, ada: Client = ada) -> None:
            assert (await other.push(ada, project=project)).json == {}

        port = Interrupted(world.db.port, at, again)
        fresh = World(world.db, world.documents.context.store)
        pusher = fresh.sync._pusher
        assert await pusher.push(cast("Port", port), "ada", project, read_push(body, Limits())) == PushResult()
        await fresh.sync.process(project)
        await world.pull(ada, project=project)
        assert (ada.pending, ada.version) == ([], 1)
        if not port.has_happened:
            assert at > 4
            return
    raise AssertionError("a push ends")


def last_ids_at(history: Any, version: int, clients: set[str]) -> dict[str, int]:
    """What a client has to be told that sees a version."""
    lists = [v.mutations for v in reversed(history.items) if v.number <= version]
    return {m.client: m.id for mutations in lists for m in mutations if m.client in clients}


async def test_what_a_pull_costs(world: World, budget: Any) -> None:
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    for number in range(3):
        ada.mutate("put_shape", id=f"s{number}", shape=SHAPE)
    await world.push(ada)
    await world.pull(ada)
    await world.pull(ben, user="ben")
    with budget(round_trips=1, requests=2, read_units=2):
        await world.pull(ada)
    ada.mutate("move_shape", id="s1", x=5, y=5)
    await world.push(ada)
    with budget(round_trips=3, requests=6, read_units=7):
        await world.pull(ada)
    far = World(world.db, world.documents.context.store)
    await far.pull(Client("gb", "cb"), user="ben")
    with budget(round_trips=4, requests=6, read_units=6):  # one more, for a client of another group and process
        await far.pull(ben, user="ben")
    ada.mutate("move_shape", id="s2", x=5, y=5)
    await world.push(ada)
    with budget(round_trips=3, requests=5, read_units=5):
        await far.pull(ben, user="ben")


async def test_a_pull_returns_older_contents_in_the_current_form(blobs: BlobStore) -> None:
    @dataclass
    class Plain:
        x: int

    @dataclass
    class Coloured:
        x: int
        colour: str

    def program(shape: Any, version: int) -> Any:
        class Project(Document, table=Table("sync-versions", indexes=["gsi1"]), index="gsi1"):
            shapes: Items[shape] = collection(version=version)

        def put(draft: Any, *, id: str, shape: Any) -> None:
            draft.shapes[id] = msgspec.convert(shape, kind)

        kind = shape
        Project.mutation(name="put")(put)
        if version == 2:

            @Project.shapes.upcast(1)
            def black(stored: dict[str, Any]) -> dict[str, Any]:
                return {**stored, "colour": "black"}

        return Project

    async with fresh_async() as db:
        old, new = World(db, blobs, kind=program(Plain, 1)), World(db, blobs, kind=program(Coloured, 2))
        ada, ben = Client("ga", "ca"), Client("gb", "cb")
        ada.mutate("put", id="a", shape={"x": 1})
        await old.push(ada)
        ben.mutate("put", id="b", shape={"x": 2, "colour": "red"})
        await new.push(ben, user="ben")
        await new.pull(ben, user="ben")
        shapes = {key: value for key, value in ben.base.items() if key.startswith("shapes/")}
        assert shapes == {"shapes/a": {"x": 1, "colour": "black"}, "shapes/b": {"x": 2, "colour": "red"}}


async def test_a_watch_tells_of_work_that_runs_meanwhile() -> None:
    locks, begun, over = DocumentLocks(), asyncio.Event(), asyncio.Event()

    async def work() -> bool:
        begun.set()
        await over.wait()
        return True

    with locks.watch("p1") as has_run, locks.watch("p2") as other:
        assert not has_run()
        running = asyncio.ensure_future(locks.run("p1", work))
        await begun.wait()
        assert has_run()
        with locks.watch("p1") as later:
            over.set()
            assert await running
            assert later()
        assert has_run()
        assert not other()
    with locks.watch("p1") as again:
        assert not again()
