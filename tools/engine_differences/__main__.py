"""The command: run, compare."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from singletable_local.binary import ENGINE_NAME, ENGINE_VERSION
from tools.engine_differences.suite import NoSuite, copied, run
from tools.engine_differences.table import Table, changes, read, table_of, written

TABLE = Path(__file__).parents[2] / "docs" / "reference" / "engine-differences.toml"


def measured(checkout: Path, files: Sequence[str], before: Table | None) -> Table:
    """A run of the suite as a table."""
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder)
        commit = copied(checkout, suite)
        return table_of(run(suite, files, quiet=False), commit, f"{ENGINE_NAME} {ENGINE_VERSION}", before)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.engine_differences")
    parser.add_argument("command", choices=["run", "compare"])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--only", nargs="+", default=[], metavar="FILE", help="files of the suite, as test_item.py")
    given = parser.parse_args(arguments)
    before = read(given.table.read_text()) if given.table.exists() else None
    try:
        after = measured(given.checkout, given.only, before)
    except NoSuite as error:
        print(f"the suite can't be run: {error}", file=sys.stderr)
        return 2
    if given.command == "run":
        given.table.write_text(written(after))
        print(f"{given.table}: {after.counts}")
        return 0
    if before is None:
        print(f"{given.table} is missing: `run` writes it", file=sys.stderr)
        return 2
    found = changes(before, after, given.only)
    print("\n".join(found) or "as the table says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
