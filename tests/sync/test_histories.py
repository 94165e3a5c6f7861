"""A table that is restored, copied and forked under its clients: all end with the server's view, or are told to begin
anew; an edit of a client that was never told is in the history that is left."""

from __future__ import annotations

import random
from typing import Any

import pytest

from singletable import Meter
from singletable.documents import LocalBlobs, submission
from singletable.sync import push
from singletable.sync.client_groups import bind_clients
from singletable.sync.cookies import Cookie
from singletable.sync.pull import Puller
from tests.support.engines import fresh_async
from tests.sync.board import table
from tests.sync.histories import Items, kept, put_back
from tests.sync.simulated import Client, order_of
from tests.sync.world import World

PROJECT = "p1"
USERS = ("ada", "ben", "cyd")


class Tab(Client):
    """A tab of a browser that keeps what its server said: when it is told to begin anew it opens again on that."""

    def __init__(self, user: str) -> None:
        self.user, self.lives, self.edits = user, 0, list[str]()
        super().__init__(f"g-{user}-0", f"c-{user}-0")

    def edit(self, chance: random.Random) -> None:
        tag = f"{self.client}.{self.made + 1}"
        self.edits.append(tag)
        self.mutate("put_comment", id=tag, comment={"text": tag, "shape": None})
        if chance.random() < 0.5:
            self.mutate("rename", name=tag)

    def open_again(self) -> None:
        """A new group, with the view and the cookie of the old one, but without its last ids and its pending edits."""
        self.lives += 1
        self.group, self.client = f"g-{self.user}-{self.lives}", f"c-{self.user}-{self.lives}"
        self.last_ids, self.pending, self.made, self.lost, self.edits = {}, [], 0, False, []


