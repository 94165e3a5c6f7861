"""A child process that deletes a node, and may die at any of its requests: `python -m tests.graph.child URL`."""

from __future__ import annotations

import sys

from singletable import connect
from singletable.wire import Traits
from tests.faults.failpoints import make_mortal
from tests.graph.models import Goal, records

LOCAL = Traits(creates_tables=True, scan_page_limit=1000, index_lag_seconds=0.0)
DOOMED = Goal(id="doomed")


def main(url: str) -> None:
    with connect(url, environ={}) as db:
        db.port.traits = LOCAL
        db.port.ready.add(records.name)
        make_mortal(db.port)
        db.delete_node(DOOMED)


if __name__ == "__main__":
    main(*sys.argv[1:])
