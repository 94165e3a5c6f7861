"""A transaction as a block of a shell."""

from __future__ import annotations

from types import TracebackType

from singletable.flow import Port
from singletable.records.commit import commit
from singletable.records.transactions import Transaction


class AwaitingTransaction(Transaction):
    """A transaction of the awaiting shell."""

    def __init__(self, port: Port) -> None:
        super().__init__(in_block=True)
        self._port = port

    async def __aenter__(self) -> AwaitingTransaction:
        self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._end()
        if error is None:
            await commit(self._port, self.pending)
