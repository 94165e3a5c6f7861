"""The common part of the commands: the database, and the options that several of them have, each the same in all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from singletable.cli import output
from singletable.database import Database, connect
from singletable.errors import InvalidRequest, NotConfigured
from singletable.flow import NAMES_VARIABLE, PREFIX_VARIABLE, Rate, TableNames, named_table
from singletable.foundation import MOST_SEGMENTS, Table

if TYPE_CHECKING:
    from singletable.database_async import AsyncDatabase
    from singletable.exchange import ExportedItems

F = TypeVar("F", bound=Callable[..., Any])

DB_VARIABLE = "SINGLETABLE_DB"
MASK_VARIABLE = "SINGLETABLE_MASK_KEY"
DEFAULT_FILE = "data/singletable.db"
DEFAULT_DB = f"local:{DEFAULT_FILE}"


@dataclass
class Session:
    """One run of the program."""

    named: str | None = None
    """The value of --db; it takes precedence over the environment variable."""
    tables: dict[str, str] = field(default_factory=dict[str, str])
    """The names in the account of --table-name, by the declared ones. Without them and a prefix, the environment's."""
    prefix: str = ""
    """The value of --table-prefix."""

    @property
    def names(self) -> TableNames:
        """The names of tables in the account. InvalidRequest for what no table is called."""
        return TableNames.given(self.tables or None, self.prefix, os.environ)

    def at(self, target: str) -> Session:
        """The same names at another target, for a command with two databases."""
        return Session(target, self.tables, self.prefix)

    @property
    def target(self) -> str:
        """The option that names the database: --db, the environment variable, or the default."""
        return self.named or os.environ.get(DB_VARIABLE) or DEFAULT_DB

    @property
    def file(self) -> Path | None:
        """The data file, if the target is an embedded engine on a file."""
        kind, _, name = self.target.partition(":")
        return Path(name) if kind == "local" and name else None

    def connect(self) -> Database:
        """The database, which may be created."""
        return connect(self.target, tables=self.tables or None, table_prefix=self.prefix)

    def connect_to_read(self) -> Database:
        """The database; NotConfigured where its data file is missing."""
        self.check_readable()
        return self.connect()

    def check_readable(self) -> None:
        """Refuse a missing data file: reading it would only create an empty one in the wrong place."""
        if self.file is not None and not self.file.exists():
            raise NotConfigured(
                f"the data file {self.file} is missing",
                hint=f"Name another one with --db local:FILE, or create it: singletable --db {self.target} "
                "table create MODULE.",
            )

    def connect_async_to_read(self) -> AsyncDatabase:
        """The same for what runs in an event loop."""
        from singletable.database_async import connect_async

        self.check_readable()
        return connect_async(self.target, tables=self.tables or None, table_prefix=self.prefix)


def session_of(ctx: click.Context) -> Session:
    """The run of the program that a command belongs to."""
    session: Session = ctx.ensure_object(Session)
    return session


def mask_key() -> bytes | None:
    """The key of the variable; None if it is not set: then a key is made, and forgotten at the end."""
    key = os.environ.get(MASK_VARIABLE)
    return key.encode() if key else None


def rate_of(options: Mapping[str, Any], table: Table | None = None) -> Rate | None:
    """The rate that the options ask for; with a table, one that processes share where they say so."""
    bounds = {"write_units": options.get("rate"), "read_units": options.get("read_rate")}
    name = options.get("share_rate")
    if not any(bounds.values()):
        if name:
            raise click.UsageError("--share-rate names a rate that processes share. Say --rate or --read-rate too.")
        return None
    if not name or table is None:
        return Rate(**bounds)
    from singletable.migrations import SharedRate

    return SharedRate(table, name, **bounds)


def export_named(options: Mapping[str, Any], tables: Sequence[Table]) -> ExportedItems | None:
    """The export that the options name; None for none. A usage error where there are several tables: an export is of
    one. What it shows is told."""
    places = options["from_export"]
    if not places:
        return None
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        raise click.UsageError(f"--from-export is an export of one table. Name one of {names}: MODULE:NAME.")
    if options.get("sample") is not None:
        raise click.UsageError("An export is read whole, for no read units. Leave out --sample or --from-export.")
    from singletable.exchange import export_of

    export = export_of(tables[0], *places)
    output.note(f"{tables[0].name}: read as of {export.complete_at:%Y-%m-%d %H:%M:%S} UTC, from {export.where}")
    return export


def must_say_yes(db: Database, does: str, names: Iterable[str], *, yes: bool) -> None:
    """A usage error without --yes, unless the database is on this machine."""
    if not (yes or db.target.endpoint.is_local):
        called = ", ".join(map(db.target.names.shown, names))
        raise click.UsageError(f"This {does} {called} at {db.target.endpoint.url}. Add --yes to do it.")


