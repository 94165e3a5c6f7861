"""Verification: each item once, whatever ends a run; a module's line says what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Table
from singletable.adopt import (
    Verified,
    VerifyFile,
    VerifyRun,
    adopted,
    allowing_writes,
    digest_of,
    doubts_in,
    plan_adoption,
    read_sample,
    refusing_writes,
    replace_module,
    verify,
)
from singletable.adopt.trial import table_in
from singletable.adopt.verification import VerifiedDifference
from singletable.errors import InvalidRequest, NotFound
from singletable.raw import Raw
from tests.adopt.tables import shop
from tests.support.engines import fresh

COUNT = 6 * 400 + 20
"""Several pages of the embedded engine's scan."""


@pytest.fixture(scope="module")
def db() -> Any:
    with fresh() as made:
        made.create_table(Table("old", key=("PK", "SK"), indexes={"GSI1": ("GSI1PK", "GSI1SK")}, foreign=True))
        Raw(made, "old").write_many(puts=[{**item, "orders": 1} for item in shop(480)])
        yield made


@pytest.fixture(scope="module")
def source(db: Database) -> str:
    plan = db.run(plan_adoption(db.port, "old", None))
    return adopted(db.run(read_sample(db.port, plan)).items, plan.layout).source


class Ended(Exception):
    """A run that was killed."""


def run_of(db: Database, source: str, module: Path, of: str = "x") -> VerifyRun:
    return VerifyRun(db.port, table_in(source, "old"), of, VerifyFile(module), None, 0)


def test_a_sample_is_of_each_kind_and_costs_one_scan(db: Database) -> None:
    """480 items of a kind are there; 200 of each are kept, and each is read once."""
    with db.meter() as meter:
        plan = db.run(plan_adoption(db.port, "old", None))
        assert (meter.requests, meter.read_units, plan.sample) == (2, 0, None)
    with db.meter() as meter:
        sample = db.run(read_sample(db.port, plan))
    assert (len(sample.items), sample.read) == (20 + 5 * 200, 20 + 5 * 480)
    assert (meter.requests, meter.read_units) == (3, 24)
    part = db.run(read_sample(db.port, db.run(plan_adoption(db.port, "old", 0.3))))
    assert 0 < part.read < sample.read
    with pytest.raises(NotFound, match="the table is missing"):
        db.run(plan_adoption(db.port, "none", None))


def test_a_run_that_was_ended_goes_on_and_counts_each_item_once(db: Database, source: str, tmp_path: Path) -> None:
    module, rounds = tmp_path / "old.py", 0

    def stop(at: Verified) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise Ended

    with db.meter() as whole:
        everything = db.run(verify(run_of(db, source, tmp_path / "other.py")))
    assert whole.requests > 1
    with pytest.raises(Ended):
        db.run(verify(run_of(db, source, module), stop))
    with db.meter() as rest:
        verified = db.run(verify(run_of(db, source, module)))
    assert rest.requests == whole.requests - 1
    assert verified == everything
    assert (verified.items, verified.covered, verified.is_whole) == (2420, 2420, True)
    assert [*tmp_path.iterdir()] == []


def test_a_module_that_changed_is_verified_from_the_beginning(db: Database, source: str, tmp_path: Path) -> None:
    module = tmp_path / "old.py"
    with pytest.raises(Ended):
        db.run(verify(run_of(db, source, module, "one"), end))
    (tmp_path / "old.py.verifying").write_bytes(b"{}")
    with pytest.raises(Ended):
        db.run(verify(run_of(db, source, module, "one"), end))
    with db.meter() as meter:
        assert db.run(verify(run_of(db, source, module, "other"))).items == 2420
    assert meter.requests == 3


def end(at: Verified) -> None:
    raise Ended


