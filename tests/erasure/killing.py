"""An erasure that is killed at one of its requests."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Database, Query, Table
from singletable.erasure import Erasure
from tests.migrations.watching import Killed, before_each


def is_killed(
    db: Database, table: Table, subject: Query[Any], at: int, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> bool:
    """Erase a subject, and be killed before request `at`, from 1. False where it ended before."""
    left = at

    def kill(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    with monkeypatch.context() as patched:
        before_each(db, patched, kill)
        try:
            Erasure(db, table).apply(subject, **options)
        except Killed:
            return True
    return False
