"""Escalation policies, incidents, and what an incident owns: its searches, people, resources and reactions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from manhunt.records.contacts import Contact
from manhunt.records.table import manhunt
from singletable import ANY, Collection, Entity, Key, collect, field


class TargetKind(Enum):
    """Who can be needed: a contact, or whoever a rota has on call."""

    CONTACT = "contact"
    ROTA = "rota"


class IncidentStatus(Enum):
    """Of an incident. The last two are its end, for good."""

    HUNTING = "hunting"
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"
    RESOLVED = "resolved"
    UNANSWERED = "unanswered"
    """Every stage is over, as often as the policy says, and nobody answered."""


ENDED = (IncidentStatus.RESOLVED, IncidentStatus.UNANSWERED)


class ReactionKind(Enum):
    """What can happen to an incident."""

    OPENED = "opened"
    ESCALATED = "escalated"
    """Nobody had answered in time: the next stage began."""
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"
    RESUMED = "resumed"
    """A snooze was over: the hunt began again."""
    REASSIGNED = "reassigned"
    RESOLVED = "resolved"
    UNANSWERED = "unanswered"


@dataclass(frozen=True)
class Target:
    """One of those a stage looks for."""

    kind: TargetKind
    id: str


@dataclass(frozen=True)
class Stage:
    """Who is looked for together, and how long before the next stage begins as well."""

    targets: list[Target]
    wait_seconds: int


@dataclass(frozen=True)
class Link:
    """Where those who work on an incident meet: a room, a call, a document."""

    title: str
    url: str


class Policy(Entity, table=manhunt, type="policy"):
    """Who is looked for in which order until somebody answers."""

    policy_id: str
    domain_id: str
    name: str
    stages: list[Stage]
    repeats: int = 0
    """How often the stages are gone through again before the incident ends without an answer."""
    links: list[Link] = field(default_factory=list[Link])
    """Become resources of each incident."""
    revision: int = field(version=True, default=0)

    @manhunt.key
    @staticmethod
    def by_id(policy_id: str) -> Key:
        """A policy by its id."""
        return f"{policy_id}", "policy"

    @manhunt.index("GSI1")
    @staticmethod
    def by_domain(domain_id: str, name: str = ANY) -> Key:
        """The policies of a domain, by name."""
        return f"policy#{domain_id}", f"{name}"


class Incident(Entity, table=manhunt, type="incident"):
    """Something is wrong, and somebody has to answer. Its stages are a copy: who is on call is resolved at each."""

    incident_id: str
    domain_id: str
    policy_id: str
    policy_name: str
    summary: str
    alarm_key: str = ""
    """Further alarms with this key belong to this incident until it ends."""
    alarms: int = 1
    is_urgent: bool = True
    """What is not urgent waits for the end of a contact's quiet hours."""
    stages: list[Stage]
    repeats: int
    assigned: Stage | None = None
    """Whoever it was reassigned to: they come before the stages."""
    opened_at: datetime
    status: IncidentStatus = IncidentStatus.HUNTING
    hunt: int = 0
    """Raised when the hunt begins anew, after a snooze or for others: searches of earlier ones are over."""
    lap: int = 0
    """How often this hunt has repeated its stages."""
    stage: int = 0
    """Of `plan`, the last that has begun."""
    escalates_at: datetime | None = None
    """When the next stage begins; none while nobody is looked for."""
    snoozed_until: datetime | None = None
    held_by: str = field(default="", personal=True)
    """Who acknowledged or snoozed it, or ended it."""
    hunt_ended_at: datetime | None = None
    """When the last hunt ended; none while one goes on."""
    ended_at: datetime | None = None
    reactions: int = 0
    """How many there are: each change of the incident adds one, and holds this number."""

    @property
    def plan(self) -> list[Stage]:
        """The stages of a hunt."""
        return [self.assigned, *self.stages] if self.assigned is not None else self.stages

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @manhunt.key
    @staticmethod
    def by_id(incident_id: str) -> Key:
        """An incident by its id."""
        return f"{incident_id}", "incident"

    @manhunt.index("GSI1")
    @staticmethod
    def by_domain(domain_id: str, opened_at: datetime = ANY) -> Key:
        """The incidents of a domain by time; with a range, before or after a date."""
        return f"incident#{domain_id}", f"{opened_at}"

    @manhunt.index("GSI2")
    @staticmethod
    def by_status(status: IncidentStatus, domain_id: str, opened_at: datetime = ANY) -> Key:
        """The incidents of a domain with a status by time; with a range, before or after a date."""
        return f"incident#{status}#{domain_id}", f"{opened_at}"


class Alarm(Entity, table=manhunt, type="alarm"):
    """The incident that the alarms of a key belong to. There is one while that has not ended, and never two."""

    domain_id: str
    alarm_key: str
    incident_id: str

    @manhunt.key
    @staticmethod
    def by_key(domain_id: str, alarm_key: str) -> Key:
        """The incident that has not ended, for the key of an alarm."""
        return f"{domain_id}#{alarm_key}", "alarm"


class IncidentSearch(Entity, table=manhunt, type="incidentSearch"):
    """A search of an incident, and why it is for this contact."""

    incident_id: str
    search_id: str
    contact_id: str = field(belongs_to=Contact.contact_id)
    contact_name: str = field(personal=True)
    hunt: int
    lap: int
    stage: int
    opened_at: datetime
    """When it was resolved who is needed."""
    rota_id: str | None = None
    """The rota that had them on call; none for a contact that the stage names."""
    rota_name: str | None = None
    rota_revision: int | None = None
    """Of the rota as it was read, which the transaction that opened the search held."""
    override_id: str | None = None

    @manhunt.key
    @staticmethod
    def of_incident(incident_id: str, search_id: str = ANY) -> Key:
        """The searches of an incident, or one of them."""
        return f"{incident_id}", f"search#{search_id}"


class IncidentPerson(Entity, table=manhunt, type="incidentPerson"):
    """Somebody who is attached to an incident: they answered, took it over or ended it."""

    incident_id: str
    name: str = field(personal=True)
    did: str
    """The last thing they did."""
    since: datetime

    @manhunt.key
    @staticmethod
    def of_incident(incident_id: str, name: str = ANY) -> Key:
        """The people of an incident, or one of them."""
        return f"{incident_id}", f"person#{name}"


class IncidentResource(Entity, table=manhunt, type="incidentResource"):
    """A room, a call, a document: where those who work on an incident meet."""

    incident_id: str
    resource_id: str
    title: str
    url: str

    @manhunt.key
    @staticmethod
    def of_incident(incident_id: str, resource_id: str = ANY) -> Key:
        """The resources of an incident, or one of them."""
        return f"{incident_id}", f"resource#{resource_id}"


class Reaction(Entity, table=manhunt, type="reaction"):
    """Something that happened to an incident, in order."""

    incident_id: str
    number: int
    at: datetime
    kind: ReactionKind
    by: str = field(personal=True)
    said: str = field(default="", personal=True)
    hunt: int = 0
    stage: int = 0

    @manhunt.key
    @staticmethod
    def of_incident(incident_id: str, number: int = ANY) -> Key:
        """The reactions of an incident in order, or one of them."""
        return f"{incident_id}", f"reaction#{number:06}"


class IncidentDetails(Collection):
    """An incident by its id, with all that it owns."""

    incident: Incident
    searches: list[IncidentSearch]
    people: list[IncidentPerson]
    resources: list[IncidentResource]
    reactions: list[Reaction]

    by_id = collect(Incident.by_id)