def test_a_wrong_key_is_found_and_its_items_are_counted(db: Database, source: str, tmp_path: Path) -> None:
    """Plant a fault: another width of the items' numbers, and a type that loses."""
    wrong = source.replace("ITEM#{item:04}", "ITEM#{item:05}")
    verified = db.run(verify(run_of(db, wrong, tmp_path / "old.py")))
    assert (verified.covered, verified.unknown and verified.unknown.count) == (2420 - 480, 480)
    wrong = source.replace("STATUS#{status:raw}", "STATUS#{status:upper}")
    verified = db.run(verify(run_of(db, wrong, tmp_path / "old.py")))
    assert [(each.what, each.count) for each in verified.different] == [
        ("order: GSI1PK would be written otherwise", 480)
    ]
    assert not verified.is_whole


def test_the_line_of_a_module_is_written_and_taken_back(source: str) -> None:
    verified = Verified(7, {"order": 1234})
    allowed = allowing_writes(source, verified, "2026-01-31")
    assert 'VERIFIED = "2026-01-31: 1,234 of 1,234 items"\n' in allowed
    assert not table_in(allowed, "old").read_only
    assert table_in(source, "old").read_only
    assert refusing_writes(allowed) == source
    assert digest_of(allowed) == digest_of(source) != digest_of(source.replace("total", "sum"))
    assert doubts_in(source) == []
    assert doubts_in(f"{source}    # ambiguous: PK: {{a}} or {{b}}\n") == ["# ambiguous: PK: {a} or {b}"]
    with pytest.raises(InvalidRequest, match="no line VERIFIED"):
        refusing_writes("x = 1\n")


def test_one_difference_of_very_many_is_not_a_hundred_percent() -> None:
    one = VerifiedDifference("u: x would be written otherwise", 1, ("a", "b"))
    assert Verified(10**6, {"u": 10**6 - 1}, (one,)).percent == 99.99
    assert Verified(10**6, {"u": 10**6}).percent == 100
    assert Verified().percent == 0


def test_a_module_keeps_its_line_ends_and_every_indented_doubt_counts() -> None:
    source = 'x = 1\r\nVERIFIED = ""\r\n\t# ambiguous: PK: {a} or {b}\r\n'
    assert allowing_writes(source, Verified(1, {"u": 1}), "2026-11-27") == source.replace(
        '""', '"2026-11-27: 1 of 1 items"'
    )
    assert doubts_in(source) == ["# ambiguous: PK: {a} or {b}"]


def test_a_module_that_was_edited_meanwhile_stays_as_it_is(tmp_path: Path) -> None:
    """A scan takes hours; what a person changed in between was not verified, and is not lost."""
    module, read = tmp_path / "m.py", 'VERIFIED = ""\r\nx = 1\r\n'
    allowed = allowing_writes(read, Verified(1, {"u": 1}), "2026-11-27")
    module.write_bytes(allowed.encode())
    replace_module(module, read, refusing_writes(read))
    assert module.read_bytes().startswith(b'VERIFIED = ""  #')
    module.write_bytes(b'VERIFIED = ""\r\nx = 2\r\n')
    with pytest.raises(InvalidRequest, match="was changed while its items were read"):
        replace_module(module, read, allowed)
    assert module.read_bytes() == b'VERIFIED = ""\r\nx = 2\r\n'


def test_a_sample_does_not_end_a_run_on_every_item(db: Database, source: str, tmp_path: Path) -> None:
    module, table = tmp_path / "old.py", table_in(source, "old")

    def stop(at: Verified) -> None:
        raise Ended

    with pytest.raises(Ended):
        db.run(verify(run_of(db, source, module), stop))
    part = VerifyRun(db.port, table, "x", VerifyFile(module, 0.1), 0.1, 0)
    assert 0 < db.run(verify(part)).items < COUNT
    assert [file.name for file in tmp_path.iterdir()] == ["old.py.verifying"]
    with db.meter() as meter:
        assert db.run(verify(run_of(db, source, module))).items == COUNT
    assert meter.requests == 2
