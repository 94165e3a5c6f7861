"""What became of incidents, told from the table's stream: who was hunted when, and what the incident was then.

The embedded engine's stream is one sequence, so the changes of different items have an order, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from manhunt.model import (
    ENDED,
    Delivery,
    Incident,
    IncidentSearch,
    IncidentStatus,
    Rota,
    Search,
    SearchAttempt,
    Status,
    Target,
    TargetKind,
    manhunt,
)
from singletable import Database
from singletable.streams import Changes, ChangeWorker, Inserted, Modified

RotaTimes = Mapping[tuple[str, int], float]
"""When the writer of a rota's revision was told that it is there."""


@dataclass(frozen=True)
class IncidentAudit:
    incidents: int
    ended_once: int
    """Came to an end in one change, and never changed again."""
    resolved: int
    unanswered: int
    searches: int
    off_call: int
    """Searches for somebody whom the stage did not name, and whose turn it was not when they were opened."""
    attempts: int
    hunted_after_end: int
    """Attempts that began, or were claimed by a worker, when the incident did not hunt, or in another hunt."""
    hunted_twice: int
    """Contacts with two active searches of one hunt, or of two incidents of one key that had not ended."""


@dataclass
class Record:
    """All that the stream says, each item's versions with their places in the sequence."""

    incidents: defaultdict[str, list[tuple[int, Incident]]] = field(default_factory=lambda: defaultdict(list))
    searches: defaultdict[str, list[tuple[int, Search]]] = field(default_factory=lambda: defaultdict(list))
    hunts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Each beginning or claim of an attempt: its place, and the search."""
    links: list[IncidentSearch] = field(default_factory=list[IncidentSearch])
    rotas: dict[tuple[str, int], Rota] = field(default_factory=dict[tuple[str, int], Rota])


def audit_incidents(db: Database, rota_times: RotaTimes, name: str) -> IncidentAudit:
    """Reads the table's whole stream, as a consumer of that name."""
    record = read_record(db, name)
    last = [versions[-1][1] for versions in record.incidents.values()]
    return IncidentAudit(
        incidents=len(last),
        ended_once=sum(map(_ends_once, record.incidents.values())),
        resolved=sum(incident.status is IncidentStatus.RESOLVED for incident in last),
        unanswered=sum(incident.status is IncidentStatus.UNANSWERED for incident in last),
        searches=len(record.links),
        off_call=sum(not _was_needed(record, link, rota_times) for link in record.links),
        attempts=len(record.hunts),
        hunted_after_end=sum(not _was_hunting(record, *hunt) for hunt in record.hunts),
        hunted_twice=sum(1 for _ in _twice(record)),
    )


def read_record(db: Database, name: str) -> Record:
    record = Record()
    changes = Changes(manhunt, name=name)

    def see_incident(change: Inserted[Incident] | Modified[Incident]) -> None:
        record.incidents[change.new.incident_id].append((int(change.sequence), change.new))

    def see_search(change: Inserted[Search] | Modified[Search]) -> None:
        if change.new.incident_id is not None:
            record.searches[change.new.search_id].append((int(change.sequence), change.new))

    def see_rota(change: Inserted[Rota] | Modified[Rota]) -> None:
        record.rotas[change.new.rota_id, change.new.revision] = change.new

    changes.on(Incident).inserted(see_incident)
    changes.on(Incident).modified(see_incident)
    changes.on(Search).inserted(see_search)
    changes.on(Search).modified(see_search)
    changes.on(Rota).inserted(see_rota)
    changes.on(Rota).modified(see_rota)
    changes.on(IncidentSearch).inserted(lambda change: record.links.append(change.new))
    changes.on(SearchAttempt).inserted(lambda change: record.hunts.append((int(change.sequence), change.new.search_id)))

    @changes.on(SearchAttempt).modified(SearchAttempt.claimed_at)
    def claimed(change: Modified[SearchAttempt]) -> None:
        if change.new.delivery is Delivery.CLAIMED:
            record.hunts.append((int(change.sequence), change.new.search_id))

    ChangeWorker(db, changes).drain()
    for incidents in record.incidents.values():
        incidents.sort(key=_place)
    for searches in record.searches.values():
        searches.sort(key=_place)
    return record


def _place(version: tuple[int, object]) -> int:
    return version[0]


def _ends_once(versions: list[tuple[int, Incident]]) -> bool:
    ends = [number for number, (_, incident) in enumerate(versions) if incident.status in ENDED]
    return ends == [len(versions) - 1]


def _was_needed(record: Record, link: IncidentSearch, rota_times: RotaTimes) -> bool:
    """The stage named them; or they were on call by the rota as it stood, which no later revision had replaced."""
    if link.rota_id is None:
        then = [incident for _, incident in record.incidents[link.incident_id] if incident.hunt == link.hunt]
        named = {target for incident in then for stage in incident.plan for target in stage.targets}
        return Target(TargetKind.CONTACT, link.contact_id) in named
    assert link.rota_revision is not None
    replaced_at = rota_times.get((link.rota_id, link.rota_revision + 1))
    is_stale = replaced_at is not None and replaced_at < link.opened_at.timestamp()
    return not is_stale and _on_call(record.rotas[link.rota_id, link.rota_revision], link.opened_at) == link.contact_id


def _on_call(rota: Rota, at: datetime) -> str:
    """As one would read it from paper; turns here are no whole days, so no clocks are set."""
    for override in rota.overrides[::-1]:
        if override.starts_at <= at < override.ends_at:
            return override.contact_id
    turns = int((at - rota.starts_at).total_seconds() // rota.turn_seconds)
    return rota.members[turns % len(rota.members)]


def _was_hunting(record: Record, at: int, search_id: str) -> bool:
    """What the incident was at a place of the sequence."""
    if search_id not in record.searches:
        return True  # of a search without an incident
    search = record.searches[search_id][0][1]
    versions = record.incidents[search.incident_id or ""]
    before = bisect_left(versions, at, key=_place) - 1
    then = versions[before][1]
    return before >= 0 and then.status is IncidentStatus.HUNTING and then.hunt == search.hunt


def _twice(record: Record) -> Iterator[str]:
    """Whoever was hunted by two searches at once for the same reason."""
    spans: defaultdict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for versions in record.searches.values():
        opened, search = versions[0]
        incident = record.incidents[search.incident_id or ""][0][1]
        cause = incident.alarm_key or incident.incident_id
        ended = next((at for at, version in versions if version.status is not Status.ACTIVE), opened)
        hunt_ended = _hunt_end(record, search)
        spans[cause, search.contact_id].append((opened, min(ended, hunt_ended)))
    for (_, contact_id), found in spans.items():
        ordered = sorted(found)
        yield from (contact_id for first, second in pairwise(ordered) if second[0] < first[1])


def _hunt_end(record: Record, search: Search) -> int:
    """The place from which on nothing is done for a search any more."""
    for at, incident in record.incidents[search.incident_id or ""]:
        if incident.hunt > search.hunt or (
            incident.hunt == search.hunt and incident.status is not IncidentStatus.HUNTING
        ):
            return at
    return record.searches[search.search_id][-1][0] + 1
