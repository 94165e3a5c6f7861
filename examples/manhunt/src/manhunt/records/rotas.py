"""Rotas: who is on call when. One item each, with its overrides, so that a batch reads many."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from manhunt.records.table import manhunt
from singletable import ANY, Entity, Key, field


@dataclass(frozen=True)
class Override:
    """Somebody stands in, from the first moment until before the last one."""

    override_id: str
    contact_id: str
    starts_at: datetime
    ends_at: datetime


class Rota(Entity, table=manhunt, type="rota"):
    """Contacts who take turns. Of overrides at the same time the one that was added last counts."""

    rota_id: str
    domain_id: str
    name: str
    members: list[str]
    """Contacts, in the order of their turns."""
    starts_at: datetime
    """Of the first turn; before it nobody is on call, but by an override."""
    turn_seconds: int
    zone: str = "UTC"
    """A turn of whole days begins at the same time of the day there, in summer and in winter."""
    overrides: list[Override] = field(default_factory=list[Override])
    revision: int = field(version=True, default=0)
    """A search that is being opened holds it: who was found on call still is."""

    @manhunt.key
    @staticmethod
    def by_id(rota_id: str) -> Key:
        """A rota by its id."""
        return f"{rota_id}", "rota"

    @manhunt.index("GSI1")
    @staticmethod
    def by_domain(domain_id: str, name: str = ANY) -> Key:
        """The rotas of a domain, by name."""
        return f"rota#{domain_id}", f"{name}"
