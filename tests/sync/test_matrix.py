"""Users, groups, clients and projects: nothing crosses. The matrix is data; every cell is a push and a pull."""

from __future__ import annotations

import asyncio  # noqa: TID251
import itertools
from typing import Any

import pytest

from singletable.documents import Mutation
from singletable.errors import NotFound
from tests.sync.board import Notes
from tests.sync.simulated import Client
from tests.sync.world import World

USERS = ("ada", "ben", "eve")
PROJECTS = ("atlas", "beacon")
MEMBERS = {"atlas": {"ada", "ben"}, "beacon": {"ben"}}
BOUND = {"ga": ("ada", "atlas"), "gb": ("ben", "atlas"), "gc": ("ben", "beacon")}
"""Group to the user and the project that it belongs to."""
CLIENTS = {"ca": "ga", "cb": "gb", "cc": "gc"}
CELLS = [
    (user, group, client, project)
    for user, group, client, project in itertools.product(USERS, [*BOUND, "new"], [*CLIENTS, "fresh"], PROJECTS)
]
STATE_NOT_FOUND = {"error": "ClientStateNotFound"}


@pytest.fixture
async def bound(world: World) -> World:
    """Three clients of two users in two projects, who have each made two mutations."""
    for project, members in MEMBERS.items():
        await world.documents.create("o1", project)
        world.members[project] = members
    for client, group in CLIENTS.items():
        user, project = BOUND[group]
        made = Client(group, client)
        made.mutate("put_comment", id=f"of-{client}", comment={"text": client, "shape": None})
        made.mutate("put_comment", id=f"of-{client}", comment={"text": f"{client} again", "shape": None})
        assert (await world.push(made, user=user, project=project)).json == {}
    return world


def expected(user: str, group: str, client: str, project: str) -> tuple[int, Any]:
    """What a push of the client's next mutation is to be answered."""
    if user not in MEMBERS[project]:
        return 404, None
    owned = BOUND.get(group, (user, project)) == (user, project)
    known = CLIENTS.get(client)
    return (200, {}) if owned and known in (group, None) else (200, STATE_NOT_FOUND)


async def facts(world: World) -> dict[str, Any]:
    """All that pushes could have changed: the views, the last ids, and in whose name."""
    found: dict[str, Any] = {}
    for project in PROJECTS:
        found[project] = await world.view(project)
        found[f"{project} ids"] = await world.documents.last_ids(project, [*CLIENTS, "fresh"])
    return found


async def test_the_matrix(bound: World) -> None:
    """Every combination. What is refused changes nothing; what is taken is in the pusher's own name."""
    outcomes: set[tuple[int, bool]] = set()
    for number, (user, group, client, project) in enumerate(CELLS):
        world = World(bound.db, bound.documents.context.store)  # a process that has seen nothing yet
        world.members = bound.members
        before = await facts(world)
        own_group = f"{group}{number}" if group == "new" else group
        own_client = f"{client}{number}" if client == "fresh" else client
        known = before[f"{project} ids"].get(own_client, 0)
        body = Client(own_group, own_client).push()
        args = {"id": f"m{number}", "comment": {"text": user, "shape": None}}
        body["mutations"] = [{"clientID": own_client, "id": known + 1, "name": "put_comment", "args": args}]
        status, answer = expected(user, group, client, project)
        got = await (await world.send("/push", body, user=user, project=project)).done()
        cell = (user, group, client, project)
        assert got.status == status, cell
        assert answer is None or got.json == answer, cell
        after = await facts(world)
        if got.status == 200 and got.json == {}:
            assert f"comments/m{number}" in after[project], cell
            record = await world.db.get(
                world.documents.context.model.rows.mutation.by_id(project, own_client, known + 1)
            )
            assert record is not None
            assert record.principal == user, cell
            other = next(each for each in PROJECTS if each != project)
            assert after[other] == before[other], cell
        else:
            assert after == before, cell
        outcomes.add((status, got.status == 200 and got.json == {}))
    assert outcomes == {(404, False), (200, False), (200, True)}


async def test_no_pull_crosses(bound: World) -> None:
    for user, group, project in itertools.product(USERS, BOUND, PROJECTS):
        world = World(bound.db, bound.documents.context.store)
        world.members = bound.members
        got = await world.send("/pull", Client(group, "any").pull(), user=user, project=project)
        if user not in MEMBERS[project]:
            assert (got.status, got.body) == await missing(world, user), (user, group, project)
        elif BOUND[group] == (user, project):
            assert got.json["lastMutationIDChanges"].keys() == {c for c, g in CLIENTS.items() if g == group}
            keys = {each["key"] for each in got.json["patch"] if each["op"] == "put"}
            assert keys == (await world.view(project)).keys()
        else:
            assert got.json == STATE_NOT_FOUND, (user, group, project)


async def missing(world: World, user: str) -> tuple[int, bytes]:
    """What is answered for a project that nobody has."""
    world.members["nowhere"] = set()
    got = await world.send("/pull", Client("g", "c").pull(), user=user, project="nowhere")
    return got.status, got.body


