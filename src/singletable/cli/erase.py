"""`erase`: delete all that belongs to a person or a tenant, and say what was deleted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, Progress, TextColumn

from singletable.cli import output
from singletable.cli.arguments import PatternCommand, arguments_of
from singletable.cli.job import is_job, progress_line
from singletable.cli.lookup import pattern_of
from singletable.cli.session import export_named, options_anywhere, rate_of, session_of
from singletable.database import Database
from singletable.erasure import Belonging, Erasing, Erasure, ErasurePlan, Kept, Receipt, SharedScans
from singletable.flow import Rate
from singletable.foundation import TableItems
from singletable.jobs import JobStatus


@click.command(cls=PatternCommand)
@click.argument("module", metavar="MODULE[:NAME]")
@click.argument("pattern", metavar="ENTITY.PATTERN")
@click.argument("words", nargs=-1, metavar="[ARG | NAME=VALUE]...")
@click.option("--dry-run", is_flag=True, help="List what would be deleted, and write nothing.")
@click.option("--personal", is_flag=True, help="Show the keys of what is listed, which may name a person.")
@click.option(
    "--to", type=click.Path(dir_okay=False, path_type=Path), help="Write the receipt, as JSON, into this file too."
)
@click.option("--by", default="", metavar="NAME", help="Who does it: stored with the record, and told to others.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@options_anywhere("from-export", "--job", "--sections", "--read-cap", "rate", "read-rate", "blobs", "json", "db")
@click.pass_context
def erase(
    ctx: click.Context, /, module: str, pattern: str, words: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Delete all that belongs to a person or a tenant.

    \b
    singletable erase shop.model Customer.by_email ada@example.org --dry-run
    singletable erase shop.model Customer.by_email ada@example.org --to receipt.json

    It lists what belongs to the subject: the rest of its key's partition, what refers to it by `belongs_to=`, edges,
    and what the layers that MODULE binds keep of it. Then it asks. The subject is deleted last. An erasure that was
    killed goes on when it is called again. The receipt says what was deleted, and where copies still are.

    With --from-export the list is looked for in an export, in place of scans of the table, and each item of it is read
    again. The erasure scans the table afterwards, until nothing is left, whatever was written since.

    With --job each scan of the table is a durable job, which other processes share by `singletable job run MODULE ID`.
    This one alone deletes. Killed, it goes on with its scan when it is called again. A scan for more subjects than a
    job holds, some thousands, is told, and done by this process.

    The exit code is 1 where nothing is found, and where something stays that needs a person.
    """
    from singletable.documents import LocalBlobs

    shared = _shared(options)
    bound = pattern_of(module, pattern)
    asked: Any = bound.call(**arguments_of(bound, words))
    with session_of(ctx).connect_to_read() as db:
        table = bound.captured.model.table
        blobs = LocalBlobs(options["blobs"]) if options["blobs"] else None
        erasure = Erasure(db, table, blobs=blobs)
        rate, export = rate_of(options), export_named(options, [table])
        with output.MeteredBlock(db) as cost:
            kept: tuple[Kept, ...] = ()
            if options["dry_run"] or not options["yes"]:
                plan = erasure.plan(asked, rate=rate, from_export=export, shared=shared)
                _show(plan, as_json and options["dry_run"], personal=options["personal"])
                kept = plan.kept
                if not options["dry_run"]:
                    _confirm(db, plan)
            if not options["dry_run"]:
                receipt = _erased(erasure, asked, table.name, options["by"], rate, export, shared)
                _tell(receipt, as_json, options["to"])
                kept = receipt.kept
    cost.print()
    if kept:
        ctx.exit(1)


def _shared(options: Mapping[str, Any]) -> SharedScans | None:
    """The scans as jobs, where they are asked for. Each is told, for other processes to share it, and its progress."""
    if not is_job(options):
        return None

    def tell(job: JobStatus) -> None:
        output.note(f"{job.table}: job {job.id}, a scan in {output.counted(job.sections, 'section')}")

    def tell_alone(subjects: int) -> None:
        output.note(f"a scan looks for {subjects:,} subjects, too many for a job: this process does it alone")

    return SharedScans(
        sections=options["sections"],
        read_rate=options["read_rate"],
        read_cap=options["read_cap"],
        tell=tell,
        progress=lambda job: output.note(progress_line(job)),
        alone=tell_alone,
    )


