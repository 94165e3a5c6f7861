"""`plan`: what would bring the declared tables to their declarations, and what it takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import msgspec
from msgspec.structs import replace
from rich.status import Status

from singletable.cli import output
from singletable.cli.job import begin_and_work, exit_unended, is_job, tell
from singletable.cli.lookup import module_of, tables_of, tables_to_make
from singletable.cli.session import export_named, options_anywhere, rate_of, session_of
from singletable.cli.stats import confirm_cost
from singletable.cli.two_versions import TABLE, show_versions
from singletable.database import Database
from singletable.exchange.inspect import state_home
from singletable.foundation import Table
from singletable.migrations import (
    Estimate,
    Migrations,
    ModelDifference,
    Plan,
    PlanReading,
    Prices,
    prices_of,
    read_prices,
)
from singletable.migrations.inspect import document_of, predict_reading

THERE_IS_A_PLAN = 2
_ALONE = "from_export", "sample", "segments", "purge", "keep"
"""Options of a plan that is read by one process."""

accept_option = click.option(
    "--accept",
    nargs=2,
    multiple=True,
    metavar="RULE CLASS[.ATTRIBUTE]",
    help="Go on with what a plan was refused for, as the refusal names it. It may be repeated.",
)

purge_option = click.option(
    "--purge",
    multiple=True,
    metavar="TYPE|INDEX",
    help="Delete what a removed class or index left: items, guards, index keys. It may be repeated.",
)


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option(
    "--check-in",
    "check_in",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Write the declaration to a file instead, next to the module or at FILE, so that a review shows the changes.",
)
@click.option("--from", "old", metavar="OLD", help="The old version, of two that are compared.")
@click.option("--to", "new", metavar="NEW", help="The new version; without it, the declaration of MODULE.")
@click.option("--back", "only_back", is_flag=True, help="Show the way back to the model before, and what it leaves.")
@accept_option
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the reading there: a plan that was ended goes on, an apply with the same file does not count again.",
)
@purge_option
@click.option("--yes", is_flag=True, help="Don't ask, whatever the reading costs.")
@click.option("--again", is_flag=True, help="Count the items again, where a job has counted them.")
@options_anywhere("job", "from-export", "rate", "read-rate", "price", "sample", "segments", "json", "db")
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    module: str,
    as_json: bool,
    check_in: str | None,
    old: str | None,
    new: str | None,
    only_back: bool,
    **options: Any,
) -> None:
    """Show what would bring the tables to their declarations.

    The missing tables of leases of MODULE's consumers of changes are planned too, but on a local engine, which creates
    them itself.

    The declaration, the model that the table was last brought to, and the live table are compared. Where items may need
    a write, or may be unreadable or read otherwise, the table is read once: what that takes is said before, by the
    service's last count, which is up to six hours old on AWS. Nothing is written to the table. Above 10,000 read units
    it asks, but for a table on this machine. An apply on this machine takes the counts for a day.

    With --job the items are counted by a job, in sections that other processes share, and the plan is shown at its end.
    Its counts are kept in the table: for a day a plan or an apply takes them, on any machine, and reads no items. It
    takes no conversions, and no unique values without --accept: they need all items in one process.

    With --from-export the items of an export are counted, for no read units: the plan says as of when, leaves out what
    items lack in others, as guards and edge sets, and an apply counts the table itself.

    With --from or --to no table is planned: it says what programs of the two versions meet of each other, by class and
    verb, during and after each step, and in which order to deploy them. OLD and NEW are files of --check-in, or "table"
    for the model that the table was last brought to.

    With --back it shows the steps by which the old declaration is brought back afterwards, and what they leave. Where
    the table has the declared model already, OLD is the one that it had before.

    The exit code is 0 where there is nothing to do, 2 where there is a plan, and 1 for a refusal. With --check-in it is
    2 where the file changed; with --from, --to or --back, where the versions differ.
    """
    if check_in is not None:
        ctx.exit(THERE_IS_A_PLAN if _check_in(module, check_in) else 0)
    if old is not None or new is not None or only_back:
        differs = show_versions(ctx, module, old or TABLE, new, as_json=as_json, only_back=only_back)
        ctx.exit(THERE_IS_A_PLAN if differs else 0)
    with session_of(ctx).connect_to_read() as db:
        prices, as_job = prices_for(db, options["price"]), is_job(options, *_ALONE)
        with output.MeteredBlock(db) as cost:
            tables = tables_to_make(db, module)
            options |= {"from_export": export_named(options, tables), "fresh": True}
            plans = list[Plan]()
            for table in tables:
                job = _counted_by_job(ctx, db, table, options, as_json=as_json) if as_job else None
                plans.append(plan_of(db, table, options | {"job": job}, prices))
    if as_json:
        output.print_json([as_facts(each) for each in plans])
    else:
        for each in plans:
            show(each, prices)
    cost.print()
    if not all(each.is_empty for each in plans):
        ctx.exit(THERE_IS_A_PLAN)


def plan_of(db: Database, table: Table, options: dict[str, Any], prices: Prices | None) -> Plan:
    """The plan of one table, under the shared options. Says what it reads, before it does."""
    reading = _ShownReading(db, table, yes=options["yes"], is_of_job=bool(options.get("job")))
    with reading:
        plan = Migrations(db, table).plan(
            rate=rate_of(options),
            prices=prices,
            sample=options["sample"],
            segments=options["segments"],
            accept=options["accept"],
            purge=options["purge"],
            begins=reading.begins,
            keep=_kept_at(options.get("keep"), table),
            again=options["again"] or options.get("fresh", False),
            job=options.get("job") or not options["again"],
            progress=reading.progress,
            from_export=options.get("from_export"),
        )
    reading.tell_end(plan)
    return plan


def _counted_by_job(
    ctx: click.Context, db: Database, table: Table, options: Mapping[str, Any], *, as_json: bool
) -> str | None:
    """The id of a job that has counted a table's items; None where its plan reads none."""
    from singletable.jobs import Jobs

    accept = options["accept"]
    takes = db.run(predict_reading(db.port, table, accept))
    if takes is None:
        return None
    _ShownReading(db, table, yes=options["yes"]).begins(takes)
    jobs, bounds = Jobs(db, table), {**options, "rate": None}  # --rate is that of the apply, whose time is shown
    status = begin_and_work(jobs, "plan", {"accept": accept}, bounds, as_json=as_json)
    if status.state != "ended":
        tell(table, status, as_json=as_json)
    exit_unended(ctx, [status])
    return status.id


