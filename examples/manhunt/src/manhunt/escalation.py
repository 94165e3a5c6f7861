"""What happens while a search goes on: it begins, it wakes for each step, its messages go out.

    opened ── stream ──▶ begin ──▶ wake 0 ──▶ wake 1 ──▶ ... ──▶ wake n: failed
                                     │          │
                                     ▼          ▼
                                   send 0     send 1

Each arrow is a task that was written in one transaction with what it follows from, so there is always a next one. Each
transaction holds that the search is active, and a wake that it is at this step: once the search has ended nothing of it
happens any more, and whatever runs twice does its work once. Only a message may go out twice, under the same key.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from manhunt import searches
from manhunt.errors import AlreadyEnded, NoSuchSearch, Rejected, Unanswered, Undeliverable
from manhunt.incident_changes import is_hunting, stand_down
from manhunt.links import Links
from manhunt.messages import text_of
from manhunt.model import (
    Conversation,
    Delivery,
    Incident,
    Kind,
    Planned,
    Resolution,
    Search,
    SearchAttempt,
    Status,
    manhunt,
    tasks,
)
from manhunt.notifiers import Message, Notifiers
from manhunt.searches import MANHUNT, NO_ANSWER
from manhunt.service import Service
from manhunt.zones import quiet_until
from singletable import Condition, ConditionFailed, TransactionCancelled, Update, attr
from singletable.records import Transaction
from singletable.streams import Changes, Gap
from singletable.tasks import Backoff

MESSAGE_TRIES = 8
MESSAGE_RUNS = 100
"""Of a message's task: one whose worker died in its last try comes back, to say that nobody knows what became of it."""
MESSAGE_BACKOFF = Backoff(first_seconds=2.0, longest_seconds=60.0)
WAKE_TRIES = 1000
"""A search that doesn't wake is a missed page: its task is not given up within days."""
IS_ACTIVE = attr(Search.status) == Status.ACTIVE
IN_DOUBT = attr(SearchAttempt.in_doubt) == True  # noqa: E712 an expression, not a comparison

OF_SEARCH = {"search_id": Search.search_id}
"""Whose its tasks are: an erasure of the contact deletes them with the search."""


