"""The release of several tables by the program."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from singletable import Entity, Key, Table, connect
from singletable.cli.app import app as program
from singletable.exchange.items import RestoreRecord
from singletable.holds import hold
from singletable.release import Hold

pytestmark = pytest.mark.embedded("the program runs on its file")
ended, killed = Table("ended"), Table("killed")


class One(Entity, table=ended, type="one"):
    id: str

    @ended.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"one#{id}", "one"


class Other(Entity, table=killed, type="other"):
    id: str

    @killed.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"other#{id}", "other"


def test_none_is_released_where_a_restore_into_another_has_not_ended(tmp_path: Path) -> None:
    record: Any = RestoreRecord.of(killed)
    with connect(f"local:{tmp_path / 'app.db'}") as db:
        for table in (ended, killed):
            db.create_table(table)
            db.run(hold(db.port, table, "restored", in_use=False))
        db.put(record(source="a backup", identity="1", began_at=datetime(2026, 11, 20, tzinfo=timezone.utc)))
        command = ["release", __name__, "--yes", "--db", f"local:{tmp_path / 'app.db'}"]
        refused = CliRunner().invoke(program, command)
        assert (refused.exit_code, "its restore from a backup has not ended" in refused.output) == (1, True)
        assert [Hold(db, table).report().is_held for table in (ended, killed)] == [True, True]
        assert CliRunner().invoke(program, [*command, "--unfinished"]).exit_code == 0
        assert [Hold(db, table).report().is_held for table in (ended, killed)] == [False, False]
