"""Backups: recovery to a time and backups on demand, on an emulator; a copy of the engine's file, under writers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from singletable import Database, Entity, InvalidRequest, Key, Table, attr, connect, connect_async
from singletable.errors import AlreadyExists, NotConfigured, NotSupported, Unavailable
from singletable.exchange import AsyncRestore, Restore
from singletable.migrations import AsyncBackups, Backups, Migrations
from singletable.release import AsyncHold
from singletable.tables import TableSettings
from singletable_local import copy_data
from tests.support.children import child
from tests.support.emulators import MOTO

pytestmark = pytest.mark.embedded("its engines are its own: moto has backups, the embedded one has a file")
ledger = Table("ledger")
restored = Table("ledger-restored", deletion_protection=False, settings=TableSettings(point_in_time_recovery=True))


class Account(Entity, table=ledger, type="account"):
    id: int
    balance: int = 0

    @ledger.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"account#{id}", "account"


class Line(Entity, table=ledger, type="line"):
    writer: int
    number: int
    text: str = ""

    @ledger.key
    @staticmethod
    def of_writer(writer: int, number: int) -> Key:
        """A writer's, in the order in which it wrote them."""
        return f"writer#{writer}", f"line#{number}"


class RestoredAccount(Entity, table=restored, type="account"):
    id: int
    balance: int = 0

    @restored.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"account#{id}", "account"


# --- as AWS has them ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with MOTO.running() as url:
        yield url


@pytest.fixture
def db(moto: str) -> Iterator[Database]:
    with connect(moto) as made:
        made.create_table(ledger)
        made.create(Account(id=1, balance=7))
        yield made
        for table in (ledger, restored):
            made.delete_table(table)


def test_a_backup_is_made_listed_restored_and_deleted(db: Database) -> None:
    backups = Backups(db, ledger)
    assert backups.list() == []
    states: list[str] = []
    made = backups.create("before", progress=states.append)
    assert (made.name, made.table, made.status) == ("before", "ledger", "AVAILABLE")
    assert made.made_at is not None
    assert [each.arn for each in backups.list()] == [made.arn]
    db.put(Account(id=1, balance=0))
    Restore(db, ledger, to="ledger-restored").run(backup=made.arn, progress=states.append)
    assert db.get(RestoredAccount.by_id(1)) == RestoredAccount(id=1, balance=7)
    backups.delete(made.arn)
    assert backups.list() == []
    with pytest.raises(InvalidRequest, match="BackupNotFoundException"):
        backups.delete(made.arn)


def test_recovery_to_a_time(db: Database) -> None:
    backups, restore = Backups(db, ledger), Restore(db, ledger, to="ledger-restored")
    assert not backups.recovery().is_on
    with pytest.raises(NotConfigured, match="recovery is off"):
        restore.run(at=datetime.now(timezone.utc))
    found = backups.switch_recovery(True)
    assert found.is_on
    assert found.latest is not None
    with pytest.raises(InvalidRequest, match="has a zone"):
        restore.run(at=datetime.now())
    with pytest.raises(InvalidRequest, match="can't be restored"):
        restore.run(at=found.latest + timedelta(days=1))
    restore.run(at="latest")
    assert db.get(RestoredAccount.by_id(1)) == RestoredAccount(id=1, balance=7)
    assert not backups.switch_recovery(False).is_on


def test_a_restored_table_is_brought_to_its_declaration(db: Database) -> None:
    Migrations(db, ledger).apply()
    made = Backups(db, ledger).create("all")
    Restore(db, ledger, to="ledger-restored").run(backup=made.arn)
    plan = Migrations(db, restored).plan()
    assert [step.name for step in plan.steps] == ["set point-in-time recovery", "record ledger-restored"]
    assert plan.left == ()  # the class `Line` is gone, and no item of it is there
    Migrations(db, restored).apply(plan)
    assert Backups(db, restored).recovery().is_on
    assert Migrations(db, restored).plan().is_empty


