"""The reads of a question: the views, tables and functions in it, from DuckDB's syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import duckdb
import msgspec

from singletable.errors import InvalidRequest

_FUNCTIONS: Final = frozenset({"unnest", "range", "generate_series", "repeat", "repeat_row"})
"""Table functions that read nothing. Others read files, or run a text that nobody has looked at."""
_CATALOGUE: Final = "duckdb_"
"""The prefix of functions that list views and settings."""
_SCHEMAS: Final = frozenset({"information_schema", "pg_catalog"})
_PLAIN = re.compile(r"\w+").fullmatch
"""A name that no file has, nor what the session registered: those have a dot or a space."""


def check_reads_views(db: duckdb.DuckDBPyConnection, sql: str, views: frozenset[str]) -> None:
    """InvalidRequest for a question that reads anything but these views: where they cover what is personal, the files
    of the export are closed to it. Names of views in lower case.

    A name of a `WITH` counts wherever it stands, so it must be plain: outside of its own part of the question it would
    be that of a file.
    """
    ((said,),) = db.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
    tree: Any = msgspec.json.decode(said)
    if tree.get("error"):
        raise InvalidRequest(
            "this form of a question can't be asked while personal values are covered",
            hint="Ask by SELECT; or show the values: --personal.",
        )
    nodes = list(_nodes(tree))
    given = {str(entry["key"]).lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    if unclear := [name for name in given if not _PLAIN(name)]:
        raise InvalidRequest(
            f"WITH has a name that may be a file's while personal values are covered: {unclear[0]!r}",
            hint="Give it a name of letters, digits and _; or show the values: --personal.",
        )
    named = views | given
    for node in nodes:
        if node.get("type") == "TABLE_FUNCTION":
            name = str(node.get("function", {}).get("function_name", "")).lower()
            if name not in _FUNCTIONS and not name.startswith(_CATALOGUE):
                raise _closed(name)
        elif node.get("type") == "BASE_TABLE":
            name, schema = str(node.get("table_name", "")).lower(), str(node.get("schema_name", "")).lower()
            if name not in named and not (schema in _SCHEMAS and _PLAIN(name)):
                raise _closed(name)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _closed(name: str) -> InvalidRequest:
    return InvalidRequest(
        f"SQL reads nothing but the export's views while personal values are covered, not {name!r}",
        hint="Ask its views; or show the values: --personal.",
    )
