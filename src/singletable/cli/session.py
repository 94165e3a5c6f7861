"""The common part of the commands: the database, and the options that are allowed before or after a command."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from singletable.database import Database, connect
from singletable.errors import NotConfigured

if TYPE_CHECKING:
    from singletable.database_async import AsyncDatabase

F = TypeVar("F", bound=Callable[..., Any])

DB_VARIABLE = "SINGLETABLE_DB"
DEFAULT_FILE = "data/singletable.db"
DEFAULT_DB = f"local:{DEFAULT_FILE}"


@dataclass
class Session:
    """One run of the program."""

    named: str | None = None
    """The value of --db; it takes precedence over the environment variable."""

    @property
    def target(self) -> str:
        """What names the database: --db, the environment variable, or the default."""
        return self.named or os.environ.get(DB_VARIABLE) or DEFAULT_DB

    @property
    def file(self) -> Path | None:
        """The data file, if the target is an embedded engine on a file."""
        kind, _, name = self.target.partition(":")
        return Path(name) if kind == "local" and name else None

    def connect(self) -> Database:
        """The database, which may be created."""
        return connect(self.target)

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
        return connect_async(self.target)


def session_of(ctx: click.Context) -> Session:
    """The run of the program that a command belongs to."""
    session: Session = ctx.ensure_object(Session)
    return session


def options_anywhere(*names: str) -> Callable[[F], F]:
    """Options that are allowed after a command's name as well as before it."""

    def decorate(function: F) -> F:
        for name in reversed(names):
            function = _OPTIONS[name](function)
        return function

    return decorate


def _name_target(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        session_of(ctx).named = value


_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "db": click.option(
        "--db",
        metavar="TARGET",
        expose_value=False,
        callback=_name_target,
        help=f"local (memory), local:FILE, aws, or http://HOST:PORT. [env: {DB_VARIABLE}; default: {DEFAULT_DB}]",
    ),
    "personal": click.option("--personal", is_flag=True, help="Show the values of attributes that are personal."),
    "json": click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
}
