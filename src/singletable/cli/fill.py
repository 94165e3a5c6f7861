"""`fill`: bring the items of a table to what its classes declare."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from rich.status import Status

from singletable.cli import output
from singletable.cli.job import is_job, run_as_job
from singletable.cli.lookup import tables_of
from singletable.cli.session import must_say_yes, options_anywhere, rate_of, session_of
from singletable.database import Database
from singletable.foundation import Table
from singletable.migrations import Filled, Migrations


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--dry-run", is_flag=True, help="Count what would be written, and write nothing.")
@click.option("--anew", is_flag=True, help="Begin again, where an earlier run was ended.")
@options_anywhere("job", "rate", "read-rate", "share-rate", "segments", "write", "json", "db")
@click.pass_context
def fill(ctx: click.Context, /, module: str, as_json: bool, **options: Any) -> None:
    """Write missing index keys, and rewrite older schema versions.

    Deploy the program that writes the new form first. Programs may write meanwhile: each item is written under the
    condition that it is as it was read. A run that was ended goes on where it was; a second one writes nothing. The
    exit code is 1 where items could not be read, or have a type that MODULE doesn't declare.
    """
    with session_of(ctx).connect_to_read() as db:
        tables = tables_of(module)
        names = (table.name for table in tables)
        must_say_yes(db, "writes items of", names, yes=options["yes"] or options["dry_run"])
        if is_job(options, "dry_run", "anew", "share_rate", "segments"):
            run_as_job(ctx, db, tables, "fill", {}, options, as_json=as_json)
            return
        with output.MeteredBlock(db) as cost:
            fills = [(table, _filled(db, table, options)) for table in tables]
    if as_json:
        output.print_json([_facts(table, filled) for table, filled in fills])
    else:
        for table, filled in fills:
            _tell(table, filled, is_dry=options["dry_run"])
    cost.print()
    if any(
        filled.unknown or filled.unreadable or filled.contended or filled.twice or filled.unfilled
        for _, filled in fills
    ):
        ctx.exit(1)


def _filled(db: Database, table: Table, options: dict[str, Any]) -> Filled:
    with Status(f"{table.name}: reading", console=output.console(stderr=True)) as status:

        def show(filled: Filled) -> None:
            status.update(f"{table.name}: {filled.seen} items read, {filled.written} written")

        return Migrations(db, table).fill(
            segments=options["segments"],
            dry_run=options["dry_run"],
            anew=options["anew"],
            rate=rate_of(options, table),
            progress=show,
        )


def _facts(table: Table, filled: Filled) -> dict[str, Any]:
    findings = {
        name: [output.facts_of(table, each) for each in getattr(filled, name)] for name in ("unreadable", "twice")
    }
    return {"table": table.name, **msgspec.to_builtins(filled), **findings}


def _tell(table: Table, filled: Filled, *, is_dry: bool) -> None:
    click.echo(f"{table.name}: {filled.seen} items read, {filled.written} {'to write' if is_dry else 'written'}")
    if is_dry:
        for example in filled.examples:
            click.echo(f"  as in {output.clean(example)}")
    if filled.moved:
        click.echo(
            f"  {filled.moved} of them {'lie under' if is_dry else 'were moved from'} the key that their class had"
        )
    if filled.completed:
        click.echo(f"  {filled.completed} {'lack' if is_dry else 'lacked'} a guard, a copy or a part of their edge set")
    for key in filled.obsolete:
        click.echo(f"  {key}: nothing lies under the old key; was= can go once no program writes there any more")
    for finding in (*filled.twice, *filled.unfilled):
        click.echo(f"  {output.finding_line(table, finding)}")
    if filled.unknown:
        click.echo(f"  {filled.unknown} of a type that no class here has; they were left unchanged")
    if filled.contended:
        click.echo(f"  {filled.contended} changed between each read and write; fill again")
    for finding in filled.unreadable:
        click.echo(f"  {output.finding_line(table, finding)}")
