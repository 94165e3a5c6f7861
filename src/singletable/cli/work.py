"""`work`: what the workers of a module's tables have to do and do not do, and what a person decides about it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from singletable.cli import output
from singletable.cli.lookup import one_table, tables_of
from singletable.cli.session import options_anywhere, session_of
from singletable.database import Database
from singletable.errors import NotConfigured, NotFound, SingletableError
from singletable.foundation import Table
from singletable.holds import why_held
from singletable.streams import ChangeLag, ShardLag
from singletable.tasks import TaskLag, TaskLease, TaskWorker
from singletable.tasks.inspect import tasks_of

if TYPE_CHECKING:
    from singletable.streams import ChangeWorker, DeadLetter

_FRAMES = 5
"""The last lines of a handler's traceback that are shown."""
DEAD, BEHIND = 3, 4
"""Exit codes of `work show`."""
_Verb = Literal["retry", "drop"]
_module = click.argument("module", metavar="MODULE[:NAME]")
_keys = click.argument("keys", metavar="KEY...", nargs=-1, required=True)
_consumer = click.option("--consumer", metavar="NAME", help="Of this consumer of changes: KEY is a sequence number.")


class DeadTask(msgspec.Struct, frozen=True):
    """A task that failed in its last try."""

    key: str
    task: str
    tries: int
    died: datetime
    process: str
    """Where its last try ran, whose log has the traceback."""
    error: str
    """Its class; with `--personal` its text too, which may quote values."""


class DeadChange(msgspec.Struct, frozen=True):
    """A change that its handlers failed at."""

    sequence: str
    change: str
    """The type of its item, and what happened to it: `order#INSERT`."""
    tries: int
    at: datetime
    error: str
    """The same."""


class Work(msgspec.Struct, frozen=True):
    """The work of one table."""

    table: str
    held: str
    """Why nothing of it runs before a release; empty for a table that is not held."""
    tasks: TaskLag | None
    dead_tasks: tuple[DeadTask, ...]
    changes: tuple[ChangeLag, ...]
    dead_letters: dict[str, tuple[DeadChange, ...]]
    """Those of each consumer, by its name."""

    @property
    def seconds(self) -> float:
        """The longest lag."""
        lags = [consumer.seconds or 0.0 for consumer in self.changes]
        return max([*lags, 0.0 if self.tasks is None else self.tasks.seconds])

    @property
    def has_trouble(self) -> bool:
        """Changes of a consumer are lost, or its lag can't be measured."""
        return any(consumer.trouble for consumer in self.changes)

    @property
    def is_dead(self) -> bool:
        return bool(self.dead_tasks) or any(self.dead_letters.values())


@click.group()
def work() -> None:
    """Show what workers have to do; retry, drop or release it."""


@work.command()
@_module
@click.option("--max-lag", type=click.FloatRange(min=0), default=60.0, show_default=True, help="Seconds.")
@options_anywhere("personal", "json", "db")
@click.pass_context
def show(ctx: click.Context, module: str, max_lag: float, personal: bool, as_json: bool) -> None:
    """Show lag, leases and who has them, dead tasks and dead letters.

    \b
    singletable work show shop.model
    singletable work show shop.model --max-lag 300 --json

    A table takes a read, its tasks 16 requests and a read of each dead one, a consumer of changes five requests, and
    two for each of up to 8 shards. Nothing is written. Of an error its class is shown, with --personal its text too,
    which may quote values. The exit code is 0 where all is well, 4 where something waits for longer than --max-lag or a
    consumer has trouble (changes of its are lost, or its lag can't be measured), else 3 where something is dead.
    """
    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        shown = [_work_of(db, table, personal=personal) for table in tables_of(module)]
    if as_json:
        output.print_json(msgspec.to_builtins(shown))
    else:
        for table_work in shown:
            _print(table_work)
    cost.print()
    if any(table_work.seconds > max_lag or table_work.has_trouble for table_work in shown):
        ctx.exit(BEHIND)
    if any(table_work.is_dead for table_work in shown):
        ctx.exit(DEAD)


