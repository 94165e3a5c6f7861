"""The library's own items, so many of each kind that they fill the first page of a scan in the order of keys."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from singletable import Database, Entity, Key, Table, field
from singletable.erasure.items import ErasureRecord
from singletable.exchange.items import RestoreRecord, Transfer
from singletable.foundation import model_for
from singletable.holds.item import HoldItem
from singletable.jobs.items import JobItem, JobPart
from singletable.migrations.items import ApplyLease, FillPart, PlanCounts, SharedBudget
from singletable.operations import PutItem
from singletable.schema.table import GUARD_TYPE

MANY = 301
"""More than two pages of a fill, and than what an apply looks at first."""
PAST = datetime(2026, 1, 1, tzinfo=timezone.utc)

old = Table("own")
app = Table("own")


class OldUser(Entity, table=old, type="user"):
    id: int
    email: str

    @old.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"user#{id}", "user"


class User(Entity, table=app, type="user"):
    """Its address is unique from now on."""

    id: int
    email: str = field(unique=True)

    @app.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"user#{id}", "user"


def old_users(count: int) -> list[OldUser]:
    return [OldUser(id=n, email=f"{n}@example.org") for n in range(count)]


def put(db: Database, entities: list[Any]) -> None:
    """Each as it is, past the rules of its class."""
    db.run(db.port.send_all([PutItem(model_for(each).table.name, model_for(each).item(each)) for each in entities]))


def _guards(db: Database) -> None:
    for n in range(MANY):
        db.create(User(id=1000 + n, email=f"first {n}"))


def _fills(db: Database) -> None:
    put(db, [FillPart.of(app)(declaration=f"{n:016}", segment=0, segments=1) for n in range(MANY)])


def _leases(db: Database) -> None:
    """There is one of a table's applies."""
    put(db, [ApplyLease.of(app)(fence=1)])


def _erasures(db: Database) -> None:
    kind = ErasureRecord.of(app)
    put(db, [kind(erasure=f"{n}", pattern="User.by_id", started_at=PAST, ended_at=PAST) for n in range(MANY)])


def _rates(db: Database) -> None:
    put(db, [SharedBudget.of(app)(name=f"nightly {n}") for n in range(MANY)])


def _counts(db: Database) -> None:
    """There is one of a table's plans."""
    put(db, [PlanCounts.of(app)(job="plan-1", work="of another declaration", packed=b"")])


def _transfers(db: Database) -> None:
    put(db, [Transfer.of(app)(transfer=f"{n}", state="{}", token="t") for n in range(MANY)])


def _restores(db: Database) -> None:
    """There is one of a table."""
    put(db, [RestoreRecord.of(app)(source="a copy", identity="t", began_at=PAST, ended_at=PAST)])


def _holds(db: Database) -> None:
    """There is one of a table, which was released."""
    put(db, [HoldItem.of(app)(why="a copy", since=PAST, noticed_at=PAST, opened_at=PAST)])


def _jobs(db: Database) -> None:
    kind, shared = JobItem.of(app), {"kind": "fill", "options": "{}", "declaration": "d", "identity": "t"}
    put(db, [kind(job=f"{n}", format=1, sections=1, items=0, begun_at=PAST, **shared) for n in range(MANY)])


def _job_parts(db: Database) -> None:
    put(db, [JobPart.of(app)(job=f"{n}", section=0) for n in range(MANY)])


def _raw(type_name: str) -> Callable[[Database], None]:
    """Items of a layer that the program doesn't use any more."""

    def of_type(db: Database) -> None:
        items = [{"pk": {"S": f"{type_name}#{n}"}, "sk": {"S": "x"}, "_type": {"S": type_name}} for n in range(MANY)]
        db.run(db.port.send_all([PutItem(app.name, item) for item in items]))

    return of_type


FIRST: dict[str, Callable[[Database], None]] = {
    GUARD_TYPE: _guards,
    "_migration": _fills,
    "_apply": _leases,
    "_erasure": _erasures,
    "_plan": _counts,
    "_rate": _rates,
    "_transfer": _transfers,
    "_restore": _restores,
    "_hold": _holds,
    "_job": _jobs,
    "_job_part": _job_parts,
    "_job_lines": _raw("_job_lines"),
    "_job_state": _raw("_job_state"),
    **{name: _raw(name) for name in ("_task", "_turn", "_lane", "_consumer", "_lease", "_try", "_aside")},
    **{name: _raw(name) for name in ("_sync_group", "_sync_client")},
}
