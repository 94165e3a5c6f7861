"""Where copies still are after an erasure, as the table's live settings say; on an emulator that has backups."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from singletable import Database, Entity, Key, Table, connect
from singletable.erasure import Erasure, SharedScans
from singletable.foundation import model_for
from singletable.migrations import Backups, Migrations
from singletable.migrations.items import FillPart
from tests.support.emulators import MOTO
from tests.support.engines import fresh
from tests.support.raw import put_raw

ledger = Table("erased-ledger")


class Account(Entity, table=ledger, type="account"):
    email: str

    @ledger.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One."""
        return f"account#{email}", "account"


@pytest.fixture
def db() -> Iterator[Database]:
    with MOTO.running() as url, connect(url) as made:
        made.create_table(ledger)
        made.create(Account(email="ada@example.org"))
        yield made


@pytest.mark.embedded("its engine is moto, which has backups")
def test_recovery_and_backups_are_named_with_what_to_do(db: Database) -> None:
    backups = Backups(db, ledger)
    backups.switch_recovery(True)
    before = backups.create("before")
    receipt = Erasure(db, ledger).apply(Account.by_email("ada@example.org"))
    backups.create("after")
    recovery, backup, others = receipt.remaining
    assert recovery.where == "point-in-time recovery"
    assert recovery.until == receipt.ended_at + timedelta(days=35)
    assert (backup.where, backup.until) == ("backup before", None)
    assert f"singletable backup delete {before.arn}" in backup.what
    assert others.where == "exports and other systems"


def test_work_that_has_not_ended_is_named() -> None:
    """A fill that was killed keeps the key that it has come to, which may be the subject's."""
    with fresh() as db:
        db.create_table(ledger)
        db.create(Account(email="ada@example.org"))
        parts = FillPart.of(ledger)
        part = parts(
            declaration="d", segment=0, segments=1, position={"pk": "account#ada@example.org", "sk": "account"}
        )
        assert "ada" not in repr(part)
        db.run(put_raw(db.port, Account, model_for(part).item(part)))
        receipt = Erasure(db, ledger).apply(Account.by_email("ada@example.org"))
        assert "fills, copies, imports and jobs" in [each.where for each in receipt.remaining]
        Migrations(db, ledger).fill(anew=True)
        db.create(Account(email="bob@example.org"))
        receipt = Erasure(db, ledger).apply(Account.by_email("bob@example.org"))
        assert not any(each.where.startswith("fills") for each in receipt.remaining)


own = Table("erased-own")
legacy = Table("erased-legacy", foreign=True, own_items=own)


class Client(Entity, table=legacy, type="client"):
    email: str

    @legacy.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One."""
        return f"client#{email}", "client"


def test_the_table_that_had_its_jobs_is_named_too(db: Database) -> None:
    for table in (legacy, own):
        db.create_table(table)
        Backups(db, table).switch_recovery(True)
    Backups(db, own).create("early")
    db.create(Client(email="ada@example.org"))
    receipt = Erasure(db, legacy).apply(Client.by_email("ada@example.org"), shared=SharedScans(sections=2))
    recovery = "point-in-time recovery"
    assert [place.where for place in receipt.remaining] == [
        recovery,
        f"{recovery} of erased-own",
        "backup early of erased-own",
        "exports and other systems",
    ]


def test_a_backup_is_named_whatever_the_clock_says() -> None:
    """Its time is the service's, the end of an erasure the caller's."""
    with MOTO.running() as url, connect(url, clock=lambda: 1.7e9) as db:
        db.create_table(ledger)
        db.create(Account(email="ada@example.org"))
        Backups(db, ledger).create("before")
        receipt = Erasure(db, ledger).apply(Account.by_email("ada@example.org"))
        assert receipt.ended_at.year == 2023
        assert "backup before" in [place.where for place in receipt.remaining]


def test_a_table_without_them_has_neither(db: Database) -> None:
    receipt = Erasure(db, ledger).apply(Account.by_email("ada@example.org"))
    assert [each.where for each in receipt.remaining] == ["exports and other systems"]
