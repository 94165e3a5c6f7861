"""`stream tail`: a table's changes as they happen, decoded by their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import options_anywhere, session_of
from singletable.database import Database
from singletable.errors import PASSING
from singletable.flow import instant
from singletable.foundation import Table, covered_place, place_in

if TYPE_CHECKING:
    from singletable.streams.inspect import Start, Tail, TailedChange, TailedGap

_PAUSE_SECONDS = 0.25
_TIMEOUT_SECONDS = 1.0


@click.group()
def stream() -> None:
    """Show the changes of a table with a stream."""


@stream.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--from", "start", type=click.Choice(["now", "horizon"]), default="now", show_default=True)
@click.option("--once", is_flag=True, help="End when no further change is found.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only changes of this type; may be repeated.")
@options_anywhere("personal", "json", "db")
@click.pass_context
def tail(
    ctx: click.Context,
    module: str,
    start: Start,
    once: bool,
    types: tuple[str, ...],
    personal: bool,
    as_json: bool,
) -> None:
    """Show changes as they happen, until Ctrl-C.

    \b
    singletable stream tail shop.model
    singletable stream tail shop.model --from horizon --once --type contact --json

    A stream holds the changes of a day. Nothing is written: workers' checkpoints don't change. A line "gap" says where
    changes are missing: they expired from the stream before they were read.
    """
    from singletable.flow import stopping
    from singletable.streams.inspect import Tail, TailedChange

    table = _table_with_stream(module)
    with session_of(ctx).connect_to_read() as db, stopping() as should_stop:
        watch = Tail(db.port, table, start)
        while not should_stop():
            changes = db.run(watch.read()) if once else _read_with_retries(db, watch, should_stop)
            for one in changes:
                if not isinstance(one, TailedChange):
                    click.echo(output.clean(_gap_as_data(one)) if as_json else _gap_line(one))
                elif not types or one.type in types:
                    click.echo(output.clean(_as_data(one, personal)) if as_json else _line(one, table, personal))
            if once and not changes:
                return
            if not changes:
                _pause(db, _PAUSE_SECONDS)


def _read_with_retries(
    db: Database, watch: Tail, should_stop: Callable[[], bool]
) -> Sequence[TailedChange | TailedGap]:
    """Read, and retry passing errors: reading continues after the last shown change. The first error is printed."""
    is_printed = False
    while not should_stop():
        try:
            return db.run(watch.read())
        except PASSING as error:
            if not is_printed:
                output.error(f"{error}\nRetrying until it passes.")
            is_printed = True
        _pause(db, _TIMEOUT_SECONDS)
    return ()


def _pause(db: Database, seconds: float) -> None:
    db.run(db.port.sleep(seconds))


def _table_with_stream(module: str) -> Table:
    tables = [table for table in tables_of(module) if table.definition.stream is not None]
    if not tables:
        raise click.UsageError(f'{module} declares no table with a stream: Table(..., stream="new_and_old").')
    if len(tables) > 1:
        named = ", ".join(table.name for table in tables)
        raise click.UsageError(f"{module} has several tables with a stream: name one of {named} as MODULE:NAME.")
    if tables[0].definition.stream != "new_and_old":
        raise click.UsageError(f"{tables[0].name} has a stream without both images: changes can't be shown from it.")
    return tables[0]


def _line(seen: TailedChange, table: Table, personal: bool) -> str:
    """`12:30:01  modified  contact  name: Ada -> Ada Lovelace`."""
    at = instant(seen.record.dynamodb.approximate_creation_date_time)
    words = [f"{at:%H:%M:%S}", seen.what, seen.type or "(no type)", seen.error or _what_changed(seen, table, personal)]
    return "  ".join(output.clean(word) for word in words)


def _gap_line(gap: TailedGap) -> str:
    where = f"in shard {gap.shard}, {'after ' + gap.after if gap.after else 'before the first that was read'}"
    at = instant(gap.at)
    return f"{at:%H:%M:%S}  gap  changes are missing {output.clean(where)}"


def _gap_as_data(gap: TailedGap) -> Mapping[str, Any]:
    at = instant(gap.at)
    return {"time": at, "what": "gap", "shard": gap.shard, "after": gap.after}


def _what_changed(seen: TailedChange, table: Table, personal: bool) -> str:
    old, new = _sides(seen)
    if old is None or new is None:
        one: Any = old if new is None else new
        return (
            _key(seen, table, personal)
            if one is None
            else ", ".join(f"{n}: {output.clean(v)}" for n, v in output.values_of(one, personal=personal).items() if v)
        )
    befores, afters = (output.values_of(one, personal=personal) for one in (old, new))
    names = [name for name in befores if getattr(old, name) != getattr(new, name)]
    changed = [f"{name}: {output.clean(befores[name])} -> {output.clean(afters[name])}" for name in names]
    return f"{_key(seen, table, personal)}  {', '.join(changed) or 'no attribute that its class declares'}"


def _key(seen: TailedChange, table: Table, personal: bool) -> str:
    place = place_in(table, seen.record.dynamodb.keys)
    place = place if personal else covered_place(table, seen.type, place)
    return " / ".join(output.clean(text) for text in place)


def _sides(seen: TailedChange) -> tuple[Any, Any]:
    return getattr(seen.change, "old", None), getattr(seen.change, "new", None)


def _as_data(seen: TailedChange, personal: bool) -> Mapping[str, Any]:
    old, new = _sides(seen)
    given = (("old", old), ("new", new))
    sides = {name: output.values_of(one, personal=personal) for name, one in given if one is not None}
    at = instant(seen.record.dynamodb.approximate_creation_date_time)
    facts = {"time": at, "what": seen.what, "type": seen.type, "sequence": seen.record.sequence}
    return {**facts, **sides, **({"error": seen.error} if seen.error else {})}
