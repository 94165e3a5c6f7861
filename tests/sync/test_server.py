"""Behind a real server: streams end when it does, and what it acknowledged outlives its being killed."""

from __future__ import annotations

import asyncio  # noqa: TID251
import random
import signal
import threading  # noqa: TID251
import time
from pathlib import Path

import httpx
import pytest

from singletable.documents import LocalBlobs
from tests.support.engines import fresh_async
from tests.sync.replicache.serving import served
from tests.sync.server_process import PATIENCE_SECONDS, Server
from tests.sync.simulated import Client
from tests.sync.world import World

ROOT = Path(__file__).parents[2]
KILLS = 5
CLIENTS = 3


def test_streams_end_when_the_server_stops(tmp_path: Path) -> None:
    world = World(fresh_async(), LocalBlobs(tmp_path))
    told: list[str] = []
    listening = threading.Event()

    def listen(url: str) -> None:
        with httpx.stream("GET", f"{url}/pokes", params={"project": "p1", "auth": "ada"}, timeout=30) as stream:
            for line in stream.iter_lines():
                told.append(line)
                listening.set()

    with served(world.app, end_streams=world.sync.close) as url:
        thread = threading.Thread(target=listen, args=(url,))
        thread.start()
        assert listening.wait(PATIENCE_SECONDS)
        began = time.monotonic()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert time.monotonic() - began < 20, "nobody waited for the stream to time out"
    assert told[:2] == ["event: poke", 'data: {"version":0}']
    asyncio.run(world.db.close())


def send(http: httpx.Client, client: Client, path: str) -> bool:
    """One request, as a client makes it; False where the server died over it."""
    asked = client.push() if path == "push" else client.pull()
    try:
        answer = http.post(f"/{path}", params={"project": "p1"}, json=asked, headers={"authorization": client.group})
    except httpx.TransportError:
        return False
    if answer.status_code != 200:
        return False
    if path == "push":
        client.pushed(answer.json())
    else:
        client.pulled(asked, answer.json())
    return True


@pytest.mark.embedded("the server goes on with the engine's file")
def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    """`kill -9`, at any moment, again and again; the server goes on with the files as they are."""
    chance, server = random.Random(11), Server(tmp_path)
    clients = [Client(f"group{n}", f"client{n}") for n in range(CLIENTS)]
    acknowledged = dict.fromkeys(range(CLIENTS), 0)
    for _ in range(KILLS):
        with server.running() as process, httpx.Client(base_url=server.url, timeout=PATIENCE_SECONDS) as http:
            killer = threading.Timer(chance.uniform(0.05, 0.8), lambda p=process: p.send_signal(signal.SIGKILL))
            killer.start()
            alive = True
            while alive:
                number = chance.randrange(CLIENTS)
                client = clients[number]
                for _ in range(chance.randint(1, 4)):
                    client.mutate("put_comment", id=f"{number}-{client.made}", comment={"text": "x", "shape": None})
                alive = send(http, client, "push")
                acknowledged[number] = client.made if alive else acknowledged[number]
                alive = alive and (chance.random() < 0.5 or send(http, chance.choice(clients), "pull"))
            killer.join()
            process.wait()
    with server.running(), httpx.Client(base_url=server.url, timeout=PATIENCE_SECONDS) as http:
        late = Client("late", "late")
        assert send(http, late, "pull")  # which sees what was left, and sees to it
        for number, client in enumerate(clients):
            silent = Client(client.group, client.client)  # it says nothing again of what was acknowledged
            assert send(http, silent, "pull")
            assert silent.last_ids.get(client.client, 0) >= acknowledged[number]
        assert sum(acknowledged.values()) > KILLS
        for client in clients:
            while client.pending:
                assert send(http, client, "push")
                assert send(http, client, "pull")
        for client in clients:
            assert send(http, client, "pull")
            assert client.base == clients[0].base
            assert client.last_ids[client.client] == client.made
        assert len(clients[0].base) == 1 + sum(client.made for client in clients)
