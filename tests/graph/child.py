"""A child process that deletes a node, or sweeps the table, and may die at any of its requests.

python -m tests.graph.child URL [delete|sweep] [seconds that an index may be behind]
"""

from __future__ import annotations

import sys

from msgspec.structs import replace

from singletable import connect
from singletable.flow import Traits
from singletable.graph import Graph
from tests.faults.failpoints import make_mortal
from tests.graph.models import Goal, records

LOCAL = Traits(creates_tables=True, scan_page_limit=1000, index_lag_seconds=0.0)
DOOMED = Goal(id="doomed")


def main(url: str, what: str = "delete", lag: str = "0") -> None:
    with connect(url, environ={}) as db:
        db.port.traits = replace(LOCAL, index_lag_seconds=float(lag))
        db.port.ready.add(records.name)
        make_mortal(db.port)
        if what == "delete":
            Graph(db).delete_node(DOOMED)
        else:
            db.sweep_table(records)


if __name__ == "__main__":
    main(*sys.argv[1:])
