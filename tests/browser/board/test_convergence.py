"""Clients and pages converge, though the server is killed."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from examples.projects.tests.board.replicache import NodeClient, replicache_client, waiting
from examples.projects.tests.board.serving import Server, served, until
from projects.model import Project, projects
from singletable import connect
from singletable.documents import Documents, LocalBlobs
from singletable.records import Finding
from tests.browser.board.conftest import Open
from tests.browser.board_page import BoardPage, head_of, outcomes_of, seen_of
from tests.support.findings import but_garbage


@pytest.mark.parametrize("turns", [12, pytest.param(50, marks=pytest.mark.soak)])
@pytest.mark.timeout(300)
def test_clients_and_pages_converge_though_the_server_is_killed(tmp_path: Path, open_board: Open, turns: int) -> None:
    """Two Node clients and two pages mutate in turn; the server dies twice, and is away for a while."""
    dice = random.Random(7)
    dies = turns * 3 // 10, turns * 7 // 10
    with served(tmp_path) as own, ExitStack() as nodes:
        pages = [open_board(own, "busy") for _ in range(2)]
        clients = [nodes.enter_context(replicache_client(own.url, "busy")) for _ in range(2)]
        for turn in range(turns):
            if turn in dies:
                own.kill()
            if turn in (dies[0] + 4, dies[1] + 2):
                own.start()
            for number, client in enumerate(clients):
                do_as_client(client, dice, f"n{number}-{turn:02}")
            for page in pages:
                do_on_page(page, dice, turn)
        everyone_is_done(pages, clients)
        head = head_of(own, "busy")
        until(lambda: all(page.seen == seen_of(head) for page in pages), what="the pages do not show the head")
        until(lambda: all(client.view() == view_of(head) for client in clients), what="the clients do not see the head")
        assert outcomes_of(own, "busy") == [4 * turns, 0]
        assert own.stop() == 0
        assert but_garbage(findings_of(own, "busy")) == []


def do_as_client(client: NodeClient, dice: random.Random, new: str) -> None:
    """One mutation, on what the client sees."""
    view = client.view()
    shapes = [key.partition("/")[2] for key in view if key.startswith("shapes/")]
    what = dice.choice(["add", "move", "move", "write", "remove", "comment", "rename"]) if len(shapes) > 2 else "add"
    id = dice.choice(shapes) if shapes else new
    x, y = dice.randrange(700), dice.randrange(500)
    match what:
        case "move":
            client.mutate("move_shape", id=id, x=x, y=y)
        case "write":
            client.mutate("put_shape", id=id, shape=view[f"shapes/{id}"] | {"text": new})
        case "remove" if id.startswith("n"):
            client.mutate("delete_shape", id=id)  # a page's own stay, for it goes on with them
        case "comment":
            client.mutate("put_comment", id=new, comment={"text": new, "author": "node", "shape": None, "time": ""})
        case "rename":
            client.mutate("rename", name=new)
        case _:
            size = {"width": 120, "height": 80}
            shape = {"kind": "rect", "colour": "violet", "text": "", "x": x, "y": y} | size
            client.mutate("put_shape", id=new, shape=shape)


def do_on_page(page: BoardPage, dice: random.Random, turn: int) -> None:
    """One mutation, by what a person can do there; on a shape of the page's own, which nobody takes away meanwhile."""
    match dice.choice(["add", "nudge", "nudge", "write", "comment", "rename"]):
        case "nudge" if page.mine:
            page.nudge(dice.choice(page.mine), dice.choice(["ArrowRight", "ArrowDown"]))
        case "write" if page.mine:
            page.write(dice.choice(page.mine), f"turn {turn}")
        case "comment":
            page.deselect()
            page.comment(f"turn {turn}")
        case "rename":
            page.rename(f"turn {turn} {dice.random()}")
        case _:
            page.mine.append(page.add(dice.choice(["rect", "ellipse", "note"])))


def everyone_is_done(pages: list[BoardPage], clients: list[NodeClient]) -> None:
    until(lambda: all(waiting(client) == 0 for client in clients), what="a client's edits are not confirmed")
    for page in pages:
        page.deselect()
        page.wait_until("saved")


def view_of(head: dict[str, Any]) -> dict[str, Any]:
    """The client view of a head."""
    keys: dict[str, Any] = {"project": {"name": head["name"], "description": head["description"]}}
    for part in ("shapes", "comments"):
        keys |= {f"{part}/{id}": value for id, value in head[part].items()}
    return keys


def findings_of(server: Server, project: str) -> list[Finding]:
    """What the library's own checks find, in the files that the server left."""
    with connect(server.target) as db:
        documents = Documents(db, Project, blobs=LocalBlobs(server.blobs))
        return [*documents.check(project), *db.check(projects)]
