"""Declared commands: an application's own functions as tools, each in one transaction.

    def place(db: Database, tx: Transaction, customer: str, amount: int) -> Order:
        '''Place an order, and take its amount from stock.'''

The function reads by `db` and writes by `tx`, which is sent when it has returned: all of it, or nothing. A name that an
agent may give is any other parameter; types and defaults make the schema, the docstring is the description.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast, get_type_hints

import click
import msgspec
from anyio import lowlevel, to_thread

from singletable.cli import module_of, output
from singletable.database import Database
from singletable.database_async import AsyncDatabase
from singletable.errors import DeclarationError, SingletableError
from singletable.foundation import Entity, Page, Transaction, commit
from singletable.schema import Collection
from singletable.values import plan_for
from singletable_mcp.attributes import ValueSchema, all_values_in, object_schema
from singletable_mcp.reading_port import ReadingPort, RehearsingPort, ThreadPort
from singletable_mcp.schema import truth
from singletable_mcp.tools import AgentTool, CallLimits, place_of, tool_name

_DRY_RUN: Final = "dry_run"
_MOST_BYTES: Final = 1_000_000
"""The most of a result, as JSON: an agent reads all of it."""
_DRY_RUN_SCHEMA: Final = {
    "type": "boolean",
    "description": "true: read and decide, and say what would be written; conditions of the writes are not tried",
    "default": False,
}


def command_tools(named: Sequence[str], limits: CallLimits) -> list[AgentTool]:
    """The tools of MODULE:FUNCTION, or of each function of MODULE that takes a Transaction. UsageError for a function
    whose arguments can't be told to an agent, and for one that does not take what is bound."""
    functions = [function for spec in named for function in _functions_of(spec)]
    return [_tool(_Command.of(function, limits), limits) for function in dict.fromkeys(functions)]


@dataclass(frozen=True)
class _Command:
    """A function, and what each of its parameters is."""

    function: Callable[..., Any]
    database: str
    """The parameter that is a database; empty where there is none."""
    transaction: str
    arguments: Mapping[str, ValueSchema]
    bound: Mapping[str, Any]

    @classmethod
    def of(cls, function: Callable[..., Any], limits: CallLimits) -> _Command:
        """Read the signature. UsageError says what is wrong with it."""
        hints = _hints(function)
        parameters = inspect.signature(function).parameters
        places = {name: place for name in parameters if (place := _place_of(hints.get(name)))}
        schemas = {
            name: _schema_of(function, parameter, hints) for name, parameter in parameters.items() if name not in places
        }
        awaits = _awaits(function)
        databases = [name for name, place in places.items() if place is not Transaction]
        wrong_shell = [name for name in databases if places[name] is not (AsyncDatabase if awaits else Database)]
        unbound = sorted(limits.bound.keys() - schemas.keys())
        if len(databases) > 1 or len(places) - len(databases) != 1:
            _refuse(function, "it takes one Transaction, and at most one database")
        if wrong_shell:
            _refuse(function, f"{wrong_shell[0]} is a Database in a plain function, an AsyncDatabase in an async one")
        if _DRY_RUN in schemas:
            _refuse(function, f"{_DRY_RUN} is the argument of every command: name the parameter otherwise")
        if unbound:
            _refuse(function, f"it does not take {unbound[0]}, which is bound")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            _refuse(function, "it yields, and a tool has one answer: return a list")
        if not tool_name(function.__name__).isascii():
            _refuse(function, "clients take names of ASCII letters, digits and _ alone")
        if not inspect.getdoc(function):
            _refuse(function, "it has no docstring, which is all that an agent knows of it")
        bound = {name: schemas.pop(name).value(text) for name, text in limits.bound.items()}
        (transaction,) = places.keys() - {*databases}
        return cls(function, "".join(databases), transaction, schemas, bound)

    async def call(self, db: AsyncDatabase, tx: Transaction, values: Mapping[str, Any]) -> Any:
        """Call the function, and return its result. Its database reads only."""
        given = {**values, **self.bound, self.transaction: tx}
        port: Any = ReadingPort(db.port)
        awaits = _awaits(self.function)
        if self.database:
            in_thread: Any = ThreadPort(port, lowlevel.current_token())
            given[self.database] = AsyncDatabase(port, db.target) if awaits else Database(in_thread, db.target)
        if awaits:
            return await self.function(**given)
        return await to_thread.run_sync(lambda: self.function(**given))


