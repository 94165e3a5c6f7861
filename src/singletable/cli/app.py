"""The program: its global options, its commands, and the errors of the library."""

from __future__ import annotations

import ast
from contextlib import suppress
from importlib.abc import InspectLoader, Loader
from importlib.machinery import PathFinder
from typing import Any, NoReturn

import click

from singletable import __version__, entry_points
from singletable.cli import output
from singletable.cli.session import DB_VARIABLE, DEFAULT_DB, options_anywhere
from singletable.errors import SingletableError
from singletable.extensions import ExtensionGroup, RegisteredEntry

COMMANDS = ExtensionGroup("singletable.commands", click.Command, entry_points.COMMANDS)
_OF_EXTRAS = ("deploy", "local", "mcp")
"""Commands of distributions that come with the extra of that name."""


class Failed(click.ClickException):
    """An error of the library: one message on standard error, exit code 1."""

    def show(self, file: Any = None) -> None:
        output.error(self.format_message())


class Program(click.Group):
    """The commands of a group of entry points. One is imported when it is run; their list imports none."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SingletableError as error:
            _fail(error)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS.entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.entry(cmd_name)
        if entry is None and cmd_name in _OF_EXTRAS:
            install = f"python -m pip install 'singletable[{cmd_name}]'"
            raise click.UsageError(f"`singletable {cmd_name}` is a package of its own: {install}", ctx)
        return None if entry is None else COMMANDS.load(entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        entries = dict(sorted(COMMANDS.entries().items()))
        width = formatter.width - 6 - max(map(len, entries))
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(entry, width)) for name, entry in entries.items()])


def _summary(entry: RegisteredEntry, width: int) -> str:
    """The first sentence of a command's help; why there is none where the command can't be loaded."""
    try:
        text = _docstring(entry)
        command = COMMANDS.load(entry) if text is None else click.Command(entry.name, help=text)
    except SingletableError as error:
        return error.what
    return command.get_short_help_str(width)


def _docstring(entry: RegisteredEntry) -> str | None:
    """The docstring of an entry's function, from the source of its module: to import 22 modules would import every
    layer. None if the source has none."""
    with suppress(ImportError, SyntaxError):
        loader = _loader_of(entry.module)
        source = loader.get_source(entry.module) if isinstance(loader, InspectLoader) else None
        for node in ast.parse(source or "").body:
            if isinstance(node, ast.FunctionDef) and node.name == entry.attribute:
                return ast.get_docstring(node)
    return None


def _loader_of(module: str) -> Loader | None:
    """The loader of a module, found without an import of its packages."""
    names, path, loader = module.split("."), None, None
    for count in range(len(names)):
        spec = PathFinder.find_spec(".".join(names[: count + 1]), path)
        path, loader = (None, None) if spec is None else (spec.submodule_search_locations, spec.loader)
    return loader


def _fail(error: SingletableError) -> NoReturn:
    """Print an error with its notes, and with the keys that a refused plan has as a field: for a person's terminal."""
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    keys = [key for counted in getattr(error, "counted", ()) for key in counted.keys]
    notes += "".join(f"\n  {key}" for key in keys)
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
