"""`get`, `query` and `explain`: an access pattern by its name, with its arguments."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click
from rich.status import Status

from singletable.cli import output
from singletable.cli.arguments import PatternCommand, arguments_of, usage
from singletable.cli.lookup import pattern_of
from singletable.cli.session import options_anywhere, session_of
from singletable.database import Database
from singletable.foundation import KeyOf, Page, Query, covered_body, flows, ready
from singletable.pattern_calls import Pattern
from singletable.records import Explained
from singletable.schema import Collection, Whole, whole_items

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
_NEWS_EVERY = 100


def _pattern_arguments(function: F) -> F:
    words = click.argument("words", nargs=-1, metavar="[ARG | NAME=VALUE]...")
    pattern = click.argument("pattern", metavar="ENTITY.PATTERN")
    module = click.argument("module", metavar="MODULE[:NAME]")
    return module(pattern(words(function)))


_consistent = click.option("--consistent", is_flag=True, help="Read consistently, at twice the units.")
_newest_first = click.option("--newest-first", is_flag=True, help="In descending order of the sort key.")


@click.command(cls=PatternCommand)
@_pattern_arguments
@_consistent
@options_anywhere("personal", "json", "db")
@click.pass_context
def get(ctx: click.Context, /, module: str, pattern: str, as_json: bool, **options: Any) -> None:
    """Read an entity by its key, or a whole collection.

    \b
    singletable get shop.model User.by_email ada@example.org
    singletable get shop.model UserDetails.by_email ada@example.org --json

    The exit code is 1 where nothing is found.
    """
    bound = pattern_of(module, pattern)
    asked = _asked(bound, **options)
    if not isinstance(asked, Whole) and not (isinstance(asked, KeyOf) and asked.is_one_key):
        open_ = ", or give each argument a value" if isinstance(asked, KeyOf) else ""
        raise click.UsageError(f"{usage(bound)} can return several items: use `singletable query`{open_}.")
    with session_of(ctx).connect_to_read() as db:
        entity = _metered(db, bound, lambda _: db.get(asked))
    if as_json:
        output.print_json(entity, personal=options["personal"])
    elif entity is not None:
        _print_found(entity, personal=options["personal"])
    if entity is None:
        output.error(f"nothing is found under {bound.shown} with these arguments")
        ctx.exit(1)


@click.command(cls=PatternCommand)
@_pattern_arguments
@click.option("--limit", type=click.IntRange(min=1), default=25, show_default=True, help="Most items of the page.")
@click.option("--after", metavar="CURSOR", help="Continue after the page with this cursor.")
@click.option("--all", "everything", is_flag=True, help="Read every item, at any cost.")
@_newest_first
@_consistent
@options_anywhere("personal", "json", "db")
@click.pass_context
def query(ctx: click.Context, /, module: str, pattern: str, as_json: bool, **options: Any) -> None:
    """Read a page of an access pattern, in key order.

    \b
    singletable query shop.model Contact.by_domain d1
    singletable query shop.model Contact.by_domain d1 name=starting-with:A --limit 5
    singletable query shop.model Search.by_contact c1 started_at=before:2026-01-31T09:30:00Z --newest-first
    singletable query shop.model Membership.of TEAM-t1

    An argument of the sort key may be a range: before:X, after:X, at-least:X, at-most:X, between:X,Y or starting-with:X
    (and exactly:X for a value that looks like one). A node at the end of an edge is named by its key: TEAM-t1.
    """
    bound = pattern_of(module, pattern)
    asked = _asked(bound, **options)
    if isinstance(asked, Whole):
        raise click.UsageError(f"{pattern} is a collection, which is read as a whole: use `singletable get`.")
    limit, after, everything = options["limit"], options["after"], options["everything"]
    if everything and after:
        raise click.UsageError("--all starts at the first item: omit --after.")
    with session_of(ctx).connect_to_read() as db:

        def read(status: Status) -> Page[Any]:
            return _everything(db, asked, status) if everything else db.page(asked, limit=limit, after=after)

        _print_page(_metered(db, bound, read), as_json, personal=options["personal"])


@click.command(cls=PatternCommand)
@_pattern_arguments
@_newest_first
@_consistent
@options_anywhere("personal", "json")
def explain(module: str, pattern: str, as_json: bool, **options: Any) -> None:
    """Show the requests of a pattern without sending them.

    \b
    singletable explain shop.model Contact.by_domain d1 name=starting-with:A
    """
    asked = _asked(pattern_of(module, pattern), **options)
    requests: list[Explained] = flows.explain(asked, now=time.time())
    if not options["personal"]:
        query = asked.query if isinstance(asked, Whole) else asked
        requests = [replace(each, body=covered_body(query, each.body)) for each in requests]
    if as_json:
        output.print_json(requests)
        return
    for request in requests:
        click.echo(output.clean(str(request)))
        click.echo(json.dumps(request.body, indent=2, ensure_ascii=False))


def _asked(
    bound: Pattern, words: Sequence[str], consistent: bool, newest_first: bool = False, **_: Any
) -> Query[Any] | Whole[Any]:
    asked = bound.call(**arguments_of(bound, words))
    if newest_first:
        if isinstance(asked, Whole):
            raise click.UsageError("--newest-first does not apply to a collection.")
        asked = asked.newest_first()
    asked = asked.consistent() if consistent else asked
    return asked if isinstance(asked, Whole) else whole_items(asked)


def _metered(db: Database, bound: Pattern, read: Callable[[Status], T]) -> T:
    """The result; its cost goes to standard error, without the cost of a local table's first use."""
    with Status(f"reading {bound.shown}", console=output.console(stderr=True)) as status:
        db.run(ready(db.port, bound.captured.model.table))
        with output.MeteredBlock(db) as cost:
            answer = read(status)
    cost.print()
    return answer


def _everything(db: Database, asked: Query[Any], status: Status) -> Page[Any]:
    items: list[Any] = []
    for item in db.iter(asked):
        items.append(item)
        if len(items) % _NEWS_EVERY == 0:
            status.update(f"{len(items)} items")
    return Page(items)


def _print_page(page: Page[Any], as_json: bool, *, personal: bool) -> None:
    if as_json:
        output.print_json({"items": page.items, "cursor": page.cursor}, personal=personal)
        return
    output.print_items(page.items, personal=personal)
    if not page.items:
        output.note("no items")
    if page.cursor is not None:
        output.note(f"There may be more: --after {page.cursor}")


def _print_found(entity: Any, *, personal: bool) -> None:
    """An entity, or a collection part by part."""
    if not isinstance(entity, Collection):
        output.print_items([entity], personal=personal)
        return
    for name, place in type(entity).__collection_fields__.items():
        part: Any = getattr(entity, name)
        items: list[Any] = part if place.many else [] if part is None else [part]
        click.echo(f"{name} ({len(items)})")
        output.print_items(items, personal=personal)
