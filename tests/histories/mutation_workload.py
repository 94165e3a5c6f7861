"""Clients that push numbered mutations and pull, servers and processors that apply them; each notes what it saw.

A client keeps what the server has not confirmed, and pushes all of it again. Its answers get lost, its pushes arrive a
second time, later; servers are killed while they store, apply or answer. Several servers and processors, which know
nothing of each other, apply what was pushed to the same document.
"""

from __future__ import annotations

import random
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from singletable import OutcomeUnknown, Table, Unavailable
from singletable.documents import AsyncDocuments, Document, Draft, Items
from singletable.documents.flows import next_version
from singletable.errors import Conflict
from singletable.flow.port import Port
from singletable.sync.client_groups import Bindings, ClientGroupOwner as GroupOwner, bind_group, group_keys
from singletable.sync.protocol import Clear, Delete, Pull, Pulled, Push, Pushed as PushedMutation
from singletable.sync.pull import Puller
from singletable.sync.push import Pusher, PushResult
from tests.faults.rules import Faults
from tests.histories.history import NEVER, Status
from tests.histories.mutation_history import (
    DocumentHistory,
    Made,
    Name,
    Pulled as SeenPull,
    Pushed as SeenPush,
    Settled,
    State,
    fold,
)
from tests.histories.simulation import Killed, Scheduler, Turn

sheets = Table("sheets")
CELLS = "stuvwxyz"
PASSING = (Unavailable, OutcomeUnknown, Conflict)
SESSION = 2_500
"""Operations on a document; then its clients settle, and go on to the next."""
MOST_VERSIONS = 30
"""A client that is further behind gets the whole document."""


@dataclass(frozen=True)
class Cell:
    writer: str
    pad: str = ""


class Sheet(Document, table=sheets):
    count: int = 0
    digest: str = ""
    cells: Items[Cell]


@Sheet.mutation
def write(draft: Draft[Sheet], *, tag: str, cell: str, pad: str = "") -> None:
    draft.count += 1
    draft.digest = fold(draft.digest, tag)
    draft.cells[cell] = Cell(tag, pad)


@Sheet.mutation
def refuse(draft: Draft[Sheet], *, tag: str) -> None:
    """Changes everything, and is rejected."""
    draft.count += 1
    draft.digest = fold(draft.digest, tag)
    draft.cells["s"] = Cell(tag)
    raise ValueError("always")


