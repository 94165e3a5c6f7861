"""Classifying error answers: the code is read from the body, then looked up in a table.

The table is the whole policy. An `ANSWER` is raised by the operation; all other verdicts are handled by the transport.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from singletable.wire.http_date import seconds_of


class Verdict(Enum):
    """The meaning of a failed try for its request."""

    ANSWER = auto()
    """A definite answer: the operation raises its error."""
    THROTTLED = auto()
    """Refused for its rate: certainly not applied; retry."""
    CONFLICT = auto()
    """Another transaction held an item: certainly not applied; retry."""
    IN_PROGRESS = auto()
    """An earlier try of this transaction is still in progress: its outcome is open; retry."""
    LOST = auto()
    """No valid answer: it may have been applied."""
    UNDELIVERED = auto()
    """Nothing reached the service: certainly not applied; retry."""
    UNTRUSTED = auto()
    """The service's certificate is not trusted: nothing was sent, and a retry won't help."""
    SKEWED = auto()
    """The clock that signed was wrong: certainly not applied; retry once with the corrected time."""
    FORGOTTEN = auto()
    """The service was restarted and has lost its tokens: this try was not sent; an earlier one may have been
    applied."""
    REFUSED = auto()
    """A proxy refuses requests: nothing was sent, and a retry won't help."""
    REFRESH = auto()
    """The credentials have expired: fetch them, and retry once."""
    DISK_FULL = auto()
    """The embedded engine has no room for its file: rolled back, and a retry won't help."""
    DISK_FAILED = auto()
    """The embedded engine can't write its file: it may have been applied, and a retry won't help."""
    DENIED = auto()
    """The credentials are wrong or lack the permission: certainly not applied."""


VERDICTS: Final[Mapping[str, Verdict]] = {
    "ThrottlingException": Verdict.THROTTLED,
    "Throttling": Verdict.THROTTLED,
    "ProvisionedThroughputExceededException": Verdict.THROTTLED,
    "RequestLimitExceeded": Verdict.THROTTLED,
    "ThrottledException": Verdict.THROTTLED,
    "RequestThrottledException": Verdict.THROTTLED,
    "TooManyRequests": Verdict.THROTTLED,
    "TooManyRequestsException": Verdict.THROTTLED,
    "BandwidthLimitExceeded": Verdict.THROTTLED,
    "PriorRequestNotComplete": Verdict.THROTTLED,
    "SlowDown": Verdict.THROTTLED,
    "EC2ThrottledException": Verdict.THROTTLED,  # from the containers' and instances' side of a gateway
    "TransactionConflictException": Verdict.CONFLICT,
    "ReplicatedWriteConflictException": Verdict.CONFLICT,  # a table of strong consistency in several Regions
    "TransactionInProgressException": Verdict.IN_PROGRESS,
    "InternalServerError": Verdict.LOST,
    "InternalFailure": Verdict.LOST,
    "InternalServerErrorException": Verdict.LOST,
    "ServiceUnavailable": Verdict.LOST,
    "ServiceUnavailableException": Verdict.LOST,
    "RequestTimeout": Verdict.LOST,
    "RequestTimeoutException": Verdict.LOST,
    "ExpiredTokenException": Verdict.REFRESH,
    "ExpiredToken": Verdict.REFRESH,
    "AccessDeniedException": Verdict.DENIED,
    "AccessDenied": Verdict.DENIED,
    "UnrecognizedClientException": Verdict.DENIED,
    "InvalidClientTokenId": Verdict.DENIED,
    "InvalidSignatureException": Verdict.DENIED,
    "SignatureDoesNotMatch": Verdict.DENIED,
    "IncompleteSignature": Verdict.DENIED,
    "IncompleteSignatureException": Verdict.DENIED,
    "MissingAuthenticationToken": Verdict.DENIED,
    "MissingAuthenticationTokenException": Verdict.DENIED,
    "NotAuthorized": Verdict.DENIED,
    "OptInRequired": Verdict.DENIED,
    "RequestExpired": Verdict.DENIED,
    "RequestTimeTooSkewed": Verdict.DENIED,
    "RequestInTheFuture": Verdict.DENIED,
    "AuthFailure": Verdict.DENIED,
    "ConditionalCheckFailedException": Verdict.ANSWER,
    "TransactionCanceledException": Verdict.ANSWER,  # unless all of its reasons pass: see classify
    "ValidationException": Verdict.ANSWER,
    "SerializationException": Verdict.ANSWER,
    "UnknownOperationException": Verdict.ANSWER,
    "ResourceNotFoundException": Verdict.ANSWER,
    "ResourceInUseException": Verdict.ANSWER,
    "TableNotFoundException": Verdict.ANSWER,
    "TableInUseException": Verdict.ANSWER,
    "LimitExceededException": Verdict.ANSWER,
    "ItemCollectionSizeLimitExceededException": Verdict.ANSWER,
    "IdempotentParameterMismatchException": Verdict.ANSWER,
    "DuplicateItemException": Verdict.ANSWER,
    "ExpiredIteratorException": Verdict.ANSWER,
    "TrimmedDataAccessException": Verdict.ANSWER,
    # SQS
    "RequestThrottled": Verdict.THROTTLED,
    "KmsThrottled": Verdict.THROTTLED,
    "OverLimit": Verdict.THROTTLED,  # too many messages in flight: it passes when some are handled
    "InvalidSecurity": Verdict.DENIED,
    "KmsAccessDenied": Verdict.DENIED,
    "QueueDoesNotExist": Verdict.ANSWER,
    "QueueNameExists": Verdict.ANSWER,
    "QueueDeletedRecently": Verdict.ANSWER,
    "ReceiptHandleIsInvalid": Verdict.ANSWER,
    "MessageNotInflight": Verdict.ANSWER,
    "InvalidMessageContents": Verdict.ANSWER,
    "BatchRequestTooLong": Verdict.ANSWER,
    "UnsupportedOperation": Verdict.ANSWER,
    "InvalidAddress": Verdict.ANSWER,
}

