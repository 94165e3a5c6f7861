"""Answers: an attempt is answered, and the search ends; so does the hunt of the incident that it was for."""

from __future__ import annotations

from dataclasses import dataclass

from manhunt import searches
from manhunt.errors import AlreadyEnded, NoConversation, NoSuchAttempt, NotNow
from manhunt.incident_changes import Told, acknowledged, read_incident
from manhunt.incidents import Incidents
from manhunt.model import Conversation, Incident, IncidentStatus, ReactionKind, Resolution, Search, Status
from singletable.records import Transaction


@dataclass(frozen=True)
class Answers(Incidents):
    """What led here is the proof that it may: a signed link, a reply from the number, a key on the call."""

    def answer(self, search_id: str, step: int, *, how: str, by: str = "", said: str = "") -> Search:
        """The attempt number `step` was answered: the search ends, for good, and the attempt says how. With it the
        incident is acknowledged that it was for, in the same transaction.

        2 requests and a read of the outcome, 1 more for an incident. NoSuchSearch, NoSuchAttempt, AlreadyEnded, also
        where somebody else has acknowledged the incident. A search that failed is answered late while its incident
        still hunts: then that is acknowledged, and the search stays as it ended.
        """
        search = searches.read(self.db, search_id)
        resolution = Resolution(by or search.contact_name, how, said)
        if search.incident_id is None:
            return searches.end(self.db, search, Status.ANSWERED, resolution, self.now(), answered=step)
        answer = _IncidentAnswer(self, search.incident_id, search, resolution)
        if search.status is Status.FAILED:
            return answer.late(step)
        return searches.end(
            self.db, search, Status.ANSWERED, resolution, self.now(), answered=step, together_with=answer.write
        )

    def answer_from(self, number: str, *, how: str, said: str = "") -> Search:
        """A reply from a telephone number answers the last attempt whose text went there. NoConversation, and as
        `answer`, with a request more."""
        conversation = self.db.get(Conversation.with_number(number).consistent())
        if conversation is None:
            raise NoConversation
        return self.answer(conversation.search_id, conversation.step, how=how, said=said)


@dataclass(frozen=True)
class _IncidentAnswer:
    """An answer to a search of an incident."""

    incidents: Incidents
    incident_id: str
    search: Search
    resolution: Resolution

    def write(self, tx: Transaction) -> None:
        """Acknowledge the incident in the transaction that ends the search."""
        incident = read_incident(self.incidents.db, self.incident_id)
        self.incidents.changed(tx, incident, self._told, self._decide)

    def late(self, step: int) -> Search:
        """The search has failed; its incident may still hunt."""
        if not 0 <= step < self.search.step:
            raise NoSuchAttempt(self.search.search_id, step)
        try:
            self.incidents.change(self.search.domain_id, self.incident_id, self._told, self._decide)
        except NotNow as refused:
            raise AlreadyEnded(self.search.search_id, refused.status, refused.by) from refused
        return self.search

    @property
    def _told(self) -> Told:
        return Told(ReactionKind.ACKNOWLEDGED, self.resolution.by, searches.said(self.resolution))

    def _decide(self, incident: Incident) -> None:
        if incident.status is not IncidentStatus.HUNTING or incident.hunt != self.search.hunt:
            raise AlreadyEnded(self.search.search_id, incident.status.value, incident.held_by)
        acknowledged(incident, self.resolution.by)
