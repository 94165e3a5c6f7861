"""Real Replicache clients of a table that is restored, copied and forked: all end with the server's view."""

from __future__ import annotations

import asyncio  # noqa: TID251
import random
import time
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from singletable.documents import LocalBlobs
from singletable.exchange import AsyncTableCopy
from singletable.sync import Limits
from tests.support.engines import fresh_async
from tests.support.findings import but_garbage
from tests.sync.board import table
from tests.sync.histories import Items, kept, put_back
from tests.sync.replicache.node import PATIENCE_SECONDS, NodeClient, needs_node
from tests.sync.replicache.serving import served
from tests.sync.world import World

pytestmark = needs_node
LIMITS = Limits(requests_per_second=1e6, burst=1_000_000)
MOST_COPIES = 3
USERS = ("ada", "ben", "cyd", "dan")


class Restored:
    """A server whose table is put back, and its clients in one process of node."""

    def __init__(self, world: World, stack: ExitStack, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.backups: list[Items] = []
        self.left: list[World] = []
        """The tables that were copied, and those that were gone back from."""
        self._stack = stack
        self._is_up, self._requests, self._idle = True, 0, asyncio.Event()
        url = stack.enter_context(served(self))
        first = stack.enter_context(NodeClient(url, "p1", name="nobody", auth="nobody"))
        self.clients = {user: first.beside(url, "p1", name=user, auth=user, reloads=True) for user in USERS}
        self.edits: dict[str, dict[str, int]] = {user: {} for user in USERS}
        """Each with the number of times that its client had been told when it was made."""
        self._do(self.world.sync.admit("nobody", "p1"))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._loop = asyncio.get_running_loop()
        if scope["type"] != "http":
            await self.world.app(scope, receive, send)
        elif self._is_up:
            await self._count(self.world.app(scope, receive, send))
        else:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def _count(self, request: Coroutine[Any, Any, None]) -> None:
        self._requests += 1
        self._idle.clear()
        try:
            await request
        finally:
            self._requests -= 1
            if not self._requests:
                self._idle.set()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    async def _while_down(self, work: Coroutine[Any, Any, Any]) -> Any:
        self._is_up = False
        if self._requests:
            await self._idle.wait()
        try:
            return await work
        finally:
            self._is_up = True

    def back_up(self) -> None:
        self.backups.append(self._do(self._while_down(kept(self.world.db, table.name))))

    def restore(self) -> None:
        items = self.chance.choice(self.backups)
        self._do(self._while_down(put_back(self.world.db, table.name, items)))

    def fork(self) -> None:
        """Both go on, in turns: the one that is left here may be put back later."""
        self.back_up()
        self.restore()

    def copy(self) -> None:
        """The server goes on with a copy of its table; later it may go back to the one that it left, which stayed."""
        if len(self.left) < MOST_COPIES:
            other = fresh_async()
            self._stack.callback(lambda: asyncio.run(other.close()))
            self._do(self._while_down(AsyncTableCopy(self.world.db, other, table).run(keep_personal=True, hold=False)))
            self.left.append(World(other, self.world.documents.context.store, limits=LIMITS))
        number = self.chance.randrange(len(self.left))
        self.world, self.left[number] = self.left[number], self.world

    def restart(self) -> None:
        """A server that remembers nothing."""
        self.world = World(self.world.db, self.world.documents.context.store, limits=LIMITS)

    def live(self) -> None:
        """Some acts of clients, on line and off."""
        for user in self.chance.choices(USERS, k=6):
            client = self.clients[user]
            client.ask("online", value=self.chance.random() < 0.7)
            for _ in range(self.chance.randint(0, 2)):
                self._edit(user)
            for verb in self.chance.sample(["push", "pull", "persist"], 2):
                client.ask(verb)

    def _edit(self, user: str) -> None:
        tag = f"{user}-{len(self.edits[user])}"
        made = {"name": "put_comment", "args": {"id": tag, "comment": {"text": tag, "shape": None}}}
        self.edits[user][tag] = -1
        life = self.clients[user].ask("mutate", **made)
        if life is not None:
            self.edits[user][tag] = life

    def settle(self) -> None:
        for client in self.clients.values():
            client.ask("online", value=True)
            client.ask("push")
        until = time.monotonic() + PATIENCE_SECONDS
        for client in [*self.clients.values(), *self.clients.values()]:
            client.settle()
        while any(client.view() != self._do(self.world.view()) for client in self.clients.values()):
            assert time.monotonic() < until, [client.ask("events") for client in self.clients.values()]
            for client in self.clients.values():
                client.settle()

    def judge(self) -> None:
        view = self._do(self.world.view())
        for user, client in self.clients.items():
            told = client.ask("events")
            kept_edits = [tag for tag, life in self.edits[user].items() if life == told["stateNotFound"]]
            assert [tag for tag in kept_edits if f"comments/{tag}" not in view] == [], "gone, and nobody was told"
            assert [line for line in told["errors"] if "last snapshot" in line] == [], "an answer was refused"
        assert but_garbage(self._do(self.world.documents.check("p1"))) == []
        assert self._do(self.world.sync.check()) == []


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(fresh_async(), LocalBlobs(tmp_path), limits=LIMITS)
    yield world
    asyncio.run(world.db.close())


def run(world: World, *, restores: int, seed: int) -> int:
    """The number of times that clients were told."""
    with ExitStack() as stack:
        run = Restored(world, stack, seed)
        run.back_up()
        for number in range(restores):
            run.live()
            run.chance.choice([run.restore, run.restore, run.fork, run.copy])()
            if run.chance.random() < 0.3:
                run.restart()
            if run.chance.random() < 0.5:
                run.live()
                run.back_up()
            if number % 4 == 3:
                run.settle()
                run.judge()
        return sum(client.ask("events")["stateNotFound"] for client in run.clients.values())


def test_clients_of_a_table_that_is_restored_forked_and_copied(world: World) -> None:
    assert run(world, restores=8, seed=1) >= 2


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_hundred_restores_forks_and_copies(world: World) -> None:
    assert run(world, restores=100, seed=2) >= 20
