"""Requests of SQS against its documented limits. Source: the API reference, and the guide's "Message quotas"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]

MOST_ENTRIES = 10
LARGEST_MESSAGE = 256 * 1024
LONGEST_DELAY_SECONDS = 900
_ENTRY_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
_GROUP = re.compile(r"[A-Za-z0-9!-/:-@\[-`{-~]{1,128}")
_NOT_IN_A_BODY = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def breaches_of_sqs(operation: str, body: Body) -> Iterator[str]:
    entries = body.get("Entries", [body])
    if operation.endswith("Batch"):
        yield from _batch_breaches(operation, [entry["Id"] for entry in entries])
    for entry in entries:
        yield from (f"{operation}: {breach}" for breach in _entry_breaches(entry, body["QueueUrl"]))
    if sum(len(entry.get("MessageBody", "").encode()) for entry in entries) > LARGEST_MESSAGE:
        yield f"{operation}: more than 256 KB"


def _batch_breaches(operation: str, ids: list[str]) -> Iterator[str]:
    if not 1 <= len(ids) <= MOST_ENTRIES:
        yield f"{operation}: {len(ids)} entries, not 1 to {MOST_ENTRIES}"
    if len(set(ids)) < len(ids):
        yield f"{operation}: an id twice"
    if not all(map(_ENTRY_ID.fullmatch, ids)):
        yield f"{operation}: an id of other characters"


def _entry_breaches(entry: Body, queue_url: str) -> Iterator[str]:
    for name in ("MessageGroupId", "MessageDeduplicationId"):
        if name in entry and not _GROUP.fullmatch(entry[name]):
            yield f"{name} has other characters, or is too long"
    text = entry.get("MessageBody")
    if text == "":
        yield "an empty message"
    if text is not None and _NOT_IN_A_BODY.search(text):
        yield "a character that a message can't have"
    if not 0 <= entry.get("DelaySeconds", 0) <= LONGEST_DELAY_SECONDS:
        yield f"a delay of more than {LONGEST_DELAY_SECONDS} s"
    if entry.get("DelaySeconds") and queue_url.endswith(".fifo"):
        yield "a message's own delay on a FIFO queue"
    if queue_url.endswith(".fifo") and text is not None and "MessageGroupId" not in entry:
        yield "a message without a group on a FIFO queue"
