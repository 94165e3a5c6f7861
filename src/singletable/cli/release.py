"""`release`: what was copied or restored begins to run, after a report of what will."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import options_anywhere, session_of
from singletable.database import Database
from singletable.foundation import Table
from singletable.release import Hold, HoldReport, PendingWork, Released


@click.command("release")
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--drop", "dropped", multiple=True, metavar="NAME", help="Delete the waiting tasks of this name before.")
@click.option("--unfinished", is_flag=True, help="Release it though a copy or a restore into it has not ended.")
@click.option("--dry-run", is_flag=True, help="Say what would run, and write nothing.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@options_anywhere("json", "db")
@click.pass_context
def release_command(
    ctx: click.Context,
    /,
    module: str,
    dropped: Sequence[str],
    as_json: bool,
    unfinished: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Let the workers of held tables begin.

    \b
    singletable release shop.model --dry-run
    singletable release shop.model --drop send_mail

    What was copied or restored is held: its tasks wait, messages go back, no handler of changes is called. It reports
    the tasks that wait, by name, and the handlers, of all that MODULE declares; then it asks. After it each task runs
    once, when it is due. Handlers get what changes from then on.
    """
    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        reports = {table: Hold(db, table).report() for table in tables_of(module)}
        held = {table: report for table, report in reports.items() if report.is_held}
        drops = {table: _named(report, dropped) for table, report in held.items()}
        _check_known(dropped, drops.values(), held)
        if not as_json:
            for report in reports.values():
                show_report(report)
        if dry_run or not held:
            facts: list[Any] = [*reports.values()]
        else:
            for report in () if unfinished else held.values():  # before any of them is released
                report.check_ended()
            _confirm(db, [table.name for table in held], yes=yes)
            facts = [Hold(db, table).release(drop=names, unfinished=unfinished) for table, names in drops.items()]
        if as_json:
            output.print_json(msgspec.to_builtins(facts))
        elif held and not dry_run:
            _tell(facts)
    cost.print()


def show_report(report: HoldReport) -> None:
    """Print the hold of a table, and the work that a release begins."""
    if report.is_held:
        click.echo(f"{report.table}: held since {report.since:%Y-%m-%d %H:%M:%S} UTC, {output.clean(report.why)}")
    else:
        click.echo(f"{report.table}: not held" + (f"; released {_time(report.opened_at)}" if report.opened_at else ""))
    for each in report.unfinished:
        click.echo(f"  not ended: {output.clean(each)}; it goes on with the same command")
    show_work(report.work)


def show_work(work: Sequence[PendingWork]) -> None:
    """Print the work that a release begins: the tasks as a table, and a line for each consumer of changes."""
    tasks = [each for each in work if each.kind == "task"]
    if tasks:
        lines = [(e.name, e.due, _time(e.due_since), e.later, _time(e.next_at), e.note) for e in tasks]
        output.print_table(("Task", "Due now", "Since", "Later", "Next", ""), lines)
    for each in work:
        if each.kind != "task":
            click.echo(f"  {each.kind} {output.clean(each.name)}: {output.clean(each.note)}")


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def _named(report: HoldReport, names: Sequence[str]) -> list[str]:
    """The names that tasks of a table have, of those that a person gave."""
    there = {each.name for each in report.work if each.kind == "task"}
    return [name for name in dict.fromkeys(names) if name in there]


def _check_known(names: Sequence[str], drops: Iterable[Sequence[str]], held: Mapping[Table, HoldReport]) -> None:
    known = {name for each in drops for name in each}
    for name in names:
        if name not in known:
            there = ", ".join(sorted({w.name for report in held.values() for w in report.work if w.kind == "task"}))
            raise click.UsageError(f"No waiting task of a held table is named {name!r}: there are {there or 'none'}.")


def _confirm(db: Database, names: Sequence[str], *, yes: bool) -> None:
    """Ask on a terminal. Elsewhere --yes is needed: what runs can't be taken back."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"This lets the workers of {', '.join(names)} begin. Add --yes to do it, or --dry-run.")
    click.confirm(f"Release {', '.join(names)} at {db.target.endpoint.url}?", abort=True)


def _tell(released: Sequence[Released]) -> None:
    for each in released:
        click.echo(f"{each.before.table}: released; handlers get what changes from {_time(each.opened_at)} UTC on")
        for name, count in each.dropped.items():
            click.echo(f"  dropped: {output.counted(count, 'task')} {output.clean(name)}")
