"""One export of ours, an import or a bare scan, in a process of its own: what it took, and the most memory it held.

python -m benchmarks.exports.ours parquet TARGET FOLDER [ITEMS OF A SECTION]
python -m benchmarks.exports.ours import-parquet TARGET FOLDER
python -m benchmarks.exports.ours scan TARGET FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.libraries.ours import table
from benchmarks.memory import peak_bytes
from singletable import Database, connect
from singletable.exchange import Exports, Imports, export
from singletable.operations import Scan, Selection
from singletable.operations.answers import RAW
from singletable.wire import RetryPolicy

IMPORT = "import-"
"""Of a format, which the table is exported to before: its rows are read as entities, and not written."""


def bare_scan(db: Database) -> int:
    """Every item as a plain dict, a page at a time: what anything that looks at all items has to do."""
    after, count = None, 0
    while True:
        selection = Selection(limit=db.port.traits.scan_page_limit, after=after)
        found = db.run(db.port.send(Scan(table.name, selection, RAW)))
        count += len(found.items)
        after = found.after
        if after is None:
            return count


def main() -> None:
    what, target, folder, *section = sys.argv[1:]
    if section:
        export.SECTION_ITEMS = int(section[0])
    with connect(target, retry=RetryPolicy(attempts=5)) as db:
        if what.startswith(IMPORT):
            Exports(db, table).export(folder, format=what.removeprefix(IMPORT))  # type: ignore[arg-type]
        cpu, wall = time.process_time(), time.perf_counter()
        if what == "scan":
            items = bare_scan(db)
        elif what.startswith(IMPORT):
            imported = Imports(db, table).run(folder, dry_run=True)
            items = imported.written
        else:
            items = Exports(db, table).export(folder, format=what).items  # type: ignore[arg-type]
        took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    print(json.dumps({"items": items, "bytes": size, **took, "held": peak_bytes()}))


if __name__ == "__main__":
    main()
