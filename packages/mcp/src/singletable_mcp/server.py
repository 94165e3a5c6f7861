"""The tools on the Model Context Protocol, by its own SDK, on standard input and output."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import click
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from singletable import __version__
from singletable.cli import Session, output
from singletable.database_async import AsyncDatabase
from singletable.errors import SingletableError
from singletable.flow import Meter
from singletable.foundation import Table, catalogue, class_doc, entity_name, models_of, personal_names, type_text
from singletable.holds import why_held
from singletable_mcp.tools import AgentTool, CallLimits, place_of

MODEL_URI: Final = "singletable://model"
_INSTRUCTIONS: Final = (
    "Each tool is one access pattern of a DynamoDB table. Other reads are impossible: no scan, no filter. Read the "
    f"resource {MODEL_URI} first: it has the classes, their attributes and how patterns are keyed. Every answer says "
    "what it cost."
)


class UnitBudget:
    """The units of all calls. A call's most units are reserved before it, and settled after it. One call may exceed the
    limit, if anything is left at its begin: it begins when no other is under way."""

    def __init__(self, most_units: float) -> None:
        self.most_units = most_units
        self.used = self._reserved = 0.0
        self._settled = anyio.Event()

    @asynccontextmanager
    async def spend(self, units: float) -> AsyncGenerator[Meter]:
        """Count a call of up to `units`, also one that fails. Raises UsageError if nothing is left."""
        while self._reserved and self.used < self.most_units < self.used + self._reserved + units:
            await self._settled.wait()
        if self.used >= self.most_units:
            raise click.UsageError(
                f"the budget of {self.most_units:g} units is used up: restart the server, or pass --most-units."
            )
        self._reserved += units
        meter = Meter()
        try:
            with meter:
                yield meter
        finally:
            self._reserved -= units
            self.used += max(meter.read_units + meter.write_units, meter.requests / 2)  # a refused write has none
            self._settled.set()
            self._settled = anyio.Event()


def serve(tables: Sequence[Table], tools: Sequence[AgentTool], limits: CallLimits, session: Session) -> None:
    """Serve until standard input ends. Raises UsageError for two tools of one name: an agent would reach only one."""
    names = [tool.name for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise click.UsageError(f"two tools would be named {twice}: rename a class or a pattern, or say MODULE:TABLE.")
    anyio.run(_serve, tables, tools, limits, session)


async def _serve(tables: Sequence[Table], tools: Sequence[AgentTool], limits: CallLimits, session: Session) -> None:
    async with session.connect_async_to_read() as db, stdio_server() as (incoming, outgoing):
        server = server_of(tables, tools, limits, db)
        await server.run(incoming, outgoing, server.create_initialization_options())


def server_of(
    tables: Sequence[Table], tools: Sequence[AgentTool], limits: CallLimits, db: AsyncDatabase
) -> Server[dict[str, Any]]:
    by_name = {tool.name: tool for tool in tools}
    budget = UnitBudget(limits.most_units)

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_shown(tool) for tool in tools])

    async def call_tool(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        tool = by_name.get(asked.name)
        if tool is None:
            return _refused(f"unknown tool {asked.name!r}; the tools are {', '.join(by_name)}")
        answer: dict[str, Any] = {}
        try:
            async with budget.spend(tool.most_units) as meter:
                with anyio.CancelScope(shield=True):  # what is sent costs, whether or not its answer is waited for
                    answer = await tool.call(db, asked.arguments or {})
        except (click.UsageError, SingletableError) as error:
            return _refused(error.message if isinstance(error, click.UsageError) else f"{error} [{error.code}]")
        except Exception as error:
            name = type(error).__name__
            return _refused(f"{asked.name} failed with {name} ({place_of(error)}), whose text may hold values.")
        return _told({**answer, "cost": _cost(meter)})

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        model = types.Resource(
            name="model",
            uri=MODEL_URI,
            description="The classes with their attributes, every access pattern with its key and cost, and whether a "
            "table is held: then nothing of it runs.",
            mime_type="application/json",
        )
        return types.ListResourcesResult(resources=[model])

    async def read_resource(_: Any, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if str(asked.uri) != MODEL_URI:
            raise ValueError(f"there is one resource: {MODEL_URI}")
        models = [{**model_of_table(table), "held": await _held(db, table, budget)} for table in tables]
        text = output.json_text(models)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=MODEL_URI, mime_type="application/json", text=text)]
        )

    return Server(
        "singletable",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def model_of_table(table: Table) -> dict[str, Any]:
    """The model of a table: its classes with their attributes, and the access patterns."""
    entities = [
        {
            "name": entity_name(model.kind),
            "description": class_doc(model.kind),
            "attributes": {name: type_text(kind) for name, kind in model.types.items()},
            "personal": sorted(personal_names(model.kind)),
        }
        for model in models_of(table)
        if not model.is_system
    ]
    return {"table": table.name, "entities": entities, "patterns": catalogue(table)}


async def _held(db: AsyncDatabase, table: Table, budget: UnitBudget) -> str:
    """Why nothing of a table runs; empty where it is not held. A read; that it was refused, where it was."""
    try:
        async with budget.spend(1.0):
            return await db.run(why_held(db.port, table))
    except (click.UsageError, SingletableError) as error:
        return f"not known: {error.message if isinstance(error, click.UsageError) else error.code}"


def _shown(tool: AgentTool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.writes, destructive_hint=tool.writes, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.schema), annotations=hints)


def _cost(meter: Meter) -> dict[str, float]:
    return {"requests": meter.requests, "read_units": meter.read_units, "write_units": meter.write_units}


def _told(found: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=output.json_text(found))])


def _refused(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=why)], is_error=True)
