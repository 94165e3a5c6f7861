"""`job`: durable jobs, which any number of processes share: work on them, look at them, pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace
from rich.status import Status

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import UNITS, mask_key, options_anywhere, session_of
from singletable.cli.shapes import covered, tell_shape
from singletable.database import Database
from singletable.errors import SingletableError
from singletable.foundation import Table, covered_place

if TYPE_CHECKING:
    from singletable.jobs import Jobs, JobStatus

_module = click.argument("module", metavar="MODULE[:NAME]")
_id = click.argument("id", metavar="ID")
_FAILED, _STOPPED = 1, 3
"""Exit codes of a worker that ended before its job: the job has failed; it was stopped, or the job is cancelled."""
_TELLS_NOTHING = frozenset({"export"})
"""Kinds whose lines are not for people: the files of an export."""


@click.group()
def job() -> None:
    """Work on durable jobs, and show, pause, resume or cancel them."""


@job.command()
@_module
@_id
@click.option(
    "--at-once", type=click.IntRange(1, 64), default=4, show_default=True, help="Sections at the same time, here."
)
@click.option("--lease", type=UNITS, default=30.0, show_default=True, metavar="SECONDS", help="Of a section.")
@click.option("--from", "source", metavar="TARGET", help="Of a copy: its source, where it is called otherwise here.")
@options_anywhere("json", "db")
@click.pass_context
def run(
    ctx: click.Context, /, module: str, id: str, as_json: bool, at_once: int, lease: float, source: str | None
) -> None:
    """Work on a job, until it has ended or is cancelled, or until SIGTERM.

    Any number of processes do this at the same time, on any number of machines. One that is killed loses the rounds
    that it was at, which others do again. The exit code is 1 where the job has failed, and 3 where it has not ended.
    """
    from singletable.jobs import Jobs

    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        jobs = _jobs_with(db, module, id)
        source = source or jobs.show(id).options.get("source")
        with session_of(ctx).at(source).connect_to_read() if source else nullcontext() as read:
            jobs = Jobs(db, jobs.table, source=read, mask_key=mask_key())
            status = _work_on(jobs, id, at_once=at_once, lease_seconds=lease, as_json=as_json)
    tell(jobs.table, status, as_json=as_json)
    cost.print()
    exit_unended(ctx, [status])


@job.command("list")
@_module
@options_anywhere("json", "db")
@click.pass_context
def list_command(ctx: click.Context, module: str, as_json: bool) -> None:
    """List the jobs of the tables, the latest first. One that ended seven days ago is deleted."""
    from singletable.jobs import Jobs

    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        every = [(table, status) for table in tables_of(module) for status in Jobs(db, table).all()]
    if as_json:
        output.print_json([_facts(table, status) for table, status in every])
    elif every:
        titles = ("Job", "Table", "State", "Done", "Items", "Workers", "Left")
        output.print_table(titles, [_row(status) for _, status in every])
    cost.print()


@job.command()
@_module
@_id
@click.option("--lines", is_flag=True, help="Print what it has told, as findings: a line of JSON for each.")
@options_anywhere("personal", "json", "db")
@click.pass_context
def show(ctx: click.Context, module: str, id: str, as_json: bool, lines: bool, personal: bool) -> None:
    """Show a job: how far it is, its workers, what it took and may take yet, and its result."""
    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        jobs = _jobs_with(db, module, id)
        if lines:
            for line in _lines(jobs, jobs.show(id), personal=personal):
                click.echo(output.json_text(line))
        else:
            tell(jobs.table, jobs.show(id), as_json=as_json, personal=personal)
    cost.print()


@job.command()
@_module
@_id
@click.option("--by", default="", metavar="NAME", help="Who does it.")
@options_anywhere("json", "db")
@click.pass_context
def pause(ctx: click.Context, module: str, id: str, as_json: bool, by: str) -> None:
    """Begin no more rounds. Workers notice it within three seconds, and wait."""
    _change(ctx, module, id, lambda jobs: jobs.pause(id, by=by), as_json=as_json)


@job.command()
@_module
@_id
@options_anywhere("rate", "read-rate", "--cap", "--read-cap", "json", "db")
@click.pass_context
def resume(ctx: click.Context, /, module: str, id: str, as_json: bool, **options: Any) -> None:
    """Go on with a job that is paused, or has failed. A job that reached a cap needs a larger one.

    Workers of a job that runs take other rates and caps up within three seconds, or after the round that they are at. A
    job that only reads has a --read-rate.
    """
    _change(ctx, module, id, lambda jobs: jobs.resume(id, **_bounds(options)), as_json=as_json)


@job.command()
@_module
@_id
@click.option("--by", default="", metavar="NAME", help="Who does it.")
@options_anywhere("json", "db")
@click.pass_context
def cancel(ctx: click.Context, module: str, id: str, as_json: bool, by: str) -> None:
    """End a job before its end. Rounds that run are finished; what was done stays done."""
    _change(ctx, module, id, lambda jobs: jobs.cancel(id, by=by), as_json=as_json)


# --- for commands that run as jobs ------------------------------------------------------------------------------------
def is_job(options: Mapping[str, Any], *without: str) -> bool:
    """Whether a command is to run as a job. A usage error for options that go with a job alone, or not with one."""
    needing = [name for name in ("sections", "cap", "read_cap") if options.get(name) is not None]
    if not options["as_job"]:
        if needing:
            raise click.UsageError(f"--{needing[0].replace('_', '-')} is for a job. Add --job.")
        return False
    for name in without:
        if options.get(name):
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --job.")
    return True


def run_as_job(
    ctx: click.Context,
    db: Database,
    tables: Sequence[Table],
    kind: str,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    as_json: bool,
    source: Database | None = None,
) -> list[JobStatus]:
    """Begin a job for each table, or go on with the one of the same work, and work on it to its end. Its lines follow
    as JSON, one by one. The exit code is 3 where it has not ended, else 1 where it failed, or found what needs a
    person."""
    from singletable.jobs import Jobs

    statuses, personal = list["JobStatus"](), options.get("personal", False)
    with output.MeteredBlock(db) as cost:
        for table in tables:
            jobs = Jobs(db, table, source=source, mask_key=mask_key())
            status = begin_and_work(jobs, kind, given, options, as_json=as_json)
            tell(table, status, as_json=as_json, personal=personal)
            for line in () if as_json or kind in _TELLS_NOTHING else _lines(jobs, status, personal=personal):
                click.echo(output.json_text(line))
            statuses.append(status)
    cost.print()
    exit_unended(ctx, statuses)
    if any(status.result and status.result.get("found") for status in statuses):
        ctx.exit(1)
    return statuses


def begin_and_work(
    jobs: Jobs, kind: str, given: Mapping[str, Any], options: Mapping[str, Any], *, as_json: bool
) -> JobStatus:
    """Begin a job of a table, or go on with the one of the same work, and work on it until it has ended."""
    begun = jobs.begin(kind, given, sections=options["sections"], **_bounds(options))
    sections = output.counted(begun.sections, "section")
    output.note(f"{jobs.table.name}: job {begun.id}, in {sections}; others share it by `singletable job run`")
    return _work_on(jobs, begun.id, as_json=as_json)


def exit_unended(ctx: click.Context, statuses: Sequence[JobStatus]) -> None:
    """End a command where a job has not ended."""
    states = {status.state for status in statuses}
    if states - {"ended"}:
        ctx.exit(_FAILED if states <= {"ended", "failed"} else _STOPPED)


def _bounds(options: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds of a job by the options' names: without a word they are of writes."""
    names = {"write_rate": "rate", "read_rate": "read_rate", "write_cap": "cap", "read_cap": "read_cap"}
    return {name: options.get(option) for name, option in names.items()}


