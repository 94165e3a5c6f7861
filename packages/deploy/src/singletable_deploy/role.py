"""Roles: what one of an application's programs may do, as a list of its access patterns and verbs.

web = Role("web", [User.by_email, Order.of_customer, creates(Order), updates(Order)], service="ecs-tasks")
tenant = Role("tenant", [Order.of_customer], where={"customer": "${aws:PrincipalTag/customer}"})
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from singletable.errors import DeclarationError
from singletable.foundation import Table
from singletable_deploy.access import Grant, Resource, ResourceAccess, Where
from singletable_deploy.record_grants import Pattern, reads

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")


@dataclass(frozen=True)
class Role:
    """A program's rights. `may` holds patterns, which are read, and what verbs return.

    `where` says what values in keys look like, by their names in the patterns: a tenant's own value, a variable of IAM
    as `${aws:PrincipalTag/customer}`, or what every one begins with. `service` is the service of AWS that takes the
    role ("lambda", "ecs-tasks", "ec2"); without one, only its policies are made, to be attached to a role of yours.

    Raises DeclarationError for a name that is none, for a name in `where` that no pattern has, and for a key that no
    policy can hold.
    """

    name: str
    may: Sequence[Pattern | Grant]
    where: Where = field(default_factory=lambda: MappingProxyType({}))
    service: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DeclarationError(
                f"invalid name of a role {self.name!r}",
                hint="Lower-case letters, digits and hyphens, as in 'order-api'.",
            )
        _ = self.accesses  # refuses at the declaration what no policy can hold

    @cached_property
    def grants(self) -> tuple[Grant, ...]:
        """The rights of the role, pattern by pattern and verb by verb."""
        return tuple(each if isinstance(each, Grant) else reads(each) for each in self.may)

    @cached_property
    def accesses(self) -> tuple[ResourceAccess, ...]:
        """All that it may do, in the order of its declaration."""
        used = _Used(self.where)
        accesses = tuple(access for grant in self.grants for access in grant.accesses(used))
        if unused := sorted(self.where.keys() - used.names):
            raise DeclarationError(
                f"role {self.name}: where= names {unused[0]!r}, which is in no partition key of what the role may do"
            )
        return accesses

    @property
    def needs(self) -> Iterator[tuple[Grant, Resource]]:
        """Each resource that it reaches, with what in its declaration reaches it."""
        for grant in self.grants:
            yield from ((grant, resource) for resource in {a.resource: None for a in grant.accesses(self.where)})

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that it touches."""
        return tuple(dict.fromkeys(table for grant in self.grants for table in grant.tables))


class _Used(Mapping[str, str]):
    """A mapping that remembers which names were asked for."""

    def __init__(self, given: Where) -> None:
        self._given, self.names = given, set[str]()

    def __getitem__(self, name: str) -> str:
        value = self._given[name]
        self.names.add(name)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)
