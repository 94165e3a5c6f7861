"""Copies bound to two databases."""

from __future__ import annotations

from singletable.exchange.renamed_port import RenamedPort
from singletable.exchange.table_copy import Copied, CopyOptions, Progress, copy_table
from singletable.flow import Rate, about, at_rate, check_awaiting
from singletable.foundation import AwaitingDatabase, Table


class AsyncTableCopy:
    """Copies a table of one database into another: to another account, another engine, or under another name.

        AsyncTableCopy(source, target, shop).run(sample=0.01, follow_edges=True)

    `to_table` is the table's name in the target, where it is another than the target's own.
    """

    def __init__(
        self, source: AwaitingDatabase, target: AwaitingDatabase, table: Table, *, to_table: str | None = None
    ) -> None:
        check_awaiting(source, "AsyncTableCopy")
        check_awaiting(target, "AsyncTableCopy")
        self.source, self.target, self.table, self.to_table = (
            about(source, table),
            target,
            table,
            to_table or target.port.names[table.name],
        )

    def __repr__(self) -> str:
        return f"<AsyncTableCopy of {self.table.name}>"

    async def run(
        self,
        *,
        sample: float | None = None,
        seed: int = 0,
        follow_edges: bool = False,
        keep_personal: bool = False,
        mask_key: bytes | None = None,
        add: bool = False,
        dry_run: bool = False,
        hold: bool | None = None,
        source_rate: Rate | None = None,
        target_rate: Rate | None = None,
        progress: Progress | None = None,
    ) -> Copied:
        """Copy the table, or go on with a copy that was ended. The source is only read; programs may write to it.

        Attributes with `field(personal=True)` get masks, the same for the same value, also in keys and in guards of
        unique values; `keep_personal` copies them unmasked. With a `mask_key` of 16 bytes or more, two copies mask
        alike. A whole copy with `keep_personal` puts every raw item; others leave the items behind that belong to the
        work of the source (leases, tasks, clients), and count them in `left_out`.

        `sample` scans a part of the table, as 0.01, which `seed` chooses; `follow_edges` takes along what that part
        refers to: an edge's two nodes and a node's edges, what `belongs_to=`, `mentions=`, copies and keys name,
        documents whole, with their parents. Edges with a missing node are left out, and edge sets name the copied
        edges.

        The target of a table with a stream, or with tasks of any module, is held until `singletable release`, in
        Python `Hold(db, table).release()`, and what the copy writes is no change to them. `hold` decides it for any
        table. A target that was there before is held for five seconds before its first item comes. With `dry_run`,
        `work` of the answer has what the release would begin.

        It reads the source once, consistently: a read unit for each 4 KB; `follow_edges` reads the rest again. It
        writes each item once, 25 in a request, and its record after each page. InvalidRequest for a target that is the
        source, or that has items, unless `add` replaces those of equal keys. `dry_run` counts, and writes nothing.
        Throttled if a table refuses for minutes on end; called again, it goes on.
        """
        options = CopyOptions(sample, seed, follow_edges, keep_personal, mask_key, add, dry_run, hold)
        target = at_rate(self.target.port, target_rate)
        if self.to_table != target.names[self.table.name]:
            target = RenamedPort(target, self.table.name, self.to_table)
        source, place = at_rate(self.source.port, source_rate), self.source.target.place
        return await self.source.run(copy_table(source, target, self.table, options, progress, place))