class _ShownReading:
    """The reading of a plan, as it is shown on the terminal."""

    def __init__(self, db: Database, table: Table, *, yes: bool, is_of_job: bool = False) -> None:
        self._db, self._table, self._yes, self._is_of_job = db, table, yes, is_of_job
        self._has_begun = self._waits = False
        self._status = Status("", console=output.console(stderr=True))

    def __enter__(self) -> None:
        """Shows nothing yet: a question may come first."""

    def __exit__(self, *error: object) -> None:
        self._status.stop()

    def begins(self, takes: Estimate) -> None:
        self._has_begun = True
        items = f"about {output.counted(takes.items, 'item')}, {_taken(replace(takes, items=0))}"
        known = f"{items}, by the service's last count (on AWS up to six hours old)"
        what = known if takes.read_units else "the service gives no size, so the cost is unknown"
        output.note(f"{self._table.name}: reading the table: {what}")
        confirm_cost(self._db, takes.read_units, yes=self._yes)

    def progress(self, reading: PlanReading) -> None:
        self._status.start()
        self._status.update(f"{self._table.name}: {reading.items} items read")
        if reading.waits and not self._waits:
            output.note(f"{self._table.name}: the table throttles; the reading waits and goes on")
        self._waits = bool(reading.waits)

    def tell_end(self, plan: Plan) -> None:
        if plan.counted_at is not None and not self._is_of_job:
            when = f"{plan.counted_at:%Y-%m-%d %H:%M:%S} UTC"
            output.note(f"{self._table.name}: an earlier plan counted the items, at {when}; --again counts them anew")
        elif not self._has_begun and plan.as_of is None and not self._is_of_job:
            output.note(f"{self._table.name}: no items are read")


def _kept_at(path: Path | None, table: Table) -> Path | None:
    """The file of one table's reading: each of several has its own. Without one, the directory of this user's plans,
    where there can be one."""
    if path is not None:
        return path.with_name(f"{path.name}.{table.name}")
    directory = state_home(os.environ) / "plans"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return directory if os.access(directory, os.W_OK) else None


