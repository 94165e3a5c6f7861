"""The record of a copy or an import in its target table: how far it has come, so that a killed one goes on."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from singletable.flow.patience import patiently
from singletable.flow.port import Port
from singletable.foundation import Table, delete_if, flows, model_for, transfers_of
from singletable.operations import PutItem

S = TypeVar("S", bound=Struct)
_TOKEN_BYTES: Final = 16


class TransferRecord(Generic[S]):
    """One copy's or import's record: its state as this process wrote it last."""

    def __init__(self, port: Port, table: Table, state: S, record: Any) -> None:
        self.port, self.table, self.state, self.record = port, table, state, record
        self.was_begun = False
        """Whether an earlier run had begun it."""

    async def write(self, state: S) -> None:
        """One write, after what it says has been written."""
        text = msgspec.json.encode(state).decode()
        changed = {"state": text, "transfer": self.record.transfer, "token": self.record.token}
        self.record = type(self.record)(**changed, mask=self.record.mask)
        self.state = state
        put = PutItem(self.table.name, model_for(self.record).item(self.record))
        await patiently(self.port, partial(self.port.send, put))

    async def close(self) -> None:
        await patiently(self.port, lambda: self.port.send(delete_if(model_for(self.record).key_of(self.record), None)))


async def open_record(port: Port, table: Table, what: Sequence[Any], state: S) -> TransferRecord[S]:
    """The record of what was begun before, or a new one, which is not written yet. One read."""
    kind: Any = transfers_of(table)
    digest = sha256(msgspec.json.encode(what)).hexdigest()[:24]
    stored = await flows.get(port, kind.by_id(digest).consistent())
    if stored is None:
        made = kind(transfer=digest, state="", token=secrets.token_hex(_TOKEN_BYTES))
        return TransferRecord(port, table, state, made)
    found = TransferRecord(port, table, msgspec.json.decode(stored.state, type=type(state)), stored)
    found.was_begun = True
    return found
