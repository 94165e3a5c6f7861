"""Real Replicache clients in Node, against the application behind uvicorn."""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from singletable.documents import LocalBlobs
from tests.support.engines import fresh_async
from tests.sync.replicache.node import NodeClient, needs_node
from tests.sync.replicache.serving import served
from tests.sync.world import World

pytestmark = needs_node


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(fresh_async(), LocalBlobs(tmp_path))
    yield world
    asyncio.run(world.db.close())


def test_two_clients_end_with_the_same_view(world: World) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(served(world.app))
        ada = stack.enter_context(NodeClient(url, "p1", name="ada", auth="ada"))
        ben = stack.enter_context(NodeClient(url, "p1", name="ben", auth="ben"))
        for number in range(10):
            ada.mutate("put_shape", id=f"s{number}", shape={"kind": "rect", "x": number, "y": 0, "text": "<b>"})
            ben.mutate("put_comment", id=f"c{number}", comment={"text": "hello", "shape": None})
        ben.mutate("rename", name="Plan")
        for client in (ada, ben, ada):
            client.settle()
        assert ada.view() == ben.view()
        assert len(ada.view()) == 21
        assert ada.view()["project"]["name"] == "Plan"
        ben.mutate("delete_shape", id="s3")
        ben.settle()
        ada.mutate("move_shape", id="s3", x=7, y=7)
        ada.settle()
        assert "shapes/s3" not in ada.view()
        assert ada.ask("events")["errors"] == ben.ask("events")["errors"] == []


def test_offline_edits_are_rebased(world: World) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(served(world.app))
        ada = stack.enter_context(NodeClient(url, "p1", name="ada", auth="ada"))
        ben = stack.enter_context(NodeClient(url, "p1", name="ben", auth="ben"))
        ada.mutate("put_shape", id="s", shape={"kind": "rect", "x": 0, "y": 0, "text": ""})
        for client in (ada, ben):
            client.settle()
        ada.ask("online", value=False)
        ada.mutate("move_shape", id="s", x=5, y=5)
        ben.mutate("put_shape", id="s", shape={"kind": "ellipse", "x": 1, "y": 1, "text": "ben's"})
        ben.settle()
        assert (ada.view()["shapes/s"]["x"], ada.view()["shapes/s"]["kind"]) == (5, "rect")
        ada.ask("online", value=True)
        for client in (ada, ben):
            client.settle()
        assert ada.view() == ben.view()
        assert ada.view()["shapes/s"] == {"kind": "ellipse", "x": 5, "y": 5, "text": "ben's"}


def test_a_rejected_mutation_is_taken_back_and_holds_nothing_up(world: World) -> None:
    world.forbidden.add(("ada", "rename"))
    with served(world.app) as url, NodeClient(url, "p1", name="ada", auth="ada") as ada:
        ada.mutate("rename", name="Mine")
        ada.mutate("put_comment", id="c", comment={"text": 7, "shape": None})
        ada.mutate("put_comment", id="d", comment={"text": "fine", "shape": None})
        ada.settle()
        assert ada.view() == {"project": {"name": "", "description": ""}, "comments/d": {"text": "fine", "shape": None}}


ABSENT: list[tuple[str, dict[str, Any]]] = [
    ("mutate", {}),  # rep.mutate.clear_shapes(): Replicache sends "args": null
    ("mutate", {"args": None}),
    ("mutate", {"args": {}}),
    ("mutate", {"args": {"kind": None}}),
    ("mutate_undefined", {"args": {}, "member": "kind"}),
]


@pytest.mark.parametrize(("verb", "given"), ABSENT)
def test_arguments_that_a_client_leaves_out(world: World, verb: str, given: dict[str, Any]) -> None:
    with served(world.app) as url, NodeClient(url, "p1", name="ada", auth="ada") as ada:
        ada.mutate("put_shape", id="s", shape={"kind": "rect", "x": 1})
        ada.ask("mutate_undefined", name="put_shape", args={"id": "t", "shape": {}}, member="note")
        ada.settle()
        assert ada.view()["shapes/t"] == {"kind": "rect", "x": 0, "y": 0, "text": ""}
        ada.ask(verb, name="clear_shapes", **given)
        ada.settle()
        assert ada.view() == {"project": {"name": "", "description": ""}}
        assert ada.ask("events")["errors"] == []
    called = [access.args for _, _, access in world.asked if access.mutation == "clear_shapes"]
    assert called
    assert all(args in ({}, {"kind": None}) for args in called)


def test_an_unauthenticated_client_is_asked_for_credentials(world: World) -> None:
    with served(world.app) as url, NodeClient(url, "p1", auth="", nextAuth="ada") as ada:
        ada.mutate("rename", name="Plan")
        ada.settle()
        assert ada.view()["project"]["name"] == "Plan"
        assert ada.ask("events")["authAsked"] >= 1


def test_a_client_in_another_users_group_must_start_anew(world: World) -> None:
    with served(world.app) as url, NodeClient(url, "p1", auth="ada") as ada:
        ada.mutate("rename", name="Plan")
        ada.settle()
        assert ada.ask("events")["stateNotFound"] == 0
        world.aliases["ada"] = "ben"
        ada.until_lost("pull")


def test_a_client_of_a_database_that_is_gone_begins_anew(world: World, tmp_path: Path) -> None:
    """At its next pull, once: what its browser keeps has the old cookie, and is brought forward."""
    fresh = World(fresh_async(), LocalBlobs(tmp_path / "fresh"))
    served_now = [world.app]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await served_now[0](scope, receive, send)

    with served(app) as url, NodeClient(url, "p1", auth="ada", reloads=True) as ada:
        ada.mutate("rename", name="Plan")
        ada.settle()
        ada.ask("persist")
        served_now[0] = fresh.app
        ada.until_lost("pull")
        ada.mutate("put_comment", id="c", comment={"text": "later", "shape": None})
        ada.settle()
        assert ada.view().keys() == {"project", "comments/c"}
        assert ada.view()["project"]["name"] == ""
        assert ada.ask("events")["stateNotFound"] == 1
    asyncio.run(fresh.db.close())
