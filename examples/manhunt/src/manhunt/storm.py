"""Many incidents at once, while rotas change, people answer, snooze and reassign, and workers are killed; then a count
of what became of them, from the table's own stream."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from manhunt.audit_incidents import audit_incidents
from manhunt.check import check
from manhunt.errors import AlreadyEnded, Invalid, Missing, NoSuchAttempt, NotNow
from manhunt.model import (
    Incident,
    IncidentStatus,
    Kind,
    Rota,
    Stage,
    Target,
    TargetKind,
    manhunt,
    tasks,
)
from manhunt.receiver import Receiver, receiving
from manhunt.service import Service
from manhunt.simulate import LIVES, PATIENCE_SECONDS, Outcome, Signs, Tell, WorkerProcess
from singletable import Database, connect

CONTACTS, ROTAS, POLICIES, WORKERS = 16, 4, 5, 2
STAGE_SECONDS = 6
"""By default: time for many incidents at once to be answered in."""
TURN_SECONDS = 60
METHOD_WAITS = ((0,), (0,), (0,), (0, 2))
"""Of the methods of contacts, in turn."""
LIVE = (IncidentStatus.HUNTING, IncidentStatus.ACKNOWLEDGED, IncidentStatus.SNOOZED)
LONGEST_LIFE = 1.5
"""When somebody does something about an incident at the latest, in stages."""
CHANGES_A_SECOND = 8
LOOK_SECONDS = 1.0
MOST_KILLS = 12


def storm(target: str, count: int, seed: int | None, tell: Tell, stage_seconds: int = STAGE_SECONDS) -> Outcome:
    """On a target as `connect` takes it; `local` is a file that is deleted afterwards, as the workers share it."""
    random = Random(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="manhunt-", ignore_cleanup_errors=True)))
        shared = f"local:{folder}/storm.db" if target == "local" else target
        db = stack.enter_context(connect(shared))
        if shared.startswith("local:"):
            db.create_table(manhunt)
        receiver = stack.enter_context(receiving(random))
        workers = [WorkerProcess(shared, receiver, folder / f"worker-{number}.log") for number in range(WORKERS)]
        for worker in workers:
            stack.callback(worker.kill)
        alarms = stack.enter_context(ThreadPoolExecutor(2, "alarms"))
        people = stack.enter_context(ThreadPoolExecutor(4, "people"))
        return Storm(Service(db), random, workers, receiver, alarms, people, tell, stage_seconds).run(count)


@dataclass(order=True)
class Plan:
    """Something that somebody will do, at a moment of the monotonic clock."""

    at: float
    act: Callable[[], None] = field(compare=False)


@dataclass
class Storm:
    app: Service
    random: Random
    workers: list[WorkerProcess]
    receiver: Receiver
    alarm_pool: ThreadPoolExecutor
    people: ThreadPoolExecutor
    tell: Tell
    stage_seconds: int
    domain: str = field(default_factory=lambda: f"storm-{secrets.token_hex(4)}")
    contacts: list[str] = field(default_factory=list[str])
    rotas: list[Rota] = field(default_factory=list[Rota])
    policies: list[str] = field(default_factory=list[str])
    plans: list[Plan] = field(default_factory=list[Plan])
    rota_times: dict[tuple[str, int], float] = field(default_factory=dict[tuple[str, int], float])
    rota_changes: int = 0
    alarms: int = 0
    kills: int = 0
    ends_at: dict[int, float] = field(default_factory=dict[int, float])
    """When each worker that works will be killed."""
    done: int = 0
    """Actions of people, for signs of life."""

    @property
    def db(self) -> Database:
        return self.app.db

    def run(self, count: int) -> Outcome:
        self._set_up()
        began = time.monotonic()
        for worker in self.workers:
            worker.start()
        self._run_all(count)
        seconds = time.monotonic() - began
        self._finish()
        found = audit_incidents(self.db, self.rota_times, self.domain)
        own: dict[str, float] = {"alarms": self.alarms, "rota_changes": self.rota_changes, "kills": self.kills}
        self.tell(f"{self.receiver.taken.total()} messages taken, {self.receiver.refused} refused for now")
        return Outcome({**vars(found), **own, "seconds": round(seconds, 2)}, check(self.db, drained=True))

    # --- before -------------------------------------------------------------------------------------------------------
    def _set_up(self) -> None:
        self.contacts = [self._contact(number) for number in range(CONTACTS)]
        began = self.app.now() - timedelta(seconds=self.random.randrange(TURN_SECONDS))
        for number in range(ROTAS):
            members = self.random.sample(self.contacts, 3)
            rota = self.app.create_rota(
                self.domain, f"rota {number}", members, starts_at=began, turn_seconds=TURN_SECONDS + number
            )
            self.rotas.append(rota)
        self.policies = [self._policy(number) for number in range(POLICIES)]

    def _contact(self, number: int) -> str:
        id = self.app.create_contact(self.domain, f"Somebody {number}").contact_id
        for order, wait_seconds in enumerate(METHOD_WAITS[number % len(METHOD_WAITS)]):
            to = f"{self.receiver.url}/{number}/{order}"
            self.app.add_method(self.domain, id, Kind.WEBHOOK, to, order=order, wait_seconds=wait_seconds)
        return id

    def _policy(self, number: int) -> str:
        """Three stages: a rota, another one, a third and a contact."""
        rotas = [Target(TargetKind.ROTA, rota.rota_id) for rota in self.random.sample(self.rotas, 3)]
        contact = Target(TargetKind.CONTACT, self.random.choice(self.contacts))
        stages = [[rotas[0]], [rotas[1]], [rotas[2], contact]]
        plan = [Stage(targets, self.stage_seconds) for targets in stages]
        return self.app.create_policy(self.domain, f"policy {number}", plan, repeats=int(number == 0)).policy_id

    # --- meanwhile ----------------------------------------------------------------------------------------------------
    def _run_all(self, count: int) -> None:
        openings = [self.alarm_pool.submit(self._alarm, number) for number in range(count)]
        busy: list[Future[None]] = []
        next_change = look_at = 0.0
        live, signs = list[tuple[str, int]](), Signs(PATIENCE_SECONDS)
        while True:
            now = time.monotonic()
            signs.check(now, (self.receiver.taken.total(), self.done, self.kills, live))
            busy = [*(each for each in busy if not _is_over(each)), *self._due(now)]
            if now >= next_change:
                busy.append(self.people.submit(self._change_a_rota))
                next_change = now + 1 / CHANGES_A_SECOND
            self._kill_in_time(now)
            if now >= look_at and all(map(_is_over, openings)) and not self.plans:
                live = self._settle()
                if not live and not busy and self.kills:
                    return  # not before a worker was killed, however few incidents there are
                look_at = now + LOOK_SECONDS
            self.db.run(self.db.port.sleep(0.02))

    def _alarm(self, number: int) -> None:
        """Two alarms of one key, at nearly the same moment for some."""
        key = f"alarm {number}"
        policy = self.random.choice(self.policies)
        opened = self.app.open_incident(self.domain, policy, f"incident {number}", alarm_key=key)
        self.alarms += 1
        if number % 3 == 0:
            again = self.app.open_incident(self.domain, policy, f"incident {number}", alarm_key=key)
            assert again.incident.incident_id == opened.incident.incident_id or again.is_new
            self.alarms += 1
        at = time.monotonic() + self.random.uniform(0.5, LONGEST_LIFE * self.stage_seconds)
        acts = (self._answer, self._acknowledge, self._snooze, self._reassign, None)
        (act,) = self.random.choices(acts, weights=(4, 7, 2, 2, 1))
        if act is not None:
            self.plans.append(Plan(at, lambda: self._act(act, opened.incident)))

    def _due(self, now: float) -> list[Future[None]]:
        due = [plan for plan in self.plans if plan.at <= now]
        for plan in due:
            self.plans.remove(plan)
        return [self.people.submit(plan.act) for plan in due]

    def _act(self, act: Callable[[Incident], None], incident: Incident) -> None:
        """Somebody does something; what is refused, as others were faster, is not a fault."""
        try:
            act(incident)
        except (AlreadyEnded, NotNow, NoSuchAttempt):
            return
        finally:
            self.done += 1

    def _answer(self, incident: Incident) -> None:
        """By one of the messages that were sent; later, where there is none yet."""
        found = self.app.incident_with_all(self.domain, incident.incident_id)
        searches = [search for search in self.app.searches_of_incident(found) if search.step]
        if searches:
            search = self.random.choice(searches)
            self.app.answer(search.search_id, self.random.randrange(search.step), how="storm")
        elif found.incident.status is IncidentStatus.HUNTING:
            self.plans.append(Plan(time.monotonic() + LOOK_SECONDS, lambda: self._act(self._answer, incident)))

    def _acknowledge(self, incident: Incident) -> None:
        self.app.acknowledge(self.domain, incident.incident_id, by="somebody at the page")

    def _snooze(self, incident: Incident) -> None:
        self.app.snooze(self.domain, incident.incident_id, by="somebody tired", seconds=self.random.randint(1, 3))

    def _reassign(self, incident: Incident) -> None:
        who = Target(TargetKind.CONTACT, self.random.choice(self.contacts))
        self.app.reassign(self.domain, incident.incident_id, [who], by="somebody else", wait_seconds=self.stage_seconds)

    def _change_a_rota(self) -> None:
        """Other members, or somebody who stands in for a while."""
        rota = self.random.choice(self.rotas)
        try:
            if self.random.random() < 0.5:
                members = self.random.sample(self.contacts, 3)
                changed = self.app.change_rota(self.domain, rota.rota_id, members=members)
            else:
                changed = self._override(rota)
        except (Missing, Invalid):
            return
        self.rota_times[rota.rota_id, changed.revision] = time.time()
        self.rota_changes += 1

    def _override(self, rota: Rota) -> Rota:
        now = self.app.now()
        found = self.app.rota_by_id(self.domain, rota.rota_id)
        if len(found.overrides) > 5:
            return self.app.delete_override(self.domain, rota.rota_id, found.overrides[0].override_id)
        start = now + timedelta(seconds=self.random.uniform(-2, 2))
        who = self.random.choice(self.contacts)
        self.app.add_override(self.domain, rota.rota_id, who, start, start + timedelta(seconds=5))
        return self.app.rota_by_id(self.domain, rota.rota_id)

    def _kill_in_time(self, now: float) -> None:
        """Kill each worker when its time is over, and start it anew; the time counts from when it works again."""
        for worker in self.workers:
            ends_at = self.ends_at.get(id(worker))
            if ends_at is None and worker.is_working:
                self.ends_at[id(worker)] = now + self.random.uniform(*LIVES)
            elif ends_at is not None and now >= ends_at and self.kills < MOST_KILLS:
                del self.ends_at[id(worker)]
                worker.kill()
                worker.start()
                self.kills += 1

    # --- and then -----------------------------------------------------------------------------------------------------
    def _settle(self) -> list[tuple[str, int]]:
        """Resolve what somebody has acknowledged; what is left, with how far each is."""
        left: list[tuple[str, int]] = []
        for status in LIVE:
            page = self.app.incidents_of_domain(self.domain, status=status, limit=1000)
            for incident in page.items:
                if incident.status is IncidentStatus.ACKNOWLEDGED:
                    self._act(self._resolve, incident)
                left.append((incident.incident_id, incident.reactions))
        return left

    def _resolve(self, incident: Incident) -> None:
        self.app.resolve(self.domain, incident.incident_id, by="somebody at the page")

    def _finish(self) -> None:
        """Let the workers see to what is left: searches that are stood down, messages, dates that are past."""
        signs = Signs(PATIENCE_SECONDS)
        while left := [task.tries for task in self.db.scan(tasks.entity, consistent=True) if _is_waited_for(task)]:
            signs.check(time.monotonic(), left)
            self.db.run(self.db.port.sleep(LOOK_SECONDS / 2))
        for worker in self.workers:
            worker.stop()


def _is_waited_for(task: object) -> bool:
    """A search that was stood down leaves the task of its next step, which is not waited for."""
    state, function = getattr(task, "state", None), getattr(task, "function", "")
    return getattr(state, "value", "") == "Due" and function in ("send", "stand_down")


def _is_over(done: Future[None]) -> bool:
    """Whether it is; raises what went wrong in it."""
    if done.done():
        done.result()
    return done.done()
