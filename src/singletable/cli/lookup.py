"""Finding what a command names: a module, by its dotted name or file, its tables, and their access patterns."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import click

from singletable.database import Database
from singletable.errors import SingletableError
from singletable.foundation import Entity, Table
from singletable.layers import tables_beside
from singletable.pattern_calls import Pattern, patterns_of

_ASK_FOR_WINDOWS = ("getpass", "mimetypes", "subprocess")
"""Modules of Python that try to import modules of Windows, which a file of a folder on the path could be."""


def tables_of(spec: str) -> list[Table]:
    """The tables of MODULE[:NAME]: its variables that are tables, and the tables of its entities. A table that items
    move to comes before the one that they leave."""
    where, name = _split(spec)
    module = load(where)
    variables: dict[int, tuple[str, Table]] = {}
    for variable, value in vars(module).items():
        table = value if isinstance(value, Table) else _table_of(value)
        if table is not None and (id(table) not in variables or isinstance(value, Table)):
            variables[id(table)] = (variable, table)
    if not variables:
        raise click.UsageError(
            f"{where} has no table. Name the module that declares it, as in: app = Table('app') and its entities."
        )
    chosen = [table for variable, table in variables.values() if name in (None, variable, table.name)]
    if not chosen:
        _unknown("table", name or "", [variable for variable, _ in variables.values()], where)
    return sorted(chosen, key=lambda table: bool(table.leaving))


def one_table(module: str) -> Table:
    """The one table of MODULE[:NAME]; a usage error for several."""
    tables = tables_of(module)
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        raise click.UsageError(f"{module} has several tables: {names}. Name one, as in {module}:{tables[0].name}.")
    return tables[0]


def tables_to_make(db: Database, spec: str) -> list[Table]:
    """The tables of MODULE[:NAME], and the missing ones that their layers keep beside them, such as that of leases.

    A request for each of those; none for a local engine, which creates them at their first use.
    """
    tables = tables_of(spec)
    if db.port.traits.creates_tables:
        return tables
    beside = dict.fromkeys(each for table in tables for each in tables_beside(table))
    missing = [each for each in beside if each not in tables and db.describe_table(each) is None]
    return [*tables, *missing]


def module_of(spec: str) -> ModuleType:
    """The module of MODULE[:NAME]."""
    return load(_split(spec)[0])


def pattern_of(spec: str, named: str) -> Pattern:
    """The access pattern `Entity.pattern` or `Collection.pattern` of a module.

    A nested class is named with its outer class, as in `Project.Listing.by_document`, or alone where that is unique.
    """
    owner, _, name = named.rpartition(".")
    owner, name = (owner, name) if owner else (name, "")
    every = [pattern for table in tables_of(spec) for pattern in patterns_of(table)]
    entities = dict.fromkeys(p.entity for p in every)
    chosen = [e for e in entities if e == owner] or [e for e in entities if e.rpartition(".")[2] == owner]
    if not chosen:
        _unknown("entity or collection", owner, entities, spec)
    if len(chosen) > 1:
        raise click.UsageError(f"{spec} has more than one {owner}: name {' or '.join(f'{e}.{name}' for e in chosen)}.")
    matches = [p for p in every if p.entity == chosen[0] and p.name == name]
    if not matches:
        _unknown("access pattern", named, [p.shown for p in every if p.entity == chosen[0]], spec)
    tables = dict.fromkeys(p.captured.owner.__table__.name for p in matches)
    if len(tables) > 1:
        raise click.UsageError(
            f"{spec} has {matches[0].shown} in {' and in '.join(tables)}: name the table, MODULE:TABLE."
        )
    return matches[0]


def load(where: str) -> ModuleType:
    """Import a module, of the current directory or installed."""
    here = reach(Path.cwd())
    try:
        return _load_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except (SingletableError, click.ClickException):
        raise
    except ModuleNotFoundError as error:
        if error.name and (where == error.name or where.startswith(f"{error.name}.")):
            raise click.UsageError(f"No module {where} is found, neither in {here} nor installed.") from None
        _broken(where, error)
    except (Exception, SystemExit) as error:  # the module's own code, which may raise anything
        _broken(where, error)


def reach(folder: Path) -> str:
    """Put a folder at the end of the path, so that its files don't shadow modules of Python or installed ones: this
    program imports many of them when it needs them."""
    if str(folder) not in sys.path:
        for name in _ASK_FOR_WINDOWS:
            importlib.import_module(name)
        sys.path.append(str(folder))
    return str(folder)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise click.UsageError(f"The file {path} is missing.")
    name = _dotted(path)
    if name is not None:
        module = importlib.import_module(name)
        if module.__file__ and Path(module.__file__).resolve() == path.resolve():
            return module
    return _load_alone(path)


def _dotted(path: Path) -> str | None:
    """`shop/model.py` in the current directory as `shop.model`, so that its relative imports work."""
    try:
        parts = path.resolve().relative_to(Path.cwd().resolve()).with_suffix("").parts
    except ValueError:
        return None
    return ".".join(parts) if all(part.isidentifier() for part in parts) else None


def _load_alone(path: Path) -> ModuleType:
    name = f"singletable_loaded_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its annotations are resolved by this name
    reach(path.resolve().parent)
    spec.loader.exec_module(module)
    return module


def _table_of(value: Any) -> Table | None:
    return value.__table__ if isinstance(value, type) and issubclass(value, Entity) else None


def _split(spec: str) -> tuple[str, str | None]:
    where, colon, name = spec.rpartition(":")
    return (where, name) if colon and where else (spec, None)


def _broken(where: str, error: BaseException) -> NoReturn:
    at = traceback.extract_tb(error.__traceback__)[-1]
    raise click.ClickException(
        f"{where} can't be imported: {type(error).__name__}: {error} ({at.filename}, line {at.lineno})"
    ) from error


def _unknown(what: str, name: str, known: Iterable[str], where: str) -> NoReturn:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    said = f" Did you mean {close[0]}?" if close else f" It has: {', '.join(names) or 'none'}."
    raise click.UsageError(f"{where} has no {what} {name!r}.{said}")
