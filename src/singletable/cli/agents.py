"""`agents`: what a program that writes programs must know, in one text."""

from __future__ import annotations

from importlib.resources import files

import click


@click.command()
def agents() -> None:
    """Print how to write an application, for a coding agent.

    Six programs, and what must be known: keys, verbs, errors, costs. The text is agents.txt of the documentation.

    \b
    singletable agents >> AGENTS.md
    """
    click.echo(files("singletable.cli").joinpath("agents.md").read_text(encoding="utf-8"), nl=False)
