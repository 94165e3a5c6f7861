"""How an incident changes: each change with everything that follows from it, and the tasks that carry it on.

A change is one transaction: it holds how many reactions there were, and writes the next one. So of two at once one
begins again, nothing happens after the end, and the reactions are the whole story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from unicodedata import normalize

from manhunt import searches
from manhunt.base import TRIES, Base
from manhunt.errors import AlreadyEnded, Contended, Invalid, NoSuchIncident, NotNow
from manhunt.model import (
    Alarm,
    Contact,
    Incident,
    IncidentDetails,
    IncidentPerson,
    IncidentSearch,
    IncidentStatus,
    Reaction,
    ReactionKind,
    Resolution,
    Rota,
    Search,
    Status,
    tasks,
)
from manhunt.responders import Muster, hunted_now, muster
from manhunt.searches import MANHUNT, MAX_REASON
from singletable import Condition, Database, TransactionCancelled, attr
from singletable.records import Transaction
from singletable.tasks import Backoff, TaskFunction

ALARM = "alarm"
"""Who opens an incident."""
TASK_TRIES = 1000
"""An incident that is not escalated is a missed page: its tasks are not given up within days."""
BACKOFF = Backoff(longest_seconds=30.0)
MAX_NAME = 200
NOBODY = "nobody can be reached: no contact method is enabled, or nobody is on call"
NO_ANSWER = "nobody who was looked for has answered"
NOBODY_NEW = "all of this stage are looked for already"
NOT_NEEDED = "the incident does not need it any more"
Place = tuple[int, int]
"""A lap and a stage of a hunt."""
Decide = Callable[[Incident], Muster | None]
"""Makes of an incident what it is to be; with whom it looks for then. Raises where it can't be."""


@dataclass(frozen=True)
class Told:
    """What a reaction says."""

    kind: ReactionKind
    by: str
    said: str = ""


