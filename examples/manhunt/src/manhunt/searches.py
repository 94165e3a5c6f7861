"""Searches: opened with a copy of the plan, and ended once, for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from manhunt.base import TRIES, WEEK_SECONDS, Base
from manhunt.contacts import details
from manhunt.errors import AlreadyEnded, Contended, Invalid, NoSuchAttempt, NoSuchSearch
from manhunt.messages import DEFAULT_MESSAGE, check_message
from manhunt.model import (
    Contact,
    ContactDetails,
    ContactMethod,
    Incident,
    Planned,
    Resolution,
    Search,
    SearchAttempt,
    Status,
)
from singletable import Condition, ConditionFailed, Database, TransactionCancelled, attr
from singletable.records import Transaction

ANSWER_SECONDS = 600
MANHUNT = "manhunt"
"""Who ends a search that nobody else does."""
NO_METHOD = "no contact method is enabled"
NO_ANSWER = "nobody answered"
MAX_REASON = 500


@dataclass(frozen=True)
class Searches(Base):
    """The actions on searches."""

    def open_search(
        self,
        domain_id: str,
        contact_id: str,
        metadata: Mapping[str, str],
        *,
        message: str = DEFAULT_MESSAGE,
        answer_seconds: int = ANSWER_SECONDS,
        urgent: bool = True,
    ) -> Search:
        """Begin to look for a contact. The plan, its enabled methods in order, is copied into the search; the
        transaction holds that it is still theirs. Without any the search has failed at once, and says so. One that is
        not urgent takes no step in the contact's quiet hours.

        2 requests: 1 R for each 4 KB of the contact; then 6 W for the search in its two indexes and 2 W for the check.
        NoSuchContact, Invalid, Contended.
        """
        if not 0 <= answer_seconds <= WEEK_SECONDS:
            raise Invalid(f"the time for an answer is 0 to {WEEK_SECONDS} seconds, which is a week")
        search_id, now = self.new_id(), self.now()
        for _ in range(TRIES):
            found = details(self.db, domain_id, contact_id)
            check_message(message, metadata)
            search = search_for(
                found,
                search_id,
                now,
                message=message,
                metadata=dict(metadata),
                answer_seconds=answer_seconds,
                urgent=urgent,
            )
            try:
                with self.db.transaction() as tx:
                    tx.create(search)
                    tx.check(Contact.by_id(contact_id), where=is_unedited(found.contact))
            except TransactionCancelled as cancelled:
                if any(failure.key.kinds[0] is Search for failure in cancelled.failures):
                    raise
                continue
            return search
        raise Contended(f"contact {contact_id!r}")

    def cancel(self, domain_id: str, search_id: str, *, by: str, reason: str = "") -> Search:
        """End a search that is not needed any more. 2 requests: 1 R, then one conditional update of the search and its
        index entries. NoSuchSearch, AlreadyEnded."""
        search = read(self.db, search_id, domain_id)
        return end(self.db, search, Status.CANCELLED, Resolution(by, "cancelled", reason), self.now())


def search_for(
    found: ContactDetails,
    search_id: str,
    now: datetime,
    *,
    message: str,
    metadata: dict[str, str],
    answer_seconds: int,
    urgent: bool,
    incident: Incident | None = None,
) -> Search:
    """A search for a contact as it was read. Without an enabled method it has failed."""
    search = Search(
        search_id=search_id,
        domain_id=found.contact.domain_id,
        contact_id=found.contact.contact_id,
        contact_name=found.contact.name,
        started_at=now,
        message=message,
        metadata=metadata,
        plan=plan_of(found.methods),
        answer_seconds=answer_seconds,
        quiet=None if urgent else found.contact.quiet,
        incident_id=incident.incident_id if incident is not None else None,
        hunt=incident.hunt if incident is not None else 0,
    )
    if not search.plan:
        search.status, search.ended_at, search.ended_step = Status.FAILED, now, 0
        search.resolution = Resolution(by=MANHUNT, how=NO_METHOD)
    return search


def is_unedited(contact: Contact) -> Condition:
    """The contact and its methods are still as they were read."""
    return attr(Contact.edits) == contact.edits


def plan_of(methods: Sequence[ContactMethod]) -> list[Planned]:
    """The enabled methods, in the order they are tried."""
    enabled = sorted((m for m in methods if m.enabled), key=lambda m: (m.order, m.method_id))
    return [Planned(m.method_id, m.kind, m.destination, m.wait_seconds) for m in enabled]


def read(db: Database, search_id: str, domain_id: str | None = None) -> Search:
    """A search as it was last written; of a domain, where one is named."""
    search = db.get(Search.by_id(search_id).consistent())
    if search is None or domain_id not in (None, search.domain_id):
        raise NoSuchSearch(search_id)
    return search


def end(
    db: Database,
    search: Search,
    status: Status,
    resolution: Resolution,
    now: datetime,
    answered: int | None = None,
    together_with: Callable[[Transaction], None] | None = None,
) -> Search:
    """End a search as it was read: one conditional update. With the attempt that was `answered`, or with writes that
    have to come together with it, one transaction.

    Where it went a step on meanwhile, it is read again and ended there; AlreadyEnded where somebody was faster.
    """
    if len(resolution.reason) > MAX_REASON or len(resolution.by) > MAX_REASON:
        field = "by" if len(resolution.by) > MAX_REASON else "reason"
        raise Invalid(f"who ended it, and what they said, have at most {MAX_REASON} characters", field)
    for _ in range(TRIES):
        if search.status is not Status.ACTIVE:
            raise _already(search)
        if answered is not None and not 0 <= answered < search.step:
            raise NoSuchAttempt(search.search_id, answered)
        stored = _try_to_end(db, search, status, resolution, now, answered, together_with)
        if stored.resolution == resolution and stored.ended_at == now:
            return stored  # its own update, too, whose answer was lost
        search = stored
    raise Contended(f"search {search.search_id!r}")


def _try_to_end(
    db: Database,
    search: Search,
    status: Status,
    resolution: Resolution,
    now: datetime,
    answered: int | None,
    together_with: Callable[[Transaction], None] | None,
) -> Search:
    """The search as it stands then: ended, or as somebody else has made it."""
    updates = (
        attr(Search.status).set(status),
        attr(Search.resolution).set(resolution),
        attr(Search.ended_at).set(now),
        attr(Search.ended_step).set(search.step),
        attr(Search.wake_at).remove(),
        # They stay as they are: said, so that nothing has to be read for the key of the index.
        attr(Search.contact_id).set(search.contact_id),
        attr(Search.started_at).set(search.started_at),
    )
    unmoved = (attr(Search.status) == Status.ACTIVE) & (attr(Search.step) == search.step)
    try:
        if answered is None:
            return db.update(search, *updates, where=unmoved)
        with db.transaction() as tx:
            tx.update(search, *updates, where=unmoved)
            tx.update(
                SearchAttempt.of_search(search.search_id, answered),
                attr(SearchAttempt.answered_at).set(now),
                attr(SearchAttempt.answer).set(said(resolution)),
            )
            if together_with is not None:
                together_with(tx)
    except (ConditionFailed, TransactionCancelled) as refused:
        if isinstance(refused, TransactionCancelled) and all(f.key.kinds[0] is SearchAttempt for f in refused.failures):
            raise
    return read(db, search.search_id)


def said(resolution: Resolution) -> str:
    """In one line."""
    return f"{resolution.how}: {resolution.reason}" if resolution.reason else resolution.how


def _already(search: Search) -> AlreadyEnded:
    by = search.resolution.by if search.resolution is not None else MANHUNT
    return AlreadyEnded(search.search_id, search.status.value, by)
