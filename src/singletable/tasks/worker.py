"""The worker: finds what is due, claims it, and has it run.

Its slots (`flow.worker`) take tasks from one list, which one of them fetches when it is empty. A slot that finds a task
claimed leaves the rest of that shard to the worker that claimed it, until the next list: so workers share the shards
without knowing each other.

A claim of another worker is taken over once its lease is seen to be over (`lease_watch`): each look notes the leases.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from math import inf

from singletable.errors import PASSING
from singletable.flow import CarefulPort, Gate, Heartbeat, Kernel, Port, Stop, Trouble, instant
from singletable.foundation import get, model_for, send_alone
from singletable.tasks.calls import TaskFunction
from singletable.tasks.due import Candidate, find, time_of, wake_text
from singletable.tasks.execution import Claimed, ClaimTime, Execution
from singletable.tasks.items import TaskEntities, TaskItem, TaskState, lease_of
from singletable.tasks.lease_watch import LeaseWatch, tell_takeover
from singletable.tasks.ordered_claim import claim_first
from singletable.tasks.recurring_items import LOOK_SECONDS, plan_recurring, recurring_in
from singletable.tasks.worker_options import Counts, TaskWorkerOptions
from singletable.tasks.writes import ClaimLost, TaskClaim

_WINDOW = 50
_IDLE_WINDOW = 1
_MOST_REMEMBERED = 5000
_SLICE_SECONDS = 0.2
_LOOKING_SECONDS = 0.01
_RELISTED_SECONDS = 30.0
"""While every claim fails, the tasks of the last list are tried for so long before the next list is fetched."""
_AFTER_ITS_TIME_SECONDS = 0.001
"""A task's time is measured by another clock: a look at exactly that time could come just before it."""


