"""What must hold of incidents, rotas and policies, whatever was done to them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from manhunt.model import (
    Alarm,
    Incident,
    IncidentPerson,
    IncidentResource,
    IncidentSearch,
    IncidentStatus,
    Policy,
    Reaction,
    ReactionKind,
    Rota,
    Search,
    Status,
)
from manhunt.policies import MAX_STAGES
from manhunt.rotas import MAX_MEMBERS, MAX_OVERRIDES
from singletable import Database

Owned = TypeVar("Owned", IncidentPerson, IncidentResource, IncidentSearch, Reaction)
Pending = set[tuple[str, frozenset[tuple[str, object]]]]
"""The tasks that are not done, dead ones too: function and arguments."""
ENDINGS = {
    IncidentStatus.RESOLVED: (ReactionKind.RESOLVED,),
    IncidentStatus.UNANSWERED: (ReactionKind.UNANSWERED, ReactionKind.OPENED),
}
"""The last reaction of an incident that ended: it was opened, and nobody could be reached, or something ended it."""


@dataclass(frozen=True)
class IncidentRecords:
    incidents: dict[str, Incident]
    alarms: list[Alarm]
    links: dict[str, list[IncidentSearch]]
    reactions: dict[str, list[Reaction]]
    owners: set[str]
    """The incidents that something says to belong to."""


def check_incidents(db: Database, searches: Mapping[str, Search], pending: Pending) -> Iterator[str]:
    """Eight scans: eight times the table's size."""
    records = _read(db)
    yield from (f"{id}: records without an incident" for id in records.owners - records.incidents.keys())
    for incident in records.incidents.values():
        yield from (f"{incident.incident_id}: {wrong}" for wrong in _incident(records, incident, searches, pending))
    yield from _alarms(records)
    yield from _searches(records, searches)
    yield from _plans(db)


def _read(db: Database) -> IncidentRecords:
    links, reactions = _grouped(db, IncidentSearch), _grouped(db, Reaction)
    others = _grouped(db, IncidentPerson).keys() | _grouped(db, IncidentResource).keys()
    incidents = {incident.incident_id: incident for incident in db.scan(Incident, consistent=True)}
    return IncidentRecords(
        incidents, list(db.scan(Alarm, consistent=True)), links, reactions, {*links, *reactions, *others}
    )


def _grouped(db: Database, kind: type[Owned]) -> dict[str, list[Owned]]:
    found: dict[str, list[Owned]] = defaultdict(list)
    for each in db.scan(kind, consistent=True):
        found[each.incident_id].append(each)
    return found


def _incident(
    records: IncidentRecords, incident: Incident, searches: Mapping[str, Search], pending: Pending
) -> Iterator[str]:
    yield from _story(incident, sorted(records.reactions.get(incident.incident_id, []), key=lambda each: each.number))
    yield from _waits(incident, pending)
    links = records.links.get(incident.incident_id, [])
    active = [link for link in links if _is_active(searches.get(link.search_id))]
    hunting = [link for link in active if incident.status is IncidentStatus.HUNTING and link.hunt == incident.hunt]
    for hunt in {link.hunt for link in active if link not in hunting}:
        if not any(
            waits_for(pending, "stand_down", incident_id=incident.incident_id, hunt=n)
            for n in range(hunt, incident.hunt + 1)
        ):
            yield f"nothing will end the searches of hunt {hunt}, which is over"
    for contact_id, count in Counter(link.contact_id for link in hunting).items():
        if count > 1:
            yield f"contact {contact_id} is hunted {count} times at once"


def _story(incident: Incident, reactions: Sequence[Reaction]) -> Iterator[str]:
    """Each change has its reaction, and the end is the last of them."""
    if [reaction.number for reaction in reactions] != list(range(1, incident.reactions + 1)):
        yield f"{incident.reactions} reactions counted, and there are {[reaction.number for reaction in reactions]}"
        return
    ends = [each for each in reactions if each.kind in (ReactionKind.RESOLVED, ReactionKind.UNANSWERED)]
    if incident.has_ended:
        if reactions[-1].kind not in ENDINGS[incident.status] or len(ends) > 1:
            yield f"{incident.status.value}, after {[each.kind.value for each in reactions]}"
    elif ends:
        yield f"{incident.status.value}, and it has ended before"
    if incident.has_ended != (incident.ended_at is not None):
        yield f"{incident.status.value}, and it ended at {incident.ended_at}"


def _waits(incident: Incident, pending: Pending) -> Iterator[str]:
    """Whoever waits is woken."""
    id = incident.incident_id
    is_hunting = incident.status is IncidentStatus.HUNTING
    if is_hunting != (incident.escalates_at is not None):
        yield f"{incident.status.value}, and it escalates at {incident.escalates_at}"
    if is_hunting and not waits_for(
        pending, "escalate", incident_id=id, hunt=incident.hunt, lap=incident.lap, stage=incident.stage
    ):
        yield f"hunting in stage {incident.stage}, and nothing will escalate it"
    if incident.status is IncidentStatus.SNOOZED and not waits_for(
        pending, "resume", incident_id=id, reactions=incident.reactions
    ):
        yield "snoozed, and nothing will wake it"


def waits_for(pending: Pending, function: str, **arguments: object) -> bool:
    return (function, frozenset(arguments.items())) in pending


def _is_active(search: Search | None) -> bool:
    return search is not None and search.status is Status.ACTIVE


def _alarms(records: IncidentRecords) -> Iterator[str]:
    """One for each incident with a key that has not ended, and no other."""
    there = {(alarm.domain_id, alarm.alarm_key, alarm.incident_id) for alarm in records.alarms}
    needed = {
        (incident.domain_id, incident.alarm_key, incident.incident_id)
        for incident in records.incidents.values()
        if incident.alarm_key and not incident.has_ended
    }
    yield from (f"{incident_id}: alarms of {key!r} don't find it" for _, key, incident_id in needed - there)
    yield from (f"{incident_id}: alarms of {key!r} still find it" for _, key, incident_id in there - needed)


def _searches(records: IncidentRecords, searches: Mapping[str, Search]) -> Iterator[str]:
    """A search and its incident know of each other."""
    links = {link.search_id: link for of_incident in records.links.values() for link in of_incident}
    for id, link in links.items():
        search = searches.get(id)
        if search is None:
            yield f"{link.incident_id}: its search {id} is not there"
        elif (search.incident_id, search.contact_id, search.hunt) != (link.incident_id, link.contact_id, link.hunt):
            yield f"{link.incident_id}: its search {id} is another's"
    for id, search in searches.items():
        if search.incident_id is not None and id not in links:
            yield f"{id}: incident {search.incident_id} does not know of it"


def _plans(db: Database) -> Iterator[str]:
    for rota in db.scan(Rota, consistent=True):
        if not 0 < len(rota.members) <= MAX_MEMBERS or len(rota.overrides) > MAX_OVERRIDES:
            yield f"{rota.rota_id}: {len(rota.members)} members, {len(rota.overrides)} overrides"
        if any(override.ends_at <= override.starts_at for override in rota.overrides):
            yield f"{rota.rota_id}: an override ends before it begins"
    for policy in db.scan(Policy, consistent=True):
        if not 0 < len(policy.stages) <= MAX_STAGES or not all(stage.targets for stage in policy.stages):
            yield f"{policy.policy_id}: a stage is empty, or there are too many"