class SampleShare(click.ParamType):  # type: ignore[type-arg]  # not generic in every release of click
    """A part of the whole: `1%`, or `0.01`."""

    name = "part"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value)
        try:
            part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            part = 0.0
        if not 0 < part < 1:
            self.fail(f"{text} is not a part of a table: say 1%, or 0.01", param, ctx)
        return part


def options_anywhere(*names: str) -> Callable[[F], F]:
    """Options that several commands have, by their names. `db` is allowed before a command's name, too."""

    def decorate(function: F) -> F:
        for name in reversed(names):
            function = _OPTIONS[name](function)
        return function

    return decorate


def _name_target(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        session_of(ctx).named = value


def _name_tables(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> None:
    for text in value:
        try:
            name, there = named_table(text)
        except InvalidRequest as error:
            raise click.BadParameter(error.what, ctx, parameter) from None
        if session_of(ctx).tables.setdefault(name, there) != there:
            raise click.BadParameter(f"{name} has two names: give it one", ctx, parameter)


def _name_prefix(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        session_of(ctx).prefix = value


def _named_database(function: F) -> F:
    """`--db`, and the names that tables have there."""
    return options_anywhere("--db", "names")(function)


def _names(function: F) -> F:
    """The names of tables in the account: `--table-name` and `--table-prefix`."""
    return options_anywhere("--table-name", "--table-prefix")(function)


UNITS = click.FloatRange(min=0, min_open=True)


def _job_options(function: F) -> F:
    """The options of a command that runs as a durable job."""
    return options_anywhere("--job", "--sections", "--cap", "--read-cap")(function)


_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "db": _named_database,
    "names": _names,
    "--job": click.option(
        "--job",
        "as_job",
        is_flag=True,
        help="As a durable job, which other processes share: `singletable job run`. Rates are for all of them "
        "together.",
    ),
    "--sections": click.option(
        "--sections", type=click.IntRange(min=1), metavar="N", help="With --job: the most that work at the same time."
    ),
    "--cap": click.option("--cap", type=UNITS, metavar="UNITS", help="With --job: write units in all."),
    "--read-cap": click.option("--read-cap", type=UNITS, metavar="UNITS", help="With --job: read units in all."),
    "--table-name": click.option(
        "--table-name",
        metavar="NAME=THERE",
        multiple=True,
        expose_value=False,
        callback=_name_tables,
        help="A table's name in the account, or its ARN, where it is not the declared one; may be repeated. "
        f"[env: {NAMES_VARIABLE}]",
    ),
    "--table-prefix": click.option(
        "--table-prefix",
        metavar="TEXT",
        expose_value=False,
        callback=_name_prefix,
        help=f"The beginning of the names of all other tables in the account. [env: {PREFIX_VARIABLE}]",
    ),
    "--db": click.option(
        "--db",
        metavar="TARGET",
        expose_value=False,
        callback=_name_target,
        help=f"local (memory), local:FILE, aws, or http://HOST:PORT. [env: {DB_VARIABLE}; default: {DEFAULT_DB}]",
    ),
    "personal": click.option("--personal", is_flag=True, help="Show the values of attributes that are personal."),
    "json": click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
    "sample": click.option(
        "--sample", type=SampleShare(), metavar="PART", help="Read this part of each table only, as 1% or 0.01."
    ),
    "seed": click.option("--seed", type=int, default=0, show_default=True, help="Which part that is."),
    "segments": click.option(
        "--segments", type=click.IntRange(1, MOST_SEGMENTS), help="Parts at once: 4, or 1 off AWS."
    ),
    "rate": click.option("--rate", type=UNITS, metavar="UNITS", help="Write units a second."),
    "read-rate": click.option("--read-rate", type=UNITS, metavar="UNITS", help="Read units a second."),
    "share-rate": click.option(
        "--share-rate",
        metavar="NAME",
        help="Share the rate, through the table, with processes that give the same name.",
    ),
    "price": click.option(
        "--price", metavar="REGION|FILE", help="Money, at a region's prices. [default: the database's]"
    ),
    "blobs": click.option(
        "--blobs", type=click.Path(exists=True, file_okay=False), help="The directory of documents' contents."
    ),
    "from-export": click.option(
        "--from-export",
        multiple=True,
        metavar="PATH",
        help="Read this export instead of scanning: s3://BUCKET/PREFIX/AWSDynamoDB/ID, a directory with a copy of it, "
        "or a folder of `singletable export`. Repeat it for the incremental exports after a full one.",
    ),
    "job": _job_options,
    "write": click.option("--yes", is_flag=True, help="Write on AWS, or at any other address than this machine's."),
}
