"""What is written outside of the block that would send it raises: nothing vanishes."""

from __future__ import annotations

import asyncio  # noqa: TID251 a second task writes while the first sends
from collections.abc import Callable
from typing import Any

import pytest

from singletable import InvalidRequest, attr, key_of
from singletable.flow import Meter
from tests.support.models import User
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", age=36)
EVE = User(email="eve@example.org")
KEY = key_of(ADA)


class Signup:
    def writes(self) -> list[Any]:
        return []


WRITES: dict[str, Callable[[Any], object]] = {
    "create": lambda tx: tx.create(EVE),
    "put": lambda tx: tx.put(EVE),
    "update": lambda tx: tx.update(KEY, attr(User.age).set(37)),
    "upsert": lambda tx: tx.upsert(EVE),
    "delete": lambda tx: tx.delete(KEY),
    "check": lambda tx: tx.check(KEY),
    "add": lambda tx: tx.add(Signup()),
}


def without_a_block(shell: Shell) -> Any:
    """A transaction as the shell gives it, not yet entered."""
    return getattr(shell, "db", shell).transaction()


async def enter(tx: Any) -> None:
    await tx.__aenter__() if hasattr(tx, "__aenter__") else tx.__enter__()


async def leave(tx: Any, error: BaseException | None = None) -> None:
    kind = None if error is None else type(error)
    await tx.__aexit__(kind, error, None) if hasattr(tx, "__aexit__") else tx.__exit__(kind, error, None)


@pytest.mark.parametrize("verb", WRITES)
async def test_a_write_outside_of_its_block_raises(shell: Shell, verb: str) -> None:
    await shell.put(ADA)
    tx = without_a_block(shell)
    with pytest.raises(InvalidRequest, match="outside of its block") as caught:
        WRITES[verb](tx)
    assert (caught.value.operation, "with db.transaction()" in caught.value.hint) == ("transaction", True)
    await enter(tx)
    WRITES["update"](tx)
    await leave(tx)
    with pytest.raises(InvalidRequest, match="outside of its block"):
        WRITES[verb](tx)
    stored = await shell.all(User.by_email(ADA.email))
    assert [user.age for user in stored] == [37]


@pytest.mark.parametrize("failed", [False, True])
async def test_a_transaction_has_one_block(shell: Shell, failed: bool) -> None:
    """A second entry would send what the first has sent, or what the first was not to send."""
    tx = without_a_block(shell)
    await enter(tx)
    tx.create(ADA)
    with pytest.raises(InvalidRequest, match="a second time"):
        await enter(tx)
    await leave(tx, ValueError() if failed else None)
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="a second time"):
        await enter(tx)
    assert meter.requests == 0
    assert await shell.get(KEY) == (None if failed else ADA)


@pytest.mark.parametrize("kind", ["awaiting"], indirect=True)
async def test_a_write_while_the_transaction_is_sent_raises(shell: Shell) -> None:
    """Another task's write comes too late as soon as the block has ended."""
    tx = without_a_block(shell)
    await enter(tx)
    tx.create(ADA)
    sending = asyncio.ensure_future(leave(tx))
    await asyncio.sleep(0)
    assert not sending.done()
    with pytest.raises(InvalidRequest, match="outside of its block"):
        tx.create(EVE)
    await sending
    assert (await shell.get(KEY), await shell.get(key_of(EVE))) == (ADA, None)


async def _add(shell: Shell, value: Any) -> None:
    async with shell.transaction() as tx:
        tx.create(EVE)
        tx.add(value)


async def test_what_has_no_writes_can_not_join(shell: Shell) -> None:
    async def link() -> None:
        """As AsyncGraph(db).link(edge), which sends by itself when it is awaited."""

    forgotten = link()
    for value, named in (
        (forgotten, r"link\(\) that was not awaited"),
        (None, "None"),
        (ADA, "a User"),
        (Signup, "class"),
    ):
        with pytest.raises(InvalidRequest, match=f"tx.add takes .*{named}"):
            await _add(shell, value)
    forgotten.close()
    assert await shell.get(key_of(EVE)) is None


async def test_a_meter_that_was_never_entered_has_no_counts(shell: Shell) -> None:
    """It would show 0 requests for whatever was sent."""
    meter = shell.meter()
    await shell.put(ADA)
    for read in (lambda: meter.requests, lambda: meter.read_units, lambda: meter.by_operation):
        with pytest.raises(InvalidRequest, match="not entered"):
            read()
    assert repr(meter) == "<Meter, not entered>"
    assert not hasattr(meter, "unknown")
    with meter:
        await shell.get(KEY)
    with meter:
        await shell.get(KEY)
    assert meter.requests == 2


def test_a_meter_by_itself_is_as_one_of_a_database() -> None:
    with pytest.raises(InvalidRequest, match="not entered"):
        assert Meter().write_units
