"""Many searches at once while the worker that serves them is killed again and again; then a count of what became of
them, from what was stored.

The worker is a process of its own with real providers: webhooks, texts and calls go over HTTP to a receiver here.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from manhunt.audit import audit
from manhunt.check import check
from manhunt.errors import AlreadyEnded, ApplicationError
from manhunt.model import Kind, Search, Status, manhunt, tasks
from manhunt.queries import Queries
from manhunt.receiver import Receiver, receiving
from manhunt.service import Service
from manhunt.settings import SECRETS
from singletable import Database, connect

CONTACTS = 20
WAITS = (0, 0, 1, 1)
"""Of the methods of each contact, in seconds."""
ANSWER_SECONDS = 1
LIVES = (1.0, 4.0)
"""How long a worker works before it is killed, at least and at most."""
MOST_KILLS = 25
"""So that a machine on which a process starts slowly comes to an end."""
LOOK_SECONDS = 0.5
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 8.0
STEPS_A_SECOND = 60
PATIENCE_SECONDS = 240.0
"""Without a sign that anything goes on. How long it all takes is the machine's affair, and what else runs on it."""
Tell = Callable[[str], None]


class Stuck(ApplicationError):
    """Searches that don't end."""


@dataclass(frozen=True)
class Outcome:
    counts: dict[str, float]
    findings: list[str]


def simulate(target: str, count: int, seed: int | None, tell: Tell) -> Outcome:
    """On a target as `connect` takes it; `local` is a file that is deleted afterwards, as the worker shares it."""
    random = Random(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="manhunt-", ignore_cleanup_errors=True)))
        shared = f"local:{folder}/simulation.db" if target == "local" else target
        db = stack.enter_context(connect(shared))
        if shared.startswith("local:"):
            db.create_table(manhunt)
        receiver = stack.enter_context(receiving(random))
        worker = WorkerProcess(shared, receiver, folder / "worker.log")
        stack.callback(worker.kill)
        pool = stack.enter_context(ThreadPoolExecutor(4, "people"))
        return Simulation(Service(db), random, worker, receiver, pool, tell).run(count)


class WorkerProcess:
    """`work` in a process of its own."""

    def __init__(self, target: str, receiver: Receiver, log: Path) -> None:
        options = (
            "--telephone-account",
            "simulated",
            "--telephone-url",
            receiver.url,
            "--telephone-number",
            "+15550000000",
        )
        settings = ("--lease", "2", "--poll", "0.1", "--at-once", "15", "--private-webhooks")
        self._command = [sys.executable, "-P", "-m", "manhunt", "--db", target, "work", *options, *settings]
        # Here, as the target may be a relative path; with this program where this Python finds it.
        paths = os.pathsep.join(path for path in sys.path if path)
        own = {"PYTHONPATH": paths, SECRETS: secrets.token_urlsafe(32), "MANHUNT_TELEPHONE_TOKEN": "simulated"}
        self._environ = {**os.environ, **own}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(  # noqa: S603 our own program
                self._command, env=self._environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )

    @property
    def is_working(self) -> bool:
        """It has come up."""
        self._check()
        return b"working" in self._log.read_bytes()

    def kill(self) -> None:
        """As a power cut would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """It finishes what it has begun."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def _check(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise Stuck(f"the worker ended by itself: {self._log.read_text('utf-8', 'replace')[-2000:]}")


