"""Every verb that writes, as a step from one state of a few items to another: for faults at each of its requests.

A step starts from what `prepare` has written. Whatever goes wrong, the items are then as they were or as the step makes
them, once; and only a step that `may_be_unknown` may say that it does not know which.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from singletable import attr
from singletable.operations import MAX_BATCH_WRITE, batch_write
from tests.rules.models import Counted, Named, Passing, Plain, Session, Sought, shop
from tests.support.raw import all_items
from tests.support.shells import Shell

State = dict[str, dict[str, Any]]
LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)
MANY = [Plain(id=f"m{n:02}", count=n) for n in range(40)]


@dataclass(frozen=True)
class Step:
    """A verb in one of its forms."""

    name: str
    run: Callable[[Shell], Awaitable[Any]]
    may_be_unknown: bool = False
    """It may answer OutcomeUnknown: it is not repeated, and nothing on the item tells whose write it was."""
    is_atomic: bool = True
    """False: each of its items by itself is as it was or as it is to be."""


async def prepare(shell: Shell) -> None:
    """What every step starts from."""
    async with shell.transaction() as tx:
        tx.put(Plain(id="1", text="a", count=3, tags=["x"], phone="12"))
        tx.create(Counted(id="1"))
        tx.create(Named(id="1", email="a@x", nick="ada"))
        tx.create(Named(id="2", email="b@x"))
        tx.create(Passing(id="1", text="kept"))
        tx.create(Session(id="1", token="t1"))
        tx.create(Sought(id="1", text="ada king"))


async def state(shell: Shell) -> State:
    """Every item, without what differs from run to run."""
    found = await all_items(shell.port, shop.name)
    own = shop.definition.write_id_attribute
    kept = [{name: value for name, value in item.items() if name != own} for item in found]
    return {f"{item['pk']['S']} {item['sk']['S']}": _sorted(item) for item in kept}


async def wipe(shell: Shell) -> None:
    """An empty table again."""
    keys = [{"pk": item["pk"], "sk": item["sk"]} for item in await all_items(shell.port, shop.name)]
    for at in range(0, len(keys), MAX_BATCH_WRITE):
        await shell.run(shell.port.send(batch_write(shop.name, [], keys[at : at + MAX_BATCH_WRITE])))


def _sorted(item: dict[str, Any]) -> dict[str, Any]:
    return {name: {"SS": sorted(value["SS"])} if "SS" in value else value for name, value in item.items()}


async def _mixed(shell: Shell) -> None:
    async with shell.transaction() as tx:
        tx.create(Plain(id="2"))
        tx.put(Plain(id="3"))
        tx.update(Plain.by_id("1"), attr(Plain.count).add(1), attr(Plain.tags).append("y"))
        tx.upsert(Counted(id="1", text="up"))
        tx.delete(Passing.by_id("1"))
        tx.check(Session.by_id("1"), where=attr(Session.token) == "t1")


async def _swap(shell: Shell) -> None:
    async with shell.transaction() as tx:
        tx.update(Named.by_id("1"), attr(Named.email).set("b@x"))
        tx.update(Named.by_id("2"), attr(Named.email).set("a@x"))


PLAIN, COUNTED, NAMED, SOUGHT = Plain.by_id("1"), Counted.by_id("1"), Named.by_id("1"), Sought.by_id("1")
STEPS: tuple[Step, ...] = (
    Step("create", lambda s: s.create(Plain(id="2", text="b"))),
    Step("create-counted", lambda s: s.create(Counted(id="2"))),
    Step("create-unique", lambda s: s.create(Named(id="3", email="c@x", nick="cy"))),
    Step("put", lambda s: s.put(Plain(id="1", text="b"))),
    Step("put-where", lambda s: s.put(Plain(id="1", text="b"), where=attr(Plain.count) == 3), may_be_unknown=True),
    Step("put-counted", lambda s: s.put(Counted(id="1", text="b", revision=1))),
    Step("put-unique", lambda s: s.put(Named(id="1", email="c@x"))),
    Step("put-session", lambda s: s.put(Session(id="1", token="t2", revision=1))),
    Step("update-set", lambda s: s.update(PLAIN, attr(Plain.count).set(9))),
    Step("update-set-where", lambda s: s.update(PLAIN, attr(Plain.count).set(9), where=attr(Plain.count) == 3), True),
    Step("update-set-key", lambda s: s.update(PLAIN, attr(Plain.phone).set("34"))),
    Step("update-include", lambda s: s.update(PLAIN, attr(Plain.groups).include({"g"}))),
    Step("update-add", lambda s: s.update(PLAIN, attr(Plain.count).add(1)), may_be_unknown=True),
    Step("update-append", lambda s: s.update(PLAIN, attr(Plain.tags).append("y")), may_be_unknown=True),
    Step("update-add-once", lambda s: s.update(PLAIN, attr(Plain.count).add(1), exactly_once=True)),
    Step("update-counted", lambda s: s.update(COUNTED, attr(Counted.text).set("b"), expected=1)),
    Step("update-counted-add", lambda s: s.update(COUNTED, attr(Counted.count).add(1)), may_be_unknown=True),
    Step("update-unique", lambda s: s.update(NAMED, attr(Named.email).set("c@x"), attr(Named.count).add(1))),
    Step("create-sought", lambda s: s.create(Sought(id="2", text="ada bea"))),
    Step("put-sought", lambda s: s.put(Sought(id="1", text="king cleo"))),
    Step("update-sought", lambda s: s.update(SOUGHT, attr(Sought.group).set("b"), attr(Sought.count).add(1))),
    Step("upsert-sought", lambda s: s.upsert(Sought(id="1", text="bea"))),
    Step("delete-sought", lambda s: s.delete(SOUGHT)),
    Step("upsert-new", lambda s: s.upsert(Plain(id="2", text="b"))),
    Step("upsert-there", lambda s: s.upsert(Plain(id="1", text="b"))),
    Step("upsert-counted", lambda s: s.upsert(Counted(id="1", text="b"))),
    Step("upsert-unique", lambda s: s.upsert(Named(id="1", email="c@x"))),
    Step("upsert-updates-new", lambda s: s.upsert(Plain(id="2"), attr(Plain.count).add(1)), may_be_unknown=True),
    Step("upsert-updates", lambda s: s.upsert(Plain(id="1"), attr(Plain.count).add(1)), may_be_unknown=True),
    Step("upsert-updates-once", lambda s: s.upsert(Plain(id="1"), attr(Plain.count).add(1), exactly_once=True)),
    Step("update-expiry", lambda s: s.update(Passing.by_id("1"), attr(Passing.ends).set(LONG_AGO)), True),
    Step("update-expiry-counted", lambda s: s.update(Session.by_id("1"), attr(Session.ends).set(LONG_AGO))),
    Step("delete", lambda s: s.delete(PLAIN)),
    Step("delete-where", lambda s: s.delete(PLAIN, where=attr(Plain.count) == 3)),
    Step("delete-counted", lambda s: s.delete(COUNTED, expected=1)),
    Step("delete-unique", lambda s: s.delete(NAMED)),
    Step("write_many", lambda s: s.write_many(puts=MANY, deletes=[PLAIN]), is_atomic=False),
    Step("transaction", _mixed),
    Step("transaction-swap", _swap),
)
