"""Names that differ in punctuation, of each kind of resource: what a template would merge."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta

from singletable import Entity, Key, Table
from singletable.streams import Changes
from singletable_deploy import BlobBucket, Deployment, Function, MessageQueue, Role, creates, scans

_PAIRS = [
    ("shop-x", "shop_x"),
    ("shop-x", "shop.x"),
    ("a-b", "a--b"),
    ("a-b", "a-b-"),
    ("the-b", "theB"),
    ("v-1", "v1-"),
]
DEAD = ("shop", "shop-dead")
"""A queue's own dead letters, and another queue."""
DONE = timedelta(minutes=1)

streamed = Table("streamed", stream="new_and_old")
CHANGES = Changes(streamed)


def table(name: str) -> Table:
    made = Table(name)

    class A(Entity, table=made, type="a"):
        id: str

        @made.key
        @staticmethod
        def by_id(id: str) -> Key:
            """One."""
            return f"a#{id}", "a"

    assert A.by_id("1").captured.model.table is made
    return made


def tables(names: Sequence[str]) -> Deployment:
    return Deployment("some", [table(name) for name in names])


def roles(names: Sequence[str]) -> Deployment:
    """Of different rights: where they are merged, one has the other's."""
    may = [(creates(CHANGES.consumer.state.lease), scans(CHANGES.leases))[n % 2] for n in range(len(names))]
    made = [Role(name, [each], service="lambda") for name, each in zip(names, may, strict=True)]
    return Deployment("some", [streamed, CHANGES.leases], made)


def functions(names: Sequence[str]) -> Deployment:
    return _functions(names, DONE)


def handlers(names: Sequence[str]) -> Deployment:
    """Functions behind a stream, each with a queue beside it."""
    return _functions(names, CHANGES)


def queues(names: Sequence[str]) -> Deployment:
    return Deployment("some", [], queues=[MessageQueue(name) for name in names])


def missed(name: str) -> Deployment:
    """A queue, and a function of a schedule whose own queue has the same name."""
    function = Function(name.removesuffix("-missed"), "some.f", Role("f", [], service="lambda"), DONE)
    return Deployment("some", [], functions=[function], queues=[MessageQueue(name)])


def buckets(names: Sequence[str]) -> Deployment:
    return Deployment("some", [], buckets=[BlobBucket(name) for name in names])


def _functions(names: Sequence[str], on: Changes | timedelta) -> Deployment:
    role = Role("f", [], service="lambda")
    return Deployment(
        "some", [streamed], functions=[Function(name, f"some.{n}", role, on) for n, name in enumerate(names)]
    )


KINDS: dict[str, Callable[[Sequence[str]], Deployment]] = {
    "AWS::DynamoDB::Table": tables,
    "AWS::IAM::Role": roles,
    "AWS::Lambda::Function": functions,
    "AWS::Lambda::EventSourceMapping": handlers,
    "AWS::SQS::Queue": queues,
    "AWS::S3::Bucket": buckets,
}
_TAKEN = {"AWS::DynamoDB::Table": r"[\w.-]{3,}", "AWS::IAM::Role": "[a-z0-9-]+", "AWS::SQS::Queue": r"[\w-]+"}
COLLIDING = [
    (kind, pair)
    for kind in KINDS
    for pair in _PAIRS
    if all(re.fullmatch(_TAKEN.get(kind, ".*"), name) for name in pair)
]
"""Each kind, with two names that it takes alone."""
