"""Exports of foreign tables: keys that are attributes are columns once, and ids in a key are columns too."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from singletable import ANY, Entity, Key, Table, connect, field
from singletable.cli.app import app
from singletable.tables import N
from singletable.values import EpochSeconds
from singletable_local import Engine

readings = Table("readings", key=("device", N("at")), foreign=True)
lines = Table("lines", foreign=True)


class Reading(Entity, table=readings, type="reading"):
    device: str
    at: EpochSeconds
    state: str = "ok"

    @readings.key
    @staticmethod
    def of(device: str, at: EpochSeconds = ANY) -> Key:
        return f"{device}", f"{at}"


class Line(Entity, table=lines, type="line"):
    basket: str = field(in_key=True)
    number: int = field(in_key=True)
    amount: int = 1

    @lines.key
    @staticmethod
    def of(basket: str, number: int = ANY) -> Key:
        return f"BASKET#{basket}", f"LINE#{number:04}"


@pytest.mark.embedded("its table is written at an engine's port")
def test_items_without_a_type_are_rows_of_their_class(tmp_path: Path) -> None:
    engine = Engine.start(exposed=True)
    with connect(engine.url) as db:
        db.create_table(readings)
        db.put(Reading(device="d#1", at=datetime(2026, 1, 31, tzinfo=timezone.utc)))
        db.create_table(lines)
        db.put(Line(basket="b", number=7))
        for options in ((), ("--keys",)):
            folder = tmp_path / str(len(options))
            ran = CliRunner().invoke(app, ["export", __name__, *options, "--db", engine.url, "--to", str(folder)])
            assert ran.exit_code == 0, ran.output
            rows: dict[str, Any] = {
                file.parent.name: pq.read_table(file).to_pylist() for file in folder.rglob("*.parquet")
            }
            keys = {"pk": "BASKET#b", "sk": "LINE#0007"} if options else {}
            assert rows["reading"] == [{"device": "d#1", "at": 1769817600, "state": "ok", "_rest": None}]
            assert rows["line"] == [{**keys, "basket": "b", "number": 7, "amount": 1, "_rest": None}]
    engine.stop()
