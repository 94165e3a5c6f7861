"""DynamoDB's operations as frozen values: `request()` returns the bytes to send, `answer(response)` the result.

    GetItem("app", {"pk": {"S": "user#1"}, "sk": {"S": "user"}}, reader).request()

They know items, conditions and capacity, and no entities: a `Reader` stands for those. Begin with `answers`.
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.operations.answers import (
    NOTHING,
    RAW,
    Item,
    Key,
    Reader,
    Refused,
    applied,
    encode,
    is_too_large,
    met_by,
    read_item,
    read_one,
)
from singletable.operations.batch import MAX_BATCH_GET, MAX_BATCH_WRITE, BatchGetItem, BatchWriteItem
from singletable.operations.get import GetItem
from singletable.operations.limits import check_item
from singletable.operations.query import Found, Query, Scan, Selection, keys_in
from singletable.operations.table import TableCall
from singletable.operations.transact import MAX_ACTIONS, Action, Cancelled, Reason, TransactGetItems, TransactWriteItems
from singletable.operations.write import CheckItem, DeleteItem, Guard, PutItem, UpdateItem

if TYPE_CHECKING:
    from singletable.operations.queue import (
        MAX_BATCH_MESSAGE_BYTES,
        MAX_BATCH_MESSAGES,
        MAX_DELAY_SECONDS,
        MAX_VISIBILITY_SECONDS,
        MAX_WAIT_SECONDS,
        ChangeMessageVisibility,
        DeleteMessageBatch,
        Depth,
        Entry,
        GetQueueAttributes,
        Received,
        ReceiveMessage,
        SendMessageBatch,
    )
    from singletable.operations.stream import (
        DescribeStream,
        EventName,
        GetRecords,
        GetShardIterator,
        Records,
        Shard,
        StreamRecord,
        read_records,
    )

__all__ = [
    "MAX_ACTIONS",
    "MAX_BATCH_GET",
    "MAX_BATCH_MESSAGES",
    "MAX_BATCH_MESSAGE_BYTES",
    "MAX_BATCH_WRITE",
    "MAX_DELAY_SECONDS",
    "MAX_VISIBILITY_SECONDS",
    "MAX_WAIT_SECONDS",
    "NOTHING",
    "RAW",
    "Action",
    "BatchGetItem",
    "BatchWriteItem",
    "Cancelled",
    "ChangeMessageVisibility",
    "CheckItem",
    "DeleteItem",
    "DeleteMessageBatch",
    "Depth",
    "DescribeStream",
    "Entry",
    "EventName",
    "Found",
    "GetItem",
    "GetQueueAttributes",
    "GetRecords",
    "GetShardIterator",
    "Guard",
    "Item",
    "Key",
    "PutItem",
    "Query",
    "Reader",
    "Reason",
    "ReceiveMessage",
    "Received",
    "Records",
    "Refused",
    "Scan",
    "Selection",
    "SendMessageBatch",
    "Shard",
    "StreamRecord",
    "TableCall",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
    "applied",
    "check_item",
    "encode",
    "is_too_large",
    "keys_in",
    "met_by",
    "read_item",
    "read_one",
    "read_records",
]

# Operations of queues and of streams: only a program that uses them imports them.
__getattr__ = late_names(
    __name__,
    queue=(
        "ChangeMessageVisibility DeleteMessageBatch Depth Entry GetQueueAttributes"
        " MAX_BATCH_MESSAGES MAX_BATCH_MESSAGE_BYTES MAX_DELAY_SECONDS MAX_VISIBILITY_SECONDS MAX_WAIT_SECONDS"
        " ReceiveMessage Received SendMessageBatch"
    ),
    stream="DescribeStream EventName GetRecords GetShardIterator Records Shard StreamRecord read_records",
)
