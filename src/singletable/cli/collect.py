"""`collect`: delete the contents of documents that nothing reaches, of all documents of a table."""

from __future__ import annotations

from typing import Any

import click

from singletable.cli.job import run_as_job
from singletable.cli.lookup import tables_of
from singletable.cli.session import must_say_yes, options_anywhere, session_of
from singletable.documents.inspect import documents_of


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@options_anywhere("--sections", "blobs", "rate", "read-rate", "--cap", "--read-cap", "write", "json", "db")
@click.pass_context
def collect(ctx: click.Context, /, module: str, as_json: bool, **options: Any) -> None:
    """Delete the contents of documents that nothing reaches.

    Of every document of the tables, as `collect_garbage` does for one: programs may write meanwhile. It runs as a
    durable job, which other processes share: `singletable job run`. A document and its branches are collected as a
    whole by one of them, so --cap may be passed by what those under way take. The exit code is 1 where another table
    collects, or contents are left by a collection that died.
    """
    with session_of(ctx).connect_to_read() as db:
        tables = [table for table in tables_of(module) if documents_of(table)]
        if not tables:
            raise click.UsageError(f"{module} declares no documents. Name the module of their classes.")
        must_say_yes(db, "deletes contents of", (table.name for table in tables), yes=options["yes"])
        run_as_job(ctx, db, tables, "collect", {"blobs": options["blobs"] or ""}, options, as_json=as_json)
