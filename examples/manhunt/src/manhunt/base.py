"""What every part of the service has: the database, its clock, and where ids come from."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TypeAlias, TypeVar

from singletable import Database

TRIES = 10
"""How often an action that others disturb begins again."""
WEEK_SECONDS = 7 * 24 * 3600


T = TypeVar("T")
Check: TypeAlias = "Callable[[T], object] | None"
"""Looks at what is stored, in the attempt that writes, and raises where it is not to be changed."""


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Base:
    """The source of ids is an argument: none can be guessed."""

    db: Database
    new_id: Callable[[], str] = field(default=random_id)

    def now(self) -> datetime:
        """By the database's clock, which is the clock of the tasks too."""
        return datetime.fromtimestamp(self.db.port.now(), timezone.utc)
