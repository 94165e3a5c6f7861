"""A followed export: how fast it takes a scan and changes, in how much memory, and that it is the table in the end.

    python -m benchmarks.exports.following                      50,000 items
    python -m benchmarks.exports.following --items 1000000      some twenty minutes

The table is filled before its stream is switched on. Each run is a process of its own. A tenth of the items changes
between the first and the second run: most are put, some are deleted, some are new. At the end the rows of the followed
export are compared with those of a new one, by DuckDB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

import duckdb

from benchmarks.exports.data import ROOT
from benchmarks.memory import peak_bytes
from benchmarks.report import table as shown
from singletable import Database, Entity, Key, Table, connect
from singletable.exchange import DirectoryStore, Exports, Follower, read_manifest
from singletable.local import Engine
from singletable.operations import MAX_BATCH_WRITE, BatchWriteItem
from singletable.schema.models import model_for, model_of
from singletable.tables.admin import set_stream

USUAL: Final = 50_000
CHANGED: Final = 10
"""One item of so many changes."""
_A_ROUND: Final = 16 * MAX_BATCH_WRITE
_BEGUN: Final = datetime(2026, 1, 1, tzinfo=timezone.utc)

ledger = Table("ledger", stream="new_and_old")


class Account(Entity, table=ledger, type="account"):
    number: int
    owner: str
    opened_at: datetime
    balance: int = 0
    note: str = ""

    @ledger.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One account."""
        return f"account#{number:08}", "account"


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exports.following", description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=USUAL)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(shown(followed(chosen.items, chosen.seed)))


def run(target: str, folder: str) -> None:
    """One run, in this process: what it took, as JSON."""
    with connect(target) as db:
        cpu, wall = time.process_time(), time.perf_counter()
        done = Follower(db, ledger, folder).catch_up()
        took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    told = {"scans": done.scans, "changes": done.changes, "rows": done.manifest.rows, "held": peak_bytes()}
    print(json.dumps({**told, **took}))


def followed(items: int, seed: int) -> dict[str, dict[str, Any]]:
    """What each run took. SystemExit where the rows are not the table in the end."""
    with tempfile.TemporaryDirectory() as place:
        file, folder = Path(place, "ledger.db"), Path(place, "exports")
        with Engine.start(file), connect(f"local:{file}") as db:
            _fill(db, items)
            runs = {"scan": _run(file, folder)}
            changed = _change(db, items, Random(seed))
            runs["changes"] = _run(file, folder)
            runs["nothing new"] = _run(file, folder)
            if (runs["changes"]["changes"], runs["changes"]["scans"]) != (changed, 0):
                raise SystemExit(f"{changed} changes, and it read {runs['changes']}")
            _compare(db, folder, Path(place, "anew"))
        return {name: _row(found) for name, found in runs.items()}


def _row(found: dict[str, Any]) -> dict[str, Any]:
    read = found["changes"] or (found["rows"] if found["scans"] else 0)
    return {
        "read": f"{read:,}",
        "wall s": f"{found['wall']:.1f}",
        "CPU s": f"{found['cpu']:.1f}",
        "CPU us each": f"{found['cpu'] / read * 1e6:.0f}" if read else "",
        "MB held": f"{found['held'] / 1e6:.0f}",
    }


def _run(file: Path, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.exports.following", "--run", f"local:{file}", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _account(number: int, balance: int = 0) -> Account:
    return Account(
        number=number,
        owner=f"owner-{number % 997}@example.org",
        opened_at=_BEGUN + timedelta(seconds=number),
        balance=balance,
        note=f"the note on account {number} " * 4,
    )


def _fill(db: Database, items: int) -> None:
    """All items, and then the stream: its records would be as many."""
    db.create_table(Table(ledger.name))
    _write(db, puts=(_account(number) for number in range(items)))
    db.run(set_stream(db.port, ledger.definition))


def _change(db: Database, items: int, random: Random) -> int:
    """How many items were put, deleted and made."""
    chosen = random.sample(range(items), items // CHANGED)
    gone, rest = chosen[: len(chosen) // 10], chosen[len(chosen) // 10 :]
    made = range(items, items + len(chosen) // 10)
    _write(db, puts=[_account(number, balance=random.randrange(1000) + 1) for number in (*rest, *made)])
    key = model_of(Account).key_item
    deletes = [key(Account.by_number(number)) for number in gone]
    for part in _parts(deletes, MAX_BATCH_WRITE):
        db.run(db.port.send(BatchWriteItem(ledger.name, deletes=part)))
    return len(gone) + len(rest) + len(made)


def _write(db: Database, puts: Iterable[Account]) -> None:
    remaining = iter(puts)
    while part := [model_for(each).item(each) for each in islice(remaining, _A_ROUND)]:
        batches = [BatchWriteItem(ledger.name, batch) for batch in _parts(part, MAX_BATCH_WRITE)]
        assert not any(db.run(db.port.send_all(batches)))


def _parts(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def _compare(db: Database, folder: Path, anew: Path) -> None:
    """Whether the rows are those of a new export: each once, with the same values."""
    Exports(db, ledger).export(anew, keys=True)
    one, other = (_rows_of(place) for place in (folder, anew))
    with duckdb.connect() as engine:
        for left, right in ((one, other), (other, one)):
            asked = f"SELECT count(*) FROM (FROM {left} EXCEPT ALL FROM {right})"
            found = engine.execute(asked).fetchone()
            if found != (0,):
                raise SystemExit(f"the followed export is another table than the new one: {found} rows differ")


def _rows_of(folder: Path) -> str:
    files = read_manifest(DirectoryStore(folder)).dataset("account").files
    return f"read_parquet({[str(folder / file.path) for file in files]})"


if __name__ == "__main__":
    main()
