"""State machines as data: a table from (state, event) to the next state. A pair that is missing is refused."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


class NotAllowed(AssertionError):
    """An event in a state that has no transition for it: a defect of the library."""


class Transitions(Generic[S, E]):
    """The table of one machine. `name` is what the machine is the state of, for messages."""

    def __init__(self, name: str, table: Mapping[tuple[S, E], S]) -> None:
        self.name = name
        self.table = table

    def after(self, state: S, event: E) -> S:
        """The next state. Raises NotAllowed for a pair that the table does not have."""
        state_after = self.table.get((state, event))
        if state_after is None:
            raise NotAllowed(f"{self.name}: no {event.name} in state {state.name}")
        return state_after
