"""`restore`: a table with all that belongs to it, from a backup, a time, a copy of a data file, or an export."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.status import Status

from singletable.cli import output
from singletable.cli.apply import asks
from singletable.cli.export import time_of
from singletable.cli.lookup import one_table
from singletable.cli.session import options_anywhere, session_of
from singletable.exchange import Restore, Restored, RestorePlan
from singletable.migrations import flows


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--backup", metavar="ARN", help="From a backup on demand.")
@click.option("--at", metavar="TIME", help="As the table was then: 2026-11-20T09:30:00Z, or latest.")
@click.option("--copy", type=click.Path(exists=True, path_type=Path), help="From a copy of a data file, or its folder.")
@click.option(
    "--export", multiple=True, metavar="PLACE", help="From an export to S3, with incremental ones; or a folder."
)
@click.option("--to", metavar="TABLE", help="The restored table's name in the account. [default: its own]")
@click.option("--contents", type=click.Path(exists=True, file_okay=False), help="A folder of contents to copy in.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@options_anywhere("blobs", "json", "db")
@click.pass_context
def restore(ctx: click.Context, /, module: str, as_json: bool, **options: Any) -> None:
    """Restore a table, with leases, dead letters and the contents of documents.

    \b
    singletable restore shop.model --backup ARN --to shop-monday
    singletable restore shop.model --at 2026-11-23T09:30:00Z --to shop-monday
    singletable restore shop.model --copy copies/monday --db local:data/restored.db
    singletable restore shop.model --export s3://BUCKET/PREFIX/AWSDynamoDB/ID
    singletable restore shop.model --export exports     # of `singletable export --keys --personal`

    It says what it will do, and asks. The name must be free. The restored table is held: nothing of it runs until
    `singletable release`. It has the stream, expiry, tags, recovery and protection that are declared. A restore that
    was killed goes on with the same command.
    """
    from singletable.documents import LocalBlobs

    table, source = one_table(module), _source(options)
    with ExitStack() as stack:
        db = stack.enter_context(session_of(ctx).connect())
        contents = Path(options["contents"]) if options["contents"] else None
        if options["copy"] is not None:
            file, beside = _file_of(options["copy"])
            source["copy"] = stack.enter_context(session_of(ctx).at(f"local:{file}").connect_to_read())
            contents = contents or beside
        blobs = LocalBlobs(options["blobs"]) if options["blobs"] else None
        work = Restore(db, table, to=options["to"], blobs=blobs)
        plan = work.plan(**source, contents=contents)
        if options["dry_run"] or not as_json:
            _show(plan, as_json)
        if options["dry_run"]:
            return
        if asks(db, options["yes"], [plan.table]):
            click.confirm(f"Do this at {db.target.endpoint.url}?", abort=True)
        with output.MeteredBlock(db) as cost, Status(plan.table, console=output.console(stderr=True)) as status:

            def tell(state: str) -> None:
                status.update(f"{plan.table}: {state.lower()}")

            restored = work.run(**source, contents=contents, progress=tell)
    _tell(restored, as_json)
    cost.print()
    if restored.contents.damaged:
        ctx.exit(1)


def _source(options: dict[str, Any]) -> dict[str, Any]:
    """The source that the options name, as arguments of `Restore`."""
    at = options["at"]
    source: dict[str, Any] = {
        "backup": options["backup"],
        "at": at if at in (None, "latest") else time_of(at),
        "copy": options["copy"],
        "export": options["export"],
    }
    if sum(bool(given) for given in source.values()) != 1:
        raise click.UsageError("A restore has one source: --backup, --at, --copy or --export.")
    return source


def _file_of(copy: Path) -> tuple[Path, Path | None]:
    """The data file of a copy, and the folder of its contents; None if they are not in it."""
    if copy.is_dir():
        return copy / flows.DATA_FILE, copy / flows.BLOBS
    return copy, None


def _show(plan: RestorePlan, as_json: bool) -> None:
    if as_json:
        output.print_json(msgspec.to_builtins(plan))
        return
    click.echo(f"{plan.table}: from {plan.source}")
    output.print_table(("Step", "What"), [(step.name, step.what) for step in plan.steps])
    for note in plan.notes:
        click.echo(f"  {output.clean(note)}")


def _tell(restored: Restored, as_json: bool) -> None:
    if as_json:
        output.print_json(msgspec.to_builtins(restored))
        return
    click.echo(f"{restored.table}: restored from {restored.source}")
    contents = restored.contents.copied + restored.contents.there
    facts = (
        ("Items", restored.items),
        ("Tables beside it", ", ".join(restored.beside)),
        ("Contents", contents),
        ("Settings", ", ".join(restored.settings)),
    )
    output.print_table(("Part", "Restored"), [fact for fact in facts if fact[1]])
    for note in restored.notes:
        click.echo(f"  {output.clean(note)}")
