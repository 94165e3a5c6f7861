"""A bad mutation is rejected by itself: its number is used up, and its client and its project go on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from singletable.errors import Throttled, Unavailable
from singletable.sync import Access
from tests.sync.simulated import Client
from tests.sync.world import World

NESTED = b'{"id": ' + b"[" * 200 + b"]" * 200 + b"}"
POISON = {
    "a name that no mutation can have": b'"name": "$nonsense", "args": {}',
    "no name": b'"args": {}',
    "a name that is not a text": b'"name": 7, "args": {}',
    "half a character in the name": b'"name": "\\ud800", "args": {}',
    "a name of the library's own": b'"name": "$nameless", "args": {}',
    "too long a name": b'"name": "' + b"n" * 5000 + b'", "args": {}',
    "no arguments": b'"name": "rename"',
    "null": b'"name": "rename", "args": null',
    "a list": b'"name": "rename", "args": ["x"]',
    "a number for a text": b'"name": "rename", "args": {"name": 7}',
    "a missing argument": b'"name": "move_shape", "args": {"id": "s"}',
    "another one's name of a flaw": b'"name": "rename", "args": {"$flaw": "x"}',
    "a type in place of a value": b'"name": "rename", "args": {"name": {"S": "x"}}',
    "a name twice": b'"name": "rename", "args": {"name": "a", "name": "b"}',
    "not a number": b'"name": "move_shape", "args": {"id": "s", "x": NaN, "y": 1}',
    "beyond all numbers": b'"name": "move_shape", "args": {"id": "s", "x": 1e999, "y": 1}',
    "too many digits": b'"name": "move_shape", "args": {"id": "s", "x": ' + b"9" * 6000 + b', "y": 1}',
    "beyond 64 bits": b'"name": "move_shape", "args": {"id": 99999999999999999999, "x": 1, "y": 1}',
    "half a character": b'"name": "rename", "args": {"name": "\\ud800"}',
    "too deep": b'"name": "put_shape", "args": ' + NESTED,
    "too large": b'"name": "rename", "args": {"name": "' + b"x" * 1_100_000 + b'"}',
    "a scalar over its limit": b'"name": "rename", "args": {"name": "' + b"x" * 2_000 + b'"}',
    "a blob of somebody's": b'"name": "put_shape", "args": {"id": "s", "shape": {"$blob": "shapes/'
    + b"0" * 64
    + b'"}}',
    "an item without an id": b'"name": "put_comment", "args": {"id": "", "comment": {"text": "x"}}',
    "too long an id": b'"name": "put_comment", "args": {"id": "' + b"i" * 2_000 + b'", "comment": {"text": "x"}}',
    "one that raises": b'"name": "explode", "args": {}',
}
REASONS = {
    "no name": "its name is not a text of 1 to",
    "too long a name": "its name is not a text of 1 to",
    "a name twice": "an object with a duplicate name",
    "not a number": "NaN or Infinity",
    "too many digits": "a number with too many digits",
    "too large": "its arguments are refused: over 1048576 bytes",
    "a blob of somebody's": "its arguments name a blob",
}
"""What was refused before it was stored is told, as the arguments are not kept."""


@pytest.mark.parametrize("name", POISON)
async def test_poison_holds_nothing_up(world: World, name: str) -> None:
    poison = POISON[name]
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("rename", name="before")
    ada.mutate("explode")
    ada.mutate("put_comment", id="after", comment={"text": "x", "shape": None})
    body = json.dumps(ada.push()).encode()
    plain = json.dumps({"name": "explode", "args": {}}).encode()[1:-1]
    assert plain in body
    answer = await (await world.send("/push", body.replace(plain, poison))).done()
    assert (answer.status, answer.json) == (200, {})
    ben.mutate("put_comment", id="ben's", comment={"text": "x", "shape": None})
    await world.push(ben, user="ben")
    await world.pull(ada)
    assert ada.pending == []
    assert ada.base["project"]["name"] == "before"
    assert {"comments/after", "comments/ben's"} < ada.base.keys()
    first, second, third = await world.documents.outcomes("p1", [("ca", 1), ("ca", 2), ("ca", 3)])
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.status, second.status, third.status) == ("applied", "rejected", "applied")
    assert second.error
    assert REASONS.get(name, "") in second.error
    assert len(second.error) <= 500


class Broken(World):
    """Its authorise fails for what it has been told to."""

    failing: Exception | None = None

    async def authorise(self, user: str, project: str, access: Access) -> bool:
        if self.failing is not None and not access.is_read:
            raise self.failing
        return await super().authorise(user, project, access)


@pytest.mark.parametrize("fault", [Unavailable("away"), Throttled("slow"), ConnectionError("away"), TimeoutError()])
async def test_what_cant_be_decided_is_not_decided(world: World, fault: Exception) -> None:
    """Where the application can't say who may, the mutation stays in the inbox, and is applied later."""
    broken = Broken(world.db, world.documents.context.store)
    broken.failing = fault
    ada = Client("ga", "ca")
    ada.mutate("rename", name="Plan")
    pushed = await broken.send("/push", ada.push())
    assert (pushed.status, pushed.json) == (200, {}), "it is durable"
    await pushed.done()
    assert await world.documents.last_ids("p1", ["ca"]) == {"ca": 0}
    broken.failing = None
    await broken.pull(ada)
    assert (ada.pending, ada.base["project"]["name"]) == ([], "Plan")


async def test_who_could_not_be_asked_is_said(world: World) -> None:
    broken = Broken(world.db, world.documents.context.store)
    broken.failing = ConnectionError("away")
    ada = Client("ga", "ca")
    ada.mutate("rename", name="Plan")
    await broken.push(ada)
    with pytest.raises(Unavailable, match="authorise failed: ConnectionError") as raised:
        await broken.sync.process("p1")
    assert raised.value.operation == "rename"
    assert raised.value.hint == "The mutation was neither applied nor rejected; it stays in the inbox."


async def test_an_authorise_that_breaks_says_no(world: World, caplog: pytest.LogCaptureFixture) -> None:
    broken = Broken(world.db, world.documents.context.store)
    broken.failing = KeyError("an argument that it expected")
    ada = Client("ga", "ca")
    ada.mutate("rename", name="Plan")
    await broken.push(ada)
    await broken.pull(ada)
    assert (ada.pending, ada.base["project"]["name"]) == ([], "")
    told = [record for record in caplog.records if record.name == "singletable.sync"]
    assert [record.exc_info and record.exc_info[1] for record in told] == [broken.failing], "no other record has it"


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_the_application_may_answer_at_once_or_later(world: World, kind: str) -> None:
    def plain(user: str, project: str, access: Access) -> bool:
        return access.mutation != "rename"

    async def later(user: str, project: str, access: Access) -> bool:
        return plain(user, project, access)

    said: Any = plain if kind == "plain" else later
    chosen = World(world.db, world.documents.context.store)
    chosen.sync = type(chosen.sync)(
        chosen.documents, authenticate=lambda request: "ada", authorise=said, create=lambda user, project: "o1"
    )
    chosen.app = chosen.sync.asgi()
    ada = Client("ga", "ca")
    ada.mutate("rename", name="no")
    ada.mutate("put_comment", id="c", comment={"text": "yes", "shape": None})
    await chosen.push(ada)
    await chosen.pull(ada)
    assert (ada.base["project"]["name"], "comments/c" in ada.base) == ("", True)
