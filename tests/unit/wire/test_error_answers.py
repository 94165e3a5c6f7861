"""Error answers, and what each means for its request."""

from __future__ import annotations

import json
import re
from typing import Any

import botocore.loaders
import msgspec
import pytest
from botocore.retries import standard

from singletable.wire import read_fault
from singletable.wire.error_answers import (
    VERDICTS,
    CancellationReason,
    Fault,
    ThrottlingReason,
    Verdict,
    classify,
    describe,
    hint_of,
)


def body(code: str, **fields: Any) -> bytes:
    return json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **fields}).encode()


@pytest.mark.parametrize(
    "written", ["com.amazon.coral.service#Oops", "Oops", "Oops:http://internal.amazon.com/", "a#b#Oops:http://x"]
)
def test_the_code_without_its_wrapping(written: str) -> None:
    fault = read_fault(json.dumps({"__type": written}).encode())
    assert fault is not None
    assert fault.code == "Oops"


@pytest.mark.parametrize(
    "text",
    [
        b'{"code":"Oops"}',
        b'{"code":"x.y#Oops:http://z"}',
        b'{"__type":"a#Oops","code":400}',
        b'{"__type":"","code":"Oops"}',
    ],
)
def test_the_code_in_the_field_of_that_name(text: bytes) -> None:
    fault = read_fault(text)
    assert fault is not None
    assert fault.code == "Oops"


@pytest.mark.parametrize("name", ["message", "Message"])
def test_the_message_in_either_spelling(name: str) -> None:
    fault = read_fault(body("AnyException", **{name: "what happened"}))
    assert fault is not None
    assert fault.message == "what happened"


def test_a_message_of_null_is_none_at_all() -> None:
    fault = read_fault(body("AnyException", message=None, CancellationReasons=None))
    assert fault is not None
    assert (fault.message, fault.reasons) == ("", ())


def test_items_stay_raw() -> None:
    item = {"pk": {"S": "a"}}
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "The conditional", "Item": item}]
    fault = read_fault(body("TransactionCanceledException", CancellationReasons=reasons, Item=item))
    assert fault is not None
    assert isinstance(fault.item, msgspec.Raw)
    assert json.loads(bytes(fault.item)) == item
    assert fault.reasons[0].item is msgspec.UNSET
    assert isinstance(fault.reasons[1].item, msgspec.Raw)
    assert json.loads(bytes(fault.reasons[1].item)) == item
    assert (fault.reasons[1].code, fault.reasons[1].message) == ("ConditionalCheckFailed", "The conditional")


@pytest.mark.parametrize("text", [b"", b"<html>", b"[]", b'"text"', b'{"__type":3}', b'{"__type":"a"', b"\xff\xfe"])
def test_what_is_not_an_error_of_the_service(text: bytes) -> None:
    assert read_fault(text) is None
    assert classify(400, read_fault(text)) is Verdict.LOST


@pytest.mark.parametrize(("code", "verdict"), VERDICTS.items())
def test_the_table_decides_by_code(code: str, verdict: Verdict) -> None:
    assert classify(400, read_fault(body(code))) is verdict


FULL = "commit failed (backend: {}) and rollback also failed (backend: cannot rollback - no transaction is active)"


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("database or disk is full", Verdict.DISK_FULL),
        ("I/O error: disk I/O error", Verdict.DISK_FAILED),
        ("database is locked", Verdict.LOST),
        ("", Verdict.LOST),
    ],
)
def test_what_the_engine_says_of_its_disk(said: str, verdict: Verdict) -> None:
    assert classify(500, read_fault(body("InternalServerError", message=FULL.format(said)))) is verdict
    assert classify(400, read_fault(body("ValidationException", message=FULL.format(said)))) is Verdict.ANSWER


