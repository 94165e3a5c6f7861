"""State machines as data: a table from (state, event) to the next state. A pair that is missing is refused."""

from __future__ import annotations

from enum import Enum
from typing import Generic, TypeVar

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


class NotAllowed(AssertionError):
    """An event in a state that has no transition for it: a defect of the library."""


class Transitions(Generic[S, E]):
    """The table of one machine: lines of a state, an event, the next state, and what that means in words.

    `name` is what the machine is the state of, for messages.
    """

    def __init__(self, name: str, states: type[S], events: type[E], table: str) -> None:
        rows = [line.split(maxsplit=3)[:3] for line in table.strip().splitlines()]
        self.name = name
        self.table = {(states[state], events[event]): states[after] for state, event, after in rows}

    def after(self, state: S, event: E) -> S:
        """The next state. Raises NotAllowed for a pair that the table does not have."""
        state_after = self.table.get((state, event))
        if state_after is None:
            raise NotAllowed(f"{self.name}: no {event.name} in state {state.name}")
        return state_after
