"""Who may only read can store nothing, and nobody can make a project slow for the others by what can't be applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from singletable import Meter, Table
from singletable.documents import Bounds, Document, Draft, LocalBlobs
from singletable.sync import Access
from tests.support.engines import fresh_async
from tests.support.findings import but_garbage
from tests.support.raw import all_items
from tests.sync.simulated import Client
from tests.sync.world import World


def push(client: str, *mutations: tuple[int, dict[str, Any]], name: str = "rename") -> dict[str, Any]:
    made = [{"clientID": client, "id": id, "name": name, "args": args, "timestamp": 1} for id, args in mutations]
    return {"pushVersion": 1, "clientGroupID": f"g{client}", "profileID": "p", "schemaVersion": "1", "mutations": made}


class Readers(World):
    """Everybody may read; only ada may write."""

    async def authorise(self, user: str, project: str, access: Access) -> bool:
        return access.is_read or user == "ada"


async def inbox_of(world: World) -> list[str]:
    items: Any = await world.db.run(all_items(world.db.port, world.documents.context.model.table.name))
    return [item["sk"]["S"] for item in items if item["sk"]["S"].startswith("Inbox#")]


async def test_a_reader_stores_nothing_and_costs_no_other_client(tmp_path: Path) -> None:
    async with fresh_async() as db:
        world = Readers(db, LocalBlobs(tmp_path))
        ada = Client("ga", "ca")

        async def costs() -> float:
            ada.mutate("rename", name="x")
            with Meter() as meter:
                await world.push(ada)
                await world.pull(ada)
            assert ada.pending == []
            return meter.read_units + meter.write_units

        await costs()
        before = await costs()
        first = await (await world.send("/push", push("m", (1, {"name": "x"})), user="mallory")).done()
        assert first.status == 200
        for start in range(3, 1003, 200):
            body = push("m", *((start + n, {"junk": "x" * 3000}) for n in range(200)))
            answer = await (await world.send("/push", body, user="mallory")).done()
            assert answer.json == {"error": "ClientStateNotFound"}
        blobs = push("m", *((n, {"junk": "y" * 3000}) for n in range(2, 10)))
        assert (await (await world.send("/push", blobs, user="mallory")).done()).status == 200
        assert await inbox_of(world) == []
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        (outcome,) = await world.documents.outcomes("p1", [("m", 2)])
        assert outcome is not None
        assert (outcome.status, "not allowed to do this" in (outcome.error or "")) == ("rejected", True)
        assert await costs() <= before + 1
        assert but_garbage(await world.documents.check("p1")) == []


async def test_nothing_is_taken_of_a_push_with_a_missing_id(world: World) -> None:
    await world.push(Client("ga", "ca"))
    body = push("c", *((n, {"name": str(n)}) for n in (1, 2, 4, 5)))
    answer = await (await world.send("/push", body)).done()
    assert (answer.status, answer.json) == (200, {"error": "ClientStateNotFound"})
    assert await inbox_of(world) == []
    again = push("c", *((n, {"name": str(n)}) for n in range(1, 6)))
    assert (await (await world.send("/push", again)).done()).status == 200
    assert await world.documents.last_ids("p1", ["c"]) == {"c": 5}
    assert (await world.documents.head("p1")).name == "5"


class Narrow(Document, table=Table("sync-narrow"), bounds=Bounds(ahead=2)):
    name: str = ""


@Narrow.mutation(name="rename")
def rename_it(draft: Draft[Narrow], *, name: str) -> None:
    draft.name = name


async def test_what_is_too_far_ahead_waits_with_its_client(tmp_path: Path) -> None:
    async with fresh_async() as db:
        world = World(db, LocalBlobs(tmp_path), kind=Narrow, processor="elsewhere")
        body = push("c", *((n, {"name": str(n)}) for n in range(1, 5)))
        for done in (2, 4):
            answer = await (await world.send("/push", body)).done()
            assert (answer.status, answer.headers.get("retry-after")) == ((503, "1") if done == 2 else (200, None))
            await world.sync.process("p1")
            assert await world.documents.last_ids("p1", ["c"]) == {"c": done}


async def test_pushes_that_go_on_from_what_waits_leave_no_gap(world: World) -> None:
    """Where another process applies what was pushed, and is slow."""
    waiting = World(world.db, world.documents.context.store, processor="elsewhere")
    for number in range(1, 6):
        answer = await (await waiting.send("/push", push("c", (number, {"name": str(number)})))).done()
        assert answer.status == 200
    assert await world.documents.last_ids("p1", ["c"]) == {"c": 0}
    await waiting.sync.process("p1")
    assert await world.documents.last_ids("p1", ["c"]) == {"c": 5}


@pytest.mark.parametrize("name", ["rename", "later"])
async def test_what_a_reader_pushes_is_rejected_at_once(world: World, name: str) -> None:
    """Also under a name that another version of the program may know."""
    readers = Readers(world.db, world.documents.context.store)
    await (await readers.send("/push", push("m", (1, {"name": "x"}), name=name), user="mallory")).done()
    assert await world.documents.last_ids("p1", ["m"]) == {"m": 1}


async def test_what_waits_for_a_newer_program_is_bounded(world: World) -> None:
    body = push("c", *((n, {}) for n in range(1, 201)), name="later")
    assert (await (await world.send("/push", body)).done()).status == 200
    more = push("c", *((n, {}) for n in range(201, 401)), name="later")
    assert (await (await world.send("/push", more)).done()).status == 200
    over = push("d", (1, {}), name="later")
    assert (await (await world.send("/push", over)).done()).status == 503
    ada = Client("ga", "ca")
    ada.mutate("rename", name="x")
    await world.push(ada)
    await world.pull(ada)
    assert (ada.pending, ada.base["project"]["name"]) == ([], "x")
