"""What the tests of broken files share: a command of an application, run here, on a database that is open already."""

from __future__ import annotations

from dataclasses import dataclass

import click
from click.testing import CliRunner


@dataclass(frozen=True)
class Told:
    """How a command ended, and what it said on standard error and standard output."""

    code: int
    error: str
    out: str


def run(main: click.Group, *arguments: str) -> Told:
    """Any error but a refusal is raised as it is."""
    ran = CliRunner().invoke(main, arguments)
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return Told(ran.exit_code, ran.stderr, ran.stdout)


def check_refused(told: Told, where: str) -> None:
    """One line, that begins with the place, and an exit code that scripts see."""
    assert told.code == 1, told
    lines = told.error.splitlines()
    assert len(lines) == 1, told.error
    assert lines[0].startswith("Error: "), lines[0]
    assert where in lines[0], lines[0]
    assert lines[0].isprintable(), "a terminal would obey it"
    assert len(lines[0]) < 600, "nobody reads it"
