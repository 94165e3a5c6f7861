"""Incidents: opened once for all alarms of a key, hunted stage by stage, and ended once.

    opened ──▶ hunting ──▶ acknowledged ──▶ resolved
                │  ▲ │        │   ▲
                │  │ └─▶ snoozed ─┘ (and back to hunting, when the snooze is over)
                ▼
             unanswered

Each change is one transaction: it holds how many reactions there were, and writes the next one. So of two at once one
begins again, nothing happens after the end, and the reactions are the whole story. A hunt's searches go on while the
incident says that it is this hunt: every step and message of theirs holds that. A task of the same transaction ends
those that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from unicodedata import is_normalized, normalize

from examples.manhunt import searches
from examples.manhunt.base import TRIES, WEEK_SECONDS, Base
from examples.manhunt.errors import AlreadyEnded, Contended, Invalid, NoSuchIncident, NotNow
from examples.manhunt.model import (
    ENDED,
    Alarm,
    Contact,
    Incident,
    IncidentDetails,
    IncidentPerson,
    IncidentResource,
    IncidentSearch,
    IncidentStatus,
    Link,
    Reaction,
    ReactionKind,
    Resolution,
    Rota,
    Search,
    Stage,
    Status,
    Target,
    tasks,
)
from examples.manhunt.needed import Muster, hunted_now, muster
from examples.manhunt.policies import Policies, check_link, check_stage
from examples.manhunt.queries import EVER, Window
from examples.manhunt.searches import MANHUNT, MAX_REASON
from singletable import Condition, Database, Page, Query, TransactionCancelled, attr
from singletable.records import Transaction
from singletable.tasks import Backoff, TaskFunction

TASK_TRIES = 1000
"""An incident that is not escalated is a missed page: its tasks are not given up within days."""
BACKOFF = Backoff(longest_seconds=30.0)
MAX_KEY = 200
MAX_NAME = 200
MAX_RESOURCES = 50
MAX_SUMMARY = 500
ASSIGNED_SECONDS = 600
NOBODY = "nobody can be reached: no contact method is enabled, or nobody is on call"
Place = tuple[int, int]
"""A lap and a stage of a hunt."""
Decide = Callable[[Incident], Muster | None]
"""Makes of an incident what it is to be; with whom it looks for then. Raises where it can't be."""


@dataclass(frozen=True)
class Opened:
    """What became of an alarm."""

    incident: Incident
    is_new: bool


@dataclass(frozen=True)
class Told:
    """What a reaction says."""

    kind: ReactionKind
    by: str
    said: str = ""


