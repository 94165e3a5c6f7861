"""`adopt`: a table that another program made, as a module of classes; and the proof of such a module."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.status import Status

from singletable.adopt import (
    Adopted,
    AdoptionPlan,
    Verified,
    VerifyFile,
    VerifyRun,
    adopted,
    allowing_writes,
    digest_of,
    doubts_in,
    plan_adoption,
    read_sample,
    read_source,
    refusing_writes,
    replace_module,
    verify,
)
from singletable.cli import output
from singletable.cli.lookup import module_of, one_table
from singletable.cli.session import options_anywhere, rate_of, session_of
from singletable.cli.stats import confirm_cost
from singletable.database import Database
from singletable.flow import at_rate


@click.command()
@click.argument("source", required=False)
@click.option("--table", metavar="NAME", help="The table to adopt, as it is called there.")
@click.option("--key", metavar="PK[,SK]", default="", help="The key of a table in an export.")
@click.option("--index", "indexes", metavar="NAME=PK[,SK]", multiple=True, help="An index of it; may be repeated.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the module here, not to the output."
)
@click.option("--verify", "module", metavar="MODULE", help="Make each item again by an adopted module, in memory.")
@click.option("--all", "whole", is_flag=True, help="With --verify: every item. If all are exact, writes are allowed.")
@click.option("--no-examples", is_flag=True, help="Show no keys of items.")
@click.option("--yes", is_flag=True, help="Don't ask, whatever the scan costs.")
@options_anywhere("sample", "seed", "read-rate", "json", "db")
@click.pass_context
def adopt(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Declare a table that another program made.

    \b
    singletable adopt --table orders --db aws --out shop/orders.py
    singletable adopt model.json --table orders --out shop/orders.py
    singletable adopt --verify shop.orders --db aws
    singletable adopt --verify shop.orders --db aws --all

    SOURCE is a file instead of a table: a model of NoSQL Workbench; or, with --key and --index, a data file of an
    export to S3, the export's directory, or its address.

    It reads up to 20,000 items, or a --sample, and keeps up to 200 of each kind; and writes a module with a class for
    each kind, and a report: what is explained, what is ambiguous, what is of no kind. It says before what that costs,
    and asks above 10,000 units. Nothing is written to the table.

    Each write by the module is refused until --verify --all has made each item of its classes again, attribute by
    attribute. It writes that into the module, in the line VERIFIED. A line "# ambiguous" says what else a key may be:
    choose, and take the line away. A verification that was ended goes on; without --all it reads up to 20,000 items.

    The exit code is 1 where an item would be written otherwise, or a line is ambiguous.
    """
    _check(options)
    if options["source"] is not None:
        done = _written(*_from_file(options), options, as_json)
        ctx.exit(0 if done else 1)
    with session_of(ctx).connect_to_read() as db:
        done = _verified(db, options, as_json) if options["module"] else _adopted(db, options, as_json)
    if not done:
        ctx.exit(1)


def _check(options: Mapping[str, Any]) -> None:
    """A usage error for options that don't go together, and for a module that is there: it may have been edited."""
    of_files = bool(options["key"] or options["indexes"])
    of_modules = options["source"] is not None or options["out"] is not None or of_files
    if options["module"] is None and options["source"] is None and options["table"] is None:
        raise click.UsageError("Say --table NAME, the table to adopt, or --verify MODULE, a module of one.")
    if options["module"] is not None and (of_modules or options["table"] is not None):
        raise click.UsageError("--verify MODULE reads the table of a module: say no file, --table, --key or --out.")
    if of_files and options["source"] is None:
        raise click.UsageError("--key and --index are of a file: a table says its keys itself.")
    if options["whole"] and options["sample"] is not None:
        raise click.UsageError("--all reads every item, --sample a part: say one.")
    if options["out"] is not None and options["out"].exists():
        raise click.UsageError(f"{options['out']} is there, and may have been edited. Name another file, or delete it.")


# --- a module ---------------------------------------------------------------------------------------------------------
def _adopted(db: Database, options: Mapping[str, Any], as_json: bool) -> bool:
    plan = _planned(db, options["table"], options)
    port = at_rate(db.port, rate_of(options))
    with (
        output.MeteredBlock(db) as cost,
        Status(f"{plan.layout.name}: reading", console=output.console(stderr=True)) as status,
    ):
        flow = read_sample(
            port,
            plan,
            seed=options["seed"],
            progress=lambda seen: status.update(f"{plan.layout.name}: {seen} items read"),
        )
        sample = db.run(flow)
    done = _written(adopted(sample.items, plan.layout), sample.read, options, as_json)
    cost.print()
    return done


def _from_file(options: Mapping[str, Any]) -> tuple[Adopted, int]:
    key = [name for name in options["key"].split(",") if name]
    pairs = (text.partition("=") for text in options["indexes"])
    indexes = {name: names.split(",") for name, _, names in pairs}
    if len(key) > 2 or not all(name and 1 <= len(names) <= 2 and all(names) for name, names in indexes.items()):
        raise click.UsageError("A key is --key PK or --key PK,SK, and an index --index NAME=PK,SK.")
    table = read_source(options["source"], options["table"], key, indexes, options["seed"])
    output.note(f"{table.layout.name}: {output.counted(table.sample.read, 'item')} in {options['source']}")
    return adopted(table.sample.items, table.layout), table.sample.read