def test_every_code_that_botocore_repeats_is_repeated_here() -> None:
    """Throttling codes are refusals; transient ones leave it open whether the request was applied."""
    throttled = standard.ThrottledRetryableChecker._THROTTLED_ERROR_CODES
    transient = set(standard.TransientRetryableChecker._TRANSIENT_ERROR_CODES) - set(throttled)
    elsewhere = {
        "TransactionInProgressException": Verdict.IN_PROGRESS,
        "LimitExceededException": VERDICTS["LimitExceededException"],
    }
    for code in throttled:
        assert classify(400, read_fault(body(code))) is elsewhere.get(code, Verdict.THROTTLED), code
    for code in transient:
        assert classify(400, read_fault(body(code))) is Verdict.LOST, code
    legacy = botocore.loaders.Loader().load_data("_retry")
    shown = json.dumps([legacy["definitions"], legacy["retry"]["dynamodb"]])
    named = re.findall(r'"service_error_code": "(\w+)"', shown)
    assert "ReplicatedWriteConflictException" in named
    again = {Verdict.THROTTLED, Verdict.CONFLICT, Verdict.IN_PROGRESS}
    assert [code for code in named if classify(400, read_fault(body(code))) not in again] == []


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(400, Verdict.ANSWER), (404, Verdict.ANSWER), (429, Verdict.THROTTLED), (500, Verdict.LOST), (503, Verdict.LOST)],
)
def test_an_unknown_code_is_classified_by_its_status(status: int, verdict: Verdict) -> None:
    assert classify(status, read_fault(body("BrandNewException"))) is verdict


@pytest.mark.parametrize(
    ("codes", "verdict"),
    [
        (["None", "TransactionConflict"], Verdict.CONFLICT),
        (["ThrottlingError", "TransactionConflict"], Verdict.CONFLICT),
        (["None", "ThrottlingError"], Verdict.THROTTLED),
        (["ProvisionedThroughputExceeded"], Verdict.THROTTLED),
        (["ConditionalCheckFailed", "TransactionConflict"], Verdict.ANSWER),
        (["ValidationError", "None"], Verdict.ANSWER),
        (["ItemCollectionSizeLimitExceeded"], Verdict.ANSWER),
        (["None", "None"], Verdict.ANSWER),
        ([], Verdict.ANSWER),
    ],
)
def test_a_cancelled_transaction_is_repeated_only_for_reasons_that_pass(codes: list[str], verdict: Verdict) -> None:
    reasons = [{"Code": code} for code in codes]
    fault = read_fault(body("TransactionCanceledException", CancellationReasons=reasons))
    assert classify(400, fault) is verdict


@pytest.mark.parametrize("name", ["ThrottlingReasons", "throttlingReasons"])
def test_what_was_throttled_is_named(name: str) -> None:
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/app"
    reasons = [
        {"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": f"{arn}/index/gsi1"},
        {"reason": "TableReadMaxOnDemandThroughputExceeded", "resource": arn},
        {"reason": None, "resource": None},
        {"reason": "AccountLimitExceeded", "more": 1},
    ]
    fault = read_fault(json.dumps({"__type": "ThrottlingException", name: reasons}).encode())
    assert fault is not None
    assert [str(each) for each in fault.throttled] == [
        "IndexWriteKeyRangeThroughputExceeded of index gsi1 of app: one hot partition",
        "TableReadMaxOnDemandThroughputExceeded of table app: the maximum that was set for on-demand capacity",
        "throttled",
        "AccountLimitExceeded",
    ]
    nothing: tuple[list[Any] | None, ...] = (None, [])
    for empty in nothing:
        read = read_fault(json.dumps({"__type": "ThrottlingException", name: empty}).encode())
        assert read is not None
        assert read.throttled == ()


@pytest.mark.parametrize(
    ("reasons", "hint"),
    [
        (("IndexWriteKeyRangeThroughputExceeded",), "Spread the hot key"),
        (("TableReadProvisionedThroughputExceeded",), "Raise its provisioned capacity"),
        (("TableReadMaxOnDemandThroughputExceeded",), "Raise that maximum"),
        ((None, "TableWriteAccountLimitExceeded"), "Ask AWS for a higher quota"),
        (("SomethingNewExceeded",), ""),
        ((), ""),
    ],
)
def test_the_remedy_is_that_of_the_limit_that_was_met(reasons: tuple[str | None, ...], hint: str) -> None:
    fault = Fault("ThrottlingException", throttled=tuple(ThrottlingReason(reason) for reason in reasons))
    assert hint_of(fault).startswith(hint)
    assert bool(hint_of(fault)) == bool(hint)
    assert hint_of(None) == ""


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ((), "another writer is at work on the item"),
        (("None", "TransactionConflict"), "another writer is at work on the item of action 2 of 2"),
        (("TransactionConflict", "None", "TransactionConflict"), "the item of action 1, 3 of 3"),
    ],
)
def test_a_conflict_says_which_action_met_another_writer(codes: tuple[str, ...], text: str) -> None:
    fault = Fault("TransactionCanceledException", reasons=tuple(CancellationReason(code) for code in codes))
    assert describe(400, fault, Verdict.CONFLICT).endswith(text)
