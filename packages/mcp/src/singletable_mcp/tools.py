"""Access patterns as tools for agents: each reads one page, and is held to limits of items and units."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click

from singletable.cli import output
from singletable.database_async import AsyncDatabase
from singletable.errors import NotConfigured
from singletable.foundation import AccessPattern, KeyOf, Page, Query, Table, catalogue
from singletable.pattern_calls import Pattern, patterns_of
from singletable.schema import Whole, whole_items
from singletable_mcp.schema import arguments_in, schema_of, text_of, truth, value_in, whole_number, without_nulls

_LIMIT: Final = "page_limit"
_AFTER: Final = "page_after"
_NEWEST: Final = "newest_first"
_FEW: Final = 25
READ_UNITS, WRITE_UNITS = 128.0, 1_000.0
"""The most units of a call: a page of 1 MB; an item of 400 KB in a transaction, with its indexes."""


@dataclass(frozen=True)
class CallLimits:
    """The limits of one call, and of all calls together."""

    most_items: int
    """The most items of a page."""
    most_units: float
    """Read and write units of all calls, until the server ends."""
    personal: bool = False
    """Whether the values of personal attributes are shown."""
    bound: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments that every tool has, by name, as texts: tools without them are not offered."""


@dataclass(frozen=True)
class AgentTool:
    """One tool: what an agent sees of it, and what it does."""

    name: str
    description: str
    schema: Mapping[str, Any]
    call: Callable[[AsyncDatabase, Mapping[str, Any]], Awaitable[Any]]
    """Takes the arguments of a call, and returns what JSON can hold. UsageError, or an error of the library."""
    most_units: float = READ_UNITS
    """The units of the budget that are kept free for one call."""
    writes: bool = False


def read_tools(tables: Sequence[Table], limits: CallLimits) -> list[AgentTool]:
    """A tool for each access pattern of the tables that takes what is bound, without those of the library's own
    items."""
    return [
        _tool(pattern, told, limits)
        for table in tables
        for told in catalogue(table)
        for pattern in patterns_of(table)
        if (pattern.entity, pattern.name) == (told.entity, told.name) and limits.bound.keys() <= pattern.slots.keys()
    ]


def bindings_of(tables: Sequence[Table], words: Sequence[str]) -> dict[str, str]:
    """Arguments by name, from words such as `tenant=acme`. UsageError for one that no access pattern takes."""
    slots = [(name, slot) for table in tables for p in patterns_of(table) for name, slot in p.slots.items()]
    bound: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name in bound:
            raise click.UsageError(f"--bind {word}: say NAME=VALUE, once for each name.")
        taking = [slot for each, slot in slots if each == name]
        if not taking:
            raise click.UsageError(f"--bind {word}: no access pattern takes {name}.")
        for slot in taking:
            value_in(slot, text)
        bound[name] = text
    return bound


def place_of(error: BaseException) -> str:
    """The line that raised an error: `orders.py, line 12`."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{at.filename.rpartition('/')[2]}, line {at.lineno}"


def tool_name(*words: str) -> str:
    """A name that clients take: letters, digits, `_` and `-`, 64 at most."""
    return "_".join(words).replace(".", "_")[:64]


def _tool(pattern: Pattern, told: AccessPattern, limits: CallLimits) -> AgentTool:
    schema = schema_of(pattern, limits.bound)
    options = _options(told, limits)
    schema["properties"] = {**options, **schema["properties"]}  # an argument of the same name goes first

    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        own = {name for name in options if name not in pattern.captured.parameters}
        arguments = {name: value for name, value in given.items() if name not in own}
        asked = pattern.call(**arguments_in(pattern, arguments, limits.bound))
        return await _read(db, asked, without_nulls({name: given[name] for name in own & given.keys()}), limits)

    return AgentTool(tool_name(pattern.entity, pattern.name), _description(pattern, told), schema, call)


def _options(told: AccessPattern, limits: CallLimits) -> dict[str, Any]:
    """The further arguments of a page. A collection is read as a whole."""
    if told.kind == "collection":
        return {}
    few = min(_FEW, limits.most_items)
    return {
        _LIMIT: {"type": "integer", "minimum": 1, "maximum": limits.most_items, "default": few},
        _AFTER: {"type": "string", "description": "the cursor of the page before"},
        _NEWEST: {"type": "boolean", "description": "in descending order of the sort key", "default": False},
    }


def _description(pattern: Pattern, told: AccessPattern) -> str:
    place = f"index {told.index}" if told.index else "the table"
    sparse = f" Items without {' or '.join(told.sparse_by)} are not in it." if told.sparse_by else ""
    keys = f"{told.partition} / {told.sort or 'everything'}"
    lines = (
        told.description or f"Reads {pattern.entity} by {told.name}.",
        f"Returns {pattern.entity}. Reads {place} {told.table}: {keys}.{sparse}",
        f"Costs {told.requests}, {told.capacity}.",
    )
    return "\n".join(lines)


async def _read(
    db: AsyncDatabase, asked: Query[Any] | Whole[Any], options: Mapping[str, Any], limits: CallLimits
) -> Any:
    if isinstance(asked, Whole):
        whole = await db.get(asked, max_pages=1)
        return {"item": output.plain(whole, personal=limits.personal)}
    if isinstance(asked, KeyOf) and asked.is_one_key:
        return {"item": output.plain(await db.get(asked), personal=limits.personal)}
    limit = whole_number(_LIMIT, options.get(_LIMIT, min(_FEW, limits.most_items)), 1, limits.most_items)
    query = asked.newest_first() if truth(_NEWEST, options.get(_NEWEST, False)) else asked
    after = text_of(_AFTER, options[_AFTER]) if _AFTER in options else None
    page = await db.page(whole_items(query), limit=limit, after=after, max_pages=1)
    return {"items": output.plain(list(page), personal=limits.personal), **_next(page)}


def _next(page: Page[Any]) -> dict[str, Any]:
    """The cursor; or, where none can be made, that there is more."""
    try:
        return {"cursor": page.cursor}
    except NotConfigured as error:
        return {"cursor": None, "more": str(error)}