class Signs:
    """Watches that something goes on."""

    def __init__(self, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._seen: object = None
        self._changed_at = 0.0

    def check(self, now: float, seen: object) -> None:
        """Stuck where what is `seen` has stayed the same for too long, by a clock that only goes on."""
        if seen != self._seen:
            self._seen, self._changed_at = seen, now
        elif now - self._changed_at > self._patience_seconds:
            raise Stuck(f"nothing has happened for {self._patience_seconds:g} seconds, and not all searches have ended")


@dataclass(frozen=True)
class DueAnswer:
    """Somebody will answer a search at a moment of the monotonic clock."""

    at: float
    search_id: str
    wait_seconds: float = FIRST_WAIT_SECONDS
    """Until they look again, where there is nothing to answer yet."""

    def put_off(self, now: float) -> DueAnswer:
        longer = min(2 * self.wait_seconds, LONGEST_WAIT_SECONDS)
        return DueAnswer(now + self.wait_seconds, self.search_id, longer)


@dataclass
class Simulation:
    app: Service
    random: Random
    worker: WorkerProcess
    receiver: Receiver
    pool: ThreadPoolExecutor
    tell: Tell
    name: str = field(default_factory=lambda: f"simulation-{secrets.token_hex(4)}")
    """Of its domain, and of its reader of the stream."""
    contacts: list[str] = field(default_factory=list[str])
    answers: list[DueAnswer] = field(default_factory=list[DueAnswer])
    kills: int = 0
    active: list[str] = field(default_factory=list[str])
    """The contacts with active searches, when somebody last looked."""
    life_seconds: float = 0.0
    """About how long a search takes while so many others do."""

    def run(self, count: int) -> Outcome:
        self.life_seconds = sum(WAITS) + ANSWER_SECONDS + count / STEPS_A_SECOND
        self.contacts = [self._contact(number) for number in range(min(CONTACTS, count))]
        began = time.monotonic()
        self.worker.start()
        opened = self._run_all(count)
        seconds = time.monotonic() - began
        self._finish()
        counts: dict[str, float] = {**vars(audit(self.db, opened, self.name)), "seconds": round(seconds, 2)}
        twice = sum(number > 1 for number in self.receiver.taken.values())
        self.tell(
            f"{self.kills} kills; {self.receiver.taken.total()} messages taken, {twice} of them more than once, "
            f"{self.receiver.refused} refused for now"
        )
        return Outcome(counts, check(self.db, drained=True))

    @property
    def db(self) -> Database:
        return self.app.db

    def _contact(self, number: int) -> str:
        id = self.app.create_contact(self.name, f"Somebody {number}").contact_id
        telephone = f"+1555{number:07}"
        ways = (Kind.WEBHOOK, f"{self.receiver.url}/{number}"), (Kind.SMS, telephone), (Kind.VOICE, telephone)
        for order, wait_seconds in enumerate(WAITS):
            kind, destination = ways[order % len(ways)]
            self.app.add_method(self.name, id, kind, destination, order=order, wait_seconds=wait_seconds)
        return id

    def _run_all(self, count: int) -> list[str]:
        """The ids of the searches, when all have ended."""
        openings = [self.pool.submit(self._open, number) for number in range(count)]
        busy: list[Future[None]] = []
        next_kill: float | None = None
        look_at, signs = 0.0, Signs(PATIENCE_SECONDS)
        while True:
            now = time.monotonic()
            signs.check(now, (self.receiver.taken.total(), self.receiver.refused, len(self.answers), self.active))
            busy = [*(answer for answer in busy if not _is_over(answer)), *self._due_answers(now)]
            next_kill = self._kill_in_time(now, next_kill)
            if now >= look_at and all(opening.done() for opening in openings):
                self.active = self._with_active_searches()
                if not busy and not self.active:
                    return [opening.result() for opening in openings]
                look_at = now + LOOK_SECONDS
            self.db.run(self.db.port.sleep(0.02))

    def _open(self, number: int) -> str:
        """Open a search; somebody will answer every second one, at some moment of its life."""
        contact_id = self.contacts[number % len(self.contacts)]
        metadata = {"summary": f"incident {number}"}
        opened = self.app.open_search(self.name, contact_id, metadata, answer_seconds=ANSWER_SECONDS)
        if number % 2:
            at = time.monotonic() + self.random.uniform(0, self.life_seconds)
            self.answers.append(DueAnswer(at, opened.search_id))
        return opened.search_id

    def _due_answers(self, now: float) -> list[Future[None]]:
        due = [answer for answer in self.answers if answer.at <= now]
        for answer in due:
            self.answers.remove(answer)
        return [self.pool.submit(self._answer, answer) for answer in due]

    def _answer(self, due: DueAnswer) -> None:
        """Answer one of the attempts there are; later, where there is none yet.

        Each time it waits twice as long: on a slow machine these are most of the searches, and those who look for them
        must not take what their worker needs.
        """
        search = Queries(self.db).search_by_id(self.name, due.search_id)
        if search.status is Status.ACTIVE and not search.step:
            self.answers.append(due.put_off(time.monotonic()))
            return
        try:
            self.app.answer(due.search_id, self.random.randrange(max(search.step, 1)), how="simulated")
        except AlreadyEnded:
            return

    def _kill_in_time(self, now: float, next_kill: float | None) -> float | None:
        """Kill and restart the worker when its time is over; the next time counts from when it works again."""
        if next_kill is None:
            return now + self.random.uniform(*LIVES) if self.worker.is_working else None
        if now < next_kill or self.kills >= MOST_KILLS:
            return next_kill
        self.worker.kill()
        self.kills += 1
        self.worker.start()
        return None

    def _with_active_searches(self) -> list[str]:
        """The contacts that are still looked for."""
        asked = ((id, Search.by_status(Status.ACTIVE, id)) for id in self.contacts)
        return [id for id, query in asked if self.db.page(query, limit=1).items]

    def _finish(self) -> None:
        """Let the worker see to what is left of messages, then end it."""
        signs = Signs(PATIENCE_SECONDS)
        while left := [task.tries for task in self.db.scan(tasks.entity, consistent=True) if task.state.value == "Due"]:
            signs.check(time.monotonic(), left)
            self.db.run(self.db.port.sleep(LOOK_SECONDS))
        self.worker.stop()


def _is_over(answer: Future[None]) -> bool:
    """Whether it is; raises what went wrong in it."""
    if answer.done():
        answer.result()
    return answer.done()
