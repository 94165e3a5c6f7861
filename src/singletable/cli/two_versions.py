"""`plan --from OLD --to NEW`: what programs of two versions meet of each other, and how to deploy them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import session_of
from singletable.foundation import Table
from singletable.migrations import (
    Cell,
    Migrations,
    ModelDocument,
    TwoVersions,
    document_of,
    read_document,
    two_versions,
)

TABLE = "table"
_Version = Table | ModelDocument


def show_versions(
    ctx: click.Context, module: str, old: str, new: str | None, *, as_json: bool, only_back: bool
) -> bool:
    """Print the comparison of each table, or the way back alone; whether any differs."""
    with ExitStack() as stack:
        db = stack.enter_context(session_of(ctx).connect_to_read()) if TABLE in (old, new) else None

        def version(named: str | None, table: Table) -> _Version:
            if named == TABLE and db is not None:
                return _recorded(Migrations(db, table), is_back=only_back)
            return table if named is None else _in_file(named, table)

        compared = [two_versions(version(old, table), version(new, table)) for table in tables_of(module)]
    if as_json:
        output.print_json([_facts(versions) for versions in compared])
    else:
        for versions in compared:
            if not only_back:
                _show(versions)
            _show_back(versions)
    return any(versions.differences for versions in compared)


def _recorded(migrations: Migrations, *, is_back: bool) -> ModelDocument:
    """The model of the table; for the way back the one before, where it has the declared one already."""
    record = migrations.recorded()
    if is_back and record is not None and record == document_of(migrations.table).with_known(record):
        record = migrations.recorded(before=True) or record
    if record is None:
        raise click.UsageError(f"table {migrations.table.name} has no record of a model; an apply writes it")
    return record


def _in_file(named: str, table: Table) -> ModelDocument:
    """The document of a table in a file of --check-in, which has one or a list."""
    try:
        text = Path(named).read_text()
        listed = text if text.lstrip().startswith("[") else f"[{text}]"
        parts = map(bytes, msgspec.json.decode(listed, type=list[msgspec.Raw]))
        chosen = [document for document in map(read_document, parts) if document.table == table.name]
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise click.UsageError(f"{named} can't be read as a file of `plan --check-in`: {error}") from error
    if not chosen:
        raise click.UsageError(f"{named} has no table {table.name}; `singletable plan MODULE --check-in` writes it")
    return chosen[0]


def _facts(compared: TwoVersions) -> dict[str, Any]:
    facts = msgspec.to_builtins(compared)
    return {**facts, "differences": [{**msgspec.to_builtins(d), "kind": d.kind} for d in compared.differences]}


def _show(compared: TwoVersions) -> None:
    """Print how to deploy, then what programs meet: at each time what has changed since the one before."""
    counted = output.counted(len(compared.differences), "difference")
    click.echo(f"{compared.table}: {counted if compared.differences else 'both versions store the same'}")
    for difference in compared.differences:
        click.echo(f"  {difference.kind}: {output.clean(str(difference))}")
    if not compared.differences:
        return
    click.echo("deployment")
    for number, sentence in enumerate(compared.order, 1):
        click.echo(f"{number:3} {output.clean(sentence)}")
    before: dict[tuple[str, ...], tuple[str, ...]] = {}
    for phase in compared.phases:
        cells = [cell for cell in compared.cells if cell.phase == phase]
        lines = list(_lines([cell for cell in cells if before.get(_place(cell), ("as ever",)) != cell.sees]))
        before = {_place(cell): cell.sees for cell in cells}
        click.echo(f"{phase}{'' if lines else ': no change'}")
        for line in lines:
            click.echo(f"  {output.clean(line)}")


def _show_back(compared: TwoVersions) -> None:
    if compared.differences:
        click.echo(f"back, by an apply of the old declaration: {', '.join(compared.back)}")
    for lost in compared.lost:
        click.echo(f"  stays: {output.clean(lost)}")


def _place(cell: Cell) -> tuple[str, ...]:
    return cell.program, cell.subject, cell.verb, cell.pattern


def _lines(cells: list[Cell]) -> Iterator[str]:
    """A line for the verbs of a class that meet the same."""
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        for sees in cell.sees:
            verbs.setdefault((cell.program, cell.subject, sees), []).append(f"{cell.verb} {cell.pattern}".strip())
    yield from (f"{p} program, {s}: {', '.join(v)}: {sees}" for (p, s, sees), v in verbs.items())
