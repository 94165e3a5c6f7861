"""A queue and its messages, as values."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import msgspec

from singletable.errors import Corrupt, InvalidRequest, InvalidValue
from singletable.operations import MAX_DELAY_SECONDS, Received
from singletable.values import declared_decoder, is_kept

T = TypeVar("T")


@dataclass(frozen=True)
class Queue(Generic[T]):
    """An SQS queue whose messages are JSON of one type: a dataclass, a dict, a str; by default anything.

    A queue whose name ends in `.fifo` keeps the order of each group.
    """

    url: str
    type: type[T] = cast("type[T]", object)

    @property
    def name(self) -> str:
        """The last part of its URL."""
        return self.url.rpartition("/")[2]

    @property
    def is_fifo(self) -> bool:
        """Whether it keeps the order of each group."""
        return self.name.endswith(".fifo")

    def text_of(self, body: T) -> str:
        """A body as JSON. Raises InvalidValue for a value without a JSON form, and for one that would be read as
        another one."""
        try:
            text = msgspec.json.encode(body).decode()
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            raise InvalidValue(
                f"a {body.__class__.__name__} has no form in JSON",
                hint="Send what JSON has, or name the dataclass: Queue(url, Message).",
            ) from None
        with suppress(Corrupt):
            if is_kept(body, self.body_of(text)):
                return text
        raise InvalidValue(
            f"a {body.__class__.__name__} would be read as another value from queue {self.name}",
            hint="Send what the queue's type says: JSON has no tuple, set, bytes, Decimal or time without a type.",
        )

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        return declared_decoder(self.type, f"queue {self.name}")

    def body_of(self, text: str) -> T:
        """A body from its JSON. Raises Corrupt if it is not of the queue's type."""
        try:
            return cast("T", self._decoder.decode(text))
        except (msgspec.DecodeError, msgspec.ValidationError):
            raise Corrupt(
                f"a message of queue {self.name} is not of type {getattr(self.type, '__name__', self.type)}",
                hint="Look at who sends to the queue.",
            ) from None


@dataclass(frozen=True)
class Outgoing(Generic[T]):
    """A message to send. `group` and `deduplication` are any texts, for a FIFO queue; `delay_seconds` is for others."""

    body: T = field(repr=False)
    group: str = field(default="", repr=False)
    deduplication: str = field(default="", repr=False)
    delay_seconds: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.delay_seconds <= MAX_DELAY_SECONDS:
            raise InvalidRequest(
                f"delay_seconds={self.delay_seconds}; SQS takes 0 to {MAX_DELAY_SECONDS}",
                hint="Schedule a task, whose time may be any.",
            )


@dataclass(frozen=True)
class Message(Generic[T]):
    """A received message."""

    id: str
    body: T
    receipt: str
    group: str
    """Empty for a queue that is not FIFO."""
    receives: int
    """The number of times it was received, including this one."""

    def __repr__(self) -> str:
        """Shows no body, as it appears in logs."""
        return f"<Message {self.id}>"


def message_of(queue: Queue[T], received: Received) -> Message[T]:
    return _message(queue, received.message_id, received.body, received.receipt_handle, received.attributes)


def message_of_record(queue: Queue[T], record: Mapping[str, Any]) -> Message[T]:
    """From a record of a Lambda event."""
    attributes = record.get("attributes", {})
    return _message(queue, record["messageId"], record["body"], record.get("receiptHandle", ""), attributes)


def _message(queue: Queue[T], id: str, body: str, receipt: str, attributes: Mapping[str, str]) -> Message[T]:
    group = attributes.get("MessageGroupId", "") if queue.is_fifo else ""
    return Message(id, queue.body_of(body), receipt, group, receives_in(attributes))


def receives_in(attributes: Mapping[str, str]) -> int:
    """How often a message was received, this time among them."""
    return int(attributes.get("ApproximateReceiveCount", "1"))
