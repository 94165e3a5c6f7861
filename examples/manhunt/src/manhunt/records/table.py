"""One table of two overloaded indexes, and what is put off in it."""

from __future__ import annotations

from singletable import Table
from singletable.tasks import Tasks

manhunt = Table(
    "manhunt",
    key=("PK", "SK"),
    indexes={"GSI1": ("GSI1PK", "GSI1SK"), "GSI2": ("GSI2PK", "GSI2SK")},
    type_attribute="entityType",
    overlap="guard",
    stream="new_and_old",
)
tasks = Tasks(manhunt, index="GSI2")
"""What is put off: the steps of searches and their messages. A search's index keys begin with its status, a task's with
`Due` or `Dead`: they share GSI2 and never a partition."""
