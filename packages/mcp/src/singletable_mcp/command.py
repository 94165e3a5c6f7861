"""`mcp`: a server that gives the access patterns of a module to agents, as tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

import click

from singletable.cli import options_anywhere, session_of, tables_of


@click.command("mcp")
@click.argument("module", metavar="MODULE[:NAME]")
@click.option(
    "--write",
    "writes",
    multiple=True,
    metavar="CLASS[.VERB]",
    help="Offer tools that create, update and delete items of a class, or one of them. May be repeated.",
)
@click.option(
    "--command",
    "commands",
    multiple=True,
    metavar="MODULE[:FUNCTION]",
    help="Offer a function that takes a Transaction, or each of a module: it writes all, or nothing. May be repeated.",
)
@click.option(
    "--bind",
    "bound",
    multiple=True,
    metavar="NAME=VALUE",
    help="Give every tool this argument: an agent can't choose it, and sees no tool without it. May be repeated.",
)
@click.option(
    "--most-items", type=click.IntRange(1, 1000), default=100, show_default=True, help="Of one page, at the most."
)
@click.option(
    "--most-units",
    type=click.FloatRange(min=0, min_open=True),
    default=1000.0,
    show_default=True,
    help="Read and write units of all calls together.",
)
@options_anywhere("personal", "db")
@click.pass_context
def mcp_command(
    ctx: click.Context,
    module: str,
    writes: Sequence[str],
    commands: Sequence[str],
    bound: Sequence[str],
    most_items: int,
    most_units: float,
    personal: bool,
) -> None:
    """Serve the access patterns as tools of the Model Context Protocol.

    \b
    singletable mcp shop.model
    singletable mcp shop.model --db aws --most-units 200
    singletable mcp shop.model --write Order.create --bind tenant=acme
    singletable mcp shop.model --command shop.orders:place

    An agent's client starts it, and talks to it on standard input and output. Each access pattern is a tool with typed
    arguments; the model is the resource singletable://model. A call reads one page at the most. Nothing is written
    without --write and --command, and personal attributes are covered without --personal.
    """
    with redirect_stdout(sys.stderr):  # standard output is the protocol's
        tables = tables_of(module)
    from singletable_mcp.commands import command_tools
    from singletable_mcp.server import serve
    from singletable_mcp.tools import CallLimits, bindings_of, read_tools
    from singletable_mcp.writes import write_tools

    session = session_of(ctx)
    limits = CallLimits(most_items, most_units, personal, bindings_of(tables, bound))
    with redirect_stdout(sys.stderr):
        declared = command_tools(commands, limits)
    tools = read_tools(tables, limits) + write_tools(tables, limits, writes) + declared
    serve(tables, tools, limits, session)