@dataclass(frozen=True)
class IncidentChanges(Base):
    """What actions and tasks on incidents share."""

    def incident_with_all(self, domain_id: str, incident_id: str) -> IncidentDetails:
        """An incident with its searches, people, resources and reactions, as they were last written. 1 request: 1 R for
        each 4 KB. NoSuchIncident."""
        found = self.db.get(IncidentDetails.by_id(incident_id).consistent())
        if found is None or found.incident.domain_id != domain_id:
            raise NoSuchIncident(incident_id)
        return found

    # --- each change --------------------------------------------------------------------------------------------------
    def change(
        self, domain_id: str | None, incident_id: str, told: Told, decide: Decide, *, in_task: bool = False
    ) -> Incident:
        """Decide on the incident as it stands, and write what follows; again from the start where others were first."""
        if len(told.by) > MAX_REASON or len(told.said) > MAX_REASON or not told.by:
            field = "said" if 0 < len(told.by) <= MAX_REASON else "by"
            raise Invalid(f"who it was, and what they said, have 1 to {MAX_REASON} characters", field)
        for _ in range(TRIES):
            before = read_incident(self.db, incident_id, domain_id)
            if before.has_ended:
                raise NotNow(incident_id, before.status.value, before.held_by)
            try:
                with self.db.transaction() as tx:
                    after = self.changed(tx, before, told, decide)
                    if in_task:
                        tx.add(tasks.done())
            except TransactionCancelled as cancelled:
                if not any(is_about(cancelled, kind) for kind in (Incident, Contact, Rota)):
                    raise
                continue
            return after
        raise Contended(f"incident {incident_id!r}")

    def changed(self, tx: Transaction, before: Incident, told: Told, decide: Decide) -> Incident:
        """Add the change of an incident, as it was read, with everything that follows from it."""
        now, after = self.now(), copy(before)
        found = decide(after)
        after.reactions += 1
        if after.status is not IncidentStatus.HUNTING:
            after.escalates_at = None
            after.hunt_ended_at = now if before.status is IncidentStatus.HUNTING else before.hunt_ended_at
        else:
            after.hunt_ended_at = after.snoozed_until = None
            after.held_by = ""
        if after.has_ended:
            after.ended_at = now
        if after.status is IncidentStatus.UNANSWERED:
            is_new_hunt = after.hunt != before.hunt
            told = Told(ReactionKind.UNANSWERED, MANHUNT, NOBODY if is_new_hunt else NO_ANSWER)
        unchanged = (attr(Incident.reactions) == before.reactions) & (attr(Incident.alarms) == before.alarms)
        tx.put(after, where=unchanged)
        self.follow(tx, before, after, found, told, now)
        return after

    def follow(
        self, tx: Transaction, before: Incident | None, after: Incident, found: Muster | None, told: Told, now: datetime
    ) -> None:
        """What belongs to a change: the searches it opens, its reaction, its person, the tasks that carry it on."""
        id = after.incident_id
        if found is not None:
            found.write(tx)
        tx.create(_reaction(after, told, found, now))
        if told.by not in (MANHUNT, ALARM):
            name = person_name(told.by)
            tx.put(IncidentPerson(incident_id=id, name=name, did=told.kind.value, since=now))
        if after.escalates_at is not None:
            step = after.hunt, after.lap, after.stage
            key = "-".join(map(str, ("escalate", id, *step)))
            tx.add(tasks.at(after.escalates_at, self.escalate(id, *step), key=key))
        if after.status is IncidentStatus.SNOOZED and after.snoozed_until is not None:
            call = self.resume(id, after.reactions)
            tx.add(tasks.at(after.snoozed_until, call, key=f"resume-{id}-{after.reactions}"))
        if before is not None and before.status is IncidentStatus.HUNTING and not _is_same_hunt(before, after):
            tx.add(tasks.at(now, self.stand_down(id, before.hunt), key=f"stand_down-{id}-{before.hunt}"))
        if before is not None and after.has_ended and after.alarm_key:
            tx.delete(Alarm.by_key(after.domain_id, after.alarm_key), where=attr(Alarm.incident_id) == id)

    def seek(
        self,
        incident: Incident,
        now: datetime,
        places: Iterable[Place],
        links: Sequence[IncidentSearch],
        *,
        strict: bool = False,
    ) -> Muster | None:
        """Take the incident to the first place that reaches somebody new. Without one it waits at the first whose
        people are looked for already, as they may still answer; without any it is unanswered."""
        hunted = hunted_now(self, incident, links)
        found: tuple[Place, Muster] | None = None
        for place in places:
            incident.lap, incident.stage = place
            seen = muster(self, incident, incident.plan[incident.stage], now, hunted, strict=strict)
            if seen.reaches_somebody:
                found = place, seen
                break
            if seen.hunted_already and found is None:
                seen.absent.append(NOBODY_NEW)
                found = place, seen
        if found is not None:
            (incident.lap, incident.stage), seen = found
            incident.status = IncidentStatus.HUNTING
            incident.escalates_at = now + timedelta(seconds=incident.plan[incident.stage].wait_seconds)
            return seen
        leave(incident, IncidentStatus.UNANSWERED, MANHUNT)
        incident.escalates_at, incident.ended_at = None, now
        return None

    # --- what time does -----------------------------------------------------------------------------------------------
    @cached_property
    def escalate(self) -> TaskFunction[[str, int, int, int]]:
        """The task that begins the next stage."""
        return tasks.task(name="escalate", tries=TASK_TRIES, backoff=BACKOFF)(self._escalate)

    @cached_property
    def resume(self) -> TaskFunction[[str, int]]:
        """The task that ends a snooze."""
        return tasks.task(name="resume", tries=TASK_TRIES, backoff=BACKOFF)(self._resume)

    @cached_property
    def stand_down(self) -> TaskFunction[[str, int]]:
        """The task that ends the searches of a hunt that is over."""
        return tasks.task(name="stand_down", tries=TASK_TRIES, backoff=BACKOFF)(self._stand_down)

    def task_functions(self) -> tuple[TaskFunction[...], ...]:
        """Declares them all, which a worker does before it begins."""
        return self.escalate, self.resume, self.stand_down

    def _escalate(self, incident_id: str, hunt: int, lap: int, stage: int) -> None:
        """Nobody answered in time: the next stage that reaches somebody, or the end."""
        told = Told(ReactionKind.ESCALATED, MANHUNT)

        def decide(incident: Incident) -> Muster | None:
            is_here = (incident.hunt, incident.lap, incident.stage) == (hunt, lap, stage)
            now = self.now()
            if incident.status is not IncidentStatus.HUNTING or not is_here or _at(incident.escalates_at) > now:
                raise _Past
            links = self.incident_with_all(incident.domain_id, incident_id).searches
            return self.seek(incident, now, places(incident, after=(lap, stage)), links)

        self._react(incident_id, told, decide)

    def _resume(self, incident_id: str, reactions: int) -> None:
        told = Told(ReactionKind.RESUMED, MANHUNT, "the snooze is over")

        def decide(incident: Incident) -> Muster | None:
            now = self.now()
            is_here = incident.status is IncidentStatus.SNOOZED and incident.reactions == reactions
            if not is_here or _at(incident.snoozed_until) > now:
                raise _Past
            incident.hunt += 1
            return self.seek(incident, now, places(incident), ())

        self._react(incident_id, told, decide)

    def _react(self, incident_id: str, told: Told, decide: Decide) -> None:
        """In a task, whose end is a part of the transaction; nothing where the incident is past it."""
        try:
            self.change(None, incident_id, told, decide, in_task=True)
        except (_Past, NotNow, NoSuchIncident):
            return

    def _stand_down(self, incident_id: str, hunt: int) -> None:
        """A query of the incident, a batch of its searches, and for each that is active one update."""
        found = self.db.get(IncidentDetails.by_id(incident_id).consistent())
        links = [link for link in found.searches if link.hunt <= hunt] if found is not None else []
        if found is None or not links:
            return
        incident = found.incident
        for search in self.db.get_many((Search.by_id(link.search_id) for link in links), consistent=True):
            if search.status is Status.ACTIVE:
                stand_down(self, search, incident)


