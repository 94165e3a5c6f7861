"""Incidents: opened once for all alarms of a key, hunted stage by stage, and ended once.

    opened ──▶ hunting ──▶ acknowledged ──▶ resolved
                │  ▲ │        │   ▲
                │  │ └─▶ snoozed ─┘ (and back to hunting, when the snooze is over)
                ▼
             unanswered

Each change is one transaction (`incident_changes`). A hunt's searches go on while the incident says that it is this
hunt: every step and message of theirs holds that. A task of the same transaction ends those that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from unicodedata import is_normalized

from manhunt.base import TRIES, WEEK_SECONDS
from manhunt.errors import Contended, Invalid
from manhunt.incident_changes import (
    ALARM,
    NOBODY,
    IncidentChanges,
    Told,
    acknowledged,
    is_about,
    leave,
    places,
)
from manhunt.model import (
    ENDED,
    Alarm,
    Incident,
    IncidentDetails,
    IncidentResource,
    IncidentStatus,
    Link,
    ReactionKind,
    Search,
    Stage,
    Target,
)
from manhunt.policies import Policies, check_link, check_stage
from manhunt.queries import EVER, Window
from manhunt.responders import Muster
from singletable import Condition, Page, Query, TransactionCancelled, attr

MAX_KEY = 200
MAX_RESOURCES = 50
MAX_SUMMARY = 500
ASSIGNED_SECONDS = 600


@dataclass(frozen=True)
class Opened:
    """What became of an alarm."""

    incident: Incident
    is_new: bool


@dataclass(frozen=True)
class Incidents(Policies, IncidentChanges):
    """The actions on incidents. Each that changes one is a read, 1 R for each 4 KB, and a transaction of the incident,
    its reaction, its person and a task: 9 to 12 W. NoSuchIncident, NotNow, Contended."""

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
            found = self.seek(incident, now, places(incident), ())
            told = Told(ReactionKind.OPENED, ALARM, "" if found is not None else NOBODY)
            try:
                with self.db.transaction() as tx:
                    tx.create(incident)
                    if alarm_key and not incident.has_ended:
                        tx.create(Alarm(domain_id=domain_id, alarm_key=alarm_key, incident_id=incident_id))
                    for link in policy.links:
                        tx.create(self._resource(incident_id, link))
                    self.follow(tx, None, incident, found, told, now)
            except TransactionCancelled as cancelled:
                if is_about(cancelled, Incident):
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
            raise Invalid(f"a snooze is 1 to {WEEK_SECONDS} seconds, which is a week", "seconds")

        def decide(incident: Incident) -> None:
            leave(incident, IncidentStatus.SNOOZED, by)
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
        check_stage(stage, "target", "wait_seconds")

        def decide(incident: Incident) -> Muster:
            incident.assigned = stage
            incident.hunt += 1
            found = self.seek(incident, self.now(), [(0, 0)], (), strict=True)
            if found is None:
                raise Invalid(NOBODY, "target")
            return found

        return self.change(domain_id, incident_id, Told(ReactionKind.REASSIGNED, by, said), decide)

    def resolve(self, domain_id: str, incident_id: str, *, by: str, said: str = "") -> Incident:
        """It is over, for good: a further alarm of its key is an incident of its own."""
        told = Told(ReactionKind.RESOLVED, by, said)
        return self.change(domain_id, incident_id, told, lambda incident: leave(incident, IncidentStatus.RESOLVED, by))

    def add_resource(self, domain_id: str, incident_id: str, title: str, url: str) -> IncidentResource:
        """Where those who work on it meet. 2 requests. NoSuchIncident, Invalid."""
        link = Link(title, url)
        check_link(link, "title", "url")
        found = self.incident_with_all(domain_id, incident_id)
        if len(found.resources) >= MAX_RESOURCES:
            raise Invalid(f"an incident has up to {MAX_RESOURCES} resources")
        made = self._resource(incident_id, link)
        self.db.create(made)
        return made

    def _resource(self, incident_id: str, link: Link) -> IncidentResource:
        return IncidentResource(incident_id=incident_id, resource_id=self.new_id(), title=link.title, url=link.url)

    # --- queries ------------------------------------------------------------------------------------------------------
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


def _is_live() -> Condition:
    return ~attr(Incident.status).is_in(*ENDED)


def check_summary(summary: str) -> None:
    if not 0 < len(summary.strip()) <= MAX_SUMMARY:
        raise Invalid(f"a summary has 1 to {MAX_SUMMARY} characters", "summary")


def check_alarm_key(alarm_key: str) -> None:
    if len(alarm_key) > MAX_KEY or not alarm_key.isprintable() or not is_normalized("NFC", alarm_key):
        said = f"the key of an alarm has up to {MAX_KEY} printable characters, in Unicode's normal form C"
        raise Invalid(said, "alarm_key")
