"""A point in time has no manifest of contents: collections since leave what its documents reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable import connect
from singletable.documents import Documents, LocalBlobs
from singletable.exchange import Restore
from singletable.migrations import Backups
from tests.exchange.restored import Cell, Page, fill, shop, write
from tests.exchange.test_restore import nobody_waits
from tests.support.findings import but_garbage

pytestmark = pytest.mark.embedded("the file of the embedded engine is copied as a point in time")


def test_what_was_collected_since_is_not_missing_but_what_was_deleted_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = LocalBlobs(tmp_path / "blobs")
    with connect(f"local:{tmp_path / 'live.db'}") as db:
        fill(db, blobs)
        pages = Documents(db, Page, blobs=blobs)
        pages.branch("p1", "p2")
        pages.apply("p2", [write(id="c9", text="of the branch alone").by("bob", 1)])
        pages.submit("p1", [write(id="c8", text="waiting then").by("late", 1)])
        Backups(db, shop).copy(tmp_path / "then.db")  # no store is known to it: so no manifest
        for number, text in enumerate(("over it", "and again"), 10):
            pages.apply("p1", [write(id="c1", text=text).by("cyd", number - 9)])
        pages.store("p1", Page.cells, [Cell("garbage")])
        assert pages.collect_garbage("p1").deleted == 1
        with connect(f"local:{tmp_path / 'then.db'}") as copy, connect(f"local:{tmp_path / 'back.db'}") as back:
            monkeypatch.setattr(back.port, "sleep", nobody_waits)
            Restore(back, shop, blobs=blobs).run(copy=copy)
            assert but_garbage(back.check(shop, Documents(back, Page, blobs=blobs))) == []
            pages.delete("p2")
            assert pages.collect_garbage("p1").deleted == 1
            missing = but_garbage(back.check(shop, Documents(back, Page, blobs=blobs)))
            assert {finding.code for finding in missing} == {"blob.wrong"}