@dataclass
class World:
    """What all processes of one run share."""

    scheduler: Scheduler
    faults: Faults
    chance: random.Random
    operations: int
    """Of all together: mutations that are made, those that are applied, pushes and pulls."""
    documents: AsyncDocuments[Sheet]
    servers: list[Server] = field(default_factory=list["Server"])
    histories: dict[str, DocumentHistory] = field(default_factory=dict[str, DocumentHistory])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    left: int = 0
    """Clients that are not done."""
    patience: int = 400
    may_lose: bool = False
    """Nothing is said of a client that runs out of patience."""

    @property
    def moment(self) -> int:
        return self.scheduler.moment

    def names(self) -> list[str]:
        """The documents of the run, in the order in which they are used."""
        return [f"p{number}" for number in range(-(-self.operations // SESSION))]

    def count(self, document: str) -> None:
        self.counts[document] = self.counts.get(document, 0) + 1

    def goes_on(self, document: str) -> bool:
        done = sum(self.counts.values())
        return self.counts.get(document, 0) < SESSION and done < self.operations


class Server:
    """One process that serves clients, and applies what they pushed."""

    def __init__(self, world: World, port: Port) -> None:
        context, keys = world.documents.context, group_keys(sheets)
        self.world, self.port, self.context, self.keys = world, port, context, keys
        self.seen = Bindings()
        self._pusher = Pusher(context, keys, self.seen)
        self._puller = Puller(context, keys, self.seen, MOST_VERSIONS)
        self._applying: set[str] = set()

    async def push(self, user: str, document: str, push: Push) -> bool:
        """Whether all of it is stored."""
        pushed = await self._pusher.push(self.port, user, document, push)
        assert pushed.refusal is None or self.world.may_lose, "every client owns its group"
        return pushed == PushResult()

    async def pull(self, user: str, document: str, pull: Pull) -> Pulled | None:
        owner = GroupOwner(user, self.context.model.words.document, document)
        assert await bind_group(self.port, self.keys, self.seen, pull.group, owner)
        start = await self._puller.read_start(self.port, document)
        answer = await self._puller.pull(self.port, pull, start.head)
        assert isinstance(answer, Pulled) or self.world.may_lose, "there is one history"
        return answer if isinstance(answer, Pulled) else None

    async def apply(self, document: str) -> None:
        """Make versions until nothing is left, unless this process is about it already."""
        if document in self._applying:
            return
        self._applying.add(document)
        try:
            while await self._next_version(document):
                await Turn()
        except PASSING:
            return
        finally:
            self._applying.discard(document)

    async def _next_version(self, document: str) -> bool:
        world, began = self.world, self.world.moment
        done = await next_version(self.port, self.context, document)
        for each in done:
            world.count(document)
            name, rejected = Name(each.client, each.id), each.status == "rejected"
            world.histories[document].outcomes.append(Settled(name, began, world.moment, each.version, rejected))
        return bool(done)


async def processor(world: World, port: Port) -> None:
    """A process that applies what was pushed to any document, until all clients are done."""
    server = Server(world, port)
    while world.left:
        for document in [name for name in world.histories if world.counts.get(name)][-2:]:
            await server.apply(document)
        await world.scheduler.sleep(2 + world.chance.random() * 4)
        await Turn()


class Client:
    """A tab of a browser: its mutations that are not confirmed, and its view of the document."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number

    async def live(self) -> None:
        for document in self.world.names():
            await self._session(document)
        self.world.left -= 1

    async def _session(self, document: str) -> None:
        world, chance = self.world, self.world.chance
        self.document, self.history = document, world.histories[document]
        self.group = f"g{self.number // 2}-{document}"  # of two tabs
        self.client, self.user = f"c{self.number}", f"u{self.number // 2}"
        self.client = f"{self.client}-{document}"
        self.made, self.stored = 0, 0
        self.pending: list[PushedMutation] = []
        self.cookie: Any = None
        self.values: dict[str, Any] = {}
        self.last_ids: dict[str, int] = {}
        while world.goes_on(document):
            verbs = [self._make, self._push_new, self._push, self._pull, self._push_late]
            await chance.choices(verbs, (40, 30, 5, 20, 5))[0]()
            await Turn()
        await self._settle()

    async def _settle(self) -> None:
        """Until all of its mutations are confirmed."""
        world = self.world
        for tried in range(world.patience):
            if not self.pending:
                return
            await (self._push() if tried % 8 == 7 else self._push_new())
            await world.scheduler.sleep(1 + world.chance.random())
            await self._pull()
        assert world.may_lose, f"mutations of {self.client} are pending for ever"

    # --- verbs --------------------------------------------------------------------------------------------------------
    async def _make(self) -> None:
        """A few mutations, not sent so far."""
        for _ in range(self.world.chance.randint(1, 8)):
            self.world.count(self.document)
            self.made += 1
            self.pending.append(self._mutation(self.made))

    def _mutation(self, number: int) -> PushedMutation:
        chance, tag = self.world.chance, str(Name(self.client, number))
        if chance.random() < 0.05:
            return PushedMutation(self.client, number, "refuse", {"tag": tag})
        pad = "large" * 200 if chance.random() < 0.05 else ""
        return PushedMutation(self.client, number, "write", {"tag": tag, "cell": chance.choice(CELLS), "pad": pad})

    async def _push_new(self) -> None:
        """What no server has acknowledged."""
        await self._push(self.stored)

    async def _push(self, after: int = 0) -> None:
        """All that is pending, stored or not."""
        mutations = [each for each in self.pending if each.id > after][:40]
        if not mutations:
            return
        self.world.count(self.document)
        for each in mutations:
            made = Made(self.world.moment, each.args.get("cell"))
            self.history.made.setdefault(Name(each.client, each.id), made)
        await self._send(mutations)

    async def _send(self, mutations: Sequence[PushedMutation]) -> None:
        world, began = self.world, self.world.moment
        names = tuple(Name(each.client, each.id) for each in mutations)
        server = world.chance.choice(world.servers)
        is_stored = await self._asked(server.push(self.user, self.document, Push(self.group, "1", mutations)))
        if is_stored:
            self.stored = max(self.stored, names[-1].id)
            self.history.pushes.append(SeenPush(names, began, world.moment, Status.DONE))
            if world.chance.random() < 0.5:
                world.scheduler.start(self._apply(server))
        else:
            self.history.pushes.append(SeenPush(names, began, NEVER, Status.UNKNOWN))

    async def _apply(self, server: Server) -> None:
        """What a server does after its answer: it may be killed in it."""
        await self._asked(server.apply(self.document))

    async def _push_late(self) -> None:
        """What was sent before arrives a second time, some time later."""
        sent = [each for each in self.pending if Name(each.client, each.id) in self.history.made]
        if sent:
            self.world.scheduler.start(self._late(sent))

    async def _late(self, mutations: Sequence[PushedMutation]) -> None:
        server, delay = self.world.chance.choice(self.world.servers), self.world.chance.random() * 20
        await self.world.scheduler.sleep(delay)
        await self._asked(server.push(self.user, self.document, Push(self.group, "1", mutations)))

    async def _pull(self) -> None:
        world, began = self.world, self.world.moment
        world.count(self.document)
        pull = Pull(self.group, "1", self.cookie)
        answer = await self._asked(world.chance.choice(world.servers).pull(self.user, self.document, pull))
        if answer is None:
            return
        version = self._take(answer)
        self.history.pulls.append(
            SeenPull(self.client, began, world.moment, version, self._state(), dict(self.last_ids))
        )
        confirmed = self.last_ids.get(self.client, 0)
        self.pending = [each for each in self.pending if each.id > confirmed]

    def _take(self, answer: Pulled) -> int:
        """The version that the client has then."""
        for operation in answer.patch:
            if isinstance(operation, Clear):
                self.values.clear()
            elif isinstance(operation, Delete):
                del self.values[operation.key]
            else:
                self.values[operation.key] = msgspec.json.decode(operation.value)
        self.cookie = msgspec.to_builtins(answer.cookie)
        self.last_ids |= answer.last_ids
        return answer.cookie.version

    def _state(self) -> State:
        scalars = self.values.get("sheet", {"count": 0, "digest": ""})
        cells = {key.removeprefix("cells/"): cell["writer"] for key, cell in self.values.items() if "/" in key}
        return State(scalars["count"], scalars["digest"], cells)

    async def _asked(self, request: Coroutine[Any, Any, Any]) -> Any:
        """The answer of a server; None where it is lost, or the server is killed, or says that it can't now."""
        world = self.world
        world.faults.forget()  # it keeps each request that passed
        job = world.scheduler.start(request)
        if world.chance.random() < 0.08:
            job.left = world.chance.randint(1, 60)
        try:
            answer = await world.scheduler.result_of(job)
        except (Killed, *PASSING):
            return None
        return None if world.chance.random() < 0.08 else answer