def _written(outcome: Adopted, read: int, options: Mapping[str, Any], as_json: bool) -> bool:
    """Write the module and the report; whether all is explained, and nothing ambiguous."""
    if options["out"] is not None:
        options["out"].parent.mkdir(parents=True, exist_ok=True)
        options["out"].write_text(outcome.source, encoding="utf-8")
    elif not as_json:
        click.echo(outcome.source, nl=False)
    if as_json:
        output.print_json({**_facts(outcome, options), "read": read})
    else:
        _tell(outcome, read, options)
    return not outcome.unexplained and not any(doubt for kind in outcome.kinds for doubt in kind.doubts)


def _planned(db: Database, name: str, options: Mapping[str, Any]) -> AdoptionPlan:
    """The part that will be read. Its cost is told, and asked about if it is high."""
    plan = db.run(plan_adoption(db.port, name, options["sample"], whole=options["whole"]))
    items = output.counted(plan.items, "item")
    part = "all of it" if plan.sample is None else f"{plan.sample:.2%} of it"
    scan = f"about {output.counted(plan.read_units, 'read unit')} for a scan of {part}"
    units = scan if plan.read_units else f"the service gives no size, so the cost of a scan of {part} is unknown"
    output.note(f"{name}: {items} by the service's last count; {units}")
    confirm_cost(db, plan.read_units, yes=options["yes"])
    return plan


def _facts(outcome: Adopted, options: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(outcome)
    facts["kinds"] = [
        {"type": kind.type, "class": kind.title, "items": kind.items, "ambiguous": [*kind.doubts], "left": [*kind.left]}
        for kind in outcome.kinds
    ]
    if options["no_examples"]:
        for group in facts["unexplained"]:
            del group["example"]
    return facts


def _tell(outcome: Adopted, read: int, options: Mapping[str, Any]) -> None:
    """The report, on standard error: the module may be on the output."""
    explained = sum(outcome.explained.values())
    tried = "items that were read" if read == outcome.items else f"items, chosen of {read:,} that were read"
    classes = output.counted(len(outcome.kinds), "class", "classes")
    output.note(f"explained: {explained:,} of {outcome.items:,} {tried}, in {classes}")
    for kind in outcome.kinds:
        exact = outcome.explained.get(kind.type, 0)
        rare = ", rare" if kind.type in outcome.rare else ""
        output.note(f"  {kind.title}: {exact:,} of {kind.items:,}{rare}")
        for text in kind.doubts:
            output.note(f"    ambiguous: {text}")
        for text in kind.left:
            output.note(f"    not declared: {text}")
    for group in outcome.unexplained:
        output.note(f"  not explained: {output.counted(group.count, 'item')}: {group.what}{_example(group, options)}")
    for name, why in outcome.ignored.items():
        output.note(f"  index {name} is not declared: {why}")


def _example(each: Any, options: Mapping[str, Any]) -> str:
    return "" if options["no_examples"] else f", as {' / '.join(filter(None, each.example))}"


# --- its proof --------------------------------------------------------------------------------------------------------
def _verified(db: Database, options: Mapping[str, Any], as_json: bool) -> bool:
    table, path = one_table(options["module"]), Path(str(module_of(options["module"]).__file__))
    source = path.read_bytes().decode()  # with its line ends
    refusing_writes(source)  # raises before a scan for a module without the line
    sample = _planned(db, table.name, options).sample
    of = f"{digest_of(source)} {db.target.place}"
    run = VerifyRun(at_rate(db.port, rate_of(options)), table, of, VerifyFile(path, sample), sample, options["seed"])
    with (
        output.MeteredBlock(db) as cost,
        Status(f"{table.name}: reading", console=output.console(stderr=True)) as status,
    ):
        verified = db.run(verify(run, lambda at: status.update(f"{table.name}: {at.items} items read")))
    doubts = doubts_in(source)
    is_done = verified.is_whole and not doubts
    if not is_done:
        replace_module(path, source, refusing_writes(source))
    elif sample is None:
        day = f"{datetime.now(timezone.utc):%Y-%m-%d}"
        replace_module(path, source, allowing_writes(source, verified, day))
    if as_json:
        output.print_json({**msgspec.to_builtins(verified), "ambiguous": doubts, "writes": is_done and sample is None})
    else:
        _tell_verified(verified, doubts, options, is_all=sample is None)
    cost.print()
    return is_done


def _tell_verified(verified: Verified, doubts: list[str], options: Mapping[str, Any], *, is_all: bool) -> None:
    exact = sum(verified.exact.values())
    part = f"{exact:,} of {verified.covered:,} items of its classes"
    click.echo(f"{part} are made again byte for byte ({verified.percent:.2f}%)")
    for difference in verified.different:
        click.echo(
            output.clean(
                f"  {output.counted(difference.count, 'item')} of {difference.what}{_example(difference, options)}"
            )
        )
    if verified.unknown is not None:
        told = f"{output.counted(verified.unknown.count, 'item')}: {verified.unknown.what}"
        click.echo(output.clean(f"  {told}{_example(verified.unknown, options)}"))
    for line in doubts:
        click.echo(output.clean(f"  {line}"))
    for name, count in verified.undeclared.items():
        output.note(f"{name} is not declared, in {output.counted(count, 'item')}: writes leave it as it is")
    if verified.is_whole and not doubts:
        click.echo(f"  {'writes are allowed now' if is_all else '--all reads every item, and allows writes'}")
