"""The garbage of all documents of a table: a family is collected where a scan meets the item of its root.

A family is collected as a whole, by the rules of `garbage`: what it reaches is known before anything is deleted, and
what is written meanwhile stays. Families share nothing, so any number are collected at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from singletable.documents.blobs import BlobStore, NoBlobs
from singletable.documents.context import Context, contexts_in
from singletable.documents.deletion import collect_family
from singletable.documents.families import family_of
from singletable.documents.rows import GcEpoch
from singletable.errors import InvalidRequest, NotConfigured, SingletableError
from singletable.flow import Port
from singletable.foundation import CursorSeal, Finding, Table, finding_in, model_of, place_in
from singletable.operations import Item

_UNREADABLE: Final = "its class can't read it, so its contents stay: db.check(table) says why"
_LEFT: Final = (
    "contents are left: another collection deletes them, or has died: collect_garbage(id, take_over=True) for one of "
    "its documents, where no other runs"
)


class TableGarbage:
    """The document classes of a table whose contents are collected. Raises NotConfigured if none has a blob store."""

    def __init__(self, table: Table, seal: CursorSeal, blobs: BlobStore | None) -> None:
        every = list(contexts_in(table, seal, blobs))
        self._of_type: dict[str, Context[Any]] = {
            model_of(context.model.rows.epoch).type: context
            for context in every
            if not isinstance(context.store, NoBlobs)
        }
        self.table = table
        self.left_out = [
            f"the contents of {context.kind.__name__}: no blob store is configured here"
            for context in every
            if isinstance(context.store, NoBlobs)
        ]
        if not self._of_type:
            what = "no class of documents has a blob store here" if every else "no class of documents is declared"
            raise NotConfigured(
                what,
                table=table.name,
                operation="collect_garbage",
                hint="Import the module of the classes, and name their store: Document's blobs=, or --blobs.",
            )

    async def collect(self, port: Port, items: Sequence[Item]) -> tuple[Counter[str], list[Finding]]:
        """Collect the families whose roots are among the items of a page. Returns what `Collected` counts, over all of
        them, and what needs a person: a family that another table collects, contents that an earlier run left."""
        counts, findings = Counter[str](), list[Finding]()
        for item in items:
            context = self._of_type.get(self.table.type_of(item))
            if context is None:
                continue
            try:
                root: GcEpoch | None = model_of(context.model.rows.epoch).load(item)
            except SingletableError:
                place = place_in(self.table, item)
                findings.append(Finding("document.unreadable", _UNREADABLE, self.table.type_of(item), place))
                continue
            if root is not None and root.pool is None:
                await self._collect(port, context, root, counts, findings)
        return counts, findings

    async def _collect(
        self, port: Port, context: Context[Any], root: GcEpoch, counts: Counter[str], findings: list[Finding]
    ) -> None:
        family = await family_of(port, context, root.document_id)
        if family is None or not family.living:
            return
        try:
            collected = await collect_family(port, context, family)
        except InvalidRequest as error:
            findings.append(finding_in(root, "document.not-collected", str(error)))
            return
        if collected is None:
            return
        counts["families"] += 1
        counts.update(vars(collected))
        if collected.left:
            findings.append(finding_in(root, "document.left", f"{collected.left} {_LEFT}"))
