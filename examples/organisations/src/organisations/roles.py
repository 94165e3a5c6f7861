"""Who may do what in an organisation, as data: the one place that the API, the command line, the pages and the tests
read.

The owners are the members of the group `owner`, the admins those of the group `admin`; everybody who has accepted is a
member. The operator, who works at the command line, may do all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final

from organisations.groups import ADMINS, OWNERS, Group


class Role(Enum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"


class Capability(Enum):
    """What somebody may do; the value says it in words."""

    READ = "see its members, groups and services, and ask who may do what"
    LEAVE = "leave it"
    MANAGE_SERVICES = "create, rename and delete services"
    ASSIGN_GROUPS = "put members into groups and take them out"
    SEND_MESSAGES = "send messages to groups"
    SEE_TRAIL = "see what happened"
    INVITE = "invite, and see and withdraw invitations"
    APPOINT = "make owners and admins, and unmake them"
    REMOVE_MEMBERS = "remove members"
    RENAME = "rename it"
    DELETE = "delete it"


_OF_MEMBERS: Final = frozenset({Capability.READ, Capability.LEAVE})
_OF_ADMINS: Final = _OF_MEMBERS | {
    Capability.MANAGE_SERVICES,
    Capability.ASSIGN_GROUPS,
    Capability.SEND_MESSAGES,
    Capability.SEE_TRAIL,
}

CAPABILITIES: Final[Mapping[Role, frozenset[Capability]]] = {
    Role.OWNER: frozenset(Capability),
    Role.ADMIN: _OF_ADMINS,
    Role.MEMBER: _OF_MEMBERS,
}

APPOINTED: Final = (OWNERS, ADMINS)
"""The groups that make a role: APPOINT is wanted for them."""


def roles_with(capability: Capability) -> list[Role]:
    """The roles that have a capability, highest first."""
    return [role for role, has in CAPABILITIES.items() if capability in has]


def wanted_for(groups: Collection[Group]) -> Capability:
    """What whoever gives or takes these groups must be able to do."""
    return Capability.APPOINT if any(group in APPOINTED for group in groups) else Capability.ASSIGN_GROUPS
