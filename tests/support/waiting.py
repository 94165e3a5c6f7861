"""The time that a database's port would have waited: a wait passes at once."""

from __future__ import annotations

import pytest

from singletable import Database


class Waited:
    """The time that the port of a database has waited."""

    def __init__(self, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(db.port, "monotonic", lambda: self.seconds)
        monkeypatch.setattr(db.port, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.seconds += seconds
