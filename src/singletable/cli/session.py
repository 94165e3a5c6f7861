"""What the commands share: which database they talk to, and the options that stand before or after a command."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from singletable.database import Database, connect
from singletable.errors import NotConfigured

F = TypeVar("F", bound=Callable[..., Any])

DB_VARIABLE = "SINGLETABLE_DB"
DEFAULT_FILE = "data/singletable.db"
DEFAULT_DB = f"local:{DEFAULT_FILE}"


@dataclass
class Session:
    """One run of the program."""

    named: str | None = None
    """What --db said; it goes before the environment's word."""

    @property
    def target(self) -> str:
        return self.named or os.environ.get(DB_VARIABLE) or DEFAULT_DB

    @property
    def file(self) -> Path | None:
        """The data file of an embedded engine, where the target is one."""
        kind, _, name = self.target.partition(":")
        return Path(name) if kind == "local" and name else None

    def connect(self) -> Database:
        return connect(self.target)

    def connect_to_read(self) -> Database:
        """Refuses a data file that isn't there: reading it would only make an empty one in the wrong place."""
        if self.file is not None and not self.file.exists():
            raise NotConfigured(
                f"there is no data file {self.file}",
                hint=f"Name the right one with --db local:FILE, or make it: singletable --db {self.target} "
                "table create MODULE.",
            )
        return self.connect()


def session_of(ctx: click.Context) -> Session:
    session: Session = ctx.ensure_object(Session)
    return session


def options_anywhere(*names: str) -> Callable[[F], F]:
    """Options that every command takes after its name as well as before it."""

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
    "json": click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
}
