"""What every part of the service has: the database, its clock, and where ids come from."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from singletable import Database

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
TRIES = 10
"""How often an action that others disturb begins again."""
WEEK_SECONDS = 7 * 24 * 3600


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Base:
    """The source of ids is an argument: none can be guessed."""

    db: Database
    new_id: Callable[[], str] = field(default=random_id)

    def now(self) -> datetime:
        """By the database's clock, rounded down, so that nothing is early by it."""
        return EPOCH + timedelta(microseconds=int(self.db.port.now() * 1_000_000))
