"""Whether somebody may, what somebody may, who may.

    app.may("linus", "kubernetes", service="test-infra", group="write")     # one record, consistently read
    app.explain("linus", "kubernetes", service="test-infra")                # by which groups, given by whom, since when
    app.reach("linus")                                                      # all services and groups, one query
    app.who_may("kubernetes", service="test-infra", group="write")          # a page of people, from the group's records

Only the member's own record decides. Its set of groups and the groups' records are written by the same transactions.
While a service or an organisation is being deleted, which takes a moment, a member holds its groups until the deletion
has reached their record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from organisations.access import check_caller, check_there, is_member
from organisations.addresses import address
from organisations.base import Actions, all_of, first_of
from organisations.errors import Invalid, NoSuchOrganisation, NoSuchService
from organisations.groups import Group, parse, scope_of
from organisations.model import GroupMember, Organisation, OrganisationMember, OrganisationService
from organisations.roles import Capability
from singletable import Entity, Page


@dataclass(frozen=True)
class Grant:
    """A group that somebody is in. `by` is nobody for the operator's doing, such as an import."""

    group: Group
    by: str | None
    since: datetime


@dataclass(frozen=True)
class Decision:
    """Whether somebody may, and the groups by which they may."""

    may: bool
    grants: Sequence[Grant] = ()


@dataclass(frozen=True)
class Reach:
    """What somebody may in one organisation."""

    organisation_id: str
    since: datetime
    groups: Sequence[str]
    """Of the organisation itself."""
    services: Mapping[str, Sequence[str]]
    """The groups of each service."""


@dataclass(frozen=True)
class Permissions(Actions):
    def may(
        self,
        user: str,
        organisation_id: str,
        *,
        service: str | None = None,
        group: str | None = None,
        by: str | None = None,
    ) -> bool:
        """Whether somebody is in a group of a service; in any of its groups, where none is named; in a group of the
        organisation itself, where no service is named.

        1 request: 1 R for each 4 KB of the member's record, whatever the organisation's size. `by` asks: a member about
        anybody, which reads their record too; to all others there is no such organisation. Invalid where neither
        service nor group is named.
        """
        member = self._member(user, organisation_id, by)
        return bool(_texts(member, _asked(service, group)))

    def explain(
        self,
        user: str,
        organisation_id: str,
        *,
        service: str | None = None,
        group: str | None = None,
        by: str | None = None,
    ) -> Decision:
        """As `may`, with the groups that say yes, by whom each was given and when. 2 requests: as `may`, and 1 R for
        each of the groups."""
        member = self._member(user, organisation_id, by)
        groups = [parse(text) for text in _texts(member, _asked(service, group))]
        return Decision(bool(groups), self._given(organisation_id, address(user), groups))

    def grants_of(self, user: str, organisation_id: str, *, by: str | None = None) -> Decision:
        """Whether somebody is a member, and every group that they are in. As `explain`, 100 groups a request."""
        member = self._member(user, organisation_id, by)
        if member is None or not is_member(member):
            return Decision(False)
        return Decision(True, self._given(organisation_id, member.email, [parse(t) for t in sorted(member.groups)]))

    def reach(self, user: str) -> list[Reach]:
        """Everything that somebody may, in all organisations, in the order of joining them: one query of an index, half
        a read unit for each 4 KB; a moment old."""
        found = self.db.all(OrganisationMember.of_person(address(user)))
        return [_reach(member) for member in found]

    def who_may(
        self,
        organisation_id: str,
        *,
        service: str | None = None,
        group: str | None = None,
        limit: int = 50,
        after: str | None = None,
        by: str | None = None,
    ) -> Page[GroupMember]:
        """A page of the people in a group, or in all groups of a service or of the organisation itself: by group, then
        by address.

        2 requests: the organisation, the service and the caller, 1 R each; 1 R for each 4 KB of the page.
        NoSuchOrganisation, NoSuchService.
        """
        self._check_scope(organisation_id, service, by)
        scope = scope_of(service)
        query = (
            GroupMember.of_scope(organisation_id, scope)
            if group is None
            else GroupMember.of_scope(organisation_id, scope, Group(group, service).key)
        )
        return self.db.page(query.consistent(), limit=limit, after=after)

    def _given(self, organisation_id: str, email: str, groups: Sequence[Group]) -> list[Grant]:
        """The groups with who gave them; one that was taken away since they were read is left out."""
        keys = [GroupMember.of_scope(organisation_id, g.scope, g.key, email) for g in groups]
        given = {(m.scope, m.group): m for m in self.db.get_many(keys, consistent=True)} if keys else {}
        found = [(group, given.get((group.scope, group.key))) for group in groups]
        return [Grant(group, m.given_by, m.given_at) for group, m in found if m is not None]

    # --- reads --------------------------------------------------------------------------------------------------------
    def _member(self, user: str, organisation_id: str, by: str | None) -> OrganisationMember | None:
        """Their record; NoSuchOrganisation for a caller who is not a member."""
        email = address(user)
        people = dict.fromkeys([email] if by is None else [email, by])
        keys = [OrganisationMember.of_organisation(organisation_id, person) for person in people]
        members = {member.email: member for member in self.db.get_many(keys, consistent=True)}
        if by is not None and not is_member(members.get(by)):
            raise NoSuchOrganisation(organisation_id)
        return members.get(email)

    def _check_scope(self, organisation_id: str, service: str | None, by: str | None) -> None:
        keys = [] if service is None else [OrganisationService.of_organisation(organisation_id, service)]
        callers = [] if by is None else [OrganisationMember.of_organisation(organisation_id, by)]
        found: list[Entity] = self.db.get_many([Organisation.by_id(organisation_id), *keys, *callers], consistent=True)
        organisation = check_there(first_of(found, Organisation), organisation_id)
        check_caller(organisation, all_of(found, OrganisationMember), by, Capability.READ)
        stored = first_of(found, OrganisationService)
        if service is not None and (stored is None or stored.deleted_at is not None):
            raise NoSuchService(organisation_id, service)


def _asked(service: str | None, group: str | None) -> Group | str:
    """A group, or what the texts of a service's groups begin with."""
    if group is not None:
        return Group(group, service)
    if service is None:
        raise Invalid("name a service, a group, or both", "service")
    return f"{scope_of(service)}/"


def _texts(member: OrganisationMember | None, asked: Group | str) -> list[str]:
    """Those of a member's groups that are asked for; an invitation has none."""
    held = member.groups if member is not None and is_member(member) else set[str]()
    if isinstance(asked, Group):
        return [asked.text] if asked.text in held else []
    return sorted(text for text in held if text.startswith(asked))


def _reach(member: OrganisationMember) -> Reach:
    groups = [parse(text) for text in sorted(member.groups)]
    services: dict[str, list[str]] = {}
    for group in groups:
        if group.service_id is not None:
            services.setdefault(group.service_id, []).append(group.name)
    own = [group.name for group in groups if group.service_id is None]
    assert member.accepted_at is not None  # the index holds no others
    return Reach(member.organisation_id, member.accepted_at, own, services)
