"""Groups as members of a string set: `organisationGroup/<group>` and `serviceGroup/<service id>/<group>`.

A group's name comes last and stands as it is, slashes and all. A service id stands in the middle, so its `/` and `%`
are written `%2F` and `%25`: every text has one reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from examples_shared.errors import Invalid

OWNER = "owner"
ADMIN = "admin"
MEMBER = "member"

_OF_ORGANISATION = "organisationGroup"
_OF_SERVICE = "serviceGroup"
_ESCAPES = {"%": "%25", "/": "%2F"}


@dataclass(frozen=True)
class Group:
    """A group of an organisation, or, with a `service_id`, of one of its services."""

    name: str
    service_id: str | None = None

    def __post_init__(self) -> None:
        if not self.name or self.service_id == "":
            raise Invalid("a group has a name, and a service an id")

    @property
    def text(self) -> str:
        """The group as a member of the set."""
        return f"{self.scope}/{self.name}"

    @property
    def scope(self) -> str:
        """What its text begins with: the organisation's own groups, or those of one service."""
        return scope_of(self.service_id)

    @property
    def key(self) -> str:
        """Its name as a part of a key, where slashes are escaped."""
        return _escape(self.name)


OWNERS = Group(OWNER)
ADMINS = Group(ADMIN)


def parse(text: str) -> Group:
    """The group of a text; Invalid for a text that no group has."""
    kind, _, rest = text.partition("/")
    if kind == _OF_ORGANISATION and rest:
        return Group(rest)
    service, _, name = rest.partition("/")
    if kind == _OF_SERVICE and service and name and _is_escaped(service):
        return Group(name, _unescape(service))
    raise Invalid(
        f"{text!r} is not a group: a group is {_OF_ORGANISATION}/<group> or {_OF_SERVICE}/<service id>/<group>"
    )


def texts_of(groups: Iterable[Group]) -> set[str]:
    return {group.text for group in groups}


def scope_of(service_id: str | None) -> str:
    """The scope of an organisation's own groups, or of a service's."""
    return _OF_ORGANISATION if service_id is None else f"{_OF_SERVICE}/{_escape(service_id)}"


def service_prefix(service_id: str) -> str:
    """What the texts of a service's groups begin with, and no other's."""
    return f"{scope_of(service_id)}/"


def group_at(scope: str, key: str) -> Group:
    """The group of a scope and a key."""
    return parse(f"{scope}/{_unescape(key)}")


def services_of(groups: Iterable[Group]) -> list[str]:
    return sorted({group.service_id for group in groups if group.service_id is not None})


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)


def _is_escaped(service: str) -> bool:
    return all(code in ("25", "2F") for code in re.findall("%(.{0,2})", service, re.DOTALL))


def _unescape(service: str) -> str:
    return service.replace("%2F", "/").replace("%25", "%")
