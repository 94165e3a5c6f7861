"""What every part of the service works with, and the reads and errors that several of them share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeVar

from organisations.access import check_caller, check_there
from organisations.model import Organisation, OrganisationMember
from organisations.roles import Capability
from singletable import Database, Entity

E = TypeVar("E", bound=Entity)

TRIES = 10
"""How often a write is begun again because somebody changed in between what it had read."""


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Actions:
    """Actions over a database. The clock and the source of ids are arguments."""

    db: Database
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id


@dataclass(frozen=True)
class Parties:
    """An organisation and the member records of some people, read in one consistent request."""

    organisation: Organisation
    members: Mapping[str, OrganisationMember]


def read_parties(
    db: Database, organisation_id: str, people: Sequence[str], by: str | None, capability: Capability
) -> Parties:
    """1 R for the organisation, each of the people, and the caller. NoSuchOrganisation, NotAllowed for the caller."""
    addresses = dict.fromkeys(people if by is None else [*people, by])
    keys = [OrganisationMember.of_organisation(organisation_id, email) for email in addresses]
    found: list[Entity] = db.get_many([Organisation.by_id(organisation_id), *keys], consistent=True)
    organisation = check_there(first_of(found, Organisation), organisation_id)
    members = all_of(found, OrganisationMember)
    check_caller(organisation, members, by, capability)
    return Parties(organisation, {member.email: member for member in members})


def first_of(found: Iterable[Entity], kind: type[E]) -> E | None:
    return next(iter(all_of(found, kind)), None)


def all_of(found: Iterable[Entity], kind: type[E]) -> list[E]:
    return [entity for entity in found if isinstance(entity, kind)]
