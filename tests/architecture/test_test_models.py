"""A class that a test declares on a table of many tests would be in all of them that the same process runs later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = "tests.support."


def declared_on_shared(tree: ast.Module) -> Iterator[str]:
    """The classes whose `table=` names what was imported from tests/support."""
    shared = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(SHARED)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            tables = [ast.unparse(each.value) for each in node.keywords if each.arg == "table"]
            yield from (node.name for table in tables if table in shared)


def test_a_test_declares_on_tables_of_its_own() -> None:
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 100
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in files}
    found = {file: list(declared_on_shared(ast.parse(text))) for file, text in texts.items() if "table=" in text}
    assert len(found) > 50
    assert {file: names for file, names in found.items() if names} == {}


def test_such_a_class_is_found() -> None:
    code = "from tests.support.models import app\nclass Late(Entity, table=app): ...\nclass Own(Entity, table=own): ..."
    assert list(declared_on_shared(ast.parse(code))) == ["Late"]
