"""Holds: what was copied or restored runs nothing until somebody releases it.

    await hold(port, shop, "copied from aws")      # before the first item
    await release(port, shop)                      # workers begin, with what changes from now on

A hold is one item of the table. Each worker asks a `TableGate` before it begins anything (`flow.worker`), and so does
each Lambda handler: while the table is held tasks wait, messages go back, and no handler of changes is called. After
the release, changes that are older than it are handled by nobody: they are what the copy itself wrote.

Begin with `table_hold`; then `gate`. `work` has what layers say of the work that a release begins.
"""

from singletable.holds.gate import TableGate as TableGate
from singletable.holds.item import HoldItem as HoldItem
from singletable.holds.table_hold import hold as hold, hold_of as hold_of, release as release, why_held as why_held
from singletable.holds.work import HasPendingWork as HasPendingWork, PendingWork as PendingWork
