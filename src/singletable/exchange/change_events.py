"""Following a table by AWS Lambda: what it passes goes to the log, and now and then into the data."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from singletable.exchange.change_log import Batch, logged, write_batch
from singletable.exchange.compaction import compact
from singletable.exchange.datasets import Dataset
from singletable.exchange.manifest import find_manifest
from singletable.exchange.stores import Store
from singletable.flow.lambda_handler import LambdaAnswer
from singletable.flow.port import Port
from singletable.foundation import Table
from singletable.streams.lambda_handler import records_in, stream_in

_log = logging.getLogger("singletable.exchange")


async def log_event(
    port: Port,
    table: Table,
    store: Store,
    datasets: Sequence[Dataset],
    event: Mapping[str, Any],
    compact_seconds: float,
) -> LambdaAnswer:
    """Write a batch of Lambda's to the log. Whatever raises, Lambda sends the batch again, and it is the same file."""
    stream, records = stream_in(event), records_in(event)
    batch = Batch(stream, [logged(table, record) for record in records])
    write_batch(store, f"{records[0].sequence}-{records[-1].sequence}", batch)
    manifest = find_manifest(store)
    if manifest is not None and port.now() - manifest.written_at.timestamp() >= compact_seconds:
        if changed := manifest.changed(datasets):
            _log.warning(
                "%s declared otherwise than in the export of %s: changes wait in the log until a catch_up() scans it",
                ", ".join(changed),
                table.name,
            )
        else:
            compact(port, table, store, datasets)
    return {"batchItemFailures": []}