@work.command()
@_module
@_keys
@_consumer
@options_anywhere("json", "db")
@click.pass_context
def retry(ctx: click.Context, module: str, keys: Sequence[str], consumer: str | None, as_json: bool) -> None:
    """Make dead tasks due now; or call the handlers of dead letters once more, here.

    A read and a write for each task; a query of all of them and two requests for each dead letter.
    """
    _decide(ctx, module, keys, consumer, as_json, "retry")


@work.command()
@_module
@_keys
@_consumer
@options_anywhere("json", "db")
@click.pass_context
def drop(ctx: click.Context, module: str, keys: Sequence[str], consumer: str | None, as_json: bool) -> None:
    """Delete dead tasks, or dead letters: what they were for is left undone. Costs as `retry`."""
    _decide(ctx, module, keys, consumer, as_json, "drop")


@work.command()
@_module
@_keys
@click.option("--consumer", metavar="NAME", help="Of this consumer of changes: KEY is a shard.")
@options_anywhere("json", "db")
@click.pass_context
def release(ctx: click.Context, module: str, keys: Sequence[str], consumer: str | None, as_json: bool) -> None:
    """Take tasks, or shards, from the workers that hold them, so that others go on at once.

    For a worker that hangs. If it lives, its task runs twice, and its changes may. Two requests each, three for a
    shard.
    """
    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        table = one_table(module)
        verb = _task_worker(db, table).release if consumer is None else _change_worker(db, table, consumer).release
        _each(keys, verb, "release", as_json)
    cost.print()


def _decide(
    ctx: click.Context, module: str, keys: Sequence[str], consumer: str | None, as_json: bool, verb: _Verb
) -> None:
    with session_of(ctx).connect_to_read() as db, output.MeteredBlock(db) as cost:
        table = one_table(module)
        if consumer is None:
            _each(keys, _method(_task_worker(db, table), verb), verb, as_json)
        else:
            changes = _change_worker(db, table, consumer)
            letters = {letter.sequence: letter for letter in changes.dead_letters()}
            missing = [key for key in keys if key not in letters]
            if missing:
                raise NotFound(
                    f"{consumer} has no dead letter {missing[0]}",
                    table=table.name,
                    operation=verb,
                    hint=f"singletable work show {module} has those that there are.",
                )
            decide = _method(changes, verb)
            _each(keys, lambda key: _told(letters[key], decide), verb, as_json)
    cost.print()


def _told(letter: DeadLetter, decide: Callable[[Any], None]) -> None:
    """Do it; an error of the application's handler, which `retry` calls here, is told as its own."""
    try:
        decide(letter)
    except SingletableError:
        raise
    except Exception as error:
        own = "".join(traceback.format_exception(error, limit=-_FRAMES)).rstrip()
        click.echo(f"{letter.type}#{letter.event} failed again, and stays a dead letter:\n{own}", err=True)
        raise click.exceptions.Exit(1) from None


def _method(worker: TaskWorker | ChangeWorker, verb: _Verb) -> Callable[[Any], None]:
    """The verb of a worker: of a task's key, or of a dead letter."""
    return worker.retry if verb == "retry" else worker.drop


def _each(keys: Sequence[str], verb: Callable[[str], None], name: str, as_json: bool) -> None:
    """Do it to each, in their order; the first that is refused ends it, and what was done is printed before."""
    for key in keys:
        verb(key)
        if as_json:
            output.print_json({"key": key, "did": name})
        else:
            click.echo(f"{name}: {output.clean(key)}")


