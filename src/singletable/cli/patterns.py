"""`patterns`: every access pattern of a module's tables, with its keys and cost."""

from __future__ import annotations

import click
from rich.text import Text

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import options_anywhere
from singletable.foundation import AccessPattern, Table, catalogue


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--system", is_flag=True, help="Include the library's own items, such as tasks.")
@options_anywhere("json")
def patterns(module: str, system: bool, as_json: bool) -> None:
    """List every access pattern with its keys and cost.

    Each with its arguments, its keys and the index or table that is read, its requests and capacity. Sends nothing.

    \b
    singletable patterns shop.model
    singletable patterns shop/model.py --json
    """
    tables = tables_of(module)
    if as_json:
        output.print_json([pattern for table in tables for pattern in catalogue(table, system=system)])
        return
    for table in tables:
        _print(table, catalogue(table, system=system))


def _print(table: Table, every: tuple[AccessPattern, ...]) -> None:
    entities = output.counted(sum(not model.is_system for model in table.models), "entity", "entities")
    click.echo(f"table {output.clean(table.name)}: {entities}, {output.counted(len(every), 'access pattern')}")
    titles = ("Access pattern", "Keys", "Cost")
    output.print_table(titles, [(_called(p), _keys(p), _cost(p)) for p in every], between=True)


def _called(pattern: AccessPattern) -> Text:
    title = Text(f"{pattern.entity}.{pattern.name}", style="bold")
    title.append(f"\n{', '.join(p.shown for p in pattern.parameters)}", style="not bold")
    for line in pattern.description.splitlines()[:1]:
        title.append(f"\n{output.clean(line)}", style="not bold dim")
    return title


def _keys(pattern: AccessPattern) -> Text:
    """Partition, sort key, and the table or index that is read."""
    place = f"in index {pattern.index}" if pattern.index else "in the table"
    sparse = f", where {', '.join(pattern.sparse_by)} is not None" if pattern.sparse_by else ""
    sort = pattern.sort or "every item of the partition"
    return Text(f"{output.clean(pattern.partition)}\n{output.clean(sort)}\n").append(place + sparse, style="dim")


def _cost(pattern: AccessPattern) -> Text:
    filtered = "\na filter on the type" if pattern.needs_type_filter else ""
    first = f"\nan update of {' or '.join(pattern.reads_first)} reads first" if pattern.reads_first else ""
    return Text(f"{pattern.requests}\n{pattern.capacity}{filtered}{first}")
