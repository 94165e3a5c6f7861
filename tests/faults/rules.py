"""Rules of faults: which requests they are for, and what happens to those.

    faults = Faults(seed=7)
    faults.add(Rule(Match("PutItem", nth=2), ApplyThenCut()))
    faults.add(Rule(Match(probability=0.1), Throttle()))

The first rule that matches decides. Everything that happens is a function of the seed and the requests.
"""

from __future__ import annotations

import random
import re
import threading  # noqa: TID251
from collections import Counter
from dataclasses import dataclass, field

from tests.faults.actions import Action
from tests.faults.messages import Call


@dataclass(frozen=True)
class Match:
    """Which requests: every condition that is given has to hold."""

    operation: str | tuple[str, ...] | None = None
    table: str | None = None
    nth: int | tuple[int, ...] | None = None
    """Counted from 1, among the requests that the other conditions hold for."""
    probability: float = 1.0
    key: str | None = None
    """A regular expression, found anywhere in the body's JSON text: keys, mostly."""

    def is_for(self, call: Call) -> bool:
        operations = (self.operation,) if isinstance(self.operation, str) else self.operation
        if operations is not None and call.operation not in operations:
            return False
        if self.table is not None and self.table not in call.tables:
            return False
        return self.key is None or re.search(self.key, call.body.decode()) is not None


@dataclass(frozen=True)
class Rule:
    """What happens to the requests that match."""

    match: Match
    action: Action


@dataclass
class Happened:
    """One request that passed, and what was done to it."""

    call: Call
    action: Action | None

    def __str__(self) -> str:
        return f"{self.call.operation}: {self.action or 'passed on'}"


@dataclass
class Faults:
    """The rules of a run, its seeded chance and the list of what happened. Threads share it."""

    seed: int = 0
    rules: list[Rule] = field(default_factory=list[Rule])
    happened: list[Happened] = field(default_factory=list[Happened])

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._counts: Counter[int] = Counter()
        self._guard = threading.Lock()

    def add(self, *rules: Rule) -> None:
        """Rules for the requests from now on."""
        with self._guard:
            self.rules += rules

    def clear(self) -> None:
        """No more faults."""
        with self._guard:
            self.rules.clear()
            self._counts.clear()

    def forget(self) -> None:
        """Empty the list of what happened."""
        with self._guard:
            self.happened.clear()

    def decide(self, call: Call) -> Action | None:
        """What is to happen to a request; each is asked for once."""
        with self._guard:
            action = next((rule.action for rule in self.rules if self._hits(rule, call)), None)
            self.happened.append(Happened(call, action))
            return action

    @property
    def seen(self) -> Counter[str]:
        """How many requests of each operation came, whatever became of them."""
        with self._guard:
            return Counter(each.call.operation for each in self.happened)

    def bodies(self, operation: str) -> list[bytes]:
        with self._guard:
            return [each.call.body for each in self.happened if each.call.operation == operation]

    @property
    def actions(self) -> list[Action]:
        """The faults that happened, in order."""
        with self._guard:
            return [each.action for each in self.happened if each.action is not None]

    def _hits(self, rule: Rule, call: Call) -> bool:
        if not rule.match.is_for(call):
            return False
        self._counts[id(rule)] += 1
        wanted = (rule.match.nth,) if isinstance(rule.match.nth, int) else rule.match.nth
        if wanted is not None and self._counts[id(rule)] not in wanted:
            return False
        return rule.match.probability >= 1.0 or self._chance.random() < rule.match.probability
