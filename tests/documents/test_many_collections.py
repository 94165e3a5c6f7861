"""A document of many collections: no version writes more than a transaction may, whatever its mutations change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from singletable import Table
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs
from singletable.operations import MAX_ACTIONS, TransactWriteItems
from tests.support.engines import fresh

wide = Table("wide-documents", indexes=["gsi1"])
NAMES = [f"c{n:02}" for n in range(30)]


class Wide(Document, table=wide, index="gsi1"):
    __annotations__ = dict.fromkeys(NAMES, Items[int])


@Wide.mutation
def put(draft: Draft[Wide], *, name: str, value: int) -> None:
    getattr(draft, name)["x"] = value


def test_a_version_has_no_more_writes_than_a_transaction(tmp_path: Path) -> None:
    """40 clients change 30 collections, which are 112 writes: they go into two versions, and none is lost."""
    sent: list[int] = []
    with fresh() as db:
        note_transactions(db, sent)
        documents = Documents(db, Wide, blobs=LocalBlobs(tmp_path))
        documents.create("o1", "p1")
        documents.submit("p1", [put(name=NAMES[n % 30], value=n).by(f"c{n:02}", 1) for n in range(40)])
        outcomes = documents.process("p1")
        head = documents.head("p1")
        assert [each.status for each in outcomes] == ["applied"] * 40
        assert head.version == 2
        found = {name: dict(documents.load(getattr(head, name))) for name in NAMES}
        assert found == {name: {"x": n + 30 if n < 10 else n} for n, name in enumerate(NAMES)}
        assert documents.check("p1") == []
    assert max(sent) == MAX_ACTIONS


def note_transactions(db: Any, sent: list[int]) -> None:
    """The number of actions of each transaction from now on."""
    send = db.port.send

    async def noted(operation: Any) -> Any:
        if isinstance(operation, TransactWriteItems):
            sent.append(len(operation.actions))
        return await send(operation)

    db.port.__dict__["send"] = noted
