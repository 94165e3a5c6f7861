"""`apply`: bring the declared tables to their declarations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, Progress, TextColumn

from singletable.cli import output
from singletable.cli.lookup import tables_to_make
from singletable.cli.plan import accept_option, plan_of, prices_for, purge_option, show
from singletable.cli.session import options_anywhere, rate_of, session_of
from singletable.database import Database
from singletable.foundation import Table
from singletable.migrations import Doing, Migrations, Outcome, Plan


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--by", default="", metavar="NAME", help="Who does it: stored with the model, and told to others.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take the counts of a plan that was made with this file.",
)
@click.option("--again", is_flag=True, help="Count the items again, where a plan has counted them.")
@accept_option
@purge_option
@options_anywhere("rate", "read-rate", "share-rate", "price", "sample", "segments", "json", "db")
@click.pass_context
def apply(ctx: click.Context, /, module: str, as_json: bool, by: str, yes: bool, **options: Any) -> None:
    """Bring the tables to their declarations: settings, indexes, items.

    It shows the plan and asks. What `plan` has counted on this machine in the last day is taken, where the declaration,
    the table and its record are the same, and no difference may leave items unreadable. Programs may read and write
    meanwhile. One apply runs at a time: a second one says so, before it reads; one that was killed is taken over by the
    next after half a minute, which goes on. A second apply writes nothing.

    The exit code is 1 for a refusal, and where items could not be read.
    """
    with session_of(ctx).connect() as db:
        tables = tables_to_make(db, module)
        is_asked = asks(db, yes, [table.name for table in tables])
        prices = prices_for(db, options["price"])
        with output.MeteredBlock(db) as planning:
            for table in tables:
                Migrations(db, table).check_free(by=by)
            plans = [plan_of(db, table, {**options, "yes": yes}, prices) for table in tables]
        if not as_json:
            planning.print()
        for each in () if as_json else plans:
            show(each, prices)
        if is_asked and not all(each.is_empty for each in plans):
            click.confirm(f"Do this at {db.target.endpoint.url}?", abort=True)
        with output.MeteredBlock(db) as cost:
            done = [_applied(db, t, p, by, options) for t, p in zip(tables, plans, strict=True)]
    if as_json:
        output.print_json([_facts(table, outcome) for table, outcome in zip(tables, done, strict=True)])
    else:
        for table, outcome in zip(tables, done, strict=True):
            _tell(table, outcome)
    cost.print()
    if any(outcome.unreadable for outcome in done):
        ctx.exit(1)


def asks(db: Database, yes: bool, names: list[str]) -> bool:
    """Whether to ask: on a terminal. Elsewhere --yes is needed, except for this machine's own engine."""
    if yes or sys.stdin.isatty():
        return not yes
    if not db.target.endpoint.is_local:
        raise click.UsageError(f"This changes {', '.join(names)} at {db.target.endpoint.url}. Add --yes to do it.")
    return False


def _applied(db: Database, table: Table, plan: Plan, by: str, options: dict[str, Any]) -> Outcome:
    if plan.is_empty:
        return Outcome(table.name)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}")
    with Progress(*columns, console=output.console(stderr=True), transient=True) as bars:
        task = bars.add_task(table.name, total=None, said="")

        def tell(doing: Doing) -> None:
            known = doing.total or doing.step.takes.items
            name = f"{table.name} {doing.number}/{doing.of} {doing.step.name}"
            bars.update(
                task, description=name, completed=doing.done, total=known or None, said=output.clean(doing.said)
            )

        return Migrations(db, table).apply(
            plan, by=by, rate=rate_of(options, table), segments=options["segments"], progress=tell
        )


def _facts(table: Table, outcome: Outcome) -> dict[str, Any]:
    unreadable = [output.facts_of(table, finding) for finding in outcome.unreadable]
    return {**msgspec.to_builtins(outcome), "unreadable": unreadable}


def _tell(table: Table, outcome: Outcome) -> None:
    if not outcome.done:
        click.echo(f"{outcome.table}: nothing to do")
        return
    click.echo(f"{outcome.table}: {output.counted(len(outcome.done), 'step')} done")
    lines = [
        (d.step.name, d.requests, f"{d.read_units:g} read + {d.write_units:g} write", f"{d.seconds:.1f} s")
        for d in outcome.done
    ]
    output.print_table(("Step", "Requests", "Units", "Time"), lines)
    if outcome.unknown:
        click.echo(f"  {outcome.unknown} items of a type that no class here has; they were left unchanged")
    for finding in outcome.unreadable:
        click.echo(f"  {output.finding_line(table, finding)}")
