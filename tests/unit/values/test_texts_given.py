"""One text where several are taken is refused: each of its letters would be one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singletable import InvalidRequest, Table, connect
from singletable.documents import Documents, LocalBlobs
from singletable.errors import DeclarationError
from singletable.exchange import Exports, Imports, Restore
from singletable.graph import GraphTable
from singletable.migrations import Migrations
from singletable.release import Hold
from tests.documents.models import Project
from tests.support.models import app

DECLARED: dict[str, Callable[[], Any]] = {
    "indexes": lambda: Table("t", indexes="gsi1"),
    "ignores": lambda: Table("t", foreign=True, ignores="gsi1"),
    "indexes of a graph": lambda: GraphTable("t", indexes="gsi1"),
}
CALLED: dict[str, Callable[[Any], Any]] = {
    "export": lambda db: Restore(db, app).run(export="folder"),
    "export as a path": lambda db: Restore(db, app).plan(export=Path("folder")),  # type: ignore[arg-type]
    "exports": lambda db: Exports(db, app).export_from("folder", "to"),
    "ignore": lambda db: Imports(db, app).run("folder", ignore="note"),
    "ignore of a table": lambda db: Imports(db, app).run_table(db, "orders", {}, ignore="note"),
    "purge": lambda db: Migrations(db, app).plan(purge="note"),
    "drop": lambda db: Hold(db, app).release(drop="send_mail"),
    "ids": lambda db: Documents(db, Project, blobs=LocalBlobs("blobs")).load({}, "s1"),  # type: ignore[arg-type]
    "clients": lambda db: Documents(db, Project, blobs=LocalBlobs("blobs")).last_ids("p1", "c1"),
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_declaration_takes_several(name: str) -> None:
    with pytest.raises(DeclarationError, match=f"{name.split()[0]}= takes several texts"):
        DECLARED[name]()


@pytest.mark.parametrize("name", CALLED)
def test_a_call_takes_several(name: str) -> None:
    with (
        connect("http://127.0.0.1:9", environ={}) as db,  # nothing is sent
        pytest.raises(InvalidRequest, match=f"{name.split()[0]}= takes several texts"),
    ):
        CALLED[name](db)
