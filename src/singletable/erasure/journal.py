"""The record of an erasure: who began it, what is done, what is under way. Nothing in it names the subject.

Its key is random. While the erasure goes on, the record has a salted digest of the subject's key, by which a second
call finds what it has to go on with, and digests of the items that are being deleted, so that each is counted once,
whenever the process is killed. At the end both go.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b, scrypt
from hmac import compare_digest
from typing import Any, Final

from singletable.erasure.items import ErasureRecord
from singletable.expressions import Condition, Given, Stored
from singletable.flow import Port, instant
from singletable.foundation import Belonging, Table, flows, model_for, put_if
from singletable.migrations import ApplyRefused
from singletable.operations import RefusedWrite
from singletable.values import changed

BATCH: Final = 48
"""Items between two writes of the record."""
_ID_BYTES: Final = 12
_SALT_BYTES: Final = 16


class Journal:
    """One erasure's record, as this process wrote it last."""

    def __init__(self, port: Port, table: Table, record: Any) -> None:
        self.port, self.table, self.record = port, table, record

    @property
    def is_stored(self) -> bool:
        """Whether it was written; a new one is, with its first batch."""
        return bool(self.record.writes)

    async def resumed(self, belongings: Iterable[Belonging]) -> None:
        """Count what an earlier run deleted and could not count: what it was at, and is there no more."""
        there = {self._digest(each) for each in belongings}
        for name, digests in self.record.doing.items():
            does, _, kind = name.partition(" ")
            self._count(does, kind, sum(digest not in there for digest in digests))
        await self._write(doing={}, runs=self.record.runs + 1)

    async def begin(self, batch: Sequence[Belonging]) -> None:
        """Write down what is deleted next. One write."""
        doing: dict[str, list[str]] = {}
        for each in batch:
            doing.setdefault(f"{each.does} {each.kind}", []).append(self._digest(each))
        again = dict.fromkeys([*self.record.again, *(each.again for each in batch if each.again)])
        await self._write(doing=doing, again=list(again))

    def end(self, batch: Sequence[Belonging], done: Sequence[bool]) -> None:
        """Count what was deleted. It is written down with the next batch."""
        for each, is_done in zip(batch, done, strict=True):
            self._count(each.does, each.kind, int(is_done))
        gone = {each.again for each, is_done in zip(batch, done, strict=True) if is_done}
        self.record = changed(self.record, doing={}, again=[text for text in self.record.again if text not in gone])

    async def close(self) -> None:
        """Write down the end, and remove all that could identify the subject. One write."""
        await self._write(doing={}, again=[], salt=None, digest=None, ended_at=at(self.port.now()))

    def _count(self, does: str, kind: str, number: int) -> None:
        name = "deleted" if does == "delete" else "cleared"
        counts: dict[str, int] = dict(getattr(self.record, name))
        if number:
            counts[kind] = counts.get(kind, 0) + number
            self.record = changed(self.record, **{name: counts})

    def _digest(self, each: Belonging) -> str:
        text = "\0".join((each.does, each.kind, *each.place)).encode()
        return blake2b(text, key=self.record.salt, digest_size=8).hexdigest()

    async def _write(self, **changes: Any) -> None:
        """ApplyRefused if another process has written it since."""
        after = changed(self.record, writes=self.record.writes + 1, **changes)
        if self.is_stored:
            held = Condition("=", (Stored("writes"), Given({"N": str(self.record.writes)})))
        else:
            held = Condition("attribute_not_exists", (Stored("erasure"),))
        model = model_for(after)
        try:
            await self.port.send(put_if(model.key_of(after), model.item(after), held))
        except RefusedWrite:
            if not await self._is_written(after):
                raise _lost(self.table) from None
        self.record = after

    async def _is_written(self, after: Any) -> bool:
        """Whether the refused write had happened before: its answer was lost, and it was repeated."""
        stored = await flows.get(self.port, model_for(after).key_of(after).consistent())
        return bool(stored == after)


async def open_journal(port: Port, table: Table, pattern: str, text: str, by: str) -> Journal:
    """The record of this subject's erasure that has not ended, or a new one, which is written with its first batch.

    A query of the table's records of erasures, which are small and few.
    """
    kind = ErasureRecord.of(table)
    for record in await flows.read_all(port, kind.by_id().consistent()):
        if record.digest is not None and compare_digest(record.digest, _digest_of(text, record.salt)):
            return Journal(port, table, record)
    salt = secrets.token_bytes(_SALT_BYTES)
    record = kind(
        erasure=secrets.token_hex(_ID_BYTES),
        pattern=pattern,
        by=by,
        started_at=at(port.now()),
        salt=salt,
        digest=_digest_of(text, salt),
        runs=1,
    )
    return Journal(port, table, record)


def at(now: float) -> datetime:
    return instant(int(now))


def _digest_of(text: str, salt: bytes) -> bytes:
    """Slow to try: an address is easily guessed."""
    return scrypt(text.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)


def _lost(table: Table) -> ApplyRefused:
    return ApplyRefused(
        "another process has gone on with this erasure",
        reason="lease lost",
        table=table.name,
        hint="Call it again where the other one has ended: it goes on, or finds nothing more.",
    )
