"""DynamoDB Streams: a stream's shards, an iterator into one, and the records behind it.

They go to another service of the account than the table's own: `port.to(DYNAMODB_STREAMS)`. Images stay as they came,
for a `ItemReader` to make entities of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw, Struct

from singletable.errors import Throttled
from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations.answers import NOTHING, encode, named
from singletable.wire import Fault, read_fault

MAX_RECORDS = 1000
"""The most records that one GetRecords returns; it stops earlier at 1 MB."""
_FEWEST_DIGITS, _MOST_DIGITS = 21, 40
"""The digits of a sequence number on AWS. Some engines return shorter ones, and accept leading zeros."""
_NONE = Raw()


def is_there(image: Raw) -> bool:
    """Whether a record has an image; without a copy of it, as `bytes` makes one."""
    return memoryview(image).nbytes > 0


_EXPIRY = ("Service", "dynamodb.amazonaws.com")
EventName = Literal["INSERT", "MODIFY", "REMOVE"]


class Shard(Struct, frozen=True, gc=False, rename={"id": "ShardId", "parent": "ParentShardId"}):
    """A part of a stream, which is in order by itself. It is read after its parent.

    The last sequence number is left out: some engines return one for an open shard too.
    """

    id: str
    parent: str | None = None


class StreamDescription(Struct, frozen=True, gc=False, rename="pascal"):
    """A page of a stream's shards; `last_evaluated_shard_id` is where the next begins."""

    stream_arn: str
    stream_view_type: str = ""
    stream_status: str = ""
    shards: list[Shard] = []
    last_evaluated_shard_id: str | None = None


_SPELLINGS = {"type": "Type", "principal": "PrincipalId", "event_type": "type", "event_principal": "principalId"}


class Author(Struct, frozen=True, gc=False, rename=_SPELLINGS, omit_defaults=True):
    """The author of a change that no request of the application made. Lambda spells the names differently."""

    type: str = ""
    principal: str = ""
    event_type: str = ""
    event_principal: str = ""

    @property
    def is_expiry(self) -> bool:
        """Whether the service deleted the item, as it had expired."""
        by_records = (self.type, self.principal) == _EXPIRY
        return by_records or (self.event_type, self.event_principal) == _EXPIRY


class Images(Struct, frozen=True, gc=False, rename="pascal", omit_defaults=True):
    keys: dict[str, dict[str, Any]]
    sequence_number: str
    new_image: Raw = _NONE
    old_image: Raw = _NONE
    approximate_creation_date_time: float = 0.0
    """Seconds since 1970; some engines return whole ones."""
    stream_view_type: str = ""

    def __repr__(self) -> str:
        """The form in logs, without the images and keys."""
        return f"<Images of {self.sequence_number}>"


class StreamRecord(Struct, frozen=True, gc=False, rename={"event": "eventName", "author": "userIdentity"}):
    """One change of one item, as GetRecords and Lambda deliver it. A missing image is empty."""

    event: EventName
    dynamodb: Images
    author: Author | None = None

    @property
    def sequence(self) -> str:
        """Padded, so that text order is the order of the shard."""
        return pad_sequence_number(self.dynamodb.sequence_number)

    @property
    def view(self) -> str:
        """The view of its stream. If an engine doesn't name it, the largest view that fits the images."""
        images = self.dynamodb
        if images.stream_view_type:
            return images.stream_view_type
        new = self.event == "REMOVE" or is_there(images.new_image)
        old = self.event == "INSERT" or is_there(images.old_image)
        known = {(True, True): "NEW_AND_OLD_IMAGES", (True, False): "NEW_IMAGE", (False, True): "OLD_IMAGE"}
        return known.get((new, old), "KEYS_ONLY")


class Records(Struct, frozen=True, gc=False, rename="pascal"):
    """Some of a shard's records, in order; or the reason why it has none."""

    records: list[StreamRecord] = []
    next_shard_iterator: str | None = None
    """The next iterator; None at the end of a closed shard."""
    refused: Literal["", "expired", "trimmed", "throttled"] = ""
    """expired: the iterator is older than 15 minutes. trimmed: its record, maybe all of its shard, is older than a day
    and gone. throttled: the shard is read too often, by more than two readers at once."""


