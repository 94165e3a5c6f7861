"""Attacks on a running server, over HTTP: whoever makes them harms nobody else."""

from __future__ import annotations

import asyncio  # noqa: TID251
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from singletable import Table
from singletable.documents import Bounds, Document, Draft, LocalBlobs
from singletable.sync import Access, Limits
from tests.support.engines import fresh_async
from tests.sync.replicache.serving import served
from tests.sync.simulated import Client
from tests.sync.world import World

app = Table("sync-attacks", indexes=["gsi1"])
PATIENCE_SECONDS = 30.0
LOST = {"error": "ClientStateNotFound"}


class Project(Document, table=app, index="gsi1", bounds=Bounds(seconds=0.5)):
    name: str = ""


@Project.mutation
def rename(draft: Draft[Project], *, name: str) -> None:
    draft.name = name


@Project.mutation
def fill(draft: Draft[Project], *, text: str, count: int) -> None:
    draft.name = (text * count)[:100]


@Project.mutation
def turn(draft: Draft[Project], *, times: int) -> None:
    for _ in range(times):
        continue


@Project.mutation
def quote(draft: Draft[Project], *, text: str) -> None:
    raise ValueError(bytes.fromhex(text).decode("utf-8", "surrogateescape"))


class Attacked(World):
    """Everybody may read, and mallory nothing more unless he is let."""

    is_mallory_let = True

    async def authorise(self, user: str, project: str, access: Access) -> bool:
        return access.is_read or user != "mallory" or self.is_mallory_let


@pytest.fixture
def attacked(tmp_path: Path) -> Generator[Attacked, None, None]:
    limits = Limits(user_bytes=2 << 20, bytes_at_once=20 << 20)
    made = Attacked(fresh_async(), LocalBlobs(tmp_path), kind=Project, limits=limits)
    yield made
    asyncio.run(made.db.close())


@contextmanager
def running(world: World) -> Generator[httpx.Client, None, None]:
    with (
        served(world.app, end_streams=world.sync.close) as url,
        httpx.Client(base_url=url, params={"project": "p1"}, timeout=PATIENCE_SECONDS) as http,
    ):
        yield http


def push(http: httpx.Client, first: int, *mutations: tuple[str, Any], user: str = "mallory") -> httpx.Response:
    made = [
        {"clientID": user, "id": id, "name": name, "args": args, "timestamp": 1}
        for id, (name, args) in enumerate(mutations, first)
    ]
    body = {"pushVersion": 1, "clientGroupID": f"g{user}", "profileID": "p", "schemaVersion": "1", "mutations": made}
    return http.post("/push", json=body, headers={"authorization": user})


def goes_on(http: httpx.Client, ada: Client) -> None:
    """Somebody else's mutation is applied, and the answer shows it."""
    ada.mutate("rename", name=f"the {ada.made}th")
    headers = {"authorization": "ada"}
    assert http.post("/push", json=ada.push(), headers=headers).status_code == 200
    asked = ada.pull()
    ada.pulled(asked, http.post("/pull", json=asked, headers=headers).json())
    assert ada.pending == []
    assert ada.base["project"]["name"] == f"the {ada.made - 1}th"


POISON = {
    "memory": ("fill", {"text": "x", "count": 10**15}),
    "time": ("turn", {"times": 10**15}),
    "half a character": ("quote", {"text": "ff"}),
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_a_poisoned_mutation_stops_no_other_client(attacked: Attacked, poison: tuple[str, Any]) -> None:
    ada = Client("ga", "ca")
    with running(attacked) as http:
        goes_on(http, ada)
        assert push(http, 1, poison, ("rename", {"name": "mallory's"})).status_code == 200
        goes_on(http, ada)
        goes_on(http, ada)


def test_a_reader_fills_no_inbox_and_no_store(attacked: Attacked, tmp_path: Path) -> None:
    ada = Client("ga", "ca")
    with running(attacked) as http:
        goes_on(http, ada)
        attacked.is_mallory_let = False
        assert push(http, 1, *[("rename", {"junk": "x" * 2000})] * 5).status_code == 200
        for first in range(10, 1000, 200):
            assert push(http, first, *[("rename", {"junk": "x" * 2000})] * 200).json() == LOST
        goes_on(http, ada)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_unfinished_pushes_are_refused_before_they_fill_the_memory(attacked: Attacked) -> None:
    ada = Client("ga", "ca")
    with running(attacked) as http, ExitStack() as open_ones:
        goes_on(http, ada)
        statuses = [unfinished(http, open_ones, megabytes=1) for _ in range(6)]
        assert statuses[:2] == [b"", b""]
        assert set(statuses[2:]) == {b"HTTP/1.1 429"}
        goes_on(http, ada)


def unfinished(http: httpx.Client, open_ones: ExitStack, *, megabytes: int) -> bytes:
    """A push that says it is 1 byte longer than what comes of it; how the answer begins, if there is one at once."""
    where = urlsplit(str(http.base_url))
    sent = b"x" * ((megabytes << 20) - 1)
    head = (
        "POST /push?project=p1 HTTP/1.1\r\nhost: test\r\nauthorization: mallory\r\n"
        f"content-type: application/json\r\ncontent-length: {len(sent) + 1}\r\n\r\n"
    )
    connection = open_ones.enter_context(socket.create_connection((where.hostname, where.port or 80), timeout=2))
    connection.sendall(head.encode() + sent)
    try:
        return connection.recv(12)
    except TimeoutError:
        return b""


def test_a_large_push_of_small_values_delays_no_other_request(attacked: Attacked) -> None:
    ada = Client("ga", "ca")
    with running(attacked) as http:
        goes_on(http, ada)
        body = b'{"pushVersion":1,"clientGroupID":"g","schemaVersion":"1","junk":[%s],"mutations":[]}'
        junk = b",".join([b'{"a":1}'] * (1 << 17))
        answer = http.post("/push", content=body % junk, headers={**JSON, "authorization": "mallory"})
        assert answer.status_code == 200
        goes_on(http, ada)


JSON = {"content-type": "application/json"}
