"""What must hold of the whole table, whatever was done to it: for tests, and for whoever wants to know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from manhunt.check_incidents import Pending, check_incidents, waits_for
from manhunt.model import Contact, ContactMethod, Delivery, Search, SearchAttempt, Status, tasks
from manhunt.searches import NO_ANSWER
from manhunt.zones import quiet_until
from singletable import Database


@dataclass(frozen=True)
class Records:
    """Everything, by what it belongs to."""

    contacts: dict[str, Contact]
    methods: dict[str, list[ContactMethod]]
    searches: dict[str, Search]
    attempts: dict[str, list[SearchAttempt]]
    pending: Pending


def check(db: Database, *, drained: bool = False) -> list[str]:
    """What is wrong, as sentences; empty when all holds. Fourteen scans: it costs fourteen times the table's size.

    `drained` says that no change is on its way to the worker: then every active search has begun.
    """
    records = _read(db)
    found = [wrong for search in records.searches.values() for wrong in _search(records, search, drained)]
    found += [f"{id}: attempts without a search" for id in records.attempts.keys() - records.searches.keys()]
    found += [f"{id}: methods without a contact" for id in records.methods.keys() - records.contacts.keys()]
    for id, contact in records.contacts.items():
        if contact.method_count != len(records.methods.get(id, [])):
            found.append(f"{id}: {contact.method_count} methods counted, {len(records.methods.get(id, []))} there")
    return [*found, *check_incidents(db, records.searches, records.pending)]


def _read(db: Database) -> Records:
    methods: dict[str, list[ContactMethod]] = defaultdict(list)
    attempts: dict[str, list[SearchAttempt]] = defaultdict(list)
    for method in db.scan(ContactMethod, consistent=True):
        methods[method.contact_id].append(method)
    for attempt in db.scan(SearchAttempt, consistent=True):
        attempts[attempt.search_id].append(attempt)
    for found in attempts.values():
        found.sort(key=lambda attempt: attempt.step)
    scanned = db.scan(tasks.entity, consistent=True)
    pending = {(task.function, frozenset(task.arguments.items())) for task in scanned}
    searches = {search.search_id: search for search in db.scan(Search, consistent=True)}
    contacts = {contact.contact_id: contact for contact in db.scan(Contact, consistent=True)}
    return Records(contacts, methods, searches, attempts, pending)


def _search(records: Records, search: Search, drained: bool) -> Iterator[str]:
    id, attempts = search.search_id, records.attempts.get(search.search_id, [])
    yield from _attempts(search, attempts)
    if search.status is Status.ACTIVE:
        yield from (f"{id}: {wrong}" for wrong in _active(records, search, attempts, drained))
    else:
        yield from (f"{id}: {wrong}" for wrong in _ended(search, attempts))
    yield from (f"{id}: {wrong}" for wrong in _messages(records, search, attempts))


def _active(records: Records, search: Search, attempts: Sequence[SearchAttempt], drained: bool) -> Iterator[str]:
    """It wakes again, or its beginning is still on its way."""
    if search.ended_at is not None or search.ended_step is not None or search.resolution is not None:
        yield "active, and says how it ended"
    if search.begun_at is None:
        if drained:
            yield "active, and nothing will begin it"
    elif not waits_for(records.pending, "wake", search_id=search.search_id, step=search.step):
        yield f"active at step {search.step}, and nothing will wake it"


def _messages(records: Records, search: Search, attempts: Sequence[SearchAttempt]) -> Iterator[str]:
    """Each is sent or not, or somebody will see to it; after the end, too, that it doesn't stay open for good."""
    for attempt in attempts:
        is_open = attempt.delivery in (Delivery.WAITING, Delivery.CLAIMED)
        if is_open and not waits_for(records.pending, "send", search_id=search.search_id, step=attempt.step):
            yield f"nothing will send the message of step {attempt.step}, or say what became of it"


def _ended(search: Search, attempts: Sequence[SearchAttempt]) -> Iterator[str]:
    """Once, with all that says how; a failed one tried everything, an answered one knows which attempt."""
    if search.ended_at is None or search.resolution is None or search.wake_at is not None:
        yield "ended, and does not say how"
    if search.ended_step != search.step:
        yield f"ended at step {search.ended_step}, and went on to step {search.step}"
    answered = [attempt.step for attempt in attempts if attempt.answered_at is not None]
    if len(answered) != (search.status is Status.ANSWERED):
        yield f"{search.status.value}, and {len(answered)} attempts are answered"
    gave_up = search.resolution is not None and search.resolution.how == NO_ANSWER
    if gave_up and len(attempts) != len(search.plan):
        yield f"failed after {len(attempts)} of {len(search.plan)} methods"


def _attempts(search: Search, attempts: Sequence[SearchAttempt]) -> Iterator[str]:
    """Those of the plan's head, in order, each in its time."""
    id = search.search_id
    if [attempt.step for attempt in attempts] != list(range(search.step)):
        yield f"{id}: at step {search.step}, with attempts {[attempt.step for attempt in attempts]}"
    for attempt in attempts:
        if attempt.step < len(search.plan) and attempt.method != search.plan[attempt.step]:
            yield f"{id}: attempt {attempt.step} is not the method of the plan"
    for step in early_steps(search, attempts):
        yield f"{id}: attempt {step} came before its time"


def early_steps(search: Search, attempts: Sequence[SearchAttempt]) -> Iterator[int]:
    """The attempts that came early by the clocks of the workers that took them: before the time they were put off to,
    before the wait since the attempt before was over, with their message claimed before they were there, or in the
    quiet hours that their search keeps."""
    befores = [search.started_at, *(attempt.attempted_at for attempt in attempts)]
    for (before, _), attempt in zip(pairwise(befores), attempts, strict=True):
        waited = before + timedelta(seconds=attempt.method.wait_seconds)
        due = quiet_until(search.quiet, max(attempt.due_at, waited, attempt.attempted_at))
        claimed = attempt.claimed_at or attempt.attempted_at
        if attempt.attempted_at < due or claimed < attempt.attempted_at:
            yield attempt.step
