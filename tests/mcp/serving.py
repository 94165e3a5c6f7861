"""A server's tools, called as the SDK calls them, without a process between."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from singletable import AsyncDatabase, Table


class Tell(Protocol):
    async def __call__(self, tool: str, /, **arguments: Any) -> Any: ...


@asynccontextmanager
async def serving(
    db: AsyncDatabase,
    *tables: Table,
    write: Sequence[str] = (),
    bind: Sequence[str] = (),
    units: float = 1000.0,
    command: Sequence[str] = (),
) -> AsyncIterator[tuple[Tell, dict[str, Any]]]:
    """The answer of a call, or the text of its refusal; and the tools by their names."""
    from singletable_mcp.commands import command_tools
    from singletable_mcp.server import server_of
    from singletable_mcp.tools import CallLimits, bindings_of, read_tools
    from singletable_mcp.writes import write_tools

    limits = CallLimits(100, units, bound=bindings_of(tables, bind))
    tools = read_tools(tables, limits) + write_tools(tables, limits, write) + command_tools(command, limits)
    import mcp_types

    handler: Any = server_of(tables, tools, limits, db).get_request_handler("tools/call")
    call = getattr(handler, "handler", handler)

    async def tell(tool: str, /, **arguments: Any) -> Any:
        result = await call(None, mcp_types.CallToolRequestParams(name=tool, arguments=arguments))
        text = result.content[0].text
        return text if result.is_error else json.loads(text)

    yield tell, {tool.name: tool for tool in tools}