def _confirm(db: Database, plan: ErasurePlan) -> None:
    """Ask on a terminal. Elsewhere --yes is needed: what is erased can't be brought back."""
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"This deletes {_counted(plan.deleted)} of {plan.table} for good. Add --yes to do it, or --dry-run."
        )
    click.confirm(f"Delete this at {db.target.endpoint.url} for good?", abort=True)


def _erased(
    erasure: Erasure,
    asked: Any,
    table: str,
    by: str,
    rate: Rate | None,
    export: TableItems | None,
    shared: SharedScans | None,
) -> Receipt:
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:g} deleted")
    with Progress(*columns, console=output.console(stderr=True), transient=True) as bars:
        task = bars.add_task(table, total=None)

        def tell(at: Erasing) -> None:
            bars.update(task, completed=at.done, total=at.total)

        return erasure.apply(asked, by=by, rate=rate, progress=tell, from_export=export, shared=shared)


# --- what is shown ----------------------------------------------------------------------------------------------------
def _show(plan: ErasurePlan, as_json: bool, *, personal: bool) -> None:
    lines = [_line(each, personal=personal) for each in plan.belongings]
    if as_json:
        output.print_json(
            {
                "table": plan.table,
                "pattern": plan.pattern,
                "deleted": plan.deleted,
                "cleared": plan.cleared,
                "write_units": plan.write_units,
                "kept": msgspec.to_builtins(plan.kept),
                "left_out": plan.left_out,
                "items": lines,
            }
        )
        return
    click.echo(f"{plan.table}: {_counted(plan.deleted) or 'nothing'} to delete, for {plan.write_units:g} write units")
    if plan.cleared:
        click.echo(f"  mentions to clear in {_counted(plan.cleared)}")
    titles = ("Class", "", "What", "Key") if personal else ("Class", "", "What")
    output.print_table(
        titles,
        [
            (line["class"], line["does"], line["what"], *([" / ".join(line["key"])] if personal else []))
            for line in lines
        ],
    )
    _tell_kept(plan.kept, plan.left_out)


def _line(each: Belonging, *, personal: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"class": each.kind, "does": each.does, "what": each.what}
    return said | ({"key": list(each.place)} if personal else {})


def _tell(receipt: Receipt, as_json: bool, to: Path | None) -> None:
    facts = msgspec.to_builtins(receipt)
    if to is not None:
        to.write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")
    if as_json:
        output.print_json(facts)
        return
    click.echo(f"{receipt.table}: deleted {_counted(receipt.deleted) or 'nothing'} ({receipt.erasure})")
    if receipt.cleared:
        click.echo(f"  mentions cleared in {_counted(receipt.cleared)}")
    click.echo(f"  ended {receipt.ended_at:%Y-%m-%d %H:%M:%S} UTC; nothing more was found after that search began")
    click.echo("What is still elsewhere:")
    for place in receipt.remaining:
        until = f" Until {place.until:%Y-%m-%d %H:%M} UTC." if place.until is not None else ""
        click.echo(f"  {output.clean(place.where)}: {output.clean(place.what)}{until}")
    _tell_kept(receipt.kept, receipt.left_out)


def _tell_kept(kept: tuple[Kept, ...], left_out: tuple[str, ...]) -> None:
    for each in kept:
        click.echo(f"  stays: {output.counted(each.count, 'item')} of {output.clean(each.kind)}: {each.why}")
    for text in left_out:
        click.echo(f"  not looked for: {text}")


def _counted(counts: Mapping[str, int]) -> str:
    """`3 Order, 1 Customer`."""
    return ", ".join(f"{number} {output.clean(kind)}" for kind, number in sorted(counts.items()))
