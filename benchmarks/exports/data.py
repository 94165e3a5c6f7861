"""Data files of orders, of which each is made once."""

from __future__ import annotations

import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.libraries.ours import make, table as orders
from singletable import connect
from singletable.operations import MAX_BATCH_WRITE, batch_write
from singletable.schema.models import model_for

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / "data" / "benchmarks"
A_CUSTOMER: Final = 1_000
"""Orders of one customer."""
_A_BATCH: Final = 16 * MAX_BATCH_WRITE


def data_file(items: int, a_customer: int = A_CUSTOMER) -> Path:
    """A data file of so many orders. It gets its name when it is whole."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / (f"orders-{items}.db" if a_customer == A_CUSTOMER else f"orders-{items}-by-{a_customer}.db")
    if not file.exists():
        with tempfile.TemporaryDirectory(dir=KEPT) as folder:
            made = Path(folder, file.name)
            _fill(made, items, a_customer)
            made.rename(file)
    return file


def _fill(file: Path, items: int, a_customer: int) -> None:
    print(f"filling {file.name}", file=sys.stderr)
    entities = (make(f"customer-{n // a_customer:04}", n % a_customer) for n in range(items))
    with connect(f"local:{file}") as db:
        db.create_table(orders)
        while part := list(islice(entities, _A_BATCH)):
            puts = [model_for(entity).item(entity) for entity in part]
            batches = [puts[i : i + MAX_BATCH_WRITE] for i in range(0, len(puts), MAX_BATCH_WRITE)]
            assert not any(db.run(db.port.send_all([batch_write(orders.name, batch) for batch in batches])))
