"""What a layer raises has its place: its class runs its flows by `db.run`, over a database that knows its tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import Source, sources

SHELLS = ("singletable.database", "singletable.records.transaction_block")
"""Modules, or their beginnings, that run flows themselves: their flows tell their errors the place."""
SEVERAL = ("singletable.graph.",)
"""Modules of a layer whose flows read any table: each of their errors has a table of its own."""


def unplaced(file: Source) -> Iterator[str]:
    """What a module of a shell does that leaves an error without its place."""
    if file.module.startswith(SHELLS):
        return
    for node in ast.walk(file.tree):
        inner = node.value if isinstance(node, ast.Await) else None
        if isinstance(inner, ast.Call) and ast.unparse(inner.func).startswith("flows."):
            yield f"{file.module} awaits {ast.unparse(inner.func)} without db.run"
    runs = any(ast.unparse(node).endswith(("db.run", "source.run")) for node in _attributes(file.tree))
    sets = "self.db" in {ast.unparse(node) for node in _attributes(file.tree) if isinstance(node.ctx, ast.Store)}
    if (
        runs
        and sets
        and not file.module.startswith(SEVERAL)
        and "about" not in {node.id for node in ast.walk(file.tree) if isinstance(node, ast.Name)}
    ):
        yield f"{file.module} keeps a database that does not know its tables: about(db, table)"


def _attributes(tree: ast.Module) -> Iterator[ast.Attribute]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def test_each_class_of_a_layer_says_where_its_errors_are() -> None:
    shells = [file for file in sources() if file.module.endswith("_async")]
    assert len(shells) > 15
    assert [what for file in shells for what in unplaced(file)] == []


@pytest.mark.parametrize(
    "body",
    [
        "await flows.read(self.db.port)",
        "await self.db.run(flows.read(self.db.port))",
    ],
)
def test_what_forgets_it_is_found(body: str) -> None:
    text = f"class Layer:\n    def __init__(self, db):\n        self.db = db\n    async def read(self):\n        {body}"
    assert list(unplaced(Source("singletable.layer.layer_async", text, False)))
    placed = text.replace("= db", "= about(db, table)")
    assert list(unplaced(Source("singletable.layer.layer_async", placed, False))) == (
        [] if "run" in body else ["singletable.layer.layer_async awaits flows.read without db.run"]
    )
