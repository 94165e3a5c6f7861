"""DynamoDB's operations as frozen values: `request()` returns the bytes to send, `answer(response)` the result.

    GetItem("app", {"pk": {"S": "user#1"}, "sk": {"S": "user"}}, reader).request()

They know items, conditions and capacity, and no entities: a `ItemReader` stands for those. Begin with `answers`.
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.operations.answers import (
    NOTHING as NOTHING,
    RAW as RAW,
    Item as Item,
    ItemReader as ItemReader,
    Key as Key,
    RefusedWrite as RefusedWrite,
    applied as applied,
    encode as encode,
    met_by as met_by,
    read_item as read_item,
    read_one as read_one,
    why_too_large as why_too_large,
)
from singletable.operations.limits import MAX_BATCH_GET as MAX_BATCH_GET, check_item as check_item
from singletable.operations.read import (
    AnswerPage as AnswerPage,
    GetItem as GetItem,
    Query as Query,
    Scan as Scan,
    Selection as Selection,
    keys_in as keys_in,
)
from singletable.operations.write import (
    CONTEXT_ATTRIBUTE as CONTEXT_ATTRIBUTE,
    CheckItem as CheckItem,
    DeleteItem as DeleteItem,
    PutItem as PutItem,
    RawCondition as RawCondition,
    TransactAction as TransactAction,
    UpdateItem as UpdateItem,
)

if TYPE_CHECKING:
    from singletable.operations.batch import (
        MAX_BATCH_WRITE as MAX_BATCH_WRITE,
        BatchGetItem as BatchGetItem,
        BatchWriteItem as BatchWriteItem,
        batch_write as batch_write,
        delete_request as delete_request,
        place_of as place_of,
        put_request as put_request,
    )
    from singletable.operations.queue import (
        MAX_BATCH_MESSAGE_BYTES as MAX_BATCH_MESSAGE_BYTES,
        MAX_BATCH_MESSAGES as MAX_BATCH_MESSAGES,
        MAX_DELAY_SECONDS as MAX_DELAY_SECONDS,
        MAX_VISIBILITY_SECONDS as MAX_VISIBILITY_SECONDS,
        MAX_WAIT_SECONDS as MAX_WAIT_SECONDS,
        ChangeMessageVisibility as ChangeMessageVisibility,
        DeleteMessageBatch as DeleteMessageBatch,
        Depth as Depth,
        GetQueueAttributes as GetQueueAttributes,
        MessageAttribute as MessageAttribute,
        QueueEntry as QueueEntry,
        Received as Received,
        ReceiveMessage as ReceiveMessage,
        SendMessageBatch as SendMessageBatch,
    )
    from singletable.operations.statement import (
        MAX_STATEMENTS as MAX_STATEMENTS,
        BatchExecuteStatement as BatchExecuteStatement,
        ExecuteStatement as ExecuteStatement,
        ExecuteTransaction as ExecuteTransaction,
        StatementOutcome as StatementOutcome,
        StatementPage as StatementPage,
        StatementText as StatementText,
    )
    from singletable.operations.stream import (
        DescribeStream as DescribeStream,
        EventName as EventName,
        GetRecords as GetRecords,
        GetShardIterator as GetShardIterator,
        Records as Records,
        Shard as Shard,
        StreamRecord as StreamRecord,
        is_there as is_there,
        read_records as read_records,
    )
    from singletable.operations.table import TableCall as TableCall, in_account as in_account
    from singletable.operations.transact import (
        MAX_ACTIONS as MAX_ACTIONS,
        Reason as Reason,
        ReasonedCancellation as ReasonedCancellation,
        TransactGetItems as TransactGetItems,
        TransactWriteItems as TransactWriteItems,
    )

# Operations of tables, of queues and of streams, statements, batches and transactions: who uses them imports them.
__getattr__ = late_names(
    __name__,
    batch="BatchGetItem BatchWriteItem MAX_BATCH_WRITE batch_write delete_request place_of put_request",
    queue=(
        "ChangeMessageVisibility DeleteMessageBatch Depth MessageAttribute QueueEntry GetQueueAttributes"
        " MAX_BATCH_MESSAGES MAX_BATCH_MESSAGE_BYTES MAX_DELAY_SECONDS MAX_VISIBILITY_SECONDS MAX_WAIT_SECONDS"
        " ReceiveMessage Received SendMessageBatch"
    ),
    statement=(
        "BatchExecuteStatement ExecuteStatement ExecuteTransaction MAX_STATEMENTS StatementText StatementOutcome"
        " StatementPage"
    ),
    stream="DescribeStream EventName GetRecords GetShardIterator Records Shard StreamRecord is_there read_records",
    table="TableCall in_account",
    transact="MAX_ACTIONS Reason ReasonedCancellation TransactGetItems TransactWriteItems",
)