_RETRYABLE_REASONS: Final[Mapping[str | None, Verdict | None]] = {
    None: None,
    "None": None,
    "TransactionConflict": Verdict.CONFLICT,
    "ThrottlingError": Verdict.THROTTLED,
    "ProvisionedThroughputExceeded": Verdict.THROTTLED,
}
DISK: Final = {"database or disk is full": Verdict.DISK_FULL, "disk I/O error": Verdict.DISK_FAILED}
"""SQLite's own words within the message of an InternalServerError."""
_TOO_MANY_REQUESTS = 429
_FIRST_SERVER_ERROR = 500


CLOCK_CODES: Final = frozenset(
    {
        "RequestTimeTooSkewed",
        "RequestExpired",
        "RequestInTheFuture",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "AuthFailure",
    }
)
"""Codes that a wrong clock may cause; the answer's Date shows whether it does."""


class CancellationReason(Struct, frozen=True, rename="pascal"):
    """The reason why an action of a transaction failed; `code` is the text `None`, or null, if it did not."""

    code: str | None = "None"
    message: str | None = None
    item: Raw | UnsetType = UNSET
    """The stored item as the service wrote it, where the action asked for it."""


class ThrottlingReason(Struct, frozen=True):
    """The limit that was exceeded, and the ARN of its table or index."""

    reason: str | None = None
    resource: str | None = None

    def __str__(self) -> str:
        table, _, index = (self.resource or "").partition("table/")[2].partition("/index/")
        place = f"index {index} of {table}" if index else f"table {table}"
        reason, limit = self.reason or "throttled", self.limit
        if not table:
            return reason
        return f"{reason} of {place}: {limit.what}" if limit is not None else f"{reason} of {place}"

    @property
    def limit(self) -> ThrottlingLimit | None:
        """The limit that a reason names; None for one that is not known."""
        return next((limit for end, limit in _LIMITS.items() if (self.reason or "").endswith(end)), None)


class ThrottlingLimit(Struct, frozen=True):
    """A limit of throughput, and what to do about it."""

    what: str
    hint: str


_LIMITS: Final[Mapping[str, ThrottlingLimit]] = {
    "KeyRangeThroughputExceeded": ThrottlingLimit(
        "one hot partition", "Spread the hot key over several, or retry later: each partition has a limit of its own"
    ),
    "ProvisionedThroughputExceeded": ThrottlingLimit(
        "the provisioned capacity", "Raise its provisioned capacity, or retry later"
    ),
    "MaxOnDemandThroughputExceeded": ThrottlingLimit(
        "the maximum that was set for on-demand capacity", "Raise that maximum, or retry later"
    ),
    "AccountLimitExceeded": ThrottlingLimit(
        "the account's quota", "Ask AWS for a higher quota of the account, or retry later"
    ),
}
"""The limits by the ends of reasons: `TableReadKeyRangeThroughputExceeded`, and the same for writes and for an index.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html"""
THROTTLED_HINT: Final = "Retry later, or raise the capacity of the table or of its hot partition"


class Fault(Struct, frozen=True):
    """An error answer. `item` and the reasons' items are JSON as it came, for records to decode."""

    code: str
    message: str = ""
    reasons: tuple[CancellationReason, ...] = ()
    item: Raw | UnsetType = UNSET
    throttled: tuple[ThrottlingReason, ...] = ()


class _Body(Struct, frozen=True):
    type: str = msgspec.field(name="__type", default="")
    code: Any = None
    lower_message: str | None = msgspec.field(name="message", default=None)
    upper_message: str | None = msgspec.field(name="Message", default=None)
    reasons: list[CancellationReason] | None = msgspec.field(name="CancellationReasons", default=None)
    item: Raw | UnsetType = msgspec.field(name="Item", default=UNSET)
    upper_throttled: list[ThrottlingReason] | None = msgspec.field(name="ThrottlingReasons", default=None)
    lower_throttled: list[ThrottlingReason] | None = msgspec.field(name="throttlingReasons", default=None)


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_CODE = r"[A-Za-z0-9_.]{1,128}"


