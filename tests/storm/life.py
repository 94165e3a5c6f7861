"""One life of one process of the storm: its database under faults, its clock that steps, what it says of each step."""

from __future__ import annotations

import os
import random
import resource
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from singletable import Database, OutcomeUnknown, Unavailable
from singletable.connection import find_target
from singletable.errors import Applied, Conflict
from singletable.target import Options, Target
from singletable.wire import BlockingPort, PortOptions, RetryPolicy, Timeouts
from singletable.wire.asyncio_port import AwaitingPort
from tests.faults.actions import IndexFrozen
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.faults.storms import everything_goes_wrong
from tests.storm.journal import Outcome, say

PATIENT = RetryPolicy(attempts=40)
_TIMEOUTS = Timeouts(connect=30.0, read=30.0)
_STEPS = (-18_000.0, -3_600.0, -5.0, 5.0, 3_600.0, 18_000.0)
"""Less than a day: the embedded engine's streams are pruned by the clock of who reads them."""
_STEP_CHANCE = 1 / 400
_LONGEST_RETRY_WAIT = 0.005
_INDEX_LAG_SECONDS = 0.1
"""What the library believes: the storm's indexes lag for longer."""
_FREEZE_CHANCE = 1 / 60


@dataclass
class SteppingClock:
    """The wall clock of a machine whose time source is put right now and then, both ways, by hours."""

    chance: random.Random
    skew: float = 0.0

    def now(self) -> float:
        if self.chance.random() < _STEP_CHANCE:
            self.skew = self.chance.choice(_STEPS) if abs(self.skew) < 1 else 0.0
        return time.time() + self.skew


def target_at(name: str) -> Target:
    """The engine that the whole storm is on."""
    return find_target(name, Options(cursor_keys=("a key for cursors",)), os.environ)


@dataclass
class Life:
    """What a role of the storm works with."""

    client: str
    target: str
    folder: str
    seed: int
    number: int
    """Of the client's last call."""
    chance: random.Random = field(init=False)
    clock: SteppingClock = field(init=False)
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.clock = SteppingClock(random.Random(self.seed + 1))
        self.faults = Faults(self.seed)
        self.faults.add(*everything_goes_wrong(hangs=True))

    # --- databases ----------------------------------------------------------------------------------------------------
    def port_options(self) -> tuple[Target, PortOptions]:
        """A target, and the options of a port to it."""
        target = target_at(self.target)
        options = PortOptions(
            policy=PATIENT,
            timeouts=_TIMEOUTS,
            traits=msgspec.structs.replace(target.traits, index_lag_seconds=_INDEX_LAG_SECONDS),
            locate=target.locate,
            now=self.clock.now,
            random=random.Random(self.seed + 2).random,
        )
        return target, options

    def database(self, *, waits: bool) -> Database:
        """A blocking database under faults. `waits` is for workers, which pause between polls; else pauses are cut."""
        target, options = self.port_options()
        sleep = time.sleep if waits else _sleep_briefly  # noqa: TID251
        port = BlockingPort(target.endpoint, target.credentials, options, sleep=sleep)
        return Database(self.spoil(port), target)

    def awaiting_port(self) -> tuple[Any, Any]:
        """The port of the awaiting shell under faults, and its target."""
        target, options = self.port_options()
        return self.spoil(AwaitingPort(target.endpoint, target.credentials, options)), target

    def spoil(self, port: Any) -> Any:
        """Put the faults under a port and under those to other services that it opens."""
        open_other = port._open

        def open_spoiled(*where: Any) -> Any:
            other = open_other(*where)
            make_faulty(other, self.faults)
            return other

        port._open = open_spoiled
        make_faulty(port, self.faults)
        return port

    # --- steps --------------------------------------------------------------------------------------------------------
    def attempt(
        self,
        what: str,
        act: Callable[[], object],
        data: Mapping[str, Any] | None = None,
        *,
        refused: tuple[type[Exception], ...] = (),
        is_one_write: bool = True,
    ) -> Outcome:
        """Say what is tried, try it, say what came of it."""
        self.number += 1
        say(say="begin", client=self.client, number=self.number, what=what, data=dict(data or {}))
        outcome = self._outcome(act, refused, is_one_write)
        say(say="end", client=self.client, number=self.number, outcome=outcome)
        return outcome

    @property
    def id(self) -> str:
        """Of the call that is tried next."""
        return f"{self.client}-{self.number + 1}"

    def _outcome(self, act: Callable[[], object], refused: tuple[type[Exception], ...], is_one_write: bool) -> Outcome:
        refusals: tuple[type[Exception], ...] = (Conflict, *refused)
        try:
            act()
        except Applied:  # only its result can't be read: the newer program wrote the item in between
            return "done" if is_one_write else "unknown"
        except OutcomeUnknown:
            return "unknown"
        except Unavailable:
            return "undone" if is_one_write else "unknown"
        except refusals:
            return "refused" if is_one_write else "unknown"
        return "done"

    def after_step(self) -> None:
        """Say how many requests passed; freeze and thaw what the indexes answer."""
        passed = list(self.faults.happened)
        self.faults.forget()
        say(say="passed", requests=len(passed), faults=sum(each.action is not None for each in passed))
        if self.chance.random() < _FREEZE_CHANCE:
            is_frozen = any(isinstance(rule.action, IndexFrozen) for rule in self.faults.rules)
            self.faults.clear()
            if not is_frozen:
                self.faults.add(Rule(Match("Query", probability=0.9), IndexFrozen()))
            self.faults.add(*everything_goes_wrong(hangs=True))

    def limit(self) -> None:
        """Of some lives: little memory to grow into, few descriptors, no file over a few hundred bytes."""
        match self.chance.randrange(12):
            case 0:
                used = int(_status("VmSize")) * 1024
                resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), resource.RLIM_INFINITY))
            case 1:
                resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
            case 2:
                resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
            case _:
                return


def _sleep_briefly(seconds: float) -> None:
    time.sleep(min(seconds, _LONGEST_RETRY_WAIT))  # noqa: TID251


def explain(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _status(name: str) -> str:
    with open("/proc/self/status") as file:
        return next(line.split()[1] for line in file if line.startswith(f"{name}:"))