class _Past(Exception):
    """The task of a time that is over."""


# --- the rules of one incident ----------------------------------------------------------------------------------------
def acknowledged(incident: Incident, by: str) -> None:
    """What somebody's answer makes of it; NotNow where somebody has it already."""
    if incident.status is IncidentStatus.ACKNOWLEDGED:
        raise NotNow(incident.incident_id, incident.status.value, incident.held_by)
    leave(incident, IncidentStatus.ACKNOWLEDGED, by)


def leave(incident: Incident, status: IncidentStatus, by: str) -> None:
    incident.status, incident.held_by, incident.snoozed_until = status, by, None


def is_hunting(hunt: int) -> Condition:
    """An incident looks for somebody, in this hunt."""
    return (attr(Incident.status) == IncidentStatus.HUNTING) & (attr(Incident.hunt) == hunt)


def _is_same_hunt(before: Incident, after: Incident) -> bool:
    return after.status is IncidentStatus.HUNTING and after.hunt == before.hunt


def places(incident: Incident, after: Place | None = None) -> Iterator[Place]:
    """The places of a hunt in order, each once: all of a lap, or what follows a place and the lap after."""
    lap, stage = after if after is not None else (0, -1)
    yield from ((lap, next_stage) for next_stage in range(stage + 1, len(incident.plan)))
    if after is not None and lap < incident.repeats:
        yield from ((lap + 1, next_stage) for next_stage in range(len(incident.plan)))


def _at(moment: datetime | None) -> datetime:
    assert moment is not None, "an incident that waits says until when"
    return moment


def _reaction(incident: Incident, told: Told, found: Muster | None, now: datetime) -> Reaction:
    sought = [search.contact_name for search in found.searches] if found is not None else []
    absent = found.absent if found is not None else []
    parts = [told.said, f"looking for {', '.join(sought)}" if sought else "", *absent]
    return Reaction(
        incident_id=incident.incident_id,
        number=incident.reactions,
        at=now,
        kind=told.kind,
        by=told.by,
        said="; ".join(part for part in parts if part),
        hunt=incident.hunt,
        stage=incident.stage,
    )


def stand_down(base: Base, search: Search, incident: Incident | None) -> None:
    """End a search that its incident does not need any more, unless it has ended. None for a missing incident."""
    resolution = Resolution(MANHUNT, NOT_NEEDED)
    if incident is not None and incident.status is not IncidentStatus.HUNTING:
        resolution = Resolution(incident.held_by or MANHUNT, f"the incident is {incident.status.value}")
    try:
        searches.end(base.db, search, Status.CANCELLED, resolution, base.now())
    except AlreadyEnded:
        return


def read_incident(db: Database, incident_id: str, domain_id: str | None = None) -> Incident:
    """An incident as it was last written; of a domain, where one is named."""
    found = db.get(Incident.by_id(incident_id).consistent())
    if found is None or domain_id not in (None, found.domain_id):
        raise NoSuchIncident(incident_id)
    return found


def person_name(said: str) -> str:
    """As a part of a key, from whatever somebody calls themselves."""
    clean = "".join(c if c.isprintable() else " " for c in normalize("NFC", said)).strip()
    return clean[:MAX_NAME] or "somebody"


def is_about(cancelled: TransactionCancelled, kind: type[object]) -> bool:
    return any(failure.key.kinds[0] is kind for failure in cancelled.failures)