def as_facts(plan: Plan) -> dict[str, Any]:
    """A plan as JSON."""
    return {
        "table": plan.table,
        "steps": [msgspec.to_builtins(step) for step in plan.steps],
        "left": list(plan.left),
        "unsupported": list(plan.unsupported),
        "differences": [{**msgspec.to_builtins(each), "kind": each.kind} for each in plan.differences],
        "accepted": list(plan.accepted),
        "purge": list(plan.purge),
        "counted_at": plan.counted_at and plan.counted_at.isoformat(),
        "as_of": plan.as_of and plan.as_of.isoformat(),
    }


def show(plan: Plan, prices: Prices | None = None) -> None:
    """Print a plan: for each step what it does, what it takes, and what programs notice."""
    click.echo(f"{plan.table}: {output.counted(len(plan.steps), 'step') if plan.steps else 'nothing to do'}")
    for number, step in enumerate(plan.steps, 1):
        online = "" if step.online else ", not online"
        click.echo(f"{number:3} {step.name}: {_taken(step.takes)}{online}")
        for line in step.describe():
            click.echo(f"      {output.clean(line)}")
    for difference in plan.differences:
        if difference.kind not in ("fill", "move"):  # those are steps
            click.echo(f"  {difference.kind}: {output.clean(str(difference))}{_of_none(plan, difference)}")
    for accepted in plan.accepted:
        click.echo(f"  accepted: {output.clean(accepted)}")
    for unsupported in plan.unsupported:
        click.echo(f"  not done: {output.clean(unsupported)}")
    for left in plan.left:
        click.echo(f"  left: {output.clean(left)}")
    if prices is not None and plan.steps:
        click.echo(f"  prices of {prices.region} as of {prices.as_of}")


def _of_none(plan: Plan, difference: ModelDifference) -> str:
    """The count of the items that a difference makes unreadable, where the plan has one: it is not refused, so none."""
    is_accepted = any(str(difference) in accepted for accepted in plan.accepted)
    return "; of no item" if difference.counts == "reads" and not plan.is_sample and not is_accepted else ""


def _taken(takes: Estimate) -> str:
    parts = [output.counted(takes.items, "write")] if takes.items else []
    if takes.requests:
        parts.append(output.counted(takes.requests, "request"))
    for units, word in ((takes.read_units, "read unit"), (takes.write_units, "write unit")):
        if units:
            parts.append(output.counted(units, word))
    if takes.seconds:
        parts.append(f"{takes.seconds:.0f} s")
    if takes.dollars:
        parts.append(f"${takes.dollars:.6f}".rstrip("0").rstrip("."))
    return ", ".join(parts)


def prices_for(db: Database, named: str | None) -> Prices | None:
    """The prices that --price names; without it, those of the database's region, where it is AWS."""
    endpoint = db.target.endpoint
    if named is None:
        return None if endpoint.is_local else prices_of(endpoint.region)
    if named.endswith(".json"):
        return read_prices(Path(named), endpoint.region)
    prices = prices_of(named)
    if prices is None:
        raise click.UsageError(f"--price {named}: the table in the package has no such region; name a file of your own")
    return prices


def _check_in(module: str, named: str) -> bool:
    """Write the declaration to its file; whether that changed it."""
    tables = tables_of(module)
    path = Path(named) if named else _beside(module_of(module))
    text = "".join(document_of(table).text for table in tables) if len(tables) == 1 else _together(tables)
    changed = not path.exists() or path.read_text() != text
    if changed:
        path.write_text(text)
    click.echo(f"{path}: {'written' if changed else 'as declared'}")
    return changed


def _together(tables: list[Table]) -> str:
    documents = [document_of(table) for table in sorted(tables, key=lambda table: table.name)]
    return msgspec.json.format(msgspec.json.encode(documents, order="sorted"), indent=2).decode() + "\n"


def _beside(module: ModuleType) -> Path:
    if module.__file__ is None:
        raise click.UsageError(f"{module.__name__} has no file; name one: --check-in FILE")
    return Path(module.__file__).with_suffix(".model.json")
