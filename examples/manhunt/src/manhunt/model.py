"""The records of the application, in one table: all their names, from the modules of `records`."""

from __future__ import annotations

from manhunt.records.contacts import Contact, ContactDetails, ContactMethod, Kind, QuietHours
from manhunt.records.incidents import (
    ENDED,
    Alarm,
    Incident,
    IncidentDetails,
    IncidentPerson,
    IncidentResource,
    IncidentSearch,
    IncidentStatus,
    Link,
    Policy,
    Reaction,
    ReactionKind,
    Stage,
    Target,
    TargetKind,
)
from manhunt.records.rotas import Override, Rota
from manhunt.records.searches import (
    Conversation,
    Delivery,
    Planned,
    Resolution,
    Search,
    SearchAttempt,
    SearchDetails,
    Status,
)
from manhunt.records.table import manhunt, tasks

__all__ = [
    "ENDED",
    "Alarm",
    "Contact",
    "ContactDetails",
    "ContactMethod",
    "Conversation",
    "Delivery",
    "Incident",
    "IncidentDetails",
    "IncidentPerson",
    "IncidentResource",
    "IncidentSearch",
    "IncidentStatus",
    "Kind",
    "Link",
    "Override",
    "Planned",
    "Policy",
    "QuietHours",
    "Reaction",
    "ReactionKind",
    "Resolution",
    "Rota",
    "Search",
    "SearchAttempt",
    "SearchDetails",
    "Stage",
    "Status",
    "Target",
    "TargetKind",
    "manhunt",
    "tasks",
]
