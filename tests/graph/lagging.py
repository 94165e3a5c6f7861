"""Indexes that follow their table when they are told to, each row for itself, and for as long as a test likes never.

DynamoDB promises no bound for the time that a global index is behind. Here a query or a scan of an index is answered
from the rows that it had when it last caught up: it hides new edges, and shows old ones that were changed or are gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from singletable import Database
from singletable.flow import Traits
from singletable.wire import RetryPolicy
from tests.faults.actions import Action
from tests.faults.carrying import Carrier
from tests.faults.clock import Clock
from tests.faults.history import Ask
from tests.faults.messages import Call, Outcome, Reply
from tests.faults.opening import CURSOR_KEY, PATIENT, make
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults
from tests.graph.models import records
from tests.support.raw import all_items

BEHIND = Traits(creates_tables=True, scan_page_limit=1000, segments_shift=True, index_lag_seconds=3.0)
"""As of an engine whose indexes may be behind."""
_INDEXES = tuple(records.definition.indexes)
_Key = tuple[str, str, str]


class LaggingCarrier(Carrier):
    """What stands between a caller and an engine, with its own idea of what the indexes hold."""

    def __init__(self, faults: Faults, engine: Database) -> None:
        super().__init__(faults)
        self._engine = engine
        self._rows: dict[_Key, dict[str, Any]] = {}

    def catch_up(self, is_told: Callable[[], bool] = lambda: True) -> None:
        """The rows that are told to become as the table is now; the others stay as they are."""
        items = self._engine.run(all_items(self._engine.port, records.name))
        now = {
            (index, item["source"]["S"], item["target"]["S"]): item
            for item in items
            for index in _INDEXES
            if index in item
        }
        for key in sorted({*now, *self._rows}):
            if not is_told():
                continue
            if key in now:
                self._rows[key] = now[key]
            else:
                del self._rows[key]

    async def _act(self, call: Call, action: Action | None, ask: Ask) -> Outcome:
        if action is None and call.operation in ("Query", "Scan") and "IndexName" in call.json:
            return self._answer(call)
        return await super()._act(call, action, ask)

    def _answer(self, call: Call) -> Reply:
        index = call.json["IndexName"]
        rows = [row for (of, _, _), row in sorted(self._rows.items()) if of == index]
        if call.operation == "Query":
            assert re.fullmatch("#0 = :0", call.json["KeyConditionExpression"]), "only whole partitions are asked for"
            wanted = call.json["ExpressionAttributeValues"][":0"]
            rows = [row for row in rows if row["target"] == wanted]
        rows.sort(key=lambda row: (row["target"]["S"], row[index]["S"]))
        return Reply.of({"Items": rows, "Count": len(rows), "ScannedCount": len(rows)})


@contextmanager
def lagging(engine: Database, url: str, faults: Faults) -> Iterator[tuple[FaultProxy, LaggingCarrier]]:
    """A proxy before an engine whose indexes stand still, beginning with what is there."""
    with FaultProxy(url, faults) as proxy:
        proxy.carrier = carrier = LaggingCarrier(faults, engine)
        carrier.catch_up()
        yield proxy, carrier


def behind(url: str, clock: Clock, retry: RetryPolicy = RetryPolicy()) -> Database:  # noqa: B008 frozen
    """A database that knows that the indexes may be behind; its waits take no time. The caller closes it."""
    shell: Any = make("blocking", url, clock, retry, PATIENT, 0, (CURSOR_KEY,))
    db: Database = shell.db
    db.port.traits = BEHIND
    db.port.ready.add(records.name)
    return db
