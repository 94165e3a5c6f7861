"""Raw HTTP answers of AWS's services, of proxies and of load balancers, each with what a caller must see.

Sources: the protocol tests of Smithy's awsJson1_0, the error pages of DynamoDB's and SQS's documentation, and what
load balancers and proxies send in a service's place.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any
from zlib import crc32

OK = "ok"
LOST = "lost"
"""It may have been applied: a read is Unavailable after its retries, a write is OutcomeUnknown at once."""
THROTTLED = "throttled"
"""Certainly not applied, and retried: at the end Throttled."""
CONFLICT = "conflict"
"""Certainly not applied, and retried: at the end TransactionConflict."""
DENIED = "denied"


@dataclass(frozen=True)
class RawAnswer:
    """What a service sends, and its meaning: OK, LOST, THROTTLED, CONFLICT, DENIED, or the code that is handed on."""

    name: str
    data: bytes
    means: str
    closes: bool = False
    """The connection ends with the answer."""


MISMATCH, FULL = "IdempotentParameterMismatchException", "ItemCollectionSizeLimitExceededException"
CHECK_FAILED, CANCELLED = "ConditionalCheckFailedException", "TransactionCanceledException"
DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
CORAL = "com.amazon.coral.service#"
JSON = "application/x-amz-json-1.0"


def http(
    status: int, body: bytes | str = b"", *headers: str, kind: str = JSON, checked: bool = False, version: str = "1.1"
) -> bytes:
    body = body if isinstance(body, bytes) else body.encode()
    lines = [f"HTTP/{version} {status} Reason", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    if checked:
        lines.append(f"x-amz-crc32: {crc32(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def error(code: str, status: int = 400, prefix: str = DYNAMODB, **fields: Any) -> bytes:
    return http(status, json.dumps({"__type": prefix + code, "message": "m", **fields}), checked=True)


def page(status: int, text: str = "<html><body><b>Http/1.1 Service Unavailable</b></body></html>") -> bytes:
    return http(status, text, kind="text/html")


def cancelled(*codes: str | None) -> bytes:
    return error("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


CORAL_INVALID = error("ValidationException", prefix="com.amazon.coral.validate#")
HOT = {"reason": "TableWriteKeyRangeThroughputExceeded"}
USED_UP = {"reason": "TableReadProvisionedThroughputExceeded", "resource": "arn:aws:dynamodb:eu-central-1:1:table/t"}
CONDITION_ITEM = {"pk": {"S": "x"}}
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"Ite\r\n7\r\nm": {}}\r\n0\r\n\r\n'
OLD_HTTP = b"HTTP/1.0 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: close\r\n\r\n{}"
SKEW = "Signature expired: 20260101T000000Z is now earlier than 20260101T001500Z (20260101T002000Z - 5 min.)"

ANSWERS: tuple[RawAnswer, ...] = (
    # --- success, as services and engines send it
    RawAnswer("with a checksum", http(200, '{"Item":{}}', checked=True), OK),
    RawAnswer("without a checksum", http(200, '{"Item":{}}'), OK),
    RawAnswer("in chunks", CHUNKED, OK),
    RawAnswer("a member that is not known", http(200, '{"foo": true}'), OK),
    RawAnswer("white space around it", http(200, ' \n{"Item":{}}\n'), LOST),
    RawAnswer("a line end after it", http(200, '{"Item":{}}\n', checked=True), OK),
    RawAnswer("100 Continue before it", b"HTTP/1.1 100 Continue\r\n\r\n" + http(200, "{}"), OK),
    RawAnswer("HTTP/1.0, to the end of the connection", OLD_HTTP, OK, closes=True),
    # --- success that can't be believed
    RawAnswer("a wrong checksum", http(200, '{"Item":{}}', "x-amz-crc32: 1"), LOST),
    RawAnswer("an empty body", http(200), LOST),
    RawAnswer("compressed, though not asked for", http(200, gzip.compress(b"{}"), "Content-Encoding: gzip"), LOST),
    RawAnswer("not JSON", http(200, "nope"), LOST),
    RawAnswer("half of it", http(200, '{"Item":{"pk":'), LOST),
    RawAnswer("a page of a captive portal", page(200, "<html>Log in</html>"), LOST),
    # --- where the code of an error is
    RawAnswer("an URI around the code", http(400, json.dumps({"__type": f"{DYNAMODB}FooError:http://a/"})), "FooError"),
    RawAnswer("a coral namespace", CORAL_INVALID, "ValidationException"),
    RawAnswer("no namespace", error("ValidationException", prefix=""), "ValidationException"),
    RawAnswer("the code as a member", http(400, '{"code":"ThrottlingException"}'), THROTTLED),
    RawAnswer("the code in the header", http(400, "{}", "X-Amzn-Errortype: ThrottlingException"), THROTTLED),
    RawAnswer("the code in the header, no body", http(400, "", "x-amzn-errortype: FooError:http://a/"), "FooError"),
    RawAnswer(
        "an error within the error",
        error(CHECK_FAILED, ErrorDetails={"__type": "b#C"}),
        CHECK_FAILED,
    ),
    # --- errors of DynamoDB
    RawAnswer(
        "a refused condition, with the item",
        error(CHECK_FAILED, Item=CONDITION_ITEM),
        CHECK_FAILED,
    ),
    RawAnswer("an unknown operation", error("UnknownOperationException", prefix=CORAL), "UnknownOperationException"),
    RawAnswer("a damaged request", error("SerializationException", prefix=CORAL), "SerializationException"),
    RawAnswer("no such table", error("ResourceNotFoundException"), "ResourceNotFoundException"),
    RawAnswer(
        "another transaction of this token",
        error(MISMATCH),
        MISMATCH,
    ),
    RawAnswer("too much for a limit", error("LimitExceededException"), "LimitExceededException"),
    RawAnswer(
        "an item collection too large",
        error(FULL),
        FULL,
    ),
    # --- throttling, in all its spellings
    RawAnswer(
        "provisioned units are used up",
        error(
            "ProvisionedThroughputExceededException",
            ThrottlingReasons=[
                {
                    "reason": "TableReadProvisionedThroughputExceeded",
                    "resource": "arn:aws:dynamodb:eu-central-1:1:table/t",
                }
            ],
        ),
        THROTTLED,
    ),
    RawAnswer(
        "on demand, a key range is hot",
        error("ThrottlingException", throttlingReasons=[HOT]),
        THROTTLED,
    ),
    *(
        RawAnswer(f"{code}", error(code), THROTTLED)
        for code in (
            "RequestLimitExceeded",
            "TooManyRequestsException",
            "ThrottledException",
            "SlowDown",
            "PriorRequestNotComplete",
            "BandwidthLimitExceeded",
            "RequestThrottledException",
        )
    ),
    RawAnswer("SlowDown with 503", error("SlowDown", 503), THROTTLED),
    RawAnswer("429 without a code", http(429, '{"message":"Too Many Requests"}'), THROTTLED),
    RawAnswer("429, a page", page(429), THROTTLED),
    # --- conflicts
    RawAnswer("an item is in a transaction", error("TransactionConflictException"), CONFLICT),
    RawAnswer("a table of several Regions", error("ReplicatedWriteConflictException"), CONFLICT),
    RawAnswer("a transaction, all of it conflicts", cancelled("None", "TransactionConflict"), CONFLICT),
    RawAnswer("a transaction, null for None", cancelled(None, "TransactionConflict"), CONFLICT),
    RawAnswer("a transaction, throttled", cancelled("ThrottlingError", "None"), THROTTLED),
    RawAnswer("a transaction, units used up", cancelled("ProvisionedThroughputExceeded"), THROTTLED),
    RawAnswer(
        "a transaction, a conflict and a condition",
        cancelled("TransactionConflict", "ConditionalCheckFailed"),
        CANCELLED,
    ),
    RawAnswer("a transaction, an item twice", cancelled("DuplicateItem"), CANCELLED),
    RawAnswer("a transaction without reasons", error(CANCELLED), CANCELLED),
    # --- the service failed, or something before it
    RawAnswer("an internal error", error("InternalServerError", 500), LOST),
    RawAnswer("500 without a code", http(500, '{"message":"Internal server error"}'), LOST),
    RawAnswer("500 of another code", http(500, json.dumps({"__type": "aws.protocoltests#FooError"})), LOST),
    RawAnswer("500, the code as a member", http(500, '{"code":"FooError"}'), LOST),
    RawAnswer("a request that timed out there", error("RequestTimeoutException"), LOST),
    RawAnswer("503, a load balancer's page", page(503), LOST, closes=True),
    RawAnswer("503, empty", http(503), LOST),
    RawAnswer("502, a gateway's page", page(502, "<html/>"), LOST),
    RawAnswer("504, empty", http(504, kind="text/html"), LOST),
    RawAnswer("413, a proxy's page", page(413), LOST),
    RawAnswer("403, a proxy's page", page(403), LOST),
    RawAnswer("400 that is not JSON", http(400, "nope"), LOST),
    RawAnswer("400 of another protocol", http(400, "<UnknownOperationException/>\n"), LOST),
    RawAnswer("301", http(301, "", "Location: https://dynamodb.us-west-2.amazonaws.com/"), LOST),
    RawAnswer("307", http(307, "", "Location: https://dynamodb.us-west-2.amazonaws.com/"), LOST),
    RawAnswer("a half answer, then the end", http(200, '{"Item":{}}')[:-4], LOST, closes=True),
    RawAnswer("nothing, then the end", b"", LOST, closes=True),
    # --- who asks
    RawAnswer("an unknown key", error("UnrecognizedClientException", prefix=CORAL), DENIED),
    RawAnswer("no permission", error("AccessDeniedException", prefix=CORAL), DENIED),
    RawAnswer("a wrong signature", error("InvalidSignatureException", prefix=CORAL, message=SKEW), DENIED),
    RawAnswer("no signature", error("MissingAuthenticationTokenException", prefix=CORAL), DENIED),
    RawAnswer("expired credentials", error("ExpiredTokenException", prefix=CORAL), DENIED),
)
