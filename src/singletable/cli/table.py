"""`table create|describe|diff`: the tables that a module declares, compared with the existing ones."""

from __future__ import annotations

from typing import Any

import click
from rich.status import Status

from singletable.cli import output
from singletable.cli.lookup import tables_of, tables_to_make
from singletable.cli.session import must_say_yes, options_anywhere, session_of
from singletable.database import Database
from singletable.errors import NotFound
from singletable.foundation import Table
from singletable.tables import Description

_module = click.argument("module", metavar="MODULE[:NAME]")


@click.group()
def table() -> None:
    """Create, describe and compare the declared tables."""


@table.command()
@_module
@click.option("--yes", is_flag=True, help="Create it on AWS, or at any other address than this machine's.")
@options_anywhere("json", "db")
@click.pass_context
def create(ctx: click.Context, module: str, yes: bool, as_json: bool) -> None:
    """Create the tables, and wait until they are active.

    An existing table is not changed; where it differs from its declaration, that is an error. Outside this machine
    nothing is created without --yes. With a table that has consumers of changes comes the table of their leases.
    """
    with session_of(ctx).connect() as db:
        tables = tables_to_make(db, module)
        must_say_yes(db, "creates", (table.name for table in tables), yes=yes)
        with Status("creating", console=output.console(stderr=True)):
            outcomes = [_create(db, table) for table in tables]
    if as_json:
        output.print_json([{"table": name, "created": created} for name, created in outcomes])
        return
    for name, created in outcomes:
        click.echo(f"{name}: {'created' if created else 'exists already, as declared'}")


@table.command()
@_module
@options_anywhere("json", "db")
@click.pass_context
def describe(ctx: click.Context, module: str, as_json: bool) -> None:
    """Show the existing tables: state, size, keys, indexes. The exit code is 1 where one is missing."""
    tables = tables_of(module)
    with session_of(ctx).connect_to_read() as db:
        descriptions = [_described(db, table) for table in tables]
    if as_json:
        output.print_json([_facts(description) for description in descriptions])
        return
    for description in descriptions:
        output.print_table((description.name, ""), [(k, v) for k, v in _facts(description).items() if k != "table"])


@table.command()
@_module
@options_anywhere("json", "db")
@click.pass_context
def diff(ctx: click.Context, module: str, as_json: bool) -> None:
    """Show where the tables differ from their declarations. The exit code is 1 where one differs or is missing."""
    tables = tables_of(module)
    with session_of(ctx).connect_to_read() as db:
        differences = [(table.name, difference) for table in tables for difference in db.diff_table(table)]
    if as_json:
        lines = [{"table": n, "what": d.what, "declared": d.declared, "found": d.found} for n, d in differences]
        output.print_json(lines)
    elif differences:
        titles = ("Table", "What", "Declared", "Found")
        output.print_table(titles, [(name, d.what, d.declared, d.found) for name, d in differences])
    else:
        click.echo("as declared")
    if differences:
        ctx.exit(1)


def _create(db: Database, declared: Table) -> tuple[str, bool]:
    existed = db.describe_table(declared) is not None
    db.create_table(declared)
    return declared.name, not existed


def _described(db: Database, declared: Table) -> Description:
    description = db.describe_table(declared)
    if description is None:
        raise NotFound("the table is missing", table=declared.name, hint="Create it: singletable table create MODULE.")
    return description


def _facts(description: Description) -> dict[str, Any]:
    raw = description.raw
    indexes = {name: _key(index) for name, index in description.indexes.items()}
    return {
        "table": description.name,
        "status": description.status,
        "items": description.items,
        "bytes": description.bytes,
        "key": _key(raw),
        "indexes": indexes if indexes else None,
        "ttl": description.ttl,
        "billing": raw.get("BillingModeSummary", {}).get("BillingMode"),
        "stream": raw.get("StreamSpecification", {}).get("StreamViewType"),
        "deletion_protection": raw.get("DeletionProtectionEnabled", False),
    }


def _key(raw: Any) -> str:
    """`pk + sk`, as `diff` writes it."""
    return " + ".join(k["AttributeName"] for k in sorted(raw.get("KeySchema", ()), key=lambda k: str(k["KeyType"])))
