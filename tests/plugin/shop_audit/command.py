"""`audit`: leave a mark in each table of a module."""

from __future__ import annotations

import click

from shop_audit.mark import AuditMark
from singletable.cli import options_anywhere, session_of, tables_of


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--by", required=True, help="Who audits.")
@options_anywhere("db")
@click.pass_context
def audit(ctx: click.Context, module: str, by: str) -> None:
    """Mark the tables as audited.

    The page Audits of the studio lists the marks.
    """
    with session_of(ctx).connect_to_read() as db:
        for table in tables_of(module):
            db.put(AuditMark.of(table)(by=by))
            click.echo(f"{table.name}: audited by {by}")