@dataclass(frozen=True)
class Incidents(Policies):
    """The actions on incidents. Each that changes one is a read (1 R for each 4 KB) and a transaction: 4 W a KB of the
    incident with its place in each index, 2 W each for reaction, person and task; NoSuchIncident, NotNow, Contended."""

    # --- opening ------------------------------------------------------------------------------------------------------
    def open_incident(
        self, domain_id: str, policy_id: str, summary: str, *, alarm_key: str = "", urgent: bool = True
    ) -> Opened:
        """An alarm. With a key it belongs to the incident of that key that has not ended, where there is one: nobody is
        hunted twice. Else one is opened, and with it the searches for whoever its first stage needs now. Where nobody
        can be reached in any stage it has ended at once, and says so.

        The policy, the rotas in a batch, a query for each contact; then one transaction, which holds all of that but
        the policy. NoSuchPolicy, Invalid, Contended.
        """
        check_summary(summary)
        check_alarm_key(alarm_key)
        incident_id = self.new_id()
        for _ in range(TRIES):
            known = self.incident_of_alarm(domain_id, alarm_key) if alarm_key else None
            if known is not None and (again := self._alarm_again(known)) is not None:
                return Opened(again, is_new=False)
            policy = self.policy_by_id(domain_id, policy_id)
            now = self.now()
            incident = Incident(
                incident_id=incident_id,
                domain_id=domain_id,
                policy_id=policy_id,
                policy_name=policy.name,
                summary=summary,
                alarm_key=alarm_key,
                is_urgent=urgent,
                stages=policy.stages,
                repeats=policy.repeats,
                opened_at=now,
                reactions=1,
            )
            found = self._seek(incident, now, _places(incident), ())
            told = Told(ReactionKind.OPENED, "alarm", "" if found is not None else NOBODY)
            try:
                with self.db.transaction() as tx:
                    tx.create(incident)
                    if alarm_key and not incident.has_ended:
                        tx.create(Alarm(domain_id=domain_id, alarm_key=alarm_key, incident_id=incident_id))
                    for link in policy.links:
                        tx.create(self._resource(incident_id, link))
                    self._follow(tx, None, incident, found, told, now)
            except TransactionCancelled as cancelled:
                if _is_about(cancelled, Incident):
                    raise
                continue  # another alarm of the key was first, or a rota or contact changed
            return Opened(incident, is_new=True)
        raise Contended(f"policy {policy_id!r}")

    def incident_of_alarm(self, domain_id: str, alarm_key: str) -> Incident | None:
        """The incident of a key that has not ended, if there is one. 2 requests, 2 R."""
        alarm = self.db.get(Alarm.by_key(domain_id, alarm_key).consistent())
        return self.db.get(Incident.by_id(alarm.incident_id).consistent()) if alarm is not None else None

    def _alarm_again(self, incident: Incident) -> Incident | None:
        """Count it, unless the incident has ended meanwhile."""
        ours = attr(Incident.reactions) == incident.reactions
        try:
            with self.db.transaction() as tx:  # with a token: counted once, whatever becomes of the answer
                tx.update(Incident.by_id(incident.incident_id), attr(Incident.alarms).add(1), where=ours & _is_live())
        except TransactionCancelled:
            return None
        incident.alarms += 1
        return incident

    # --- what people do -----------------------------------------------------------------------------------------------
    def acknowledge(self, domain_id: str, incident_id: str, *, by: str, said: str = "") -> Incident:
        """Somebody is on it: nobody else is looked for any more."""
        told = Told(ReactionKind.ACKNOWLEDGED, by, said)
        return self.change(domain_id, incident_id, told, lambda incident: acknowledged(incident, by))

    def snooze(self, domain_id: str, incident_id: str, *, by: str, seconds: int, said: str = "") -> Incident:
        """Nobody is looked for until then; then the hunt begins anew, with whoever is needed at that time."""
        if not 1 <= seconds <= WEEK_SECONDS:
            raise Invalid(f"a snooze is 1 to {WEEK_SECONDS} seconds, which is a week")

        def decide(incident: Incident) -> None:
            _leave(incident, IncidentStatus.SNOOZED, by)
            incident.snoozed_until = self.now() + timedelta(seconds=seconds)

        return self.change(domain_id, incident_id, Told(ReactionKind.SNOOZED, by, said), decide)

    def reassign(
        self,
        domain_id: str,
        incident_id: str,
        targets: Sequence[Target],
        *,
        by: str,
        said: str = "",
        wait_seconds: int = ASSIGNED_SECONDS,
    ) -> Incident:
        """Others are looked for, now; where they don't answer in time, the stages of the policy follow. As opening an
        incident; NoSuchContact, NoSuchRota, and Invalid where nobody of them can be reached."""
        stage = Stage(list(targets), wait_seconds)
        check_stage(stage)

        def decide(incident: Incident) -> Muster:
            incident.assigned = stage
            incident.hunt += 1
            found = self._seek(incident, self.now(), [(0, 0)], (), strict=True)
            if found is None:
                raise Invalid(NOBODY)
            return found

        return self.change(domain_id, incident_id, Told(ReactionKind.REASSIGNED, by, said), decide)

    def resolve(self, domain_id: str, incident_id: str, *, by: str, said: str = "") -> Incident:
        """It is over, for good: a further alarm of its key is an incident of its own."""
        told = Told(ReactionKind.RESOLVED, by, said)
        return self.change(domain_id, incident_id, told, lambda incident: _leave(incident, IncidentStatus.RESOLVED, by))

    def add_resource(self, domain_id: str, incident_id: str, title: str, url: str) -> IncidentResource:
        """Where those who work on it meet. 2 requests. NoSuchIncident, Invalid."""
        link = Link(title, url)
        check_link(link)
        found = self.incident_with_all(domain_id, incident_id)
        if len(found.resources) >= MAX_RESOURCES:
            raise Invalid(f"an incident has up to {MAX_RESOURCES} resources")
        made = self._resource(incident_id, link)
        self.db.create(made)
        return made

    def _resource(self, incident_id: str, link: Link) -> IncidentResource:
        return IncidentResource(incident_id=incident_id, resource_id=self.new_id(), title=link.title, url=link.url)

    # --- queries ------------------------------------------------------------------------------------------------------
    def incident_with_all(self, domain_id: str, incident_id: str) -> IncidentDetails:
        """An incident with its searches, people, resources and reactions, as they were last written. 1 request: 1 R for
        each 4 KB. NoSuchIncident."""
        found = self.db.get(IncidentDetails.by_id(incident_id).consistent())
        if found is None or found.incident.domain_id != domain_id:
            raise NoSuchIncident(incident_id)
        return found

    def searches_of_incident(self, found: IncidentDetails) -> list[Search]:
        """Its searches, in the order they were opened. A batch: 0.5 R for each 4 KB of each."""
        links = sorted(found.searches, key=lambda link: (link.opened_at, link.search_id))
        return self.db.get_many(Search.by_id(link.search_id) for link in links) if links else []

    def incidents_of_domain(
        self,
        domain_id: str,
        *,
        status: IncidentStatus | None = None,
        window: Window = EVER,
        limit: int = 25,
        after: str | None = None,
    ) -> Page[Incident]:
        """The newest first: all, or those with a status. 1 request: 0.5 R for each 4 KB of the page."""
        opened_at = window.range
        query: Query[Incident] = (
            Incident.by_domain(domain_id, opened_at=opened_at)
            if status is None
            else Incident.by_status(status, domain_id, opened_at=opened_at)
        )
        return self.db.page(query.newest_first(), limit=limit, after=after, principal=domain_id)

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
            return self._seek(incident, now, _places(incident, after=(lap, stage)), links)

        self._react(incident_id, told, decide)

    def _resume(self, incident_id: str, reactions: int) -> None:
        told = Told(ReactionKind.RESUMED, MANHUNT, "the snooze is over")

        def decide(incident: Incident) -> Muster | None:
            now = self.now()
            is_here = incident.status is IncidentStatus.SNOOZED and incident.reactions == reactions
            if not is_here or _at(incident.snoozed_until) > now:
                raise _Past
            incident.hunt += 1
            return self._seek(incident, now, _places(incident), ())

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
        resolution = Resolution(incident.held_by or MANHUNT, f"the incident is {incident.status.value}")
        for search in self.db.get_many((Search.by_id(link.search_id) for link in links), consistent=True):
            if search.status is Status.ACTIVE:
                stand_down(self, search, resolution)

    # --- each change --------------------------------------------------------------------------------------------------
    def change(
        self, domain_id: str | None, incident_id: str, told: Told, decide: Decide, *, in_task: bool = False
    ) -> Incident:
        """Decide on the incident as it stands, and write what follows; again from the start where others were first."""
        if len(told.by) > MAX_REASON or len(told.said) > MAX_REASON or not told.by:
            raise Invalid(f"who it was, and what they said, have 1 to {MAX_REASON} characters")
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
                if not any(_is_about(cancelled, kind) for kind in (Incident, Contact, Rota)):
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
            told = Told(ReactionKind.UNANSWERED, MANHUNT, NOBODY if found is None else "")
        unchanged = (attr(Incident.reactions) == before.reactions) & (attr(Incident.alarms) == before.alarms)
        tx.put(after, where=unchanged)
        self._follow(tx, before, after, found, told, now)
        return after

    def _follow(
        self, tx: Transaction, before: Incident | None, after: Incident, found: Muster | None, told: Told, now: datetime
    ) -> None:
        """What belongs to a change: the searches it opens, its reaction, its person, the tasks that carry it on."""
        id = after.incident_id
        if found is not None:
            found.write(tx)
        tx.create(_reaction(after, told, found, now))
        if told.by not in (MANHUNT, "alarm"):
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

    def _seek(
        self,
        incident: Incident,
        now: datetime,
        places: Iterator[Place] | Sequence[Place],
        links: Sequence[IncidentSearch],
        *,
        strict: bool = False,
    ) -> Muster | None:
        """Take the incident to the first place that reaches somebody; without one it is unanswered."""
        hunted = hunted_now(self, incident, links)
        for lap, stage in places:
            incident.lap, incident.stage = lap, stage
            found = muster(self, incident, incident.plan[stage], now, hunted, strict=strict)
            if found.reaches_somebody:
                incident.status = IncidentStatus.HUNTING
                incident.escalates_at = now + timedelta(seconds=incident.plan[stage].wait_seconds)
                return found
        _leave(incident, IncidentStatus.UNANSWERED, MANHUNT)
        incident.escalates_at, incident.ended_at = None, now
        return None


