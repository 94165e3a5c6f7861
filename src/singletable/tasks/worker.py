"""The worker: finds what is due, claims it, runs it, and says what became of it.

Several lanes run side by side, each with one task at a time, from a list that one of them fetches when it is empty.
Beside them the leases of what runs are made longer. A lane that finds a task taken leaves the rest of its shard to the
worker that took it, until the next list: so workers share the shards without knowing each other.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from singletable.errors import PASSING, InvalidRequest, SingletableError
from singletable.failure_text import error_text
from singletable.flow.port import Port
from singletable.flow.stop import Stop
from singletable.foundation import alone, model_for
from singletable.tasks.calls import DEFAULT_TRIES, Backoff, TaskFunction
from singletable.tasks.context import Begun, Ended, Held, attempt
from singletable.tasks.due import Candidate, find, time_of, wake_text
from singletable.tasks.items import State, TaskEntities, TaskItem, Turn, instant
from singletable.tasks.ordered_claim import after_turn, give_up_turn, take_turn
from singletable.tasks.outcomes import apply, burying, extending, finishing, retrying, returning
from singletable.tasks.writes import Claim, ClaimLost
from singletable.wire.shells import refuse_async

T = TypeVar("T")

MAX_AT_ONCE = 15
"""A port calls 16 functions side by side; one of them extends the leases."""
_WINDOW = 50
_IDLE_WINDOW = 1
_MOST_REMEMBERED = 5000
UNKNOWN_SECONDS = 3600.0
"""After its due time, in which a task waits for a worker that has its function; then it is dead."""
_FIRST_RETURN_SECONDS = 1.0
_LONGEST_RETURN_SECONDS = 60.0
_SLICE_SECONDS = 0.2
_LOOKING_SECONDS = 0.01
_AFTER_ITS_TIME_SECONDS = 0.001
"""So that a look at the very time of a task, measured by another clock, doesn't come just before it."""

log = logging.getLogger("singletable.tasks")


class UnknownTask(SingletableError):
    """A stored task whose function, or a parameter of it, this program does not have: another version may."""

    code = "task.unknown"