# --- a copy of the embedded engine's file -----------------------------------------------------------------------------
def write(target: str, writer: str) -> None:
    """In a child: lines in their order, and money that goes from one account to another."""
    mine, theirs = (1, 2) if writer == "1" else (2, 1)
    with connect(target) as db:
        number = 0
        while True:
            db.create(Line(writer=int(writer), number=number, text="x" * 500))
            with db.transaction() as tx:
                tx.update(Account.by_id(mine), attr(Account.balance).add(-1))
                tx.update(Account.by_id(theirs), attr(Account.balance).add(1))
            if number == 0:
                sys.stdout.write("ready\n")
                sys.stdout.flush()
            number += 1


def is_of_one_moment(target: str, least: int) -> int:
    """The number of lines of a copy, all of which are sound: no line is missing before the last, no money is lost."""
    with connect(target) as db:
        assert db.check(ledger) == []
        assert sum(account.balance for account in db.scan(Account)) == 0
        lines = sorted((line.writer, line.number) for line in db.scan(Line))
        for writer in (1, 2):
            numbers = [number for who, number in lines if who == writer]
            assert numbers == list(range(len(numbers)))
    assert len(lines) >= least
    return len(lines)


def test_copies_under_writers_are_of_one_moment_each(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    with connect(f"local:{data}") as db:
        db.create_table(ledger)
        db.write_many(puts=[Account(id=1), Account(id=2)])
        with child(write, f"local:{data}", "1") as one, child(write, f"local:{data}", "2") as two:
            for process in (one, two):
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
            for number in range(5):
                copied = Backups(db, ledger).copy(tmp_path / f"copy{number}.db")
                assert copied == (tmp_path / f"copy{number}.db").stat().st_size
        after = len(list(db.scan(Line)))
    least = 0
    for number in range(5):
        least = is_of_one_moment(f"local:{tmp_path / f'copy{number}.db'}", least)
    assert 0 < least <= after


def test_a_copy_is_a_new_file_for_its_owner(tmp_path: Path) -> None:
    data, to = tmp_path / "data.db", tmp_path / "deep" / "copy.db"
    told: list[tuple[int, int]] = []
    with connect(f"local:{data}") as db:
        db.create(Account(id=1))
        Backups(db, ledger).copy(to, progress=lambda done, of: told.append((done, of)))
    assert to.stat().st_mode & 0o777 == 0o600
    assert told[-1][0] == told[-1][1] > 0
    assert [file.name for file in to.parent.iterdir()] == ["copy.db"]
    with pytest.raises(AlreadyExists, match="there already"):
        copy_data(data, to)
    with pytest.raises(NotConfigured, match="is missing"):
        copy_data(tmp_path / "none.db", tmp_path / "other.db")
    (tmp_path / "noise.db").write_bytes(os.urandom(9000))
    with pytest.raises(Unavailable, match="can't be copied"):
        copy_data(tmp_path / "noise.db", tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    assert not list(tmp_path.glob("*.part"))


def test_the_embedded_engine_has_no_backups() -> None:
    with connect("local") as db:
        db.create_table(ledger)
        for attempt in (Backups(db, ledger).recovery, Backups(db, ledger).list):
            with pytest.raises(NotSupported, match="no backups") as refused:
                attempt()
            assert refused.value.capability == "backups"


def test_only_the_embedded_engine_has_a_file(db: Database, tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match="only the embedded engine"):
        Backups(db, ledger).copy(tmp_path / "copy.db")


async def test_the_awaiting_shell_makes_lists_restores_and_deletes_one_too(db: Database, moto: str) -> None:
    async with connect_async(moto) as awaiting:
        backups = AsyncBackups(awaiting, ledger)
        made = await backups.create("before")
        assert made.arn in [backup.arn for backup in await backups.list()]
        restore = AsyncRestore(awaiting, ledger, to="ledger-restored")
        assert (await restore.plan(backup=made.arn)).table == "ledger-restored"
        await restore.run(backup=made.arn)
        assert await awaiting.get(RestoredAccount.by_id(1)) == RestoredAccount(id=1, balance=7)
        hold = AsyncHold(awaiting, restored)
        assert (await hold.report()).is_held
        await hold.release()
        assert not (await hold.report()).is_held
        await backups.delete(made.arn)
        assert made.arn not in [backup.arn for backup in await backups.list()]
