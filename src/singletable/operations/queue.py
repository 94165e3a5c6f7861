"""SQS: messages sent, received and deleted, up to 10 a request.

A send whose answer was lost is sent again, so a message may arrive twice; a queue with `.fifo` in its name drops the
second within five minutes, by its deduplication id.
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Operations.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest, NotConfigured
from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations.answers import NOTHING, encode
from singletable.wire import Fault, read_fault

MAX_BATCH_MESSAGES = 10
MAX_BATCH_MESSAGE_BYTES = 1_048_576
"""The limit for one message, and for all messages of a request."""
MAX_DELAY_SECONDS = 900
MAX_VISIBILITY_SECONDS = 43_200
MAX_WAIT_SECONDS = 20
_READ = ["ApproximateReceiveCount", "MessageGroupId", "MessageDeduplicationId", "SentTimestamp"]
_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
"""The attributes that make up a queue's depth, in the order of `Depth`."""


class MessageAttribute(Struct, frozen=True, rename="pascal"):
    """A text beside the body of a message."""

    string_value: str = ""
    data_type: str = "String"


class QueueEntry(Struct, frozen=True, rename="pascal", omit_defaults=True):
    """One message of a batch; `id` is its number within the request."""

    id: str
    message_body: str
    delay_seconds: int = 0
    message_group_id: str = ""
    message_deduplication_id: str = ""
    message_attributes: dict[str, MessageAttribute] = {}

    @property
    def size(self) -> int:
        """The bytes that count for the limits."""
        beside = ((name, value.string_value, value.data_type) for name, value in self.message_attributes.items())
        return len(self.message_body.encode()) + sum(len(text.encode()) for texts in beside for text in texts)


class Received(Struct, frozen=True, rename="pascal"):
    """One message as it was received. `receipt_handle` is good for this receipt only."""

    message_id: str
    receipt_handle: str
    body: str
    attributes: dict[str, str] = {}
    message_attributes: dict[str, MessageAttribute] = {}


class RefusedEntry(Struct, frozen=True, rename="pascal"):
    """One entry of a batch that was not done."""

    id: str
    code: str = ""
    sender_fault: bool = False


class SendMessageBatch(Struct, frozen=True):
    """Up to 10 messages, each by itself; returns the refusals."""

    url: str
    entries: Sequence[QueueEntry]

    def request(self, names: TableNames = DECLARED) -> Request:
        return _request("SendMessageBatch", {"QueueUrl": self.url, "Entries": self.entries}, self.url)

    def answer(self, response: Response) -> tuple[list[RefusedEntry], Consumed]:
        return _decoded(response, _Batch, "SendMessageBatch", self.url).failed, NOTHING

    def facts(self, value: object) -> OperationFacts:
        return OperationFacts(items=len(self.entries))


class ReceiveMessage(Struct, frozen=True):
    """Up to 10 messages, waiting for the first. They are invisible to others for `visibility_seconds`."""

    url: str
    limit: int
    wait_seconds: int
    visibility_seconds: int
    attribute_names: Sequence[str] = ()
    """The message attributes that are asked for."""

    def request(self, names: TableNames = DECLARED) -> Request:
        body: dict[str, Any] = {
            "QueueUrl": self.url,
            "MaxNumberOfMessages": self.limit,
            "WaitTimeSeconds": self.wait_seconds,
            "VisibilityTimeout": self.visibility_seconds,
            "MessageSystemAttributeNames": _READ,
        }
        if self.attribute_names:
            body["MessageAttributeNames"] = self.attribute_names
        return _request("ReceiveMessage", body, self.url)

    def answer(self, response: Response) -> tuple[list[Received], Consumed]:
        return _decoded(response, _Messages, "ReceiveMessage", self.url).messages, NOTHING

    def facts(self, value: list[Received] | None) -> OperationFacts:
        return OperationFacts(items=len(value or ()))


class DeleteMessageBatch(Struct, frozen=True):
    """Take up to 10 received messages out of the queue, by their receipts; returns the refusals."""

    url: str
    receipts: Sequence[str]

    def request(self, names: TableNames = DECLARED) -> Request:
        entries = [{"Id": str(n), "ReceiptHandle": receipt} for n, receipt in enumerate(self.receipts)]
        return _request("DeleteMessageBatch", {"QueueUrl": self.url, "Entries": entries}, self.url)

    def answer(self, response: Response) -> tuple[list[RefusedEntry], Consumed]:
        return _decoded(response, _Batch, "DeleteMessageBatch", self.url).failed, NOTHING

    def facts(self, value: object) -> OperationFacts:
        return OperationFacts(items=len(self.receipts))


class ChangeMessageVisibility(Struct, frozen=True):
    """Make a received message visible again after `seconds` from now; False if its receipt has expired."""

    url: str
    receipt: str
    seconds: int

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"QueueUrl": self.url, "ReceiptHandle": self.receipt, "VisibilityTimeout": self.seconds}
        return _request("ChangeMessageVisibility", body, self.url, answers_nothing=True)

    def answer(self, response: Response) -> tuple[bool, Consumed]:
        if response.status != 200:
            fault = read_fault(response.body) or Fault("UnreadableAnswer")
            if _code(fault) in ("MessageNotInflight", "ReceiptHandleIsInvalid", "InvalidParameterValue"):
                return False, NOTHING
            _raise(fault, "ChangeMessageVisibility", self.url)
        return True, NOTHING


class Depth(Struct, frozen=True):
    """The approximate number of messages in a queue."""

    waiting: int
    in_flight: int
    """Received, and not deleted yet."""
    delayed: int


class GetQueueAttributes(Struct, frozen=True):
    """The depth of a queue."""

    url: str

    def request(self, names: TableNames = DECLARED) -> Request:
        return _request("GetQueueAttributes", {"QueueUrl": self.url, "AttributeNames": list(_DEPTHS)}, self.url)

    def answer(self, response: Response) -> tuple[Depth, Consumed]:
        said = _decoded(response, _Attributes, "GetQueueAttributes", self.url).attributes
        return Depth(*(int(said.get(name, "0")) for name in _DEPTHS)), NOTHING


class _Attributes(Struct, rename="pascal"):
    attributes: dict[str, str] = {}


class _Batch(Struct, rename="pascal"):
    failed: list[RefusedEntry] = []


class _Messages(Struct, rename="pascal"):
    messages: list[Received] = []


def _request(operation: str, body: Mapping[str, Any], queue: str, *, answers_nothing: bool = False) -> Request:
    return Request(operation, encode(body), queue.rpartition("/")[2], answers_nothing=answers_nothing)


def _decoded(response: Response, kind: type[Any], operation: str, queue: str) -> Any:
    if response.status != 200:
        _raise(read_fault(response.body) or Fault("UnreadableAnswer"), operation, queue)
    return msgspec.json.decode(response.body or b"{}", type=kind)


def _code(fault: Fault) -> str:
    """The error's code without the prefix of the older protocol, which some answers carry."""
    return fault.code.rpartition(".")[2]


def _raise(fault: Fault, operation: str, queue: str) -> NoReturn:
    """The service's message is left out: it may quote what was sent."""
    name = queue.rpartition("/")[2]
    if _code(fault) in ("QueueDoesNotExist", "NonExistentQueue"):
        raise NotConfigured(f"queue {name} does not exist", hint="Create it, or correct its URL.", operation=operation)
    raise InvalidRequest(f"SQS refused the request to queue {name}: {_code(fault)}", operation=operation)