@pytest.mark.parametrize("path", ["/push", "/pull"])
async def test_a_foreign_project_looks_like_a_missing_one(bound: World, path: str) -> None:
    bound.members["nowhere"] = {"eve"}
    answers: list[Any] = []
    for project, world in (("atlas", bound), ("nowhere", World(bound.db, bound.documents.context.store, create=None))):
        world.members = bound.members
        body = Client("ge", "ce").push() if path == "/push" else Client("ge", "ce").pull()
        got = await world.send(path, body, user="eve", project=project)
        answers.append((got.status, dict(got.headers), got.body))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404
    with pytest.raises(NotFound):
        await bound.documents.head("nowhere")


async def test_a_captured_push_is_refused_from_another_user(bound: World) -> None:
    ada = Client("ga", "ca", made=2)
    ada.mutate("rename", name="ada's own")
    captured = ada.push()
    for user, project in (("ben", "atlas"), ("ben", "beacon")):
        assert (await bound.send("/push", captured, user=user, project=project)).json == STATE_NOT_FOUND
    assert (await bound.send("/push", captured, user="eve", project="atlas")).status == 404
    assert (await bound.view("atlas"))["project"]["name"] == ""
    assert await bound.documents.last_ids("atlas", ["ca"]) == {"ca": 2}
    for _ in range(3):
        assert (await (await bound.send("/push", captured, user="ada", project="atlas")).done()).json == {}
    assert await bound.documents.last_ids("atlas", ["ca"]) == {"ca": 3}


async def test_two_who_show_a_group_at_once_have_one_winner(world: World) -> None:
    for attempt in range(10):
        worlds = [World(world.db, world.documents.context.store) for _ in USERS]
        bodies = [Client(f"g{attempt}", f"c-{user}").pull() for user in USERS]
        got = await asyncio.gather(
            *(w.send("/pull", body, user=user) for w, body, user in zip(worlds, bodies, USERS, strict=True))
        )
        assert [answer.json == STATE_NOT_FOUND for answer in got].count(False) == 1


async def test_two_groups_that_show_a_client_at_once_have_one_winner(world: World) -> None:
    for attempt in range(10):
        worlds = [World(world.db, world.documents.context.store) for _ in range(3)]
        clients = [Client(f"g{attempt}-{n}", f"c{attempt}") for n in range(3)]
        for client in clients:
            client.mutate("put_comment", id=client.group, comment={"text": "x", "shape": None})
        got = await asyncio.gather(*(w.push(client) for w, client in zip(worlds, clients, strict=True)))
        assert [answer.json == {} for answer in got].count(True) == 1
        view = await world.view()
        assert sum(f"comments/g{attempt}-{n}" in view for n in range(3)) == 1


async def test_a_client_that_is_not_known_begins_at_one(world: World) -> None:
    """It has pushed to somebody else, or to a state that is lost: nothing of it is taken, nothing is bound."""
    late = Client("ga", "ca", made=4)
    late.mutate("rename", name="fifth")
    await world.push(late)
    assert late.lost
    begun = Client("gb", "ca")
    begun.mutate("rename", name="first")
    assert (await world.push(begun, user="ben")).json == {}


async def test_who_may_is_asked_when_a_mutation_is_applied(world: World) -> None:
    ada = Client("ga", "ca")
    ada.mutate("rename", name="before")
    await world.push(ada)
    world.forbidden.add(("ada", "rename"))
    ada.mutate("rename", name="after")
    ada.mutate("put_comment", id="c", comment={"text": "still allowed", "shape": None})
    await world.push(ada)
    await world.pull(ada)
    assert ada.pending == []
    assert ada.base["project"]["name"] == "before"
    assert "comments/c" in ada.base
    (refused,) = await world.documents.outcomes("p1", [("ca", 2)])
    assert refused is not None
    assert (refused.status, refused.error) == (
        "rejected",
        "mistake.request: the user is not allowed to do this (operation rename)",
    )
    asked = [(user, access.mutation, access.args) for user, _, access in world.asked if not access.is_read]
    assert asked[0] == ("ada", "rename", {"name": "before"})


async def test_a_reader_who_is_removed_reads_no_more(world: World) -> None:
    ada = Client("ga", "ca")
    assert (await world.pull(ada)).status == 200
    world.members["p1"] = set()
    assert (await world.pull(ada)).status == 404
    assert (await world.push(ada)).status == 404


async def test_a_browser_cannot_take_a_client_of_the_application(world: World) -> None:
    """What an API has applied under a client's name goes on under that name, whoever else says it."""
    await world.pull(Client("ga", "ca"))
    await world.documents.apply("p1", [Mutation.of("rename", {"name": "the API's"}).by("api", 1)])
    thief = Client("gb", "api")
    thief.mutate("rename", name="a thief's")
    thief.mutate("rename", name="a thief's again")
    await world.push(thief, user="ben")
    assert thief.lost
    (mine,) = await world.documents.apply("p1", [Mutation.of("rename", {"name": "mine"}).by("api", 2)])
    assert mine.status == "applied"
    assert (await world.view())["project"]["name"] == "mine"


async def test_projects_of_two_kinds_may_have_one_name(world: World) -> None:
    """A group belongs to a document, not only to its id."""
    notes = World(world.db, world.documents.context.store, kind=Notes)
    ada = Client("ga", "ca")
    ada.mutate("rename", name="a board")
    await world.push(ada)
    for server in (notes, World(world.db, world.documents.context.store, kind=Notes)):
        assert (await server.send("/pull", ada.pull())).json == STATE_NOT_FOUND
        assert (await server.send("/push", ada.push())).json == STATE_NOT_FOUND
