"""docs/reference/cli.md, from the commands themselves: `python -m tests.docs.cli_reference` writes it anew."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from singletable.cli.app import app
from tests.docs.pages import DOCS

PAGE = DOCS / "reference" / "cli.md"
_HEAD = """\
# The command line

`singletable` comes with the extra: `python -m pip install 'singletable[cli]'`; the commands deploy, local and mcp
with extras of their names. This page is the help of each command,
written by `python -m tests.docs.cli_reference`.

Arguments are parsed by the type that the key declares: an `int`, a `Decimal`, a `date`, an instant with its zone, a
`UUID`, a member of an `Enum` by name or value. The end of an edge is the key of its node, `USER-ada`, or its id alone
where all nodes at that end have one class. A nested class is named with its outer class where the name alone is
ambiguous, as in `Project.Listing.by_document`. `name=value` names the parameter; words without a name fill the
parameters in order. Where a value begins with a minus, name its parameter: `number=-5`.

With `--db local:FILE` a command uses the engine that runs on the file; where none runs, it starts one for its own time.
Commands that read refuse a missing data file. On AWS nothing is created without `--yes`.
"""


def reference() -> str:
    return "\n".join([_HEAD, *_sections(app, program())])


def program() -> click.Context:
    return click.Context(app, info_name="singletable", **app.context_settings)


def commands(command: click.Command, ctx: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A command and all below it."""
    yield command, ctx
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            sub = command.get_command(ctx, name)
            assert sub is not None
            yield from commands(sub, click.Context(sub, info_name=name, parent=ctx))


def _sections(command: click.Command, ctx: click.Context) -> Iterator[str]:
    for sub, of in commands(command, ctx):
        of.terminal_width = of.max_content_width = 100
        text = inspect.cleandoc(sub.get_help(of))
        yield f"## {of.command_path}\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