class Walk:
    """Tabs, a server, and what happens to its table."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.tabs = [Tab(user) for user in USERS]
        self.backups: list[Items] = []

    async def go(self, steps: int) -> None:
        await self.world.documents.create("o1", PROJECT)
        self.backups.append(await kept(self.world.db, table.name))
        acts = [self.edit, self.push, self.pull, self.back_up, self.restore, self.fork, self.start_again]
        for act in self.chance.choices(acts, [30, 30, 30, 6, 4, 3, 4], k=steps):
            await act()
        for tab in self.tabs:
            await self.settle(tab)

    async def edit(self) -> None:
        self.chance.choice(self.tabs).edit(self.chance)

    async def push(self) -> None:
        tab = self.chance.choice(self.tabs)
        answer = await (await self.world.send("/push", tab.push(), user=tab.user)).done()
        assert answer.status == 200, answer.body
        if self.chance.random() < 0.8:
            tab.pushed(answer.json)
            self.open_again_if_told(tab)

    async def pull(self) -> None:
        tab = self.chance.choice(self.tabs)
        asked = tab.pull()
        answer = await (await self.world.send("/pull", asked, user=tab.user)).done()
        assert answer.status == 200, answer.body
        if self.chance.random() < 0.8:
            tab.pulled(asked, answer.json)
            self.open_again_if_told(tab)

    def open_again_if_told(self, tab: Tab) -> None:
        if tab.lost:
            tab.open_again()

    async def back_up(self) -> None:
        self.backups.append(await kept(self.world.db, table.name))

    async def restore(self) -> None:
        """Under the running server, which goes on with what it remembers."""
        await put_back(self.world.db, table.name, self.chance.choice(self.backups))

    async def fork(self) -> None:
        """Go on with a copy that was left some time ago, and leave this one."""
        here = await kept(self.world.db, table.name)
        await self.restore()
        self.backups.append(here)

    async def start_again(self) -> None:
        self.world = World(self.world.db, self.world.documents.context.store)

    async def settle(self, tab: Tab) -> None:
        for _ in range(8):
            for verb in (self.world.push, self.world.pull):
                assert (await verb(tab, user=tab.user)).status == 200
                self.open_again_if_told(tab)
            if not tab.pending and tab.base == await self.world.view():
                return
        raise AssertionError(f"{tab.user} does not see what the server has: {tab.cookie}")

    async def judge(self) -> None:
        view = await self.world.view()
        for tab in self.tabs:
            await self.world.pull(tab, user=tab.user)
            assert tab.view == view
            assert [tag for tag in tab.edits if f"comments/{tag}" not in view] == [], "an edit is gone, nobody was told"
        waiting = [item for item in await kept(self.world.db, table.name) if item["sk"]["S"].startswith("Inbox#")]
        assert waiting == [], "it waits for ever"
        await self.world.documents.collect_garbage(PROJECT)  # the contents of the histories that are gone
        assert await self.world.documents.check(PROJECT) == []
        assert await self.world.sync.check() == []


async def walk(seed: int, tmp_path: Any, steps: int = 120) -> Walk:
    async with fresh_async() as db:
        walked = Walk(World(db, LocalBlobs(tmp_path / str(seed))), seed)
        await walked.go(steps)
        await walked.judge()
        return walked


async def test_all_end_with_the_server_s_view_or_are_told(tmp_path: Any) -> None:
    walks = [await walk(seed, tmp_path) for seed in range(4)]
    assert sum(tab.lives for each in walks for tab in each.tabs) >= 4, "somebody was told"
    assert any(order_of(tab.cookie) > tab.cookie["version"] for each in walks for tab in each.tabs)


async def test_a_document_that_a_restore_took_away_is_created_anew(tmp_path: Any) -> None:
    """By the process that has seen it, with the bindings of its clients."""
    async with fresh_async() as db:
        world, ada = World(db, LocalBlobs(tmp_path)), Tab("ada")
        await world.documents.create("o1", "another")
        before = await kept(db, table.name)
        await world.pull(ada)
        ada.edit(random.Random(0))
        await world.push(ada)
        await put_back(db, table.name, before)
        assert (await world.push(ada)).json == {}
        assert f"comments/{ada.edits[0]}" in await world.view()
        assert (await world.pull(ada)).json == {"error": "ClientStateNotFound"}
        ada.open_again()
        await world.pull(ada)
        assert ada.view == await world.view()
        assert await world.sync.check() == []


async def test_what_a_push_and_a_pull_cost(tmp_path: Any) -> None:
    """A client's first push binds it; until that is applied its binding is read each time, and never after that."""
    async with fresh_async() as db:
        world, ada = World(db, LocalBlobs(tmp_path), processor="elsewhere"), Tab("ada")
        await world.documents.create("o1", PROJECT)
        for requests, read_units, round_trips in ((7, 6, 7), (4, 4, 3), (2, 2, 2)):
            ada.mutate("rename", name="x")
            with Meter() as meter:
                assert (await world.push(ada)).json == {}
            assert (meter.requests, meter.read_units, meter.round_trips) == (requests, read_units, round_trips)
            if requests == 4:
                await world.sync.process(PROJECT)
                await world.pull(ada)
        with Meter() as meter:
            await world.pull(ada)
        assert (meter.requests, meter.read_units, meter.round_trips) == (2, 2, 1)
        other = World(db, world.documents.context.store, processor="elsewhere")
        ben = Tab("ben")
        for server, most in ((world, 99), (other, 6), (other, 2)):
            ben.mutate("rename", name="x")
            with Meter() as meter:
                assert (await server.push(ben, user="ben")).json == {}
            assert meter.requests <= most, "another process binds it, and this one remembers that"
            if most == 6:
                await world.sync.process(PROJECT)
                await world.pull(ben, user="ben")


@pytest.mark.soak
async def test_eighty_walks(tmp_path: Any) -> None:
    for seed in range(100, 180):
        await walk(seed, tmp_path)


def _remembered(*given: Any) -> Any:
    port, keys, seen, group, owner, first_ids, recorded = given
    known = {*recorded, *filter(seen.group_of, first_ids)}
    return bind_clients(port, keys, seen, group, owner, first_ids, known)


async def _never(*_: object) -> bool:
    return False


async def _no_gaps(*_: object) -> dict[str, int]:
    return {}


FAULTS: dict[str, tuple[int, Any, str, Any]] = {
    "a version's id is not compared": (20, Cookie, "names", lambda cookie, version: cookie.version == version.number),
    "an order is the version's number": (20, Cookie, "lead", 0),
    "a binding is believed that was read before": (23, push, "bind_clients", _remembered),
    "who has followed another history gets a difference": (21, Puller, "_has_followed", _never),
    "what comes after a gap is taken": (28, submission, "first_missing", _no_gaps),
}
"""A seed whose walk finds it, and what is put in place of what."""


@pytest.mark.parametrize("name", FAULTS)
async def test_a_planted_fault_is_found(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    seed, *fault = FAULTS[name]
    monkeypatch.setattr(*fault)
    with pytest.raises(AssertionError):
        await walk(seed, tmp_path)
