"""The parts of a database that a layer's class is bound to: a port, and a way to run a flow over it."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from singletable.errors import InvalidRequest
from singletable.flow.port import Port

D = TypeVar("D")
T = TypeVar("T")


class HasName(Protocol):
    """A table, as far as its name."""

    @property
    def name(self) -> str: ...


class Blocking(Protocol):
    """A database whose verbs block."""

    @property
    def port(self) -> Port: ...

    def run(self, flow: Coroutine[Any, Any, T]) -> T: ...


class Awaiting(Protocol):
    """A database whose verbs are awaited."""

    @property
    def port(self) -> Port: ...

    async def run(self, flow: Coroutine[Any, Any, T]) -> T: ...


def about(db: D, *tables: HasName) -> D:
    """The same database for a layer's class that is bound to tables: an error of its flows names them, where it names
    none itself."""
    bound = object.__new__(type(db))
    vars(bound).update(vars(db), _about=", ".join(table.name for table in tables))
    return bound


def is_of_shell(db: object, *, awaiting: bool) -> bool:
    """Whether `db` is a database of the given shell. Another object is of neither shell."""
    run = getattr(db, "run", None)
    return callable(run) and inspect.iscoroutinefunction(run) is awaiting


def check_awaiting(db: object, layer: str) -> None:
    """InvalidRequest unless `db` is an `AsyncDatabase`; `layer` names the class that is bound to it."""
    if not is_of_shell(db, awaiting=True):
        raise InvalidRequest(
            f"{layer} takes the AsyncDatabase that connect_async() returns, not {_named(db)}",
            hint=f"With the Database that connect() returns, use {layer.removeprefix('Async')}.",
        )


def check_blocking(db: object, layer: str) -> None:
    """InvalidRequest unless `db` is a `Database`; `layer` names the class that is bound to it."""
    if not is_of_shell(db, awaiting=False):
        raise InvalidRequest(
            f"{layer} takes the Database that connect() returns, not {_named(db)}",
            hint=f"With the AsyncDatabase that connect_async() returns, use Async{layer}.",
        )


def refuse_async(db: object, functions: Iterable[str]) -> None:
    """InvalidRequest if a blocking database would have to run async functions; `functions` says what each is."""
    if is_of_shell(db, awaiting=False):
        for function in functions:
            raise InvalidRequest(
                f"{function} is an async function, which the blocking shell can't run",
                hint="Write it without async, or use connect_async.",
            )


def _named(given: object) -> str:
    name = given.__name__ if isinstance(given, type) else type(given).__name__
    article = "an" if name[:1] in "AEIOUaeiou" else "a"
    return f"the class {name}" if isinstance(given, type) else f"{article} {name}"


LambdaAnswer = dict[str, list[dict[str, str]]]
"""The ids of what failed."""


class LambdaHandler(Protocol):
    """A handler that returns its answer."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> LambdaAnswer: ...


class AsyncLambdaHandler(Protocol):
    """A handler whose answer is awaited."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> Coroutine[Any, Any, LambdaAnswer]: ...
