"""What the two details queries tell, as values; computed from the records alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from organisations.access import is_member
from organisations.errors import Invalid
from organisations.groups import Group, parse
from organisations.model import (
    Organisation,
    OrganisationDetails,
    OrganisationMember,
    User,
    UserDetails,
    UserOrganisation,
)
from singletable.errors import Corrupt


@dataclass(frozen=True)
class Person:
    """A member as the organisation's copy knows them."""

    email: str
    shown: str
    """The address as its owner writes it."""
    first_name: str = ""
    last_name: str = ""
    phone: str = ""


@dataclass(frozen=True)
class Profile:
    """A user, the organisations they are in, and the invitations that wait for them."""

    email: str
    user: User | None
    organisations: Sequence[UserOrganisation]
    invitations: Sequence[UserOrganisation]


@dataclass(frozen=True)
class ServiceRoster:
    service_id: str
    name: str
    groups: Mapping[str, Sequence[Person]] = field(default_factory=dict[str, "Sequence[Person]"])


@dataclass(frozen=True)
class Roster:
    """An organisation: its members, its groups with theirs, its services with their groups. All are sorted."""

    organisation: Organisation
    members: Sequence[Person]
    groups: Mapping[str, Sequence[Person]]
    services: Mapping[str, ServiceRoster]


def profile(email: str, details: UserDetails) -> Profile:
    memberships = details.memberships
    return Profile(
        email,
        details.user,
        tuple(m for m in memberships if m.accepted_at is not None),
        tuple(m for m in memberships if m.accepted_at is None),
    )


def roster(details: OrganisationDetails) -> Roster:
    """Those who have accepted, and services that are not being deleted; a group without people does not exist."""
    found = [(person(m), m.groups) for m in details.members if is_member(m)]
    found.sort(key=lambda pair: pair[0].shown)  # once: each group keeps the order
    groups = _people_by_group(found)
    services = {
        s.service_id: ServiceRoster(s.service_id, s.service_name, groups.get(s.service_id, {}))
        for s in details.services
        if s.deleted_at is None
    }
    return Roster(details.organisation, tuple(one for one, _ in found), groups.get(None, {}), services)


def person(member: OrganisationMember) -> Person:
    shown = member.shown_as or member.email
    return Person(member.email, shown, member.first_name, member.last_name, member.phone)


def _people_by_group(
    people: Iterable[tuple[Person, Iterable[str]]],
) -> dict[str | None, dict[str, Sequence[Person]]]:
    """Service id, None for the organisation itself, to group to people."""
    by_text: dict[str, list[Person]] = {}
    for one, texts in people:
        for text in texts:
            by_text.setdefault(text, []).append(one)
    groups = sorted(((_stored_group(text), those) for text, those in by_text.items()), key=lambda pair: pair[0].name)
    found: dict[str | None, dict[str, Sequence[Person]]] = {}
    for group, those in groups:
        found.setdefault(group.service_id, {})[group.name] = tuple(those)
    return found


def _stored_group(text: str) -> Group:
    """The group of a stored text. One that no group has is nobody's input here, but for a developer to look at."""
    try:
        return parse(text)
    except Invalid as error:
        raise Corrupt(str(error), attribute="OrganisationMember.groups") from error