def read_fault(body: bytes) -> Fault | None:
    """The error in a body; None if the body isn't an error of the service."""
    try:
        read = _decode_body(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    code = _bare(read.type) or (_bare(read.code) if isinstance(read.code, str) else "")
    throttled = tuple(read.upper_throttled or read.lower_throttled or ())
    return Fault(code, read.lower_message or read.upper_message or "", tuple(read.reasons or ()), read.item, throttled)


def _bare(code: str) -> str:
    """The code without its prefix (`prefix#Code`) or suffix (`Code:http://...`, from some gateways)."""
    return code.partition(":")[0].rpartition("#")[2]


def code_in_header(headers: Mapping[bytes, bytes]) -> str:
    """The code in the header: some services and gateways put it there instead of into the body."""
    code = _bare(headers.get(b"x-amzn-errortype", b"").decode("latin-1"))
    return code if re.fullmatch(_CODE, code) else ""


def server_time(headers: Mapping[bytes, bytes]) -> float | None:
    """The service's time of the answer, in seconds since 1970; None without a valid Date."""
    date = headers.get(b"date")
    return None if date is None else seconds_of(date)


def with_code(body: bytes, code: str) -> bytes | None:
    """An error's body with the code of the header; None if the body isn't a JSON object."""
    try:
        fields = _decode_fields(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return msgspec.json.encode({**fields, "__type": code})


def classify(status: int, fault: Fault | None) -> Verdict:
    """The verdict on an answer with another status than 200; `fault` is None for a body from elsewhere."""
    if fault is None:  # from a proxy or a load balancer
        return Verdict.THROTTLED if status == _TOO_MANY_REQUESTS else Verdict.LOST
    named = VERDICTS.get(fault.code)
    if fault.code == "TransactionCanceledException":
        return _classify_reasons(fault.reasons)
    if named is Verdict.LOST:
        return next((verdict for said, verdict in DISK.items() if said in fault.message), named)
    if named is not None:
        return named
    if status >= _FIRST_SERVER_ERROR:
        return Verdict.LOST
    return Verdict.THROTTLED if status == _TOO_MANY_REQUESTS else Verdict.ANSWER


def _classify_reasons(reasons: tuple[CancellationReason, ...]) -> Verdict:
    """Retried only where every reason is retryable; any other reason makes it an ANSWER."""
    if any(reason.code not in _RETRYABLE_REASONS for reason in reasons):
        return Verdict.ANSWER
    passing = {_RETRYABLE_REASONS[reason.code] for reason in reasons}
    if Verdict.CONFLICT in passing:
        return Verdict.CONFLICT
    return Verdict.THROTTLED if Verdict.THROTTLED in passing else Verdict.ANSWER


def hint_of(fault: Fault | None) -> str:
    """The remedy for the limit that a throttled request has met; empty where the answer names none."""
    limits = [reason.limit for reason in fault.throttled] if fault is not None else []
    return next((limit.hint for limit in limits if limit is not None), "")


_SAFE_MESSAGES = frozenset({Verdict.DENIED, Verdict.THROTTLED, Verdict.REFRESH})
"""Verdicts whose messages name a permission, a table or an index, never a value of an item."""
_QUOTES_THE_REQUEST = "IncompleteSignature"
"""The code whose message quotes the Authorization header."""


def describe(status: int, fault: Fault | None, verdict: Verdict) -> str:
    """The service's answer in words, without text that could hold an item's values or parts of a signature."""
    for text, of_disk in DISK.items():
        if verdict is of_disk:
            return f"The engine can't write its data file: {text}"
    code = fault.code if fault and fault.code else "an error without a code"
    if fault and verdict in _SAFE_MESSAGES and not fault.code.startswith(_QUOTES_THE_REQUEST):
        first_line = fault.message.partition("\n")[0].strip()
        text = f"The service answered {code}: {first_line}" if first_line else f"The service answered {code}"
        limits = ", ".join(str(reason) for reason in fault.throttled)
        return f"{text} ({limits})" if limits else text
    text = f"The service answered {code}, status {status}"
    return f"{text}: {_conflict(fault)}" if fault and verdict is Verdict.CONFLICT else text


def _conflict(fault: Fault) -> str:
    """The actions of a transaction, by their places, that have met another writer."""
    places = [n for n, reason in enumerate(fault.reasons, 1) if _RETRYABLE_REASONS[reason.code] is Verdict.CONFLICT]
    if not places:
        return "another writer is at work on the item"
    which = ", ".join(map(str, places))
    return f"another writer is at work on the item of action {which} of {len(fault.reasons)}"
