"""DynamoDB's operations as frozen values: `request()` returns the bytes to send, `answer(response)` the result.

    GetItem("app", {"pk": {"S": "user#1"}, "sk": {"S": "user"}}, reader).request()

They know items, conditions and capacity, and no entities: a `Reader` stands for those. Begin with `answers`.
"""

from singletable.operations.answers import Item, Key, Reader, Refused, read_item, read_one
from singletable.operations.batch import MAX_BATCH_GET, MAX_BATCH_WRITE, BatchGetItem, BatchWriteItem
from singletable.operations.get import GetItem
from singletable.operations.query import Found, Query, Scan, Selection, keys_in
from singletable.operations.table import TableCall
from singletable.operations.transact import (
    MAX_ACTIONS,
    Action,
    Cancelled,
    Reason,
    TransactGetItems,
    TransactWriteItems,
)
from singletable.operations.write import CheckItem, DeleteItem, Guard, PutItem, UpdateItem

__all__ = [
    "MAX_ACTIONS",
    "MAX_BATCH_GET",
    "MAX_BATCH_WRITE",
    "Action",
    "BatchGetItem",
    "BatchWriteItem",
    "Cancelled",
    "CheckItem",
    "DeleteItem",
    "Found",
    "GetItem",
    "Guard",
    "Item",
    "Key",
    "PutItem",
    "Query",
    "Reader",
    "Reason",
    "Refused",
    "Scan",
    "Selection",
    "TableCall",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
    "keys_in",
    "read_item",
    "read_one",
]
