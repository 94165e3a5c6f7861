"""Every request that a migration makes is held to the role that `migrates` gives on its table."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

import msgspec
import pytest

from singletable import Table
from singletable.migrations import AsyncMigrations, Migrations
from singletable_deploy import Deployment, Role, migrates
from singletable_deploy.cloudformation import template
from tests.support.attempts import attempts_of
from tests.support.iam import is_allowed
from tests.support.roles import files_of, is_of_local_set_up, recording
from tests.support.templates import statements_of

_CREATION = ("CreateTable",)
"""A table that is missing is a deployment's to create, by a role of its own."""


class Migrator:
    """The role of the program that migrates, and what it was refused."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        """By name, as the newest migration of a table declares it. Where a test calls a part alone, there is none."""
        self.refused: list[str] = []
        self._statements: list[dict[str, Any]] | None = None

    def take(self, prefix: str, operation: str, body: bytes, frame: FrameType | None) -> None:
        if operation in _CREATION or not self.tables or not _is_of_a_migration(files_of(frame)):
            return
        statements = self._allowed()
        definitions = {table.name: table.definition for table in self._all_tables()}
        for attempt in attempts_of(prefix, operation, msgspec.json.decode(body), definitions):
            if not is_allowed(statements, attempt):
                self.refused.append(f"a migration may not {attempt.action} on {attempt.resource}")

    def know(self, table: Table) -> None:
        self.tables[table.name] = table
        self._statements = None

    def _allowed(self) -> list[dict[str, Any]]:
        """Made once for the tables that are known by now: a migration makes many requests."""
        if self._statements is None:
            self._statements = statements_of(self._template(), "Migrator")
        return self._statements

    def _template(self) -> Any:
        role = Role("migrator", [migrates(*self.tables.values())])
        return template(Deployment("migration", self._all_tables(), [role], alarms=False))

    def _all_tables(self) -> list[Table]:
        """Those that items come from or go to as well, and those of tools' own items."""
        own = self.tables.values()
        others = [other for table in own for other in (*table.sources, *table.targets)]
        others += [table.own_items for table in own if table.own_items is not None]
        return list({table.name: table for table in (*others, *own)}.values())


def _is_of_a_migration(names: list[str]) -> bool:
    """Backups are not: who makes or restores one needs rights of its own."""
    places = [name.rpartition("/")[::2] for name in names]
    return not is_of_local_set_up(names) and any(
        folder.endswith("/singletable/migrations") and not module.startswith("backups") for folder, module in places
    )


@pytest.fixture(autouse=True)
def migrator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Migrator]:
    found = Migrator()
    for kind in (Migrations, AsyncMigrations):
        _note_tables(monkeypatch, kind, found)
    recording(monkeypatch, found)
    yield found
    if found.refused:
        pytest.fail("; ".join(dict.fromkeys(found.refused)))


def _note_tables(monkeypatch: pytest.MonkeyPatch, kind: Any, found: Migrator) -> None:
    before = kind.__init__

    def noted(self: Any, db: Any, table: Table) -> None:
        before(self, db, table)
        found.know(table)

    monkeypatch.setattr(kind, "__init__", noted)
