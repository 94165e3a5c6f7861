"""The rights of a role, before they are a policy: actions on a resource, and the partitions that they reach.

A `Grant` is what the verbs return (`creates(Order)`), and what a role is made of: it makes its accesses when the role's
own values are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from singletable.foundation import Captured, Model, Table
from singletable_deploy.key_patterns import key_patterns

Where = Mapping[str, str]
"""The patterns of IAM for values in keys, by the parameter's name."""
Kind = Literal["table", "index", "stream", "streams", "exports", "key", "queue", "aside", "missed", "bucket", "objects"]
"""`exports` are DynamoDB's own exports of a table to S3; `streams` are all of the account's. By a function's name:
`aside` is the bucket of changes that it could not handle, `missed` the queue of a schedule's calls that failed. `key`
encrypts a table, and no deployment has it."""


@dataclass(frozen=True, order=True)
class Resource:
    """Something of the account, by the name that the program knows it by."""

    kind: Kind
    name: str
    """The table's, queue's or bucket's; for a key that of its table."""
    part: str = ""
    """The index of a table, the prefix of a bucket's objects, or a key's id or ARN."""

    def arn(self, partition: str) -> str:
        """The ARN of a key: its own, if it is declared by that; else one in any region of this account."""
        return self.part if self.part.startswith("arn:") else f"arn:{partition}:kms:*:*:key/{self.part}"


@dataclass(frozen=True)
class ResourceAccess:
    """Actions on one resource. `partitions` are patterns of the partition keys; None reaches every one.

    `attributes` are the stored names that a read may ask for; None for all of an item.
    """

    resource: Resource
    actions: frozenset[str]
    partitions: tuple[str, ...] | None = None
    attributes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Grant:
    """The rights of a verb. `shown` has the form of the declaration: `creates(Order)`."""

    shown: str
    tables: tuple[Table, ...]
    accesses: Callable[[Where], Iterable[ResourceAccess]]

    def __repr__(self) -> str:
        return f"<{self.shown}>"


def table_resource(table: Table, index: str | None = None) -> Resource:
    return Resource("table", table.name) if index is None else Resource("index", table.name, index)


def at(
    model: Model[Any], captured: Captured, actions: Iterable[str], where: Where, attributes: Sequence[str] | None = None
) -> ResourceAccess:
    """Actions on the partitions that one pattern of an entity names."""
    shown = f"{model.kind.__qualname__.rpartition('<locals>.')[2]}.{captured.name}"
    return ResourceAccess(
        table_resource(captured.model.table, captured.index),
        frozenset(actions),
        key_patterns(captured.templates[0], where, shown),
        None if attributes is None else tuple(sorted(attributes)),
    )


def anywhere(table: Table, actions: Iterable[str], *, indexes: bool = False) -> Iterable[ResourceAccess]:
    """Actions on a whole table, and on its indexes."""
    yield ResourceAccess(table_resource(table), frozenset(actions))
    if indexes:
        for index in table.definition.indexes:
            yield ResourceAccess(table_resource(table, index), frozenset(actions))
