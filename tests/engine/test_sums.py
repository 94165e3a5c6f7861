"""Sums are exact, or refused: each number that `add` may store is one that its attribute can be read as."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any, Literal, cast

import pytest

from singletable import Entity, InvalidRequest, InvalidValue, Key, Table, attr, field
from singletable.errors import TransactionCancelled
from tests.support.raw import put_raw
from tests.support.shells import Shell

app = Table("app")


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Run(Entity, table=app, type="run"):
    id: str
    seconds: float = 0.0
    price: Decimal = Decimal(0)
    count: int = 0
    level: Level = Level.LOW
    size: Literal[1, 2] = 1
    ends: datetime | None = field(expires=True, default=None)
    free: Any = None
    text: str = ""
    notes: list[str] = field(default_factory=list[str])

    @app.key
    @staticmethod
    def of(id: str) -> Key:
        """One run."""
        return f"run#{id}", "run"


SOON = datetime(2100, 1, 1, tzinfo=timezone.utc)
NOT_ADDED: list[tuple[Any, Any, str]] = [
    (Run.seconds, 0.1, r"not exact for a float.*attribute Run.seconds.*Declare it as a Decimal"),
    (Run.level, 1, "for an int, a Decimal"),
    (Run.size, 1, "for an int, a Decimal"),
    (Run.ends, SOON, "for an int, a Decimal"),
    (Run.text, "a", "for an int, a Decimal"),
]


@pytest.mark.parametrize(("attribute", "number", "why"), NOT_ADDED)
async def test_what_has_no_exact_sum_is_not_added_to(shell: Shell, attribute: Any, number: Any, why: str) -> None:
    await shell.create(Run(id="1"))
    with shell.meter() as meter:
        for update in (attr(attribute).add(number), attr(cast(Any, attribute)).add(number)):
            with pytest.raises(InvalidRequest, match=why):
                await shell.update(Run.of("1"), update)
    assert meter.requests == 0
    assert await shell.get(Run.of("1")) == Run(id="1")


async def test_a_float_with_more_digits_is_read_everywhere(shell: Shell) -> None:
    """Another program added to it: the nearest float is read, by every read."""
    key = {"pk": {"S": "run#1"}, "sk": {"S": "run"}, "_type": {"S": "run"}, "_v": {"N": "1"}, "id": {"S": "1"}}
    digits = "0.10000000000000000555111512312578270212"
    await shell.run(put_raw(shell.port, Run, {**key, "seconds": {"N": digits}}))
    read = Run(id="1", seconds=0.1)
    assert await shell.get(Run.of("1")) == read
    assert [run async for run in shell.scan(Run)] == [read]
    assert await shell.update(Run.of("1"), attr(Run.count).add(1)) == Run(id="1", seconds=0.1, count=1)


async def test_a_sum_of_too_many_digits_is_refused_by_name(shell: Shell) -> None:
    await shell.create(Run(id="1", price=Decimal(10**37)))
    change = attr(Run.price).add(Decimal("0.1234"))
    with pytest.raises(InvalidRequest, match=r"Run\.price would have more digits"):
        await shell.update(Run.of("1"), change)
    with pytest.raises((TransactionCancelled, InvalidRequest), match=r"Run\.price would have more digits"):
        await shell.update(Run.of("1"), change, exactly_once=True)
    assert await shell.get(Run.of("1")) == Run(id="1", price=Decimal(10**37))


async def test_a_text_without_a_form_in_utf_8_is_refused_by_name(shell: Shell) -> None:
    await shell.create(Run(id="1"))
    with shell.meter() as meter:
        for run, attribute in (
            (Run(id="2", text="\udc00"), "text"),
            (Run(id="2", free={"a": [{"b": "\udc00"}]}), "free.a.b"),
            (Run(id="2", free={"\udc00": 1}), r"free.\udc00"),
            (Run(id="2", notes=["a", "\udc00"]), "notes"),
            (Run(id="2", free={"\udc00"}), "free"),
        ):
            with pytest.raises(InvalidValue, match=r"lone surrogate.*Run\.of") as caught:
                await shell.put(run)
            assert caught.value.attribute == attribute
        with pytest.raises(InvalidValue, match="lone surrogate") as caught:
            await shell.update(
                Run.of("1"), attr(Run.count).set(2), attr(Run.text).set("\udc00"), where=attr(Run.count) == 0
            )
        assert caught.value.attribute == "text"
    assert meter.requests == 0