def _work_of(db: Database, table: Table, *, personal: bool) -> Work:
    from singletable.streams import ChangeWorker
    from singletable.streams.inspect import changes_of

    def error_of(text: str) -> str:
        return text if personal else text.partition(":")[0]

    lag, dead = None, list[DeadTask]()
    if tasks_of(table) is not None:
        worker = _task_worker(db, table)
        lag = worker.lag()
        dead = [
            DeadTask(one.key, one.task, one.tries, one.died, one.process, error_of(one.error))
            for one in worker.dead_letters()
        ]
    changes, letters = list[Any](), dict[str, tuple[DeadChange, ...]]()
    for declared in changes_of(table):
        consumer = ChangeWorker(db, declared)
        try:
            changes.append(consumer.lag())
            letters[declared.name] = tuple(
                DeadChange(one.sequence, f"{one.type}#{one.event}", one.tries, one.at, error_of(one.error))
                for one in consumer.dead_letters()
            )
        except NotConfigured as error:
            output.note(f"{declared.name}: {error.what}")
    held = db.run(why_held(db.port, table))
    return Work(table.name, held, lag, tuple(dead), tuple(changes), letters)


def _task_worker(db: Database, table: Table) -> TaskWorker:
    tasks = tasks_of(table)
    if tasks is None:
        raise click.UsageError(f"The module binds no Tasks to the table {table.name}.")
    return TaskWorker(db, tasks)


def _change_worker(db: Database, table: Table, name: str) -> ChangeWorker:
    from singletable.streams import ChangeWorker
    from singletable.streams.inspect import changes_named

    changes = changes_named(table, name)
    if changes is None:
        raise click.UsageError(f"The module declares no consumer {name!r} of the changes of {table.name}.")
    return ChangeWorker(db, changes)


def _print(shown: Work) -> None:
    if shown.held:
        click.echo(f"{shown.table}: held, {output.clean(shown.held)}: nothing runs before `singletable release`")
    if shown.tasks is not None:
        _print_tasks(shown.table, shown.tasks, shown.dead_tasks)
    for consumer in shown.changes:
        lag = "not measured" if consumer.seconds is None else f"{consumer.seconds:.0f} s behind"
        trouble = f": {output.clean(consumer.trouble)}" if consumer.trouble else ""
        click.echo(f"{shown.table}: consumer {output.clean(consumer.consumer)} {lag}{trouble}")
        lines = [(s.shard, _holder(s), _ago(s.beat_seconds), _behind(s)) for s in consumer.shards]
        output.print_table(("Shard", "Held by", "Last beat", "Behind"), lines)
        dead = [(one.sequence, one.change, one.tries, _time(one.at), one.error) for one in _letters(shown, consumer)]
        if dead:
            output.print_table(("Dead letter", "Change", "Tries", "Failed", "Error"), dead)


def _letters(shown: Work, consumer: ChangeLag) -> Sequence[DeadChange]:
    return shown.dead_letters.get(consumer.consumer, ())


def _holder(shard: ShardLag) -> str:
    return (shard.process or shard.owner) if shard.owner else "nobody"


def _print_tasks(table: str, lag: TaskLag, dead: Sequence[DeadTask]) -> None:
    due = output.counted(lag.due, "task") + ("" if lag.is_all else " or more")
    since = "" if lag.oldest is None else f", {lag.seconds:.0f} s behind, since {_time(lag.oldest)}"
    click.echo(f"{table}: {due} due{since}")
    if over := sum(lease.is_over for lease in lag.leases):
        click.echo(f"  {output.counted(over, 'lease')} over: a worker takes it over within its length, where one runs")
    if lag.leases:
        lines = [
            (lease.key, lease.task, lease.process or "unknown", _ago(lease.beat_seconds), _end(lease))
            for lease in lag.leases
        ]
        output.print_table(("Claimed", "Task", "Held by", "Last beat", "Lease"), lines)
    if dead:
        rows = [(one.key, one.task, one.tries, _time(one.died), one.process, one.error) for one in dead]
        output.print_table(("Dead task", "Task", "Tries", "Died", "On", "Error"), rows)


def _end(lease: TaskLease) -> str:
    return f"{'over since' if lease.is_over else 'until'} {_time(lease.until)}"


def _behind(shard: ShardLag) -> str:
    return "not measured" if shard.seconds is None else _ago(shard.seconds)


def _ago(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f} s"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