class Escalation:
    """The handlers of a worker. `worker` names it in the attempts that it makes."""

    def __init__(self, service: Service, links: Links, notifiers: Notifiers, worker: str) -> None:
        self.service, self.db = service, service.db
        self._links, self._notifiers, self._worker = links, notifiers, worker
        self.changes = Changes(manhunt, name="escalation")
        self.changes.on(Search).inserted(lambda change: self.begin(change.new))
        self.changes.on_gap(self.begin_all)
        self.wake = tasks.task(
            name="wake", tries=WAKE_TRIES, backoff=Backoff(longest_seconds=30.0), belongs_to=OF_SEARCH
        )(self._wake)
        self.of_incidents = service.task_functions()
        self.send = tasks.task(name="send", tries=MESSAGE_RUNS, backoff=MESSAGE_BACKOFF, belongs_to=OF_SEARCH)(
            self._send
        )

    def begin_all(self, gap: Gap) -> None:
        """Changes were lost: look for every search that waits for its beginning. It reads the whole table."""
        for search in self.db.scan(Search, consistent=True):
            if search.begun_at is None:
                self.begin(search)

    def begin(self, search: Search) -> None:
        """A search was opened. May be told twice: only the first finds it not begun. 1 request."""
        if search.status is not Status.ACTIVE:
            return
        due = quiet_until(search.quiet, search.started_at + timedelta(seconds=search.plan[0].wait_seconds))
        try:
            with self.db.transaction() as tx:
                tx.update(
                    Search.by_id(search.search_id),
                    attr(Search.begun_at).set(self.service.now()),
                    attr(Search.wake_at).set(due),
                    where=IS_ACTIVE & ~attr(Search.begun_at).exists(),
                )
                self._wake_at(tx, search.search_id, 0, due)
        except TransactionCancelled as cancelled:
            if not _is_about(cancelled, Search):
                raise

    # --- steps --------------------------------------------------------------------------------------------------------
    def _wake(self, search_id: str, step: int) -> None:
        """Take a step, with those that are together with it; past the last, the search has failed. 2 requests."""
        search = self._active(search_id)
        if search is None or search.step != step:
            return  # it has ended, or this was done before its worker could say so
        if search.wake_at is None or self.service.now() < search.wake_at:
            return  # not the task that was written with the step before: that one is still to come
        now = self.service.now()
        due = quiet_until(search.quiet, now) if step < len(search.plan) else now
        if step == len(search.plan):
            self._fail(search)
        elif due > now:
            self._put_off(search, due)
        else:
            self._take_step(search, now)

    def _put_off(self, search: Search, due: datetime) -> None:
        """The worker was late, and came into the contact's quiet hours: the step waits for their end."""
        is_here = IS_ACTIVE & (attr(Search.step) == search.step) & (attr(Search.wake_at) == search.wake_at)
        try:
            with self.db.transaction() as tx:
                tx.update(Search.by_id(search.search_id), attr(Search.wake_at).set(due), where=is_here)
                self._wake_at(tx, search.search_id, search.step, due)
                tx.add(tasks.done())
        except TransactionCancelled as cancelled:
            if not _is_about(cancelled, Search):
                raise

    def _take_step(self, search: Search, now: datetime) -> None:
        first = search.step
        past = first + together(search.plan[first:])
        wait = search.plan[past].wait_seconds if past < len(search.plan) else search.answer_seconds
        due = now + timedelta(seconds=wait)
        if past < len(search.plan):
            due = quiet_until(search.quiet, due)
        try:
            with self.db.transaction() as tx:
                _hold_incident(tx, search)
                tx.update(
                    Search.by_id(search.search_id),
                    attr(Search.step).set(past),
                    attr(Search.wake_at).set(due),
                    where=IS_ACTIVE & (attr(Search.step) == first),
                )
                for step in range(first, past):
                    tx.create(self._attempt(search, step, now))
                    tx.add(tasks.at(now, self.send(search.search_id, step), key=f"send-{search.search_id}-{step}"))
                self._wake_at(tx, search.search_id, past, due)
                tx.add(tasks.done())
        except TransactionCancelled as cancelled:
            if _is_about(cancelled, Incident):
                incident = self.db.get(Incident.by_id(search.incident_id or "").consistent())
                stand_down(self.service, search, incident)
            elif not _is_about(cancelled, Search):
                raise

    def _attempt(self, search: Search, step: int, now: datetime) -> SearchAttempt:
        return SearchAttempt(
            search_id=search.search_id,
            step=step,
            method=search.plan[step],
            due_at=search.wake_at or now,
            attempted_at=now,
            worker=self._worker,
        )

    def _wake_at(self, tx: Transaction, search_id: str, step: int, due: datetime) -> None:
        tx.add(tasks.at(due, self.wake(search_id, step), key=f"wake-{search_id}-{step}-{due.timestamp()}"))

    def _fail(self, search: Search) -> None:
        try:
            searches.end(self.db, search, Status.FAILED, Resolution(MANHUNT, NO_ANSWER), self.service.now())
        except AlreadyEnded:
            return  # an answer came at the last moment

    # --- messages -----------------------------------------------------------------------------------------------------
    def _send(self, search_id: str, step: int) -> None:
        """Claim the message while the search is active, hand it to its provider, note what became of it. 3 requests.

        A worker that dies after the provider took it leaves it to be sent once more, under the same key. Where that is
        not to be, as the search has ended or it was tried often enough, the attempt says that nobody knows.
        """
        search = self._active(search_id)
        if search is None or not self._is_to_be_sent(search, step):
            self._settle(search_id, step)
            return
        try:
            reference = self._notifiers[search.plan[step].kind](self._message(search, step))
        except Exception as error:
            problem = error if isinstance(error, Undeliverable) else Unanswered(f"the notifier failed: {_kind(error)}")
            is_final = isinstance(problem, Rejected) or tasks.running().tries >= MESSAGE_TRIES
            self._note_problem(search_id, step, problem, is_final)
            if is_final and isinstance(error, Undeliverable):
                return  # the attempt says so: nothing is left to do
            raise
        with self.db.transaction() as tx:
            tx.update(
                SearchAttempt.of_search(search_id, step),
                attr(SearchAttempt.delivery).set(Delivery.SENT),
                attr(SearchAttempt.sent_at).set(self.service.now()),
                attr(SearchAttempt.reference).set(reference[:200]),
            )
            tx.add(tasks.done())

    def _is_to_be_sent(self, search: Search, step: int) -> bool:
        """Claims it. One that is claimed already was left by a worker that ended, and may have been sent by that."""
        if tasks.running().tries > MESSAGE_TRIES:
            return False
        doubt = attr(SearchAttempt.in_doubt).set(True)
        return self._claim(search, step, Delivery.WAITING) or self._claim(search, step, Delivery.CLAIMED, doubt)

    def _claim(self, search: Search, step: int, now_in: Delivery, *updates: Update) -> bool:
        """Whether it may go out. A text also becomes what a reply from its number answers."""
        search_id, method = search.search_id, search.plan[step]
        try:
            with self.db.transaction() as tx:
                tx.check(Search.by_id(search_id), where=IS_ACTIVE)
                _hold_incident(tx, search)
                tx.update(
                    SearchAttempt.of_search(search_id, step),
                    attr(SearchAttempt.delivery).set(Delivery.CLAIMED),
                    attr(SearchAttempt.claimed_at).set(self.service.now()),
                    attr(SearchAttempt.tries).set(tasks.running().tries),
                    *updates,
                    where=attr(SearchAttempt.delivery) == now_in,
                )
                if method.kind is Kind.SMS:
                    tx.put(Conversation(number=method.destination, search_id=search_id, step=step))
        except TransactionCancelled as cancelled:
            if any(_is_about(cancelled, kind) for kind in (Search, SearchAttempt, Incident)):
                return False
            raise
        return True

    def _settle(self, search_id: str, step: int) -> None:
        """Say of a message that nobody will send any more what became of it: withheld where no worker had taken it,
        unknown where one may have sent it. One that was sent or refused stays that."""
        is_waiting = attr(SearchAttempt.delivery) == Delivery.WAITING
        is_open = attr(SearchAttempt.delivery).is_in(Delivery.WAITING, Delivery.CLAIMED)
        if not self._say(search_id, step, Delivery.WITHHELD, is_waiting & ~IN_DOUBT):
            self._say(search_id, step, Delivery.UNKNOWN, is_open)

    def _say(self, search_id: str, step: int, delivery: Delivery, where: Condition) -> bool:
        """Whether it was so, and is written with the end of the task."""
        try:
            with self.db.transaction() as tx:
                key = SearchAttempt.of_search(search_id, step)
                tx.update(key, attr(SearchAttempt.delivery).set(delivery), where=where)
                tx.add(tasks.done())
        except TransactionCancelled as cancelled:
            if not _is_about(cancelled, SearchAttempt):
                raise
            return False
        return True

    def _note_problem(self, search_id: str, step: int, problem: Undeliverable, is_final: bool) -> None:
        """What a try that failed leaves: a message to be sent again, or its end. What was in doubt once stays in doubt.
        Nothing is noted where another worker has taken it over meanwhile."""
        is_ours = (attr(SearchAttempt.delivery) == Delivery.CLAIMED) & (
            attr(SearchAttempt.tries) == tasks.running().tries
        )
        updates = [attr(SearchAttempt.problem).set(str(problem)[:500])]
        if isinstance(problem, Unanswered):
            updates.append(attr(SearchAttempt.in_doubt).set(True))
        if not is_final:
            outcomes = [(Delivery.WAITING, is_ours)]
        elif isinstance(problem, Unanswered):
            outcomes = [(Delivery.UNKNOWN, is_ours)]
        else:
            outcomes = [(Delivery.REFUSED, is_ours & ~IN_DOUBT), (Delivery.UNKNOWN, is_ours)]
        for delivery, where in outcomes:
            with suppress(ConditionFailed):
                key = SearchAttempt.of_search(search_id, step)
                self.db.update(key, *updates, attr(SearchAttempt.delivery).set(delivery), where=where)
                return

    def _message(self, search: Search, step: int) -> Message:
        return Message(
            search_id=search.search_id,
            step=step,
            destination=search.plan[step].destination,
            name=search.contact_name,
            text=text_of(search.message, search.metadata),
            answer_url=self._links.answer_page(search, step),
            answer_api_url=self._links.answer_api(search, step),
            call_url=self._links.call(search, step),
        )

    def _active(self, search_id: str) -> Search | None:
        try:
            search = searches.read(self.db, search_id)
        except NoSuchSearch:
            return None
        return search if search.status is Status.ACTIVE else None


def _hold_incident(tx: Transaction, search: Search) -> None:
    """Nothing is done for a search whose incident does not look for anybody any more."""
    if search.incident_id is not None:
        tx.check(Incident.by_id(search.incident_id), where=is_hunting(search.hunt))


def together(plan: Sequence[Planned]) -> int:
    """How many methods at the head of a plan are tried at once: the first, and those that don't wait for it."""
    rest = (number for number, method in enumerate(plan) if number and method.wait_seconds)
    return next(rest, len(plan))


def _kind(error: Exception) -> str:
    return type(error).__name__


def _is_about(cancelled: TransactionCancelled, kind: type[object]) -> bool:
    """Whether an item of this class said no: the search has ended or gone on, the attempt was sent."""
    return any(failure.key.kinds[0] is kind for failure in cancelled.failures)