class _ShardsAnswer(Struct, frozen=True, gc=False, rename="pascal"):
    stream_description: StreamDescription


class _IteratorAnswer(Struct, frozen=True, gc=False, rename="pascal"):
    shard_iterator: str


_decode_shards = msgspec.json.Decoder(_ShardsAnswer).decode
_decode_iterator = msgspec.json.Decoder(_IteratorAnswer).decode
_decode_records = msgspec.json.Decoder(Records).decode
_decode_many = msgspec.json.Decoder(list[StreamRecord]).decode


def pad_sequence_number(text: str) -> str:
    """A sequence number with zeros before it, so that text order is number order: `7` -> `000..07`."""
    return text.zfill(_MOST_DIGITS)


def read_records(text: bytes) -> Sequence[StreamRecord]:
    """Records from the JSON of a list of them; ValueError for anything else."""
    return _decode_many(text)


class DescribeStream(Struct, frozen=True, gc=False):
    """Up to 100 shards of a stream, from after the shard `after` on."""

    stream: str
    after: str | None = None

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"StreamArn": self.stream}
        if self.after is not None:
            body["ExclusiveStartShardId"] = self.after
        return Request("DescribeStream", encode(body), self.stream)

    def answer(self, response: Response) -> tuple[StreamDescription, Consumed]:
        _refusal(response, "DescribeStream", self.stream)
        return _decode_shards(response.body).stream_description, NOTHING


class GetShardIterator(Struct, frozen=True, gc=False):
    """An iterator to the first record after `sequence`; without one to a shard's first record, or behind its last.

    Returns None if that record, or all of the shard, is older than a day and gone.
    """

    stream: str
    shard: str
    sequence: str | None = None
    latest: bool = False

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"StreamArn": self.stream, "ShardId": self.shard}
        if self.sequence is not None:
            number = self.sequence.lstrip("0").zfill(_FEWEST_DIGITS)
            body |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": number}
        else:
            body["ShardIteratorType"] = "LATEST" if self.latest else "TRIM_HORIZON"
        return Request("GetShardIterator", encode(body), self.stream)

    def answer(self, response: Response) -> tuple[str | None, Consumed]:
        gone = ("TrimmedDataAccessException", "ResourceNotFoundException")
        if _refusal(response, "GetShardIterator", self.stream, *gone):
            return None, NOTHING
        return _decode_iterator(response.body).shard_iterator, NOTHING


class GetRecords(Struct, frozen=True, gc=False):
    """The records behind an iterator, oldest first."""

    stream: str
    iterator: str
    limit: int = MAX_RECORDS

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"ShardIterator": self.iterator, "Limit": self.limit}
        return Request("GetRecords", encode(body), self.stream)

    def answer(self, response: Response) -> tuple[Records, Consumed]:
        try:
            refusal = _refusal(response, "GetRecords", self.stream, *_REFUSALS)
        except Throttled:
            return Records(refused="throttled"), NOTHING
        if refusal:
            return Records(refused=_REFUSALS[refusal]), NOTHING
        return _decode_records(response.body), NOTHING

    def facts(self, value: Records | None) -> OperationFacts:
        return OperationFacts(items=len(value.records) if value else 0)


_REFUSALS: Final[Mapping[str, Literal["expired", "trimmed"]]] = {
    "ExpiredIteratorException": "expired",
    "TrimmedDataAccessException": "trimmed",
    "ResourceNotFoundException": "trimmed",
}


def _refusal(response: Response, operation: str, stream: str, *expected: str) -> str:
    """The error code of an answer where it is one of those expected, "" for a success; raises any other.

    LimitExceededException is this service's word for a rate that is too high; of tables it says something else.
    """
    if response.status == 200:
        return ""
    fault = read_fault(response.body) or Fault("UnreadableAnswer")
    if fault.code == "LimitExceededException":
        raise Throttled(
            "the stream is read more often than the service allows",
            table=stream,
            operation=operation,
            hint="At most two readers share a shard; another consumer of the stream may be one.",
        )
    if fault.code not in expected:
        raise named(fault, operation, stream)
    return fault.code
