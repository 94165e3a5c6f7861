"""Sync in the storm: simulated Replicache clients, each with what a browser keeps when its server is killed."""

from __future__ import annotations

import asyncio  # noqa: TID251
import os
import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from singletable import AsyncDatabase, Database, SingletableError, connect_async
from singletable.documents import Documents, LocalBlobs
from singletable.sync import Limits
from tests.storm.journal import say, told
from tests.storm.life import Life
from tests.support.findings import but_garbage
from tests.sync.board import Project, table
from tests.sync.simulated import Client
from tests.sync.world import World

LIMITS = Limits(requests_per_second=1e6, burst=1_000_000)
LENGTH = 40
"""Mutations of a client on one board; then all go on with the next."""
CLIENTS = 2
GROUP = "browser"
_PATIENCE = 500


class Boards:
    """A browser with some tabs, and a server. The tabs' state is on disk before anything is sent."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.runner = asyncio.Runner()
        port, target = life.awaiting_port()
        self.world = World(AsyncDatabase(port, target), LocalBlobs(Path(life.folder) / "boards"), limits=LIMITS)
        self.file = Path(life.folder) / f"tabs-{life.client}"
        self.board, self.tabs = self._load()

    def close(self) -> None:
        self.runner.run(self.world.db.close())
        self.runner.close()

    def step(self) -> None:
        self.runner.run(self._step())

    async def _step(self) -> None:
        chance = self.life.chance
        tab = chance.choice(self.tabs)
        if tab.made < LENGTH and chance.random() < 0.6:
            self._mutate(tab)
        elif all(tab.made >= LENGTH for tab in self.tabs):
            await self._finish()
            return
        await (self._push(tab) if chance.random() < 0.5 else self._pull(tab))

    def _mutate(self, tab: Client) -> None:
        number = self.life.chance.randint(0, 9)
        shape = {"kind": "rect", "x": tab.made, "y": number, "text": "x" * self.life.chance.choice([0, 10, 1000])}
        verbs: list[tuple[str, dict[str, Any]]] = [
            ("put_shape", {"id": f"s{number}", "shape": shape}),
            ("move_shape", {"id": f"s{number}", "x": number, "y": tab.made}),
            ("delete_shape", {"id": f"s{number}"}),
            ("rename", {"name": f"{tab.client} {tab.made}"}),
            ("explode", {}),
        ]
        ((verb, args),) = self.life.chance.choices(verbs, [30, 30, 10, 10, 3])
        tab.mutate(verb, **args)
        self._save()
        say(say="mutated", place=f"{self.board} {tab.client} {tab.made}", status="sent")

    async def _push(self, tab: Client) -> None:
        answer = await self.world.send("/push", tab.push(), project=self.board)
        is_heard = self.life.chance.random() > 0.1
        if answer.status == 200 and is_heard:
            tab.pushed(answer.json)
        assert answer.status in (200, 503), answer.body
        await _finished(answer.task)
        self._save()

    async def _pull(self, tab: Client) -> None:
        asked = tab.pull()
        answer = await self.world.send("/pull", asked, project=self.board)
        assert answer.status in (200, 503), answer.body
        if answer.status == 200 and self.life.chance.random() > 0.1:
            tab.pulled(asked, answer.json)
        await _finished(answer.task)
        assert not tab.lost, "the server forgot a client"
        self._save()

    async def _finish(self) -> None:
        """All have said all; everybody sees the same. The next board begins."""
        for tab in self.tabs:
            for _ in range(_PATIENCE):
                if not tab.pending:
                    break
                await self._push(tab)
                await self._pull(tab)
            assert not tab.pending, f"{tab.client}: mutations are pending for ever"
        (Path(self.life.folder) / f"done-{self.board}").write_bytes(pickle.dumps(self.tabs))
        self.board, self.tabs = self._fresh(int(self.board.rpartition("-")[2]) + 1)
        self._save()

    def _fresh(self, number: int) -> tuple[str, list[Client]]:
        board = f"{self.life.client}-{number}"
        return board, [Client(f"{board}-{GROUP}", f"{board}-tab{n}") for n in range(CLIENTS)]

    def _load(self) -> tuple[str, list[Client]]:
        if self.file.exists():
            kept: tuple[str, list[Client]] = pickle.loads(self.file.read_bytes())
            return kept
        return self._fresh(0)

    def _save(self) -> None:
        draft = self.file.with_suffix(".draft")
        draft.write_bytes(pickle.dumps((self.board, self.tabs)))
        os.replace(draft, self.file)


async def _finished(task: asyncio.Task[None]) -> None:
    """What goes on after a reply may fail: the inbox keeps what was pushed."""
    (result,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(result, BaseException) and not isinstance(result, SingletableError):
        raise result


# --- afterwards ---------------------------------------------------------------------------------------------------
def judge(db: Database, target: str, folder: str) -> Iterator[str]:
    """Of each finished board: every mutation once, in its client's order, and what the tabs saw is a version of it."""
    yield from asyncio.run(_findings(target, folder))
    docs = Documents(db, Project, blobs=LocalBlobs(Path(folder) / "boards"))
    for file in sorted(Path(folder).glob("done-*")):
        board, tabs = file.name.removeprefix("done-"), pickle.loads(file.read_bytes())
        docs.process(board)
        yield from _judge_board(docs, board, tabs)
        yield from (f"{board}: {told(finding)}" for finding in but_garbage(docs.check(board)))
    yield from (told(finding) for finding in db.check(table))


async def _findings(target: str, folder: str) -> list[str]:
    async with connect_async(target) as db:
        return [told(finding) for finding in await World(db, LocalBlobs(Path(folder) / "boards")).sync.check()]


def _judge_board(docs: Documents[Project], board: str, tabs: list[Client]) -> Iterator[str]:
    head = docs.head(board, collections=[])
    found = docs.history(board, limit=head.version + 1)
    applied = [(m.client, m.id, m.name, m.rejected) for v in reversed(found.items) for m in v.mutations]
    if Counter(client for client, *_ in applied) != {tab.client: LENGTH for tab in tabs}:
        yield f"{board}: {len(applied)} mutations were applied or rejected, {LENGTH * len(tabs)} were sent"
    for tab in tabs:
        if [id for client, id, *_ in applied if client == tab.client] != list(range(1, LENGTH + 1)):
            yield f"{board}: the mutations of {tab.client} are not in their order"
    for client, id, name, rejected in applied:
        if rejected != (name == "explode") and not _found_no_memory(docs, board, client, id):
            yield f"{board}: {name} {id} of {client} was {'rejected' if rejected else 'applied'}"
    last = max(tabs, key=lambda tab: tab.version)
    if last.version == head.version and last.base != _view(docs, board):
        yield f"{board}: {last.client} does not see the newest version"


def _found_no_memory(docs: Documents[Project], board: str, client: str, id: int) -> bool:
    """Whether a mutation was rejected in a process with a limit, and is said to be."""
    (outcome,) = docs.outcomes(board, [(client, id)])
    return outcome is not None and (outcome.error or "").startswith("MemoryError")


def _view(docs: Documents[Project], board: str) -> dict[str, Any]:
    head = docs.head(board)
    found: dict[str, Any] = {"project": {"name": head.name, "description": head.description}}
    found |= {f"shapes/{id}": vars(shape) for id, shape in head.shapes.all().items()}
    found |= {f"comments/{id}": vars(comment) for id, comment in head.comments.all().items()}
    return found
