"""Accesses as statements of IAM, as narrow as they can be.

DynamoDB judges a batch, and the actions of one kind in a transaction, as a whole: the keys of all their items have to
be allowed by one statement. So there is a statement for each set of actions on a table or an index, which holds all
partitions that these actions reach; not one for each access pattern, which would refuse a batch of two classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from singletable_deploy.access import Kind, Resource, ResourceAccess
from singletable_deploy.deployment import Deployment
from singletable_deploy.key_patterns import ANY_KEY, fewest
from singletable_deploy.resources import words
from singletable_deploy.role import Role

VERSION: Final = "2012-10-17"
MOST_CHARACTERS: Final = 6144
"""The limit of one managed policy, without white space."""
SERVICES: Mapping[Kind, str] = {
    "table": "dynamodb",
    "index": "dynamodb",
    "stream": "dynamodb",
    "streams": "dynamodb",
    "exports": "dynamodb",
    "key": "kms",
    "queue": "sqs",
    "aside": "s3",
    "missed": "sqs",
    "bucket": "s3",
    "objects": "s3",
}
_VIA_DYNAMODB: Final = {"StringLike": {"kms:ViaService": "dynamodb.*.amazonaws.com*"}}
_LONG_ARN = "x" * 200
Json = dict[str, Any]
Attributes = tuple[str, ...] | None
Partitions = tuple[str, ...] | None


@dataclass(frozen=True, order=True)
class Statement:
    """Some actions on one resource, in some partitions and of some attributes; None for all of them."""

    resource: Resource
    actions: tuple[str, ...]
    partitions: Partitions
    attributes: Attributes

    @property
    def condition(self) -> dict[str, Any]:
        """Its `Condition`; {} for none. Without the key in a request, access is denied: `Null` refuses it."""
        if self.resource.kind == "key":
            return _VIA_DYNAMODB
        held: dict[str, dict[str, Any]] = {}
        if self.partitions is not None:
            held["ForAllValues:StringLike"] = {"dynamodb:LeadingKeys": list(self.partitions)}
            held["Null"] = {"dynamodb:LeadingKeys": "false"}
        if self.attributes is not None:
            held["ForAllValues:StringEquals"] = {"dynamodb:Attributes": list(self.attributes)}
            held["StringEqualsIfExists"] = {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}
        return held

    def body(self, sid: str, resource: Any) -> dict[str, Any]:
        """The statement, with its resource as a format spells it."""
        service = SERVICES[self.resource.kind]
        whole: dict[str, Any] = {
            "Sid": sid,
            "Effect": "Allow",
            "Action": [f"{service}:{action}" for action in self.actions],
            "Resource": resource,
        }
        return {**whole, "Condition": self.condition} if self.condition else whole


def statements_of(accesses: Iterable[ResourceAccess]) -> tuple[Statement, ...]:
    """The fewest statements that allow the accesses and nothing else."""
    reached: dict[tuple[Resource, Attributes], dict[str, set[str]]] = {}
    for access in accesses:
        actions = reached.setdefault((access.resource, access.attributes), {})
        for action in access.actions:
            actions.setdefault(action, set()).update(access.partitions or (ANY_KEY,))
    return tuple(sorted(_statements(reached), key=_order))


def named(statements: Sequence[Statement]) -> Iterator[tuple[str, Statement]]:
    """Each with a `Sid` of its own, by what it is about: `OrdersGsi1Query`."""
    names = [words(s.resource.name, _part(s.resource), s.actions[0]) for s in statements]
    for at, (name, statement) in enumerate(zip(names, statements, strict=True)):
        yield (f"{name}{names[:at].count(name) + 1}" if names.count(name) > 1 else name), statement


def policies_of(role: Role, deployment: Deployment, spell: Callable[[Resource], Any]) -> list[list[Json]]:
    """The statements of a role, as the policies that hold them; `spell` says a resource as a format does."""
    parts: list[list[Json]] = [[]]
    for sid, statement in named(statements_of(deployment.accesses_of(role))):
        body = statement.body(sid, spell(statement.resource))
        if parts[-1] and size_of([*parts[-1], body]) > MOST_CHARACTERS:
            parts.append([])
        parts[-1].append(body)
    return parts


def size_of(statements: Sequence[Json]) -> int:
    """The characters of a policy. An ARN, which is known later, counts as a long one does."""
    spelled = [{**statement, "Resource": _LONG_ARN} for statement in statements]
    return len(json.dumps({"Version": VERSION, "Statement": spelled}, separators=(",", ":")))


def trust_of(service: str) -> Json:
    """The service that takes a role."""
    principal = {"Service": f"{service}.amazonaws.com"}
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    return {"Version": VERSION, "Statement": [statement]}


def _statements(
    reached: Mapping[tuple[Resource, Attributes], Mapping[str, set[str]]],
) -> Iterator[Statement]:
    for (resource, attributes), actions in reached.items():
        by_partitions: dict[Partitions, list[str]] = {}
        for action, patterns in actions.items():
            partitions = None if ANY_KEY in patterns else fewest(patterns)
            by_partitions.setdefault(partitions, []).append(action)
        for partitions, together in by_partitions.items():
            yield Statement(resource, tuple(sorted(together)), partitions, attributes)


def _order(statement: Statement) -> tuple[Resource, tuple[str, ...], tuple[str, ...]]:
    return statement.resource, statement.actions, statement.attributes or ()


def _part(resource: Resource) -> str:
    return "key" if resource.kind == "key" else resource.part
