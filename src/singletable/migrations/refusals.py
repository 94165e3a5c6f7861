"""Why a plan can't be made, and why an apply ends."""

from __future__ import annotations

from typing import Any, Literal

from singletable.errors import Conflict, Mistake

Refusal = Literal[
    "foreign table",
    "older program",
    "changed key",
    "local index",
    "items unreadable",
    "values not unique",
    "items left behind",
    "items not converted",
]
Loss = Literal["another apply", "lease lost", "table changed", "items not moved", "missing table", "values not unique"]


class PlanRefused(Mistake):
    """The table can't be brought to what the program declares. Nothing was changed. `reason` names why, and `counted`
    has the items of each difference that was counted, with five keys."""

    code = "mistake.plan-refused"

    def __init__(
        self, what: str, *, reason: Refusal = "foreign table", counted: tuple[Any, ...] = (), **where: Any
    ) -> None:
        super().__init__(what, **where)
        self.reason: Refusal = reason
        self.counted = counted


class ApplyRefused(Conflict):
    """Another apply has the table, it changed since the plan was made, items can't be moved to their new key, or the
    table that they move to is missing. `reason` names which."""

    code = "conflict.apply-refused"

    def __init__(self, what: str, *, reason: Loss = "another apply", **where: Any) -> None:
        super().__init__(what, **where)
        self.reason: Loss = reason
