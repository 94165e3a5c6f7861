"""The program: its global options, its commands, and the errors of the library."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from singletable import __version__
from singletable.cli import output
from singletable.cli.apply import apply
from singletable.cli.backup import backup
from singletable.cli.check_command import check
from singletable.cli.copy import copy_command
from singletable.cli.demo import demo
from singletable.cli.deploy import deploy
from singletable.cli.erase import erase
from singletable.cli.export import export
from singletable.cli.fill import fill
from singletable.cli.import_command import import_command
from singletable.cli.local import local
from singletable.cli.mcp_command import mcp_command
from singletable.cli.pattern_commands import explain, get, query
from singletable.cli.patterns import patterns
from singletable.cli.plan import plan
from singletable.cli.session import DB_VARIABLE, DEFAULT_DB, options_anywhere
from singletable.cli.sql import sql
from singletable.cli.stats import stats
from singletable.cli.stream import stream
from singletable.cli.studio import studio
from singletable.cli.table import table
from singletable.errors import SingletableError


class Failed(click.ClickException):
    """An error of the library: one message on standard error, exit code 1."""

    def show(self, file: Any = None) -> None:
        output.error(self.format_message())


class Program(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SingletableError as error:
            _fail(error)


def _fail(error: SingletableError) -> NoReturn:
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    raise Failed(f"{error}{notes}\n[{error.code}]") from error


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="singletable %(version)s")
@options_anywhere("db")
def app() -> None:
    """Inspect and read the DynamoDB tables that a module declares.

    MODULE is a dotted name (shop.model) or a file (shop/model.py), found from the current directory; MODULE:NAME
    selects one of its tables. It is imported, so keep declarations apart from programs.

    Results go to standard output, costs and errors to standard error. The exit code is 0, 1 for a refusal or an error,
    2 for an invalid command.
    """


app.epilog = f"The database is {DEFAULT_DB} unless --db or {DB_VARIABLE} names another."
for command in (
    demo,
    local,
    table,
    plan,
    apply,
    check,
    fill,
    erase,
    backup,
    copy_command,
    import_command,
    export,
    patterns,
    get,
    query,
    explain,
    stats,
    sql,
    stream,
    studio,
    deploy,
    mcp_command,
):
    app.add_command(command)