def _lines(jobs: Jobs, status: JobStatus, *, personal: bool) -> Iterator[dict[str, Any]]:
    """All that a job has found, those of its end last, without what is personal in their keys."""
    last = (status.result or {}).get("last", ())
    for line in (*jobs.lines(status.id), *last):
        if "key" not in line:
            yield dict(line)
            continue
        key = tuple(line["key"])
        yield {**line, "key": list(key if personal else covered_place(jobs.table, line["type"], key))}


# --- one job ----------------------------------------------------------------------------------------------------------
def _change(ctx: click.Context, module: str, id: str, verb: Callable[[Jobs], JobStatus], *, as_json: bool) -> None:
    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        jobs = _jobs_with(db, module, id)
        status = verb(jobs)
    tell(jobs.table, status, as_json=as_json)
    cost.print()


def _jobs_with(db: Database, module: str, id: str) -> Jobs:
    """The jobs of the table that has this one. A read of each table."""
    from singletable.jobs import JobRefused, Jobs

    refused: SingletableError | None = None
    for table in tables_of(module):
        jobs = Jobs(db, table)
        try:
            jobs.show(id)
        except JobRefused as error:
            refused = error
        else:
            return jobs
    raise refused or click.UsageError(f"{module} declares no table.")


def _work_on(jobs: Jobs, id: str, *, as_json: bool, **options: Any) -> JobStatus:
    """Work on it, and tell its progress: on a terminal in a line that changes, else as lines of JSON."""
    console = output.console(stderr=True)
    if as_json or not console.is_terminal:
        return jobs.run(id, progress=_print_progress, **options)
    with Status(f"{id}: begins", console=console) as line:
        return jobs.run(id, progress=lambda status: line.update(progress_line(status)), **options)


