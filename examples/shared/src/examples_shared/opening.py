"""What commands work with, opened when the first of them runs: `--help` and refused options open and make nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import click

from singletable import Database, Table, connect

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


class Opening(Generic[T]):
    """A group's `context.obj`: a database at a target, and what the application makes of it. Closed with the group."""

    def __init__(self, context: click.Context, target: str, table: Table, make: Callable[[Database], T]) -> None:
        self._context, self._target, self._table, self._make = context, target, table, make
        self._opened: list[T] = []

    def opened(self) -> T:
        """What it makes; the table is created where the database is a local one."""
        if not self._opened:
            db = self._context.with_resource(connect(self._target))
            made = self._make(db)
            if self._target.partition(":")[0] == "local":
                db.create_table(self._table)
            self._opened.append(made)
        return self._opened[0]


def pass_opened(command: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """Give a command what its group opens, as its first argument."""

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        opening = cast("Opening[Any]", click.get_current_context().obj)
        return command(opening.opened(), *args, **kwargs)

    return update_wrapper(run, command)
