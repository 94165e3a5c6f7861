"""The resources that an application needs: tables, roles, functions, queues, a bucket. One value, which makes nothing.

deployment = Deployment("shop", tables=[shop], roles=[web, worker], functions=[Function("changes", ..., on=changes)])

`singletable deploy MODULE --format cloudformation` writes it as a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType

from singletable.errors import DeclarationError
from singletable.flow import TableNames
from singletable.foundation import Table
from singletable.streams import Changes
from singletable.tasks import Tasks
from singletable_deploy.access import Resource, ResourceAccess
from singletable_deploy.layer_grants import change_metrics, hold_reads, receives, stream_reads, task_metrics
from singletable_deploy.resources import BlobBucket, MessageQueue, refuse_collisions
from singletable_deploy.role import Role

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
_KEY_CALLS = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey*", "ReEncrypt*")
"""DynamoDB's calls of a table's encryption key in the name of a reader or writer of the table."""
_LOG_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
"""The days for which CloudWatch keeps logs."""
_LEAST_AGE, _MOST_AGE = timedelta(minutes=1), timedelta(hours=23)
_OWNERS = {"index": "table", "stream": "table", "exports": "table", "objects": "bucket"}
"""The owner of a part."""
Setting = str | MessageQueue | BlobBucket
"""The value of an environment variable: a text, a queue's URL, or a bucket's name."""


@dataclass(frozen=True)
class Function:
    """A function of AWS Lambda: `handler` as in `shop.functions.on_change`.

    `on` says when it is called: for the changes of a table's stream, for the messages of a queue, or every so often.
    """

    name: str
    handler: str
    role: Role
    on: Changes | MessageQueue | timedelta
    settings: Mapping[str, Setting] = field(default_factory=lambda: MappingProxyType({}))
    """Its environment: a text, a `MessageQueue` for its URL, or a `BlobBucket` for its name, by the variable."""
    batch: int = 100
    seconds: int = 60
    """Its time limit."""
    measures: Sequence[Tasks | Changes] = ()
    """The tasks and consumers whose metrics it prints, as `TaskWorker.lambda_metrics()` does: each has alarms."""
    max_age: timedelta = timedelta(hours=20)
    """The age at which a change that it could not handle goes aside, where it is behind a stream. A stream drops
    it after 24 hours."""

    @property
    def missed(self) -> str:
        """The name of the queue of calls that failed for the last time, where a schedule calls it."""
        return f"{self.name}-missed"

    def __post_init__(self) -> None:
        if self.role.service != "lambda":
            raise DeclarationError(
                f"function {self.name} has the role {self.role.name}, which Lambda can't take",
                hint='Declare Role(..., service="lambda").',
            )
        if isinstance(self.on, MessageQueue) and self.on.handling_seconds < self.seconds:
            raise DeclarationError(
                f"function {self.name} may take {self.seconds} s, and its queue gives each message to another reader "
                f"after {self.on.handling_seconds} s",
                hint="Raise the queue's handling_seconds to six times the function's.",
            )
        if not _LEAST_AGE <= self.max_age <= _MOST_AGE or self.max_age % timedelta(seconds=1):
            raise DeclarationError(
                f"function {self.name} has max_age={self.max_age}",
                hint="Whole seconds, from a minute to 23 hours: a stream drops its changes after 24.",
            )
        if self.measures and self.on != timedelta(minutes=1):
            raise DeclarationError(
                f"function {self.name} measures something, and is not called every minute",
                hint="Its alarms look at each minute: Function(..., on=timedelta(minutes=1), measures=[tasks]).",
            )
        if isinstance(self.on, timedelta) and (self.on < timedelta(minutes=1) or self.on % timedelta(minutes=1)):
            raise DeclarationError(f"function {self.name} can be called every whole minutes, not every {self.on}")


@dataclass(frozen=True)
class ContainerService:
    """A service of ECS that runs a worker, by its names in the account. Another stack makes it; this one has its alarm:
    fewer than `least` of its tasks run."""

    name: str
    cluster: str
    least: int = 1


@dataclass(frozen=True)
class Deployment:
    """A deployed application. `functions` bring their roles and queues with them.

    Raises DeclarationError for two whose names differ in punctuation alone, as a template would merge them, and for a
    role that needs what the deployment doesn't have.
    """

    name: str
    tables: Sequence[Table]
    roles: Sequence[Role] = ()
    functions: Sequence[Function] = ()
    queues: Sequence[MessageQueue] = ()
    buckets: Sequence[BlobBucket] = ()
    services: Sequence[ContainerService] = ()
    alarms: bool = True
    log_days: int = 30
    """The days for which the functions' logs are kept."""
    names: TableNames = field(default_factory=TableNames)
    """The names of its tables in the account, where they are not the declared ones. Its functions get them as variables
    of their environments, which `connect` reads; their own settings take precedence."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DeclarationError(f"invalid name of a deployment {self.name!r}", hint="For example 'order-service'.")
        for kind, names in (
            ("table", [t.name for t in self.tables]),
            ("role", [r.name for r in self.all_roles]),
            ("function", [f.name for f in self.functions]),
            ("queue", [name for q in self.all_queues for name in (q.name, f"{q.name}-dead")] + self._missed),
            ("bucket", [b.name for b in self.all_buckets]),
            ("service", [s.name for s in self.services]),
        ):
            refuse_collisions(self.name, kind, names)
        if self.log_days not in _LOG_DAYS:
            raise DeclarationError(
                f"{self.name} has log_days={self.log_days}",
                hint=f"CloudWatch keeps logs for one of these: {', '.join(map(str, _LOG_DAYS))}.",
            )
        self._refuse_strangers()
        for table in self.names.arns.keys() & {t.name for t in self.tables}:
            raise DeclarationError(
                f"the table {table!r} of {self.name} has an ARN: it is another account's, and no template makes it",
                hint="Take it out of tables= of the Deployment, or give it a name.",
            )

    @cached_property
    def all_roles(self) -> tuple[Role, ...]:
        """The roles, and those of the functions."""
        return tuple({id(r): r for r in (*self.roles, *(f.role for f in self.functions))}.values())

    @cached_property
    def all_queues(self) -> tuple[MessageQueue, ...]:
        """The queues, and the ones that functions read or get as settings."""
        return tuple(dict.fromkeys((*self.queues, *(q for q in self._told if isinstance(q, MessageQueue)))))

    @cached_property
    def all_buckets(self) -> tuple[BlobBucket, ...]:
        """The buckets, and the ones that functions get as settings."""
        return tuple(dict.fromkeys((*self.buckets, *(b for b in self._told if isinstance(b, BlobBucket)))))

    @property
    def _missed(self) -> list[str]:
        return [function.missed for function in self.functions if isinstance(function.on, timedelta)]

    @property
    def _told(self) -> list[object]:
        return [each for function in self.functions for each in (function.on, *function.settings.values())]

    def accesses_of(self, role: Role) -> tuple[ResourceAccess, ...]:
        """The accesses that a role declares, those of its functions to what calls them and to the places of what
        failed, and the keys of encrypted tables."""
        accesses = list(role.accesses)
        for function in self.functions:
            if function.role is role:
                accesses += _of_its_source(function)
        return (*accesses, *(access for table in self.tables for access in _of_its_key(table, accesses)))

    def _refuse_strangers(self) -> None:
        known = {
            "table": {t.name for t in self.tables},
            "queue": {q.name for q in self.all_queues},
            "bucket": {b.name for b in self.all_buckets},
        }
        needs = [
            *(
                (f"role {role.name}: {grant.shown}", resource)
                for role in self.all_roles
                for grant, resource in role.needs
            ),
            *((f"function {f.name}", access.resource) for f in self.functions for access in _of_its_source(f)),
        ]
        for what, resource in needs:
            kind = _owner(resource)
            if kind in known and resource.name not in known[kind]:
                raise DeclarationError(
                    f"{what} needs the {kind} {resource.name!r}, which {self.name} does not have",
                    hint=f"Add it to {kind}s= of the Deployment, or take out what needs it.",
                )


def _of_its_source(function: Function) -> Iterator[ResourceAccess]:
    """The access of a function to what calls it, to the place of what it could not handle, and to what it measures."""
    for layer in function.measures:
        yield from task_metrics(layer) if isinstance(layer, Tasks) else change_metrics(layer)
    if isinstance(function.on, MessageQueue):
        yield from receives(function.on).accesses(function.role.where)
    elif isinstance(function.on, timedelta):
        yield ResourceAccess(Resource("missed", function.name), frozenset({"SendMessage"}))
    else:
        yield stream_reads(function.on.table)
        yield hold_reads(function.on.table)
        yield ResourceAccess(Resource("streams", "streams"), frozenset({"ListStreams"}))  # IAM knows no narrower one
        yield ResourceAccess(Resource("aside", function.name), frozenset({"ListBucket"}))
        yield ResourceAccess(Resource("aside", function.name, "*"), frozenset({"PutObject"}))


def _owner(resource: Resource) -> str:
    return _OWNERS.get(resource.kind, resource.kind)


def _of_its_key(table: Table, accesses: Sequence[ResourceAccess]) -> Iterator[ResourceAccess]:
    """The access of a role to a table's encryption key, by way of DynamoDB, if it reaches the table."""
    of_it = [access for access in accesses if access.resource.name == table.name and _owner(access.resource) == "table"]
    reached = {action for access in of_it for action in access.actions}
    if reached and (key := table.definition.encryption_key) is not None:
        grants = ["CreateGrant"] if "CreateTable" in reached else []
        yield ResourceAccess(Resource("key", table.name, key), frozenset((*_KEY_CALLS, *grants)))