def _tool(command: _Command, limits: CallLimits) -> AgentTool:
    name = command.function.__name__

    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        arguments = dict(given)
        asked = arguments.pop(_DRY_RUN, None)
        rehearses = asked is not None and truth(_DRY_RUN, asked)
        values = all_values_in(command.arguments, arguments, name, "argument")
        tx = _CommandTransaction()
        try:
            returned = await command.call(db, tx, values)
        except (SingletableError, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit too, and the cancellation of its own work: its call ends alone
            raise click.UsageError(f"{_failure(name, error)} Nothing was written.") from error
        finally:
            tx.end()
        result = _as_json(name, returned, personal=limits.personal)
        port = RehearsingPort(db.port)
        await db.run(commit(port if rehearses else db.port, tx.pending))
        if not rehearses:
            return {"result": result}
        writes = [f"{write.verb} {write.key.model.kind.__name__}" for write in tx.pending]
        return {"result": result, "written": False, "would_write": writes, "items": port.items}

    schema = object_schema(command.arguments)
    schema["properties"][_DRY_RUN] = _DRY_RUN_SCHEMA
    description = f"{inspect.getdoc(command.function)}\nWrites in one transaction: all of it, or nothing."
    return AgentTool(tool_name(name), description, schema, call, limits.most_units, writes=True)


class _CommandTransaction(Transaction):
    """The transaction of one call: what is written on it after the function has returned is refused."""

    def end(self) -> None:
        self._end()


def _awaits(function: Callable[..., Any]) -> bool:
    """Whether it is an `async def`, below its decorators."""
    return inspect.iscoroutinefunction(inspect.unwrap(function))


def _functions_of(spec: str) -> list[Callable[..., Any]]:
    module = module_of(spec)
    name = spec.rpartition(":")[2] if ":" in spec else ""
    own: dict[str, Callable[..., Any]] = {
        variable: function
        for variable, function in vars(module).items()
        if inspect.isfunction(function)
        and (variable == name or (function.__module__ == module.__name__ and variable[0] != "_"))
    }
    if name and name not in own:
        raise click.UsageError(
            f"--command {spec}: {module.__name__} has no function {name!r}; it has {', '.join(own)}."
        )
    functions = [own[name]] if name else [function for function in own.values() if _takes_transaction(function)]
    if not functions:
        raise click.UsageError(f"--command {spec}: no function of {module.__name__} takes a Transaction.")
    return functions


def _takes_transaction(function: Callable[..., Any]) -> bool:
    return any(_place_of(hint) is Transaction for hint in _hints(function).values())


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        _refuse(function, f"its annotations can't be read: {error}. Import it outside of TYPE_CHECKING")
    hints.pop("return", None)
    return hints


def _place_of(hint: Any) -> type[Any] | None:
    """The class that the server gives for a parameter; None for one that an agent gives."""
    kinds = Transaction, AsyncDatabase, Database
    return next((kind for kind in kinds if isinstance(hint, type) and issubclass(hint, kind)), None)


def _schema_of(function: Callable[..., Any], parameter: inspect.Parameter, hints: Mapping[str, Any]) -> ValueSchema:
    name = parameter.name
    if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
        _refuse(function, f"{name} can't be given by its name")
    if name not in hints:
        _refuse(function, f"{name} has no type")
    try:
        value = ValueSchema(
            name, hints[name], plan_for(hints[name]), is_required=parameter.default is inspect.Parameter.empty
        )
        _ = value.schema
    except DeclarationError as error:
        _refuse(function, f"{name}: {error.what}")
    return value


def _refuse(function: Callable[..., Any], why: str) -> NoReturn:
    raise click.UsageError(f"--command {function.__module__}:{function.__name__}: {why}.")


def _failure(name: str, error: BaseException) -> str:
    """Where an application's exception came from, without its text, which may hold values."""
    return f"{name} raised {type(error).__name__} ({place_of(error)}); its text is kept back, as it may hold values."


def _as_json(name: str, result: Any, *, personal: bool) -> Any:
    """The result of a function, with what is personal covered. UsageError if JSON has no form of it, or it is large."""
    try:
        shown = _shown(result, personal=personal)
        size = len(output.json_text(shown).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise click.UsageError(
            f"{name} returned what JSON has no form for ({type(error).__name__}). Nothing was written."
        ) from error
    if size > _MOST_BYTES:
        raise click.UsageError(
            f"{name} returned {size:,} bytes of JSON, more than {_MOST_BYTES:,}. Nothing was written: it has to return "
            "less."
        )
    return shown


def _shown(value: Any, *, personal: bool) -> Any:
    if isinstance(value, (list, tuple, set, frozenset, Page)):
        return [_shown(one, personal=personal) for one in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        return {name: _shown(one, personal=personal) for name, one in cast("Any", value).items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Entity, Collection)):
        names = (one.name for one in dataclasses.fields(value))
        return {name: _shown(getattr(value, name), personal=personal) for name in names}
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {one.encode_name: _shown(getattr(value, one.name), personal=personal) for one in fields}
    return output.plain(value, personal=personal)
