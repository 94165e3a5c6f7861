"""Many clients over an engine on which everything goes wrong: all end with the server's view, each mutation once.

Simulated clients in several browser profiles and tabs, three server processes that know nothing of each other, answers
that are lost on their way to the client, pushes that are cut off in the middle of being applied.
"""

from __future__ import annotations

import asyncio  # noqa: TID251
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from singletable.documents import LocalBlobs
from singletable.errors import SingletableError, Unavailable
from singletable.records import flows
from singletable.sync import Access, Limits
from tests.faults.opening import opened_at
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults
from tests.faults.storms import everything_goes_wrong
from tests.support.findings import but_garbage
from tests.sync.board import table
from tests.sync.simulated import Client
from tests.sync.world import World

LIMITS = Limits(requests_per_second=1e6, burst=1_000_000, mutations=60, versions=40)
FORBIDDEN = "delete_comment"
POISON = ("explode", FORBIDDEN)


class Stormy(World):
    """Its members' database is away now and then."""

    chance = random.Random(0)
    calm = False

    async def authorise(self, user: str, project: str, access: Access) -> bool:
        if not self.calm and self.chance.random() < 0.002:
            raise Unavailable("the members' database is away")
        return await super().authorise(user, project, access)


class Life:
    """One client and what happens to it."""

    def __init__(self, client: Client, user: str, servers: list[Stormy], mutations: int, seed: int) -> None:
        self.client, self.user, self.servers, self.mutations = client, user, servers, mutations
        self.chance = random.Random(seed)

    async def live(self) -> None:
        while self.client.made < self.mutations:
            for _ in range(min(self.chance.randint(1, 12), self.mutations - self.client.made)):
                self.mutate()
            for verb in self.chance.sample([self.push, self.push, self.pull, self.pull], self.chance.randint(1, 4)):
                await verb()

    async def settle(self) -> None:
        for _ in range(2000):
            await self.push()
            await self.pull()
            if not self.client.pending:
                return
        raise AssertionError("mutations are pending for ever")

    def mutate(self) -> None:
        number = self.chance.randint(0, 30)
        shape = {"kind": "rect", "x": self.client.made, "y": number, "text": "x" * self.chance.choice([0, 10, 1000])}
        verbs: list[tuple[str, dict[str, Any]]] = [
            ("put_shape", {"id": f"s{number}", "shape": shape}),
            ("move_shape", {"id": f"s{number}", "x": number, "y": self.client.made}),
            ("delete_shape", {"id": f"s{number}"}),
            ("put_comment", {"id": f"{self.client.client}", "comment": {"text": str(number), "shape": None}}),
            ("rename", {"name": f"{self.client.client} {self.client.made}"}),
            ("explode", {}),
            (FORBIDDEN, {"id": f"{self.client.client}"}),
        ]
        ((verb, args),) = self.chance.choices(verbs, [30, 30, 10, 15, 10, 3, 2])
        self.client.mutate(verb, **args)

    async def push(self) -> None:
        server = self.chance.choice(self.servers)
        body = self.client.push()
        answer = await server.send("/push", body, user=self.user)
        assert answer.status in (200, 503), answer.body
        if answer.status == 200 and self.chance.random() > 0.1:  # else the answer is lost on its way
            self.client.pushed(answer.json)
        if self.chance.random() < 0.05:
            for _ in range(self.chance.randint(0, 40)):
                await asyncio.sleep(0)
            answer.task.cancel()  # the process dies while it applies
        await finished(answer.task)

    async def pull(self) -> None:
        asked = self.client.pull()
        answer = await self.chance.choice(self.servers).send("/pull", asked, user=self.user)
        assert answer.status in (200, 503), answer.body
        if answer.status == 200 and self.chance.random() > 0.1:
            self.client.pulled(asked, answer.json)
        await finished(answer.task)
        assert not self.client.lost


async def finished(task: asyncio.Task[None]) -> None:
    """What goes on after a reply may fail, and be cut off: the inbox keeps what was pushed."""
    (result,) = await asyncio.gather(task, return_exceptions=True)
    assert result is None or isinstance(result, (SingletableError, asyncio.CancelledError)), result


async def run(engine_url: str, faults: Faults, folder: Path, *, clients: int, mutations: int, seed: int) -> None:
    with FaultProxy(engine_url, faults) as proxy:
        async with opened_at("awaiting", proxy.url, tables=(table,), seed=seed) as db:
            store = LocalBlobs(folder / "blobs")
            servers = [Stormy(db, store, limits=LIMITS) for _ in range(3)]
            for server in servers:
                server.forbidden = {(f"user{n}", FORBIDDEN) for n in range(clients)}
            await servers[0].documents.create("o1", "p1")
            faults.add(*everything_goes_wrong(hangs=False))
            lives = [
                Life(Client(f"group{n // 2}", f"client{n}"), f"user{n // 2}", servers, mutations // clients, seed + n)
                for n in range(clients)
            ]
            await asyncio.gather(*(life.live() for life in lives))
            assert faults.actions, "nothing went wrong"
            faults.clear()
            for server in servers:
                server.calm = True
            await asyncio.gather(*(life.settle() for life in lives))
            for life in lives:
                await life.pull()
            await check(servers[0], [life.client for life in lives], mutations // clients)


async def check(server: World, clients: list[Client], each: int) -> None:
    """Everybody sees the same; every mutation has one outcome, in its client's order; nothing is wrong in the table."""
    view = await server.view()
    for client in clients:
        if client.cookie != clients[0].cookie:
            await server.pull(client, user=f"user{client.group.removeprefix('group')}")
        assert client.base == client.view == view
        assert client.last_ids[client.client] == each
    version = (await server.documents.head("p1", collections=[])).version
    found = await server.documents.history("p1", limit=version + 1)
    applied = [(m.client, m.id, m.name, m.rejected) for v in reversed(found.items) for m in v.mutations]
    assert Counter(client for client, *_ in applied) == {client.client: each for client in clients}
    for client in clients:
        assert [id for name, id, *_ in applied if name == client.client] == list(range(1, each + 1))
    assert all(rejected == (name in POISON) for _, _, name, rejected in applied)
    port, home = server.db.port, server.documents.context
    assert await server.sync.check() == []
    assert but_garbage(await server.documents.check("p1")) == []
    assert await flows.check(port, home.model.table) == []


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_few_clients(engine_url: str, faults: Faults, tmp_path: Path, seed: int) -> None:
    await run(engine_url, faults, tmp_path, clients=3, mutations=99, seed=seed)


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_twenty_clients_and_two_thousand_mutations(engine_url: str, faults: Faults, tmp_path: Path) -> None:
    await run(engine_url, faults, tmp_path, clients=20, mutations=2_000, seed=7)