def _print_progress(status: JobStatus) -> None:
    """A line of JSON on standard error: results alone are on standard output."""
    click.echo(output.json_text(_progress(status)), err=True)


def progress_line(status: JobStatus) -> str:
    """`fill-7k2m9x: 43 %, 4.3M of 10M items, 2 min 10 s left, 3 sections under way`; of a paused one why it is so."""
    items = output.amount(status.seen) + (f" of {output.amount(status.items)}" if status.items else "")
    parts = [f"{status.share * 100:.0f} %", f"{items} items"]
    if status.seconds_left is not None and status.state == "running":
        parts.append(f"{output.duration(status.seconds_left)} left")
    if status.held:
        parts.append(f"{output.counted(len(status.held), 'section')} under way")
    parts.append(f"{output.amount(status.read_units)} read units, {output.amount(status.write_units)} write units")
    if status.state == "paused":
        parts.append(f"{output.clean(status.why)}: it waits for singletable job resume")
    return f"{status.id}: {', '.join(parts)}"


def _bounds_line(status: JobStatus) -> str:
    """`at most: 2K read units a second, 5M write units in all`; "" for a job without bounds."""
    bounds = {
        "read units a second": status.read_rate,
        "write units a second": status.write_rate,
        "read units in all": status.read_cap,
        "write units in all": status.write_cap,
    }
    parts = [f"{output.amount(number)} {what}" for what, number in bounds.items() if number is not None]
    return f"at most: {', '.join(parts)}" if parts else ""


def _progress(status: JobStatus) -> dict[str, Any]:
    """A job as JSON, without its result."""
    facts: dict[str, Any] = msgspec.to_builtins(replace(status, result=None))
    return facts | {"share": round(status.share, 4), "seconds_left": status.seconds_left}


def _facts(table: Table, status: JobStatus, *, personal: bool = False) -> dict[str, Any]:
    """A job as JSON."""
    return _progress(status) | {"result": _result(table, status, personal=personal)}


def _result(table: Table, status: JobStatus, *, personal: bool) -> dict[str, Any] | None:
    """The result of a job, without the personal parts of keys."""
    if status.result is None:
        return None
    result: dict[str, Any] = msgspec.to_builtins(status.result)
    if status.kind == "stats":
        return covered(table, result, personal=personal)
    return result


def tell(table: Table, status: JobStatus, *, as_json: bool, personal: bool = False) -> None:
    """Print a job."""
    if as_json:
        output.print_json(_facts(table, status, personal=personal))
        return
    why = f", {output.clean(status.why)}" if status.why else ""
    click.echo(f"{status.table}: {status.state}{why}, for {output.duration(status.seconds)}")
    click.echo(f"  {progress_line(status)}")
    if bounds := _bounds_line(status):
        click.echo(f"  {bounds}")
    for each in status.held:
        what = "the end" if each.section == status.sections else f"section {each.section}"
        place = f" on {output.clean(each.process)}" if each.process else ""
        click.echo(f"  {what}: its worker{place}, last sign of life {each.beat_seconds:.1f} s ago")
    for trouble in status.troubles:
        click.echo(f"  a worker left a section with {output.clean(trouble)}: run one, and it says more")
    if status.state == "failed":
        click.echo("  mend the cause, then: singletable job resume, and job run. Or: job cancel")
    result = _result(table, status, personal=personal)
    if result is not None and status.kind == "stats":
        tell_shape(result)
        return
    for name, value in (result or status.counts).items():
        if name == "last":
            continue
        click.echo(f"  {name}: {output.clean(value)}")


def _row(status: JobStatus) -> tuple[Any, ...]:
    left = "" if status.seconds_left is None or status.state != "running" else output.duration(status.seconds_left)
    state = f"{status.state}: {status.why}" if status.why else status.state
    done, workers = f"{status.share * 100:.0f} %", len(status.held)
    return status.id, status.table, state, done, output.amount(status.seen), workers, left
