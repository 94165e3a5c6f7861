"""Handlers whose errors can hardly be told, or that would end a program: set aside like any other, in both shells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from singletable import NotFound
from singletable.streams import Changes, Inserted
from tests.streams.models import Note, Seen, noted
from tests.support.shells import Shell
from tests.support.workers import change_worker


class Untellable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


POISON: dict[str, tuple[Callable[[], BaseException], str]] = {
    "memory": (lambda: MemoryError("10**15"), "MemoryError: 10**15"),
    "exit": (lambda: SystemExit(3), "SystemExit: 3"),
    "surrogate": (lambda: ValueError("half \ud800"), "ValueError: half \\ud800"),
    "untellable": (Untellable, "Untellable: its message can't be shown: it raised RuntimeError"),
    "long": (lambda: ValueError("x" * 10**6), "ValueError: " + "x" * 1985 + "..."),
    "recursion": (lambda: RecursionError("deep"), "RecursionError: deep"),
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("poison", POISON)
async def test_it_becomes_a_dead_letter_others_go_on(kind: str, shell: Shell, poison: str, is_async: bool) -> None:
    make, text = POISON[poison]
    changes, seen = Changes(noted), Seen()

    def plain(change: Inserted[Note]) -> None:
        if change.new.id == "bad":
            raise make()
        seen(change)

    async def later(change: Inserted[Note]) -> None:
        plain(change)

    if is_async and kind == "blocking":
        pytest.skip("the blocking shell runs no async handlers")
    changes.on(Note).inserted(later if is_async else plain)
    for id in ("before", "bad", "after"):
        await shell.create(Note(id=id))
    await change_worker(shell, changes).drain(tries=2, backoff_seconds=0.001)
    assert sorted(seen.told) == ["Inserted note after", "Inserted note before"]
    (aside,) = await change_worker(shell, changes).dead_letters()
    assert (aside.tries, aside.error) == (2, text)
    await change_worker(shell, changes).drain()
    assert [one.sequence for one in await change_worker(shell, changes).dead_letters()] == [aside.sequence]


@pytest.mark.parametrize("poison", POISON)
async def test_retry_raises_it_and_keeps_the_change(shell: Shell, poison: str) -> None:
    make, _ = POISON[poison]
    changes, cured = Changes(noted), list[bool]()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        if not cured:
            raise make()

    await shell.create(Note(id="bad"))
    await change_worker(shell, changes).drain(tries=1)
    (aside,) = await change_worker(shell, changes).dead_letters()
    with pytest.raises(type(make())):
        await change_worker(shell, changes).retry(aside)
    assert await change_worker(shell, changes).dead_letters() == [aside]
    cured.append(True)
    await change_worker(shell, changes).retry(aside)
    assert await change_worker(shell, changes).check() == []


async def test_a_dead_letter_is_dropped_once(shell: Shell) -> None:
    changes, told = Changes(noted), list[str]()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        told.append(change.new.id)
        raise ValueError

    for id in ("bad", "worse"):
        await shell.create(Note(id=id))
    worker = change_worker(shell, changes)
    await worker.drain(tries=1)
    first, second = await worker.dead_letters()
    told.clear()
    await worker.drop(first)
    assert (await worker.dead_letters(), told) == ([second], [])
    for verb in ("drop", "retry"):
        with pytest.raises(NotFound) as gone:
            await getattr(worker, verb)(first)
        assert gone.value.operation == verb
    await worker.drop(second)
    assert await worker.check() == []


@pytest.mark.parametrize("poison", POISON)
async def test_lambda_reports_the_record(shell: Shell, poison: str) -> None:
    make, _ = POISON[poison]
    changes = Changes(noted)

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        raise make()

    image: dict[str, Any] = {"pk": {"S": "note#1"}, "sk": {"S": "note"}, "_type": {"S": "note"}, "_v": {"N": "1"}}
    images = {"Keys": {name: image[name] for name in ("pk", "sk")}, "NewImage": {**image, "id": {"S": "1"}}}
    record = {"eventName": "INSERT", "dynamodb": {**images, "SequenceNumber": "111"}}
    answer = await change_worker(shell, changes).lambda_handler()({"Records": [record]}, None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "111"}]}
