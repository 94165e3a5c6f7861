"""Searches: opened with a copy of the plan, and ended once, for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from examples.manhunt.contacts import TRIES, WEEK_SECONDS, details
from examples.manhunt.errors import AlreadyEnded, Contended, Invalid, NoSuchAttempt, NoSuchSearch
from examples.manhunt.messages import check_message
from examples.manhunt.model import Contact, ContactMethod, Planned, Resolution, Search, SearchAttempt, Status
from singletable import ConditionFailed, Database, TransactionCancelled, attr

MANHUNT = "manhunt"
"""Who ends a search that nobody else does."""
NO_METHOD = "no contact method is enabled"
NO_ANSWER = "nobody answered"
MAX_REASON = 500


def open_search(
    db: Database,
    now: datetime,
    search_id: str,
    domain_id: str,
    contact_id: str,
    message: str,
    metadata: Mapping[str, str],
    answer_seconds: int,
) -> Search:
    """One read of the contact and its methods; one transaction that holds them as they were read."""
    if not 0 <= answer_seconds <= WEEK_SECONDS:
        raise Invalid(f"the time for an answer is 0 to {WEEK_SECONDS} seconds, which is a week")
    for _ in range(TRIES):
        found = details(db, domain_id, contact_id)
        check_message(message, metadata)
        search = Search(
            search_id=search_id,
            domain_id=domain_id,
            contact_id=contact_id,
            contact_name=found.contact.name,
            started_at=now,
            message=message,
            metadata=dict(metadata),
            plan=plan_of(found.methods),
            answer_seconds=answer_seconds,
        )
        if not search.plan:
            search.status, search.ended_at, search.ended_step = Status.FAILED, now, 0
            search.resolution = Resolution(by=MANHUNT, how=NO_METHOD)
        try:
            with db.transaction() as tx:
                tx.create(search)
                tx.check(Contact.by_id(contact_id), where=attr(Contact.edits) == found.contact.edits)
        except TransactionCancelled as cancelled:
            if any(failure.key.kinds[0] is Search for failure in cancelled.failures):
                raise
            continue
        return search
    raise Contended(f"contact {contact_id!r}")


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
) -> Search:
    """End a search as it was read: one conditional update. With the attempt that was `answered`, one transaction.

    Where it went a step on meanwhile, it is read again and ended there; AlreadyEnded where somebody was faster.
    """
    if len(resolution.reason) > MAX_REASON or len(resolution.by) > MAX_REASON:
        raise Invalid(f"who ended it, and what they said, have at most {MAX_REASON} characters")
    for _ in range(TRIES):
        if search.status is not Status.ACTIVE:
            raise _already(search)
        if answered is not None and not 0 <= answered < search.step:
            raise NoSuchAttempt(search.search_id, answered)
        stored = _try_to_end(db, search, status, resolution, now, answered)
        if stored.resolution == resolution and stored.ended_at == now:
            return stored  # its own update, too, whose answer was lost
        search = stored
    raise Contended(f"search {search.search_id!r}")


def _try_to_end(
    db: Database, search: Search, status: Status, resolution: Resolution, now: datetime, answered: int | None
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