@dataclass(eq=False)
class WorkerSlots:
    """One worker's state, shared by its slots; each change of it is one step that can't be interrupted."""

    port: Port
    gate: Gate
    tasks: TaskEntities
    functions: Mapping[str, TaskFunction[...]]
    options: TaskWorkerOptions
    stop: Stop
    execution: Execution = field(init=False)
    watch: LeaseWatch = field(init=False)
    trouble: Trouble = field(init=False)
    careful: CarefulPort = field(init=False)
    began: datetime = field(init=False)
    _planned_at: float = float("-inf")
    _list: deque[Candidate] = field(default_factory=deque[Candidate])
    _left_to_others: set[int] = field(default_factory=set[int])
    """Shards in which another worker claimed first."""
    _may_look: deque[bool] = field(default_factory=lambda: deque([True]))
    """A token: the slot that pops it fetches the next list."""
    _window: int = _IDLE_WINDOW
    _looked_at: float = float("-inf")
    _look_at: float = float("-inf")
    _claimed: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """The tasks that this worker has claimed lately, with the fence of each before the claim."""
    _claimed_order: deque[tuple[str, str]] = field(default_factory=deque[tuple[str, str]])
    _opened_at: float = 0.0
    """The release that these belong to."""
    _gained: bool = False
    """Whether the list has given a task."""
    _waits: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict[tuple[str, str], tuple[str, float]])
    """The tasks whose leases an index of keys doesn't show: the time that it shows, and until when they are watched."""
    _only_leases: bool = False
    """Whether the last look has shown leases of other workers and nothing to do: the next one shows all of them."""
    _lease_left: float = inf
    """Seconds until a lease is over whose end has come, and whose owner shows no life; infinite if there is none."""

    def __post_init__(self) -> None:
        self.began = instant(self.port.now())
        self.execution = Execution(self.port, self.tasks, self.functions, self.options.lease_seconds, self.began)
        self.watch = LeaseWatch(self.options.lease_seconds)
        self.trouble = Trouble(self.port)
        self.careful = CarefulPort(self.port, self.trouble)

    # --- the two ways to work -----------------------------------------------------------------------------------------
    async def run(self) -> Counts:
        """Work until it is to stop; then finish what runs."""
        kernel = self.kernel()
        slots = [partial(self._run_slot, kernel) for _ in range(self.options.at_once)]
        return sum(await kernel.run(slots, self.heartbeat()), Counts())

    async def drain(self) -> Counts:
        """Work until nothing is due, and no lease is left whose end has come and whose owner shows no life."""
        total, is_done = Counts(), False
        while not is_done:
            await self._look(_WINDOW)
            kernel = self.kernel(outlives_passing=False)
            slots = [partial(self._drain_slot, kernel) for _ in range(self.options.at_once if self._list else 0)]
            counts = sum(await kernel.run(slots), Counts())
            total = total + counts
            is_done = not counts.begun and not await self._outlasts_lease()
        return total

    async def _outlasts_lease(self) -> bool:
        """Wait for a lease that may be over soon; False if there is none."""
        if self._lease_left == inf or self.stop() or await self.gate.is_held():
            return False
        await self.port.sleep(min(self._lease_left + _AFTER_ITS_TIME_SECONDS, self.options.poll_seconds))
        return True

    def kernel(self, *, outlives_passing: bool = True) -> Kernel:
        return Kernel(self.port, self.gate, self.stop, self.tasks.worker, self.trouble, outlives_passing)

    def heartbeat(self) -> Heartbeat[Claimed]:
        execution = self.execution
        return Heartbeat(self.options.lease_seconds, execution.held.copy, execution.extend)

    # --- slots --------------------------------------------------------------------------------------------------------
    async def _run_slot(self, kernel: Kernel) -> Counts:
        counts = Counts()

        async def step() -> bool:
            if not await self._work(counts):
                await self._rest()
            return True

        await kernel.repeat(step)
        return counts

    async def _drain_slot(self, kernel: Kernel) -> Counts:
        counts = Counts()

        async def step() -> bool:
            candidate = self._next()
            if candidate is not None:
                await self._take(candidate, counts)
            return candidate is not None

        await kernel.repeat(step)
        return counts

    async def _work(self, counts: Counts) -> bool:
        """The next task, or the next list; False if there is neither now."""
        candidate = self._next()
        if candidate is not None:
            await self._take(candidate, counts)
            return True
        if self.port.monotonic() < self._look_at or not self._may_look:
            return False
        try:
            self._may_look.pop()
        except IndexError:  # another slot was faster
            return False
        try:
            await self._look(self._window)
        finally:
            self._may_look.append(True)
        return bool(self._list)

    async def _rest(self) -> None:
        if not self._may_look:
            await self.port.sleep(_LOOKING_SECONDS)
        else:
            left = self._look_at - self.port.monotonic()
            await self.port.sleep(min(_SLICE_SECONDS, max(left, _LOOKING_SECONDS)))

    async def plan(self) -> None:
        """See to the items of recurring tasks, once a minute."""
        now = self.port.monotonic()
        if now < self._planned_at + LOOK_SECONDS or not recurring_in(self.functions) or await self.gate.is_held():
            return
        self._planned_at = now
        await plan_recurring(self.port, self.tasks, self.functions, self.began)

    # --- finding and claiming -----------------------------------------------------------------------------------------
    async def _look(self, window: int) -> None:
        """Fetch the list of what is due, and note when to look again."""
        self._forget_before_release()
        await self.plan()
        until = instant(self.port.now() + self.options.lease_seconds) if self._only_leases else None
        now = ClaimTime.now(self.port)
        self._waits = {place: waits for place, waits in self._waits.copy().items() if waits[1] > now.monotonic}
        text, here = wake_text(self.tasks, instant(now.wall)), self.execution.running_keys()
        passes = partial(self._passes, now.monotonic, text, here)
        candidates = await find(self.careful, self.tasks, TaskState.DUE, window, until, passes)
        now = ClaimTime.now(self.port)
        text = wake_text(self.tasks, instant(now.wall))
        here = self.execution.running_keys()
        others = [c for c in candidates if not self._is_own(c, here)]
        left = {c.place: seconds for c in others if (seconds := self._watched(c, now.monotonic)) is not None}
        due = [c for c in others if c.wake <= text and not left.get(c.place)]
        later = [c for c in candidates if c.wake > text]
        ended = [c for c in others if c.wake <= text and left.get(c.place) and not self.watch.is_alive(c.key.partition)]
        self._lease_left = min((left[c.place] for c in ended), default=inf)
        self._only_leases = bool(left) and not due
        self._left_to_others.clear()
        self._gained = False
        self._list.extend(due)
        self._window = _WINDOW if due or left else _IDLE_WINDOW
        self._looked_at = now.monotonic
        pause = 0.0 if due else self.options.poll_seconds
        if later:
            ahead = time_of(self.tasks, later[0].wake).timestamp() - now.wall
            pause = min(pause, max(0.0, ahead) + _AFTER_ITS_TIME_SECONDS)
        self._look_at = now.monotonic + pause

    def _next(self) -> Candidate | None:
        while True:
            try:
                candidate = self._list.popleft()
            except IndexError:
                return None
            if candidate.shard not in self._left_to_others:
                return candidate

    async def _take(self, candidate: Candidate, counts: Counts) -> None:
        """Claim a task and run it; or leave its shard to the worker that has it."""
        now = ClaimTime.now(self.port)
        until = instant(now.wall + self.options.lease_seconds)
        try:
            item = await self._claim(candidate, now, until)
        except PASSING:
            if self.trouble.failures and now.monotonic - self._looked_at < _RELISTED_SECONDS:
                self._list.append(candidate)
            raise
        if item is None:
            if not self._gained:  # a list without claimable tasks, as from a lagging index, isn't fetched again at once
                self._look_at = self._looked_at + self.options.poll_seconds
            return
        self._gained, self._look_at = True, self._looked_at
        self._remember(item)
        await self.execution.run(item, now, counts)
        self.trouble.ease()

    def _passes(self, now: float, text: str, here: Container[tuple[str, str]], candidate: Candidate) -> bool:
        """Whether a candidate is at its time and not to be claimed: what is due may lie after it."""
        return candidate.wake <= text and (self._is_own(candidate, here) or bool(self._watched(candidate, now)))

    def _is_own(self, candidate: Candidate, here: Container[tuple[str, str]]) -> bool:
        """Whether this worker runs it, or has claimed it as the index, which may lag, still shows it."""
        was_claimed = candidate.fence is not None and self._claimed.get(candidate.place) == candidate.fence
        return was_claimed or candidate.place in here

    def _remember(self, item: TaskItem) -> None:
        """An index that lags shows for a while what was claimed already."""
        place = model_for(item).place_of(item)
        self._claimed[place] = item.fence - 1
        self._claimed_order.append(place)
        if len(self._claimed_order) > _MOST_REMEMBERED:
            self._claimed.pop(self._claimed_order.popleft(), None)

    def _forget_before_release(self) -> None:
        """A copy or a restore may have brought a task back since, with the fence that it had before its claim."""
        if self._opened_at != self.gate.opened_at:
            self._opened_at = self.gate.opened_at
            self._claimed.clear()
            self._claimed_order.clear()

    def _watched(self, candidate: Candidate, now: float) -> float | None:
        """Seconds until the lease of a task is over for this worker, as far as is known; None without a lease."""
        if candidate.lease != 0.0:
            return self._left(candidate, now)
        wake, until = self._waits.get(candidate.place, ("", 0.0))
        return max(0.0, until - now) if wake == candidate.wake else None

    def _left(self, candidate: Candidate, now: float) -> float:
        """Seconds until the lease of a claimed task is over for this worker; 0 if it is."""
        return self.watch.left(candidate.key.partition, candidate.wake, candidate.lease, now)

    async def _claim(self, candidate: Candidate, now: ClaimTime, until: datetime) -> TaskItem | None:
        port, tasks = self.port, self.tasks
        if candidate.is_ordered:
            return await claim_first(port, tasks, candidate.key, until, self.watch, self.execution.running_keys())
        over = None if candidate.lease == 0.0 else candidate.wake
        claim = TaskClaim(tasks, candidate.key, instant(now.wall), until, candidate.fence, over)
        try:
            item: TaskItem = await send_alone(port, claim)
        except ClaimLost:
            ended = await self._with_lease(candidate, now) if candidate.fence is None else None
            if ended is not None:
                return await self._claim(ended, now, until)
            if not self._watched(candidate, now.monotonic):
                self._left_to_others.add(candidate.shard)
            return None
        if over is not None:
            tell_takeover(port, tasks.worker, item, candidate.lease, candidate.process)
        return item

    async def _with_lease(self, candidate: Candidate, now: ClaimTime) -> Candidate | None:
        """A candidate of an index that shows no leases, with that of the item; None unless the lease is over."""
        item: TaskItem | None = await get(self.port, candidate.key.consistent())
        lease = 0.0 if item is None else lease_of(item.lease, sent=item.sent, tries=item.tries)
        if item is None or lease == 0.0 or item.wake > instant(now.wall):
            return None
        wake = wake_text(self.tasks, item.wake)
        claimed = replace(candidate, wake=wake, fence=item.fence, lease=lease, process=item.process or "")
        left = self._left(claimed, now.monotonic)
        if left:
            self._waits[candidate.place] = candidate.wake, now.monotonic + left
        if left and not self.watch.is_alive(claimed.key.partition):
            self._lease_left = min(self._lease_left, left)
        return None if left else claimed
