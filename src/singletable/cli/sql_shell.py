"""The shell of `sql`: statements that end with a semicolon, with history and completion."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from singletable.cli import output
from singletable.errors import SingletableError
from singletable.exchange.inspect import state_home

if TYPE_CHECKING:
    from singletable.reports import Answer, SqlSession

_WORDS = re.findall(
    r"\w+",
    "SELECT FROM WHERE GROUP BY ALL ORDER LIMIT JOIN LEFT ON AS AND OR NOT NULL DISTINCT COUNT SUM AVG MIN MAX CASE "
    "WHEN THEN ELSE END WITH UNION INTERVAL BETWEEN LIKE ILIKE DESC HAVING UNNEST QUALIFY OVER EXPLAIN DESCRIBE",
)
_MOST_LINES = 1000
_HELP = """\
  .views          the views that can be asked
  .columns VIEW   its columns, with their types
  .quit           end (or Ctrl-D)
A statement ends with a semicolon; Tab completes names."""


class Completion:
    """The names that a beginning may become: of views, of their columns, of SQL."""

    def __init__(self, views: Iterable[str], columns_of: Callable[[str], Mapping[str, str]]) -> None:
        self._views, self._columns_of = list(views), columns_of
        self._columns: dict[str, list[str]] = {}

    def of(self, beginning: str, statement: str) -> list[str]:
        """All of them, views first; the columns are those of the views that the statement names."""
        lower = beginning.lower()
        names = [view for view in self._views if view.startswith(lower)]
        for view in self._views:
            if re.search(rf"\b{re.escape(view)}\b", statement):
                names += [column for column in self._of_view(view) if column.lower().startswith(lower)]
        words = [word if beginning.isupper() else word.lower() for word in _WORDS if word.lower().startswith(lower)]
        return list(dict.fromkeys([*names, *(words if beginning else ())]))

    def _of_view(self, view: str) -> list[str]:
        if view not in self._columns:
            self._columns[view] = list(self._columns_of(view))
        return self._columns[view]


def history_file(environ: Mapping[str, str]) -> Path:
    """The file that keeps the statements, by the rules of XDG."""
    return state_home(environ) / "sql_history"


def run_shell(session: SqlSession, show: Callable[[Answer], object]) -> None:
    """Ask, show, and ask again, until the end of input."""
    readline = _with_history(Completion(session.views, session.columns))
    click.echo("A statement ends with a semicolon. .help says more.")
    try:
        while (statement := _statement()) not in (None, ".quit"):
            try:
                _run(session, statement or "", show)
            except SingletableError as error:
                output.error(str(error))
            except KeyboardInterrupt:
                click.echo("interrupted")
    finally:
        if readline is not None:
            _keep(readline, history_file(os.environ))


def _run(session: SqlSession, statement: str, show: Callable[[Answer], object]) -> None:
    command, _, rest = statement.partition(" ")
    if command == ".views":
        output.print_table(("View", ""), list(session.views.items()))
    elif command == ".columns" and rest.strip():
        output.print_table(("Column", "Type"), list(session.columns(rest.strip().strip('"')).items()))
    elif command.startswith("."):
        click.echo(_HELP)
    elif statement.rstrip("; \n"):
        show(session.query(statement))


def _statement() -> str | None:
    """The next statement, or line that begins with a point; None at the end of input. Ctrl-C begins again."""
    lines: list[str] = []
    while True:
        try:
            line = input("   ...> " if lines else "sql> ")
        except EOFError:
            click.echo()
            return None
        except KeyboardInterrupt:
            click.echo()
            lines = []
            continue
        lines.append(line)
        if (len(lines) == 1 and line.startswith(".")) or line.rstrip().endswith(";") or not "".join(lines).strip():
            return "\n".join(lines).strip()


def _with_history(completion: Completion) -> Any:
    """Line editing, where Python has it; None elsewhere."""
    try:
        import readline
    except ModuleNotFoundError:
        return None
    file = history_file(os.environ)
    if file.exists():
        readline.read_history_file(file)
    readline.set_history_length(_MOST_LINES)
    readline.set_completer_delims(" \t\n\"',;()=<>+-*/|")
    candidates: list[str] = []

    def complete(beginning: str, number: int) -> str | None:
        if number == 0:
            candidates[:] = completion.of(beginning, readline.get_line_buffer())
        return candidates[number] if number < len(candidates) else None

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    return readline


def _keep(readline: Any, file: Path) -> None:
    """Write the history, for this user alone: statements may hold personal values."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.touch(mode=0o600)
    readline.write_history_file(file)
    file.chmod(0o600)
