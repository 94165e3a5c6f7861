"""Who a stage needs now, and the searches for them. What was read is held by the transaction that opens those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from manhunt.base import Base
from manhunt.contacts import details
from manhunt.errors import NoSuchContact, NoSuchRota
from manhunt.messages import DEFAULT_MESSAGE
from manhunt.model import (
    Contact,
    Incident,
    IncidentSearch,
    Rota,
    Search,
    Stage,
    Status,
    TargetKind,
)
from manhunt.searches import ANSWER_SECONDS, is_unedited, search_for
from manhunt.zones import on_call
from singletable import attr
from singletable.records import Transaction


@dataclass(frozen=True)
class Why:
    """Why a contact is needed: their turn in a rota, an override, or neither where the stage names them."""

    rota: Rota | None = None
    override_id: str | None = None


@dataclass
class Muster:
    """What a stage looks for, as it was read."""

    rotas: list[Rota] = field(default_factory=list[Rota])
    contacts: list[Contact] = field(default_factory=list[Contact])
    searches: list[Search] = field(default_factory=list[Search])
    links: list[IncidentSearch] = field(default_factory=list[IncidentSearch])
    hunted_already: int = 0
    """Contacts of the stage who are looked for already."""
    absent: list[str] = field(default_factory=list[str])
    """Why nobody is looked for on behalf of a target."""

    @property
    def reaches_somebody(self) -> bool:
        """Somebody who is not looked for yet."""
        return any(search.status is Status.ACTIVE for search in self.searches)

    def write(self, tx: Transaction) -> None:
        """Open the searches, while the rotas and the contacts are as they were read."""
        for search, link in zip(self.searches, self.links, strict=True):
            tx.create(search)
            tx.create(link)
        for rota in self.rotas:
            tx.check(Rota.by_id(rota.rota_id), where=attr(Rota.revision) == rota.revision)
        for contact in self.contacts:
            tx.check(Contact.by_id(contact.contact_id), where=is_unedited(contact))


def muster(
    base: Base, incident: Incident, stage: Stage, now: datetime, hunted: frozenset[str], *, strict: bool = False
) -> Muster:
    """Who the stage needs at `now`: its contacts, and whoever its rotas have on call. Nobody twice, and none of those
    who are `hunted` already. A batch of the rotas, and a query for each contact: 1 R for each 4 KB.

    What a target names may be gone: it is passed over, or, if `strict`, NoSuchContact or NoSuchRota.
    """
    found = Muster()
    for contact_id, why in _named(base, incident, stage, now, found, strict).items():
        if contact_id in hunted:
            found.hunted_already += 1
            continue
        try:
            contact = details(base.db, incident.domain_id, contact_id)
        except NoSuchContact:
            if strict:
                raise
            found.absent.append("a contact that was deleted")
            continue
        search = search_for(
            contact,
            base.new_id(),
            now,
            message=DEFAULT_MESSAGE,
            metadata={"summary": incident.summary},
            answer_seconds=ANSWER_SECONDS,
            urgent=incident.is_urgent,
            incident=incident,
        )
        found.contacts.append(contact.contact)
        found.searches.append(search)
        found.links.append(_link(incident, search, why))
    return found


def _named(
    base: Base, incident: Incident, stage: Stage, now: datetime, found: Muster, strict: bool
) -> Mapping[str, Why]:
    """The contacts, each once, in the order of the targets."""
    keys = [Rota.by_id(target.id) for target in stage.targets if target.kind is TargetKind.ROTA]
    rotas = {rota.rota_id: rota for rota in base.db.get_many(keys, consistent=True)} if keys else {}
    named: dict[str, Why] = {}
    for target in stage.targets:
        if target.kind is TargetKind.CONTACT:
            named.setdefault(target.id, Why())
            continue
        rota = rotas.get(target.id)
        if rota is None or rota.domain_id != incident.domain_id:
            if strict:
                raise NoSuchRota(target.id)
            found.absent.append("a rota that was deleted")
            continue
        found.rotas.append(rota)
        turn = on_call(rota, now)
        if turn is None:
            found.absent.append(f"rota {rota.name}: nobody is on call yet")
        else:
            named.setdefault(turn.contact_id, Why(rota, turn.override_id))
    return named


def _link(incident: Incident, search: Search, why: Why) -> IncidentSearch:
    rota = why.rota
    return IncidentSearch(
        incident_id=incident.incident_id,
        search_id=search.search_id,
        contact_id=search.contact_id,
        contact_name=search.contact_name,
        hunt=incident.hunt,
        lap=incident.lap,
        stage=incident.stage,
        opened_at=search.started_at,
        rota_id=rota.rota_id if rota is not None else None,
        rota_name=rota.name if rota is not None else None,
        rota_revision=rota.revision if rota is not None else None,
        override_id=why.override_id,
    )


def hunted_now(base: Base, incident: Incident, links: Sequence[IncidentSearch]) -> frozenset[str]:
    """The contacts that this hunt looks for at the moment. A batch of its searches."""
    keys = [Search.by_id(link.search_id) for link in links if link.hunt == incident.hunt]
    found = base.db.get_many(keys, consistent=True) if keys else []
    return frozenset(search.contact_id for search in found if search.status is Status.ACTIVE)