class _Past(Exception):
    """The task of a time that is over."""


# --- the rules of one incident ----------------------------------------------------------------------------------------
def acknowledged(incident: Incident, by: str) -> None:
    """What somebody's answer makes of it; NotNow where somebody has it already."""
    if incident.status is IncidentStatus.ACKNOWLEDGED:
        raise NotNow(incident.incident_id, incident.status.value, incident.held_by)
    _leave(incident, IncidentStatus.ACKNOWLEDGED, by)


def _leave(incident: Incident, status: IncidentStatus, by: str) -> None:
    incident.status, incident.held_by, incident.snoozed_until = status, by, None


def is_hunting(hunt: int) -> Condition:
    """An incident looks for somebody, in this hunt."""
    return (attr(Incident.status) == IncidentStatus.HUNTING) & (attr(Incident.hunt) == hunt)


def _is_live() -> Condition:
    return ~attr(Incident.status).is_in(*ENDED)


def _is_same_hunt(before: Incident, after: Incident) -> bool:
    return after.status is IncidentStatus.HUNTING and after.hunt == before.hunt


def _places(incident: Incident, after: Place | None = None) -> Iterator[Place]:
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


def stand_down(base: Base, search: Search, resolution: Resolution) -> None:
    """End a search that its incident does not need any more, unless it has ended."""
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


def check_summary(summary: str) -> None:
    if not 0 < len(summary.strip()) <= MAX_SUMMARY:
        raise Invalid(f"a summary has 1 to {MAX_SUMMARY} characters")


def check_alarm_key(alarm_key: str) -> None:
    if len(alarm_key) > MAX_KEY or not alarm_key.isprintable() or not is_normalized("NFC", alarm_key):
        raise Invalid(f"the key of an alarm has up to {MAX_KEY} printable characters, in Unicode's normal form C")


def person_name(said: str) -> str:
    """As a part of a key, from whatever somebody calls themselves."""
    clean = "".join(c if c.isprintable() else " " for c in normalize("NFC", said)).strip()
    return clean[:MAX_NAME] or "somebody"


def _is_about(cancelled: TransactionCancelled, kind: type[object]) -> bool:
    return any(failure.key.kinds[0] is kind for failure in cancelled.failures)
