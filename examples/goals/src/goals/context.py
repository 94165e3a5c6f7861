"""What every query and action works with."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from singletable import Database


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Context:
    """The database. The clock and the source of ids are arguments."""

    db: Database
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