@dataclass
class Tally:
    """What became of the tasks that a worker began."""

    done: int = 0
    failed: int = 0
    """To be tried again."""
    dead: int = 0
    """Failed for the last time."""
    lost: int = 0
    """Another worker's by then, or cancelled."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.done + other.done, self.failed + other.failed, self.dead + other.dead, self.lost + other.lost)

    @property
    def begun(self) -> int:
        return self.done + self.failed + self.dead + self.lost


@dataclass(frozen=True)
class Settings:
    """How a worker works."""

    at_once: int = 8
    poll_seconds: float = 1.0
    lease_seconds: float = 60.0

    def __post_init__(self) -> None:
        if not 1 <= self.at_once <= MAX_AT_ONCE:
            raise InvalidRequest(
                f"at_once={self.at_once}; a worker runs 1 to {MAX_AT_ONCE} tasks at once", hint="Start more workers."
            )
        if self.poll_seconds <= 0 or self.lease_seconds <= 0:
            raise InvalidRequest("poll_seconds and lease_seconds are above 0")


@dataclass(eq=False)
class Worker:
    """One worker's state, shared by its lanes; each change of it is one step that can't be interrupted."""

    port: Port
    tasks: TaskEntities
    functions: Mapping[str, TaskFunction[...]]
    settings: Settings
    stop: Stop
    _list: deque[Candidate] = field(default_factory=deque[Candidate])
    _left_to_others: set[int] = field(default_factory=set[int])
    _turn_to_look: deque[bool] = field(default_factory=lambda: deque([True]))
    _window: int = _IDLE_WINDOW
    _looked_at: float = float("-inf")
    _look_at: float = float("-inf")
    _held: set[Held] = field(default_factory=set[Held])
    lanes: set[int] = field(default_factory=set[int])
    _claimed: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """What this worker has claimed lately, with the fence it had before."""
    _in_turn: deque[tuple[str, str]] = field(default_factory=deque[tuple[str, str]])
    _gained: bool = False
    """Whether the list has given a task."""
    is_broken: bool = False
    """One of its parts has ended with an error; the others are to end too."""

    # --- the two ways to work -----------------------------------------------------------------------------------------
    async def run(self) -> Tally:
        """Until it is to stop; then what runs is finished."""
        return await self._side_by_side(self._run_lane, beat=True)

    async def drain(self) -> Tally:
        """Until nothing is due."""
        total = Tally()
        while True:
            await self._look(_WINDOW)
            if not self._list:
                return total
            tally = await self._side_by_side(self._drain_lane, beat=False)
            total = total + tally
            if not tally.begun:
                return total

    async def _side_by_side(self, lane: Callable[[int], Any], *, beat: bool) -> Tally:
        self.lanes = set(range(self.settings.at_once))
        lanes: list[Callable[[], Any]] = [partial(lane, number) for number in sorted(self.lanes)]
        tallies: list[Tally] = await self.port.call_all([self.beat, *lanes] if beat else lanes)
        return sum(tallies, Tally())

    # --- lanes --------------------------------------------------------------------------------------------------------
    async def _run_lane(self, number: int) -> Tally:
        tally = Tally()
        try:
            while not (self.is_broken or self.stop()):
                try:
                    if not await self._work(tally):
                        await self._rest()
                except PASSING as error:
                    log.warning("the worker goes on after %s", type(error).__name__)
                    await self.port.sleep(_SLICE_SECONDS)
            return tally
        except BaseException:
            self.is_broken = True
            raise
        finally:
            self.lanes.discard(number)

    async def _work(self, tally: Tally) -> bool:
        """The next task, or the next list; False where there is neither now."""
        candidate = self._next()
        if candidate is not None:
            await self._take(candidate, tally)
            return True
        if self.port.monotonic() < self._look_at or not self._turn_to_look:
            return False
        try:
            self._turn_to_look.pop()
        except IndexError:  # another lane was faster
            return False
        try:
            await self._look(self._window)
        finally:
            self._turn_to_look.append(True)
        return bool(self._list)

    async def _rest(self) -> None:
        if not self._turn_to_look:
            await self.port.sleep(_LOOKING_SECONDS)
        else:
            left = self._look_at - self.port.monotonic()
            await self.port.sleep(min(_SLICE_SECONDS, max(left, _LOOKING_SECONDS)))

    async def _drain_lane(self, number: int) -> Tally:
        tally = Tally()
        while not self.stop() and (candidate := self._next()) is not None:
            await self._take(candidate, tally)
        return tally

    # --- finding and claiming -----------------------------------------------------------------------------------------
    async def _look(self, window: int) -> None:
        """Fetch the list of what is due, and note when to look again."""
        found = await find(self.port, self.tasks, State.DUE, window)
        now = Begun.now(self.port)
        text = wake_text(self.tasks, instant(now.wall))
        here = self.runs_here()
        due = [c for c in found if c.wake <= text and not (c.place in here or self._was_claimed(c))]
        later = [c for c in found if c.wake > text]
        self._left_to_others.clear()
        self._gained = False
        self._list.extend(due)
        self._window = _WINDOW if due else _IDLE_WINDOW
        self._looked_at = now.monotonic
        pause = 0.0 if due else self.settings.poll_seconds
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

    async def _take(self, candidate: Candidate, tally: Tally) -> None:
        """Claim a task and see it through; or leave its shard to the worker that has it."""
        now = Begun.now(self.port)
        until = instant(now.wall + self.settings.lease_seconds)
        item = await self._claim(candidate, now.wall, until)
        if item is None:
            if not self._gained:  # a list that gives nothing, as from an index that lags, isn't fetched again at once
                self._look_at = self._looked_at + self.settings.poll_seconds
            return
        self._gained, self._look_at = True, self._looked_at
        self._remember(item)
        await self.see_through(item, now, tally)

    def runs_here(self) -> set[tuple[str, str]]:
        """The primary keys of what this worker runs: its leases seem to be over where its clock was set on."""
        return {model_for(held.item).place_of(held.item) for held in self._held.copy()}

    def _was_claimed(self, candidate: Candidate) -> bool:
        return candidate.fence is not None and self._claimed.get(candidate.place) == candidate.fence

    def _remember(self, item: TaskItem) -> None:
        """An index that lags shows for a while what was claimed already."""
        place = model_for(item).place_of(item)
        self._claimed[place] = item.fence - 1
        self._in_turn.append(place)
        if len(self._in_turn) > _MOST_REMEMBERED:
            self._claimed.pop(self._in_turn.popleft(), None)

    async def _claim(self, candidate: Candidate, now: float, until: datetime) -> TaskItem | None:
        if candidate.is_turn:
            return await take_turn(self.port, self.tasks, candidate.key, until, self.runs_here())
        claim = Claim(self.tasks, candidate.key, instant(now), until, candidate.fence)
        try:
            item: TaskItem = await alone(self.port, claim)
        except ClaimLost:
            self._left_to_others.add(candidate.shard)
            return None
        return item

    # --- running ------------------------------------------------------------------------------------------------------
    async def see_through(self, item: TaskItem, begun: Begun, tally: Tally) -> None:
        """Run a task that was claimed, and write what became of it."""
        held = Held(self.tasks, item, begun)
        self._held.add(held)
        try:
            error = await self._outcome(held)
        finally:
            self._held.discard(held)
        try:
            if held.ended:
                tally.done += 1
                if error is not None:
                    log.warning("task %s: ended, and then failed with %s", item.function, type(error).__name__)
            elif error is None:
                await apply(self.port, finishing(self.tasks, held.item))
                tally.done += 1
            else:
                await self._until_extended(held)
                await self._after_failure(held.item, error, tally)
        except ClaimLost:
            tally.lost += 1
            log.warning("task %s: cancelled while it ran, or another worker's by now", item.function)
            if isinstance(held.item, Turn):
                await give_up_turn(self.port, self.tasks, held.item)
        if isinstance(held.item, Turn):
            await after_turn(self.port, self.tasks, held.item.order)

    async def _outcome(self, held: Held) -> BaseException | None:
        item = held.item
        function = self.functions.get(item.function)
        if function is None:
            return UnknownTask(f"this program has no task {item.function!r}", hint="Deploy the program that has it.")
        if newer := function.unknown_in(item.arguments):
            return UnknownTask(
                f"the task {item.function!r} of this program has no parameter {newer!r}",
                hint="Deploy the program that has it. A parameter that is used no more stays, with a default.",
            )
        if item.tries > function.tries:
            return Unfinished(f"it was begun {function.tries} times, and its worker ended each time before it did")
        try:
            call = function.bind(item.arguments)
        except Exception as error:
            return error
        ended: list[Ended] = await self.port.call_all([attempt(held, call, is_async=function.is_async)])
        return ended[0].error

    async def _give_back(self, item: TaskItem, error: UnknownTask, tally: Tally) -> None:
        """To a worker of another version of the program, whose tries are not spent by this one."""
        now = self.port.now()
        late = now - item.due.timestamp()
        wait = min(_LONGEST_RETURN_SECONDS, max(_FIRST_RETURN_SECONDS, late / 2)) * (0.5 + self.port.random() / 2)
        await apply(self.port, returning(self.tasks, item, instant(now + wait), error_text(error)))
        log.warning("task %s: given back: %s", item.function, error)
        tally.failed += 1

    async def _after_failure(self, item: TaskItem, error: BaseException, tally: Tally) -> None:
        if isinstance(error, UnknownTask) and self.port.now() - item.due.timestamp() < UNKNOWN_SECONDS:
            await self._give_back(item, error, tally)
            return
        function = self.functions.get(item.function)
        tries = DEFAULT_TRIES if function is None else function.tries
        backoff = Backoff() if function is None else function.backoff
        now = self.port.now()
        is_last = item.tries >= tries or isinstance(error, UnknownTask)
        if is_last:
            await apply(self.port, burying(self.tasks, item, instant(now), error_text(error)))
        else:
            ready = instant(now + backoff.seconds(item.tries, self.port.random()))
            await apply(self.port, retrying(self.tasks, item, ready, error_text(error)))
        kind = type(error).__name__
        log.warning("task %s: try %d of %d ended with %s", item.function, item.tries, tries, kind)
        if is_last:
            tally.dead += 1
        else:
            tally.failed += 1

    # --- leases -------------------------------------------------------------------------------------------------------
    async def beat(self) -> Tally:
        """Extend the leases of what runs, each when a third of it is gone, for as long as there are lanes."""
        third = self.settings.lease_seconds / 3
        try:
            while self.lanes:
                await self.port.sleep(min(_SLICE_SECONDS, third / 2))
                now = self.port.monotonic()
                for held in self._held.copy():
                    if not held.is_lost and now - held.extended_at >= third:
                        await self._extend(held)
        except BaseException:
            self.is_broken = True
            raise
        return Tally()

    async def _extend(self, held: Held) -> None:
        held.is_extending = True
        try:
            if held in self._held:  # looked at after the mark is set, as the lane looks at the mark after it let go
                now = held.extended_at = self.port.monotonic()
                until = instant(held.begun.wall_at(now) + self.settings.lease_seconds)
                await apply(self.port, extending(self.tasks, held.item, until))
        except ClaimLost:
            held.is_lost = True  # its end says whether that is anything to tell
        except PASSING as error:
            log.warning("the lease of task %s was not extended: %s", held.item.function, type(error).__name__)
        finally:
            held.is_extending = False

    async def _until_extended(self, held: Held) -> None:
        """A lease that were made longer after a retry's time is written would put the retry off."""
        while held.is_extending:
            await self.port.sleep(_LOOKING_SECONDS)


class Unfinished(SingletableError):
    """A task whose worker ended each time before the task did."""

    code = "task.unfinished"


def check_functions(port: Port, functions: Mapping[str, TaskFunction[...]]) -> None:
    """InvalidRequest for async functions in the blocking shell."""
    refuse_async(port, (f"the task {f.name}" for f in functions.values() if f.is_async))
