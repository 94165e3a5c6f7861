"""The same handlers in AWS Lambda, which reads the shards itself and passes batches.

The event source mapping must say ReportBatchItemFailures. A failed record ends the batch: Lambda begins
again at the lowest failed sequence number, so later records are not begun.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from singletable.errors import InvalidRequest
from singletable.events import ChangeReturned
from singletable.flow import Gate, LambdaAnswer, Port
from singletable.operations import StreamRecord, read_records
from singletable.streams.consumer import Consumer
from singletable.streams.dispatch import handle_record


async def handle_event(port: Port, gate: Gate, consumer: Consumer, event: Mapping[str, Any]) -> LambdaAnswer:
    """Handle a batch in its order, up to the first record that fails. What is older than the release of the table, or
    comes while that is held, is passed over."""
    router, records = consumer.router, records_in(event)
    is_held = await gate.is_held(for_certain=True)
    with router.passing_over(math.inf if is_held else gate.opened_at, port.events) as is_old:
        for record in records:
            events = router.events_of(record)
            if not router.is_wanted(record, events) or is_old(record):
                continue
            error = await handle_record(port, consumer, record, events)
            if error is not None:
                key_hash, named = router.hash_of(record, port.events), router.name_of(record)
                failed = ChangeReturned(consumer=consumer.name, handler=named, key_hash=key_hash, error=error)
                port.events.emit(failed)
                return {"batchItemFailures": [{"itemIdentifier": record.dynamodb.sequence_number}]}
    return {"batchItemFailures": []}


def records_in(event: Mapping[str, Any]) -> list[StreamRecord]:
    """The records of a batch that AWS Lambda passes. InvalidRequest for an event of another kind."""
    try:
        return list(read_records(msgspec.json.encode(event["Records"])))
    except (LookupError, TypeError, ValueError):
        raise InvalidRequest(
            "the event does not come from DynamoDB Streams",
            operation="lambda_handler",
            hint="Let an event source mapping of the table's stream call the function.",
        ) from None
