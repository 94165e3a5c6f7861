"""Updates of items of an older schema version: brought up to date under their old version, then changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable import Entity, InvalidRequest, Key, NotUnique, Table, attr, field
from singletable.operations import DeleteItem, RawCondition as PlainGuard
from singletable.operations.answers import RAW
from tests.faults.actions import ApplyThenCut
from tests.faults.opening import findings, opened_at
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell

archive = Table("archive")


class Letter(Entity, table=archive, type="letter", version=2):
    id: str
    number: str = field(unique=True)
    pages: int = 0
    revision: int = field(version=True, default=0)

    @archive.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"letter#{id}", "letter"


@Letter.upcast(1)
def pages_were_text(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "pages": int(item["pages"])}


KEY = Letter.by_id("1")
OLD = {
    "pk": {"S": "letter#1"},
    "sk": {"S": "letter"},
    "_type": {"S": "letter"},
    "_v": {"N": "1"},
    "id": {"S": "1"},
    "number": {"S": "A"},
    "pages": {"S": "10"},
    "revision": {"N": "4"},
}
GUARD = {
    "pk": {"S": "_unique#letter#number#A"},
    "sk": {"S": "_unique"},
    "_type": {"S": "_unique"},
    "_v": {"N": "1"},
    "owner": {"S": "letter#1"},
    "owner_sort": {"S": "letter"},
}


@pytest.fixture
async def shell(kind: str, proxy: FaultProxy, faults: Faults) -> AsyncIterator[Shell]:
    async with opened_at(kind, proxy.url, tables=(archive,)) as made:
        await put_raw(made.port, Letter, OLD)
        await put_raw(made.port, Letter, GUARD)
        assert await findings(made, archive) == []
        faults.forget()
        yield made
        assert await findings(made, archive) == []


@pytest.mark.parametrize("once", [False, True])
async def test_a_quiet_update(shell: Shell, once: bool) -> None:
    changed = await shell.update(KEY, attr(Letter.pages).add(1), exactly_once=once)
    assert (changed.pages, changed.revision, changed.number) == (11, 5, "A")
    after = await stored(shell.port, KEY)
    assert after is not None
    assert (after["_v"], after["pages"]) == ({"N": "2"}, {"N": "11"})


async def test_an_update_of_a_unique_value(shell: Shell) -> None:
    changed = await shell.update(KEY, attr(Letter.number).set("B"))
    assert (changed.pages, changed.revision, changed.number) == (10, 5, "B")
    await shell.create(Letter(id="2", number="A"))
    with pytest.raises(NotUnique):
        await shell.update(KEY, attr(Letter.number).set("A"))


async def test_every_request_may_be_lost(shell: Shell, faults: Faults) -> None:
    for n in range(1, 8):
        await put_raw(shell.port, Letter, OLD)
        faults.clear()
        faults.add(Rule(Match(nth=n), ApplyThenCut()))
        changed = await shell.update(KEY, attr(Letter.pages).add(1), exactly_once=True)
        faults.clear()
        assert (changed.pages, changed.revision) == (11, 5)


async def test_by_entity_and_in_a_transaction(shell: Shell) -> None:
    letter = await shell.get(KEY)
    assert letter is not None
    async with shell.transaction() as tx:
        tx.update(letter, attr(Letter.pages).set(12))
        tx.create(Letter(id="2", number="B"))
    assert await shell.get(KEY) == Letter(id="1", number="A", pages=12, revision=5)


@pytest.mark.parametrize("written", [{"pages": {"S": "20"}}, {"note": {"S": "seen"}}, {"number": {"S": "C"}}])
async def test_what_an_older_program_writes_meanwhile_is_kept(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, written: dict[str, Any]
) -> None:
    """It writes between the read of the older form and its upgrade, and the version of the item stays the older one."""
    send, sent = shell.port.send, list[Any]()

    async def send_later(operation: Any) -> Any:
        sent.append(operation)
        if len(sent) == 2:
            await put_raw(shell.port, Letter, {**OLD, **written})
            if "number" in written:
                await put_raw(shell.port, Letter, {**GUARD, "pk": {"S": "_unique#letter#number#C"}})
                await send(DeleteItem("archive", {name: GUARD[name] for name in ("pk", "sk")}, PlainGuard(), RAW))
        return await send(operation)

    monkeypatch.setattr(shell.port, "send", send_later)
    await shell.update(KEY, attr(Letter.pages).add(1))
    monkeypatch.undo()
    after = await stored(shell.port, KEY)
    assert after is not None
    expected = {**OLD, **written, "_v": {"N": "2"}, "revision": {"N": "5"}}
    assert {n: v for n, v in after.items() if n != "_w"} == {
        **expected,
        "pages": {"N": str(int(expected["pages"]["S"]) + 1)},
    }


async def test_an_item_of_too_many_attributes_is_put_whole(shell: Shell) -> None:
    """An upgrade compares each attribute, and a condition takes 300 operators."""
    await put_raw(shell.port, Letter, {**OLD, **{f"more{n}": {"N": "1"} for n in range(145)}})
    with pytest.raises(InvalidRequest, match="each is compared"):
        await shell.update(KEY, attr(Letter.pages).add(1))
    letter = await shell.get(KEY)
    assert letter is not None
    await shell.put(letter)
    assert (await shell.update(KEY, attr(Letter.pages).add(1))).pages == 11
    await put_raw(shell.port, Letter, {**OLD, **{f"more{n}": {"N": "1"} for n in range(142)}})
    assert (await shell.update(KEY, attr(Letter.pages).add(1))).pages == 11
