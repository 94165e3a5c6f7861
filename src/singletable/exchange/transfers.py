"""The record of a copy or an import: its progress, so that a killed one goes on. It lies in the target table."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.exchange.items import Transfer
from singletable.exchange.stores import Store
from singletable.flow import Port, patiently
from singletable.foundation import Table, delete_if, flows, model_for
from singletable.hidden_fields import repr_without
from singletable.operations import PutItem

S = TypeVar("S", bound=Struct)
_TOKEN_BYTES: Final = 16


class _Own(Struct, frozen=True):
    """The part that stays with the user who copies."""

    state: str
    secret: bytes

    __repr__ = repr_without("secret")


class TransferRecord(Generic[S]):
    """One copy's or import's record: its state as this process wrote it last.

    With `own`, a store of this user, the state lies there with the secret, and the target has no more than its name.
    """

    def __init__(self, port: Port, table: Table, state: S, record: Any, own: Store | None, secret: bytes) -> None:
        self.port, self.table, self.state, self.record = port, table, state, record
        self.own, self.secret = own, secret
        self.was_begun = False
        """Whether an earlier run had begun it."""
        self._is_put = False

    async def write(self, state: S) -> None:
        """One write, after what it says has been written."""
        text = msgspec.json.encode(state).decode()
        self.state = state
        if self.own is not None:
            self.own.write(_path(self.record), msgspec.json.encode(_Own(text, self.secret)))
        if self.own is None or not self._is_put:
            there = "" if self.own is not None else text
            self.record = type(self.record)(transfer=self.record.transfer, token=self.record.token, state=there)
            model = model_for(self.record)
            put = PutItem(model.table.name, model.item(self.record))
            await patiently(self.port, partial(self.port.send, put))
            self._is_put = True

    async def close(self) -> None:
        await patiently(self.port, lambda: self.port.send(delete_if(model_for(self.record).key_of(self.record), None)))
        if self.own is not None:
            self.own.delete(_path(self.record))


async def open_record(
    port: Port, table: Table, what: Sequence[Any], state: S, own: Store | None = None, secret: bytes = b""
) -> TransferRecord[S]:
    """The record of what was begun before, or a new one, which is not written yet. One read.

    InvalidRequest if it was begun by another user, or elsewhere: only there is the secret known.
    """
    kind: Any = Transfer.of(table)
    digest = sha256(msgspec.json.encode(what)).hexdigest()[:24]
    stored = await flows.get(port, kind.by_id(digest).consistent())
    if stored is None:
        item = kind(transfer=digest, state="", token=secrets.token_hex(_TOKEN_BYTES))
        return TransferRecord(port, table, state, item, own, secret)
    text = stored.state
    if own is not None:
        kept = own.read(_path(stored))
        if kept is None:
            raise InvalidRequest(
                f"a copy with masks was begun there, and its key is not in {own.url}",
                table=table.name,
                operation="copy",
                hint="Go on as the user, and on the machine, that began it; or copy into an empty table.",
            )
        text, secret = (kept_state := msgspec.json.decode(kept, type=_Own)).state, kept_state.secret
    found_record = TransferRecord(port, table, msgspec.json.decode(text, type=type(state)), stored, own, secret)
    found_record.was_begun = True
    return found_record


def _path(record: Any) -> str:
    return f"{record.token}.json"
