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
from datetime import datetime, timedelta

from examples.manhunt import searches
from examples.manhunt.errors import AlreadyEnded, NoSuchSearch, Rejected, Undeliverable
from examples.manhunt.links import Links
from examples.manhunt.messages import text_of
from examples.manhunt.model import (
    Conversation,
    Delivery,
    Kind,
    Planned,
    Resolution,
    Search,
    SearchAttempt,
    Status,
    manhunt,
    tasks,
)
from examples.manhunt.notifiers import Message, Notifiers
from examples.manhunt.searches import MANHUNT, NO_ANSWER
from examples.manhunt.service import Service
from singletable import BlockingTransaction, TransactionCancelled, attr
from singletable.streams import Changes, Gap
from singletable.tasks import Backoff

MESSAGE_TRIES = 8
MESSAGE_BACKOFF = Backoff(first_seconds=2.0, longest_seconds=60.0)
WAKE_TRIES = 1000
"""A search that doesn't wake is a missed page: its task is not given up within days."""
IS_ACTIVE = attr(Search.status) == Status.ACTIVE


class Escalation:
    """The handlers of a worker. `worker` names it in the attempts that it makes."""

    def __init__(self, service: Service, links: Links, notifiers: Notifiers, worker: str) -> None:
        self.service, self.db = service, service.db
        self._links, self._notifiers, self._worker = links, notifiers, worker
        self.changes = Changes(manhunt, name="escalation")
        self.changes.on(Search).inserted(lambda change: self.begin(change.new))
        self.changes.on_gap(self.begin_all)
        self.wake = tasks.task(name="wake", tries=WAKE_TRIES, backoff=Backoff(longest_seconds=30.0))(self._wake)
        self.send = tasks.task(name="send", tries=MESSAGE_TRIES, backoff=MESSAGE_BACKOFF)(self._send)

    def begin_all(self, gap: Gap) -> None:
        """Changes were lost: look for every search that waits for its beginning. It reads the whole table."""
        for search in self.db.scan(Search, consistent=True):
            if search.begun_at is None:
                self.begin(search)

    def begin(self, search: Search) -> None:
        """A search was opened. May be told twice: only the first finds it not begun. 1 request."""
        if search.status is not Status.ACTIVE:
            return
        due = search.started_at + timedelta(seconds=search.plan[0].wait_seconds)
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
        if step == len(search.plan):
            self._fail(search)
        else:
            self._take_step(search)

    def _take_step(self, search: Search) -> None:
        now, first = self.service.now(), search.step
        past = first + together(search.plan[first:])
        wait = search.plan[past].wait_seconds if past < len(search.plan) else search.answer_seconds
        due = now + timedelta(seconds=wait)
        try:
            with self.db.transaction() as tx:
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
            if not _is_about(cancelled, Search):
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

    def _wake_at(self, tx: BlockingTransaction, search_id: str, step: int, due: datetime) -> None:
        tx.add(tasks.at(due, self.wake(search_id, step), key=f"wake-{search_id}-{step}"))

    def _fail(self, search: Search) -> None:
        try:
            searches.end(self.db, search, Status.FAILED, Resolution(MANHUNT, NO_ANSWER), self.service.now())
        except AlreadyEnded:
            return  # an answer came at the last moment

    # --- messages -----------------------------------------------------------------------------------------------------
    def _send(self, search_id: str, step: int) -> None:
        """Claim the message while the search is active, hand it to its provider, note what became of it. 3 requests.

        A worker that dies after the provider took it leaves it to be sent once more, under the same key.
        """
        search = self._active(search_id)
        if search is None or not self._claim(search, step):
            self._withhold(search_id, step)
            return
        try:
            reference = self._notifiers[search.plan[step].kind](self._message(search, step))
        except Undeliverable as problem:
            is_final = isinstance(problem, Rejected) or tasks.running().tries >= MESSAGE_TRIES
            self._note_problem(search_id, step, str(problem), is_final)
            if not isinstance(problem, Rejected):
                raise
            return
        with self.db.transaction() as tx:
            tx.update(
                SearchAttempt.of_search(search_id, step),
                attr(SearchAttempt.delivery).set(Delivery.SENT),
                attr(SearchAttempt.sent_at).set(self.service.now()),
                attr(SearchAttempt.reference).set(reference[:200]),
            )
            tx.add(tasks.done())

    def _claim(self, search: Search, step: int) -> bool:
        """Whether it may go out. A text also becomes what a reply from its number answers."""
        search_id, method = search.search_id, search.plan[step]
        is_open = attr(SearchAttempt.delivery).is_in(Delivery.WAITING, Delivery.CLAIMED)
        try:
            with self.db.transaction() as tx:
                tx.check(Search.by_id(search_id), IS_ACTIVE)
                tx.update(
                    SearchAttempt.of_search(search_id, step),
                    attr(SearchAttempt.delivery).set(Delivery.CLAIMED),
                    attr(SearchAttempt.claimed_at).set(self.service.now()),
                    attr(SearchAttempt.tries).set(tasks.running().tries),
                    where=is_open,
                )
                if method.kind is Kind.SMS:
                    tx.put(Conversation(number=method.destination, search_id=search_id, step=step))
        except TransactionCancelled as cancelled:
            if _is_about(cancelled, Search) or _is_about(cancelled, SearchAttempt):
                return False
            raise
        return True

    def _withhold(self, search_id: str, step: int) -> None:
        """Say of a message that no worker had taken that none will. One that was taken may have gone out."""
        key = SearchAttempt.of_search(search_id, step)
        try:
            with self.db.transaction() as tx:
                unclaimed = attr(SearchAttempt.delivery) == Delivery.WAITING
                tx.update(key, attr(SearchAttempt.delivery).set(Delivery.WITHHELD), where=unclaimed)
                tx.add(tasks.done())
        except TransactionCancelled as cancelled:
            if not _is_about(cancelled, SearchAttempt):
                raise

    def _note_problem(self, search_id: str, step: int, problem: str, is_final: bool) -> None:
        updates = [attr(SearchAttempt.problem).set(problem[:500])]
        if is_final:
            updates.append(attr(SearchAttempt.delivery).set(Delivery.REFUSED))
        self.db.update(SearchAttempt.of_search(search_id, step), *updates)

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


def together(plan: Sequence[Planned]) -> int:
    """How many methods at the head of a plan are tried at once: the first, and those that don't wait for it."""
    rest = (number for number, method in enumerate(plan) if number and method.wait_seconds)
    return next(rest, len(plan))


def _is_about(cancelled: TransactionCancelled, kind: type[object]) -> bool:
    """Whether an item of this class said no: the search has ended or gone on, the attempt was sent."""
    return any(failure.key.kinds[0] is kind for failure in cancelled.failures)
