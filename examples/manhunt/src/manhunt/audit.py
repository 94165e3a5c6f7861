"""What became of searches, told from what was stored: the stream's record of their ends, and their attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from manhunt.check import early_steps
from manhunt.errors import NoSuchSearch
from manhunt.model import Search, SearchDetails, Status, manhunt
from singletable import Database
from singletable.streams import Changes, ChangeWorker, Inserted, Modified


@dataclass(frozen=True)
class Audit:
    searches: int
    ended_once: int
    """Left the status active in one change of the stream's record, and never changed it again."""
    answered: int
    failed: int
    attempts: int
    attempts_after_end: int
    """Committed with a step above the one at which the search ended."""
    early_attempts: int
    """Claimed before they were due, by the clock of the worker that claimed them."""


def audit(db: Database, search_ids: Collection[str], name: str) -> Audit:
    """Reads the table's whole stream, as a consumer of that name, and each search with its attempts."""
    ends = _ends(db, name)
    found = [_details(db, id) for id in search_ids]
    statuses = [details.search.status for details in found]
    return Audit(
        searches=len(found),
        ended_once=sum(len(ends[details.search.search_id]) == 1 for details in found),
        answered=statuses.count(Status.ANSWERED),
        failed=statuses.count(Status.FAILED),
        attempts=sum(len(details.attempts) for details in found),
        attempts_after_end=sum(map(_after_end, found)),
        early_attempts=sum(len(list(early_steps(details.search, details.attempts))) for details in found),
    )


def _ends(db: Database, name: str) -> defaultdict[str, set[str]]:
    """The changes by which each search ended, or changed its status once more; each once, told twice or not."""
    ends: defaultdict[str, set[str]] = defaultdict(set)
    changes = Changes(manhunt, name=name)

    @changes.on(Search).inserted
    def opened(change: Inserted[Search]) -> None:
        if change.new.status is not Status.ACTIVE:
            ends[change.new.search_id].add(change.sequence)

    @changes.on(Search).modified(Search.status)
    def moved(change: Modified[Search]) -> None:
        ends[change.new.search_id].add(change.sequence)

    ChangeWorker(db, changes).drain()
    return ends


def _details(db: Database, search_id: str) -> SearchDetails:
    found = db.get(SearchDetails.by_id(search_id).consistent())
    if found is None:
        raise NoSuchSearch(search_id)
    return found


def _after_end(details: SearchDetails) -> int:
    """`ended_step` was written by whoever ended it, and counts the steps that were taken: the next would be of it."""
    ended_step = details.search.ended_step
    return 0 if ended_step is None else sum(attempt.step >= ended_step for attempt in details.attempts)
