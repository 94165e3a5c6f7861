"""`copy`: a table, or a slice of it, into another database."""

from __future__ import annotations

import os
from typing import Any

import click
import msgspec
from rich.status import Status

from singletable.cli import output
from singletable.cli.job import is_job, run_as_job
from singletable.cli.lookup import tables_of
from singletable.cli.release import show_work
from singletable.cli.session import Session, mask_key, must_say_yes, options_anywhere, session_of
from singletable.database import Database, connect
from singletable.flow import Rate
from singletable.foundation import Table
from singletable.wire import credentials_from

_IDENTITY = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@click.command("copy")
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--from", "source", required=True, metavar="TARGET", help="Where it is read, as --db: aws, local:FILE.")
@click.option("--to", "target", required=True, metavar="TARGET", help="Where it is written.")
@click.option("--from-profile", metavar="NAME", help="The AWS profile to read with.")
@click.option("--to-profile", metavar="NAME", help="The AWS profile to write with: another account's, say.")
@click.option("--to-table", metavar="NAME", help="The table's name in the target, if it differs.")
@click.option("--follow-edges", is_flag=True, help="With --sample: take along what the part refers to.")
@click.option("--keep-personal", is_flag=True, help="Copy personal values unmasked.")
@click.option("--add", is_flag=True, help="Into a table that has items: those of equal keys are replaced.")
@click.option("--hold/--no-hold", default=None, help="Hold the copy until its release. [default: if it has workers]")
@click.option("--dry-run", is_flag=True, help="Count what would be copied, and write nothing.")
@options_anywhere("job", "sample", "seed", "rate", "read-rate", "write", "json", "names")
def copy_command(module: str, source: str, target: str, as_json: bool, **options: Any) -> None:
    """Copy tables from one database into another.

    \b
    singletable copy shop.model --from aws --to local:copy.db --sample 1% --follow-edges
    singletable copy shop.model --from aws --from-profile prod --to aws --to-profile test --yes

    Values of attributes with personal=True get masks of the same type and shape, the same for the same value, in keys
    and guards too; --keep-personal copies them unmasked. Two copies mask alike if SINGLETABLE_MASK_KEY, of 16
    characters or more, is the same. A copy that was ended goes on with the same command.

    A copy of a table with a stream or tasks is held: its workers begin nothing until `singletable release`. With
    --dry-run it lists what that would begin.

    The exit code is 1 where items stayed behind, each kind with its reason.
    """
    from singletable.exchange import TableCopy

    tables = tables_of(module)
    if options["to_table"] and len(tables) > 1:
        raise click.UsageError(f"{module} has {len(tables)} tables: name one, MODULE:NAME, with --to-table.")
    ctx = click.get_current_context()
    session = session_of(ctx)
    with (
        _connected(session.at(source), options["from_profile"], must_exist=True) as one,
        _connected(session.at(target), options["to_profile"], must_exist=False) as other,
        output.MeteredBlock(one) as cost,
    ):
        names = (options["to_table"] or other.target.names[table.name] for table in tables)
        must_say_yes(other, "writes items of", names, yes=options["yes"] or options["dry_run"])
        if is_job(options, "sample", "follow_edges", "dry_run", "to_table"):
            given = {"source": source, **{name: options[name] for name in ("keep_personal", "add", "hold")}}
            run_as_job(ctx, other, tables, "copy", given, options, as_json=as_json, source=one)
            return
        copied = [_run(TableCopy(one, other, each, to_table=options["to_table"]), each, options) for each in tables]
    if as_json:
        facts = [(table.name, msgspec.to_builtins(each)) for table, each in zip(tables, copied, strict=True)]
        output.print_json([{"table": name, **each} for name, each in facts])
    else:
        for table, each in zip(tables, copied, strict=True):
            _tell(table, each, is_dry=options["dry_run"])
    cost.print()
    if any(each.left_out for each in copied):
        click.get_current_context().exit(1)


def _run(copy: Any, table: Table, options: dict[str, Any]) -> Any:
    with Status(f"{table.name}: reading", console=output.console(stderr=True)) as status:

        def show(at: Any) -> None:
            status.update(f"{table.name}: {at.read} items read, {at.written} written")

        return copy.run(
            sample=options["sample"],
            seed=options["seed"],
            follow_edges=options["follow_edges"],
            keep_personal=options["keep_personal"],
            mask_key=None if options["keep_personal"] else mask_key(),
            add=options["add"],
            dry_run=options["dry_run"],
            hold=options["hold"],
            source_rate=Rate(read_units=options["read_rate"]) if options["read_rate"] else None,
            target_rate=Rate(write_units=options["rate"]) if options["rate"] else None,
            progress=show,
        )


def _connected(session: Session, profile: str | None, *, must_exist: bool) -> Database:
    """A database of a target, with the identity of a profile where one is named."""
    if profile is not None:
        rest = {name: value for name, value in os.environ.items() if name not in _IDENTITY}
        environ = {**rest, "AWS_PROFILE": profile}
        # By name: an address of this machine, as a tunnel's, would get an invented key.
        credentials = credentials_from(environ)
        called = session.tables or None
        return connect(
            session.target, environ=environ, credentials=credentials, tables=called, table_prefix=session.prefix
        )
    return session.connect_to_read() if must_exist else session.connect()


def _tell(table: Table, copied: Any, *, is_dry: bool) -> None:
    done = "to write" if is_dry else "written"
    read, written = (output.counted(count, "item") for count in (copied.read, copied.written))
    click.echo(f"{table.name}: {read} read, {written} {done}")
    if copied.is_held:
        click.echo(f"  {'it would be' if is_dry else 'it is'} held: nothing of it runs until `singletable release`")
        show_work(copied.work)
    if copied.mended:
        click.echo(f"  {output.counted(copied.mended, 'item')} brought in step with what else was copied")
    for what, count in sorted(copied.left_out.items()):
        click.echo(f"  stays behind: {output.counted(count, 'item')} of {output.clean(what)}")
